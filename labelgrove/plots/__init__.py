"""Pictures: functions that take arrays and return matplotlib figures, one module for each family.

No module here touches ``pyplot`` or changes matplotlib's global settings, so that drawing inside a server, a
notebook or a test leaves nothing behind. Names are handed out on first use, and matplotlib loaded with them.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

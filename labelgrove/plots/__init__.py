"""Draw pictures: functions from arrays to matplotlib figures, one module for each type of picture.

No module here uses ``pyplot`` or changes matplotlib's global settings, so drawing in a server, a notebook or
a test has no side effects. Each name is loaded on first use, and matplotlib with it.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

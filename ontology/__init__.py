"""Label ontologies: readers, graph stores, catalog, artifacts and the geometry of label spaces.

Each name is imported on first use, so ``import ontology`` is fast and loads no database driver.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

"""Label ontologies: readers, graph stores, catalog, artifacts and the geometry of label spaces.

Each name is imported on first use, so that ``import ontology`` costs nothing and loads no driver.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

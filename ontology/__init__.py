"""Label ontologies: readers, graph stores, catalogue, artifacts and the geometry of label spaces.

Names are handed out on first use, so that ``import ontology`` costs nothing and loads no driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.readers import ReadResult, Report, read

__all__ = ["LabelGraph", "ReadResult", "Report", "read"]

_HOMES = {
    "LabelGraph": "labelgrove.ontology.labelgraph",
    "ReadResult": "labelgrove.ontology.readers",
    "Report": "labelgrove.ontology.readers",
    "read": "labelgrove.ontology.readers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelgrove.ontology' has no attribute {name!r}")

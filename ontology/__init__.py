"""Label ontologies: readers, graph stores, catalogue, artifacts and the geometry of label spaces.

Names are handed out on first use, so that ``import ontology`` costs nothing and loads no driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ontology.labelgraph import LabelGraph
    from ontology.readers import ReadResult, Report, read

__all__ = ["LabelGraph", "ReadResult", "Report", "read"]

_HOMES = {
    "LabelGraph": "ontology.labelgraph",
    "ReadResult": "ontology.readers",
    "Report": "ontology.readers",
    "read": "ontology.readers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ontology' has no attribute {name!r}")

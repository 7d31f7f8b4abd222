"""labelgrove: let a classifier that knows K classes answer with any of N related labels.

The public names of all rooms, loaded on first use:

>>> import labelgrove
>>> graph = labelgrove.LabelGraph.grid((3, 3))
>>> space = labelgrove.metric_space(graph)
>>> list(labelgrove.frechet_mean_set(space, ["0,0", "2,2"], [0.5, 0.5]))
['0,2', '1,1', '2,0']
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "labelgrove.adapter",
    "Bundle": "labelgrove.adapter",
    "CompleteSpace": "labelgrove.ontology.geometry",
    "Cover": "labelgrove.ontology.geometry",
    "EuclideanSpace": "labelgrove.ontology.geometry",
    "FrechetClassifier": "labelgrove.adapter.sklearn",
    "FrechetResult": "labelgrove.ontology.geometry",
    "GraphSpace": "labelgrove.ontology.geometry",
    "LabelGraph": "labelgrove.ontology",
    "Locus": "labelgrove.ontology.geometry",
    "MatrixSpace": "labelgrove.ontology.geometry",
    "Selection": "labelgrove.ontology.geometry",
    "Summary": "labelgrove.ontology.geometry",
    "TreeSpace": "labelgrove.ontology.geometry",
    "Workspace": "labelgrove.ontology.versions.workspace",
    "evaluate": "labelgrove.adapter.evaluation",
    "expand": "labelgrove.ontology.geometry",
    "fit_temperature": "labelgrove.adapter.calibration",
    "frechet_mean": "labelgrove.ontology.geometry",
    "frechet_mean_set": "labelgrove.ontology.geometry",
    "frechet_variance": "labelgrove.ontology.geometry",
    "is_identifying_cover": "labelgrove.ontology.geometry",
    "is_locus_cover": "labelgrove.ontology.geometry",
    "locus": "labelgrove.ontology.geometry",
    "metric_space": "labelgrove.ontology.geometry",
    "minimum_locus_cover": "labelgrove.ontology.geometry",
    "must_observe": "labelgrove.ontology.geometry",
    "open_bundle": "labelgrove.adapter",
    "phylogenetic_cover": "labelgrove.ontology.geometry",
    "push": "labelgrove.ontology.geometry",
    "read": "labelgrove.ontology",
    "register": "labelgrove.ontology.versions.ingest",
    "sample_observed": "labelgrove.ontology.geometry",
    "select_classes": "labelgrove.ontology.geometry",
    "select_next": "labelgrove.ontology.geometry",
    "small_cover": "labelgrove.ontology.geometry",
    "summarize": "labelgrove.ontology.geometry",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelgrove' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

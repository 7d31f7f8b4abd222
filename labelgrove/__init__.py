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
import importlib.util
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "adapter",
    "Bundle": "adapter",
    "CompleteSpace": "ontology.geometry",
    "Cover": "ontology.geometry",
    "EuclideanSpace": "ontology.geometry",
    "FrechetClassifier": "adapter.sklearn",
    "FrechetResult": "ontology.geometry",
    "GraphSpace": "ontology.geometry",
    "LabelGraph": "ontology",
    "Locus": "ontology.geometry",
    "MatrixSpace": "ontology.geometry",
    "Selection": "ontology.geometry",
    "Summary": "ontology.geometry",
    "TreeSpace": "ontology.geometry",
    "Workspace": "ontology.workspace",
    "evaluate": "adapter.evaluation",
    "expand": "ontology.geometry",
    "fit_temperature": "adapter.calibration",
    "frechet_mean": "ontology.geometry",
    "frechet_mean_set": "ontology.geometry",
    "frechet_variance": "ontology.geometry",
    "is_identifying_cover": "ontology.geometry",
    "is_locus_cover": "ontology.geometry",
    "locus": "ontology.geometry",
    "metric_space": "ontology.geometry",
    "minimum_locus_cover": "ontology.geometry",
    "must_observe": "ontology.geometry",
    "phylogenetic_cover": "ontology.geometry",
    "push": "ontology.geometry",
    "read": "ontology",
    "register": "ontology.ingest",
    "sample_observed": "ontology.geometry",
    "select_classes": "ontology.geometry",
    "select_next": "ontology.geometry",
    "small_cover": "ontology.geometry",
    "summarize": "ontology.geometry",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelgrove' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _refuse_foreign_rooms() -> None:
    """Name the file in the way when a package of another project hides one of our rooms."""
    here = Path(__file__).resolve().parent.parent
    for room in ("ontology", "workers", "adapter"):
        found = importlib.util.find_spec(room)
        origin = Path(found.origin).resolve() if found and found.origin else None
        if origin is None or origin.parent != here / room:
            raise ImportError(
                f"labelgrove needs its own package {room!r} from {here / room}, but {origin or 'nothing'} "
                f"is found first on the path; rename or move that file, or start Python from another folder"
            )


_refuse_foreign_rooms()

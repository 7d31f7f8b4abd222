"""The geometry of label spaces: distances, Fréchet means and their scorers; arrays in, arrays out.

Importing this package loads numpy alone. Names are handed out on first use; scipy is loaded only when a
`GraphSpace` measures its first shortest path.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ontology.geometry.densescorer import DenseScorer
    from ontology.geometry.frechet import (
        Scorer,
        frechet_mean,
        frechet_mean_set,
        frechet_variance,
        make_scorer,
    )
    from ontology.geometry.metricspace import metric_space
    from ontology.geometry.spaces import (
        CompleteSpace,
        GraphSpace,
        MatrixSpace,
        MetricSpace,
        TreeSpace,
    )
    from ontology.geometry.ties import TIE_RELATIVE, FrechetResult, check_weights
    from ontology.geometry.treescorer import TreeScorer

__all__ = [
    "TIE_RELATIVE",
    "CompleteSpace",
    "DenseScorer",
    "FrechetResult",
    "GraphSpace",
    "MatrixSpace",
    "MetricSpace",
    "Scorer",
    "TreeScorer",
    "TreeSpace",
    "check_weights",
    "frechet_mean",
    "frechet_mean_set",
    "frechet_variance",
    "make_scorer",
    "metric_space",
]

_HOMES = {
    "ontology.geometry.densescorer": ("DenseScorer",),
    "ontology.geometry.frechet": (
        "Scorer",
        "frechet_mean",
        "frechet_mean_set",
        "frechet_variance",
        "make_scorer",
    ),
    "ontology.geometry.metricspace": ("metric_space",),
    "ontology.geometry.spaces": (
        "CompleteSpace",
        "GraphSpace",
        "MatrixSpace",
        "MetricSpace",
        "TreeSpace",
    ),
    "ontology.geometry.ties": ("TIE_RELATIVE", "FrechetResult", "check_weights"),
    "ontology.geometry.treescorer": ("TreeScorer",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'ontology.geometry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

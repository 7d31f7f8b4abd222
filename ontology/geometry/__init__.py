"""The geometry of label spaces: arrays in, arrays out.

Importing this package loads numpy alone; names are handed out on first use, and what needs scipy, numba or
highspy loads them then. Distances and Fréchet means stand here; `scoring`, `loci`, `covers`, `selections` and
`summaries` are rooms of their own, and `kernels` holds the compiled inner loops.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ontology.geometry.compare import Comparison, compare_spaces
    from ontology.geometry.covers.cover import (
        Cover,
        MustObserve,
        is_identifying_cover,
        is_locus_cover,
        is_nontrivial,
        minimum_locus_cover,
        must_observe,
        phylogenetic_cover,
        small_cover,
    )
    from ontology.geometry.distances import distance_blocks, eccentricities, pairwise_distances
    from ontology.geometry.euclidean import EuclideanSpace
    from ontology.geometry.frechet import (
        Scorer,
        frechet_mean,
        frechet_mean_set,
        frechet_variance,
        make_scorer,
    )
    from ontology.geometry.loci.general import GeneralLocus, general_locus
    from ontology.geometry.loci.locus import Locus, locus
    from ontology.geometry.loci.pairs import geodesic_interval, is_pairwise_decomposable, pairwise_locus
    from ontology.geometry.loci.published import grid_locus, pairwise_grid_locus
    from ontology.geometry.metricspace import metric_space
    from ontology.geometry.sampling import sample_observed, uniform_centre
    from ontology.geometry.scoring.densescorer import DenseScorer
    from ontology.geometry.scoring.euclideanscorer import EuclideanScorer
    from ontology.geometry.scoring.graphscorer import GraphScorer
    from ontology.geometry.scoring.hullscorer import HullScorer
    from ontology.geometry.scoring.restrictedscorer import RestrictedTreeScorer
    from ontology.geometry.scoring.treescorer import TreeScorer
    from ontology.geometry.selections.selection import Selection, select_classes, select_next
    from ontology.geometry.spaces import CompleteSpace, GraphSpace, MatrixSpace, MetricSpace, TreeSpace
    from ontology.geometry.spanning import spanning_tree
    from ontology.geometry.summaries.expand import expand, predict_within, push
    from ontology.geometry.summaries.summary import DegenerateSummaryWarning, Summary, summarize
    from ontology.geometry.ties import TIE_RELATIVE, FrechetResult, check_weights

__all__ = [
    "TIE_RELATIVE",
    "Comparison",
    "CompleteSpace",
    "Cover",
    "DegenerateSummaryWarning",
    "DenseScorer",
    "EuclideanScorer",
    "EuclideanSpace",
    "FrechetResult",
    "GeneralLocus",
    "GraphScorer",
    "GraphSpace",
    "HullScorer",
    "Locus",
    "MatrixSpace",
    "MetricSpace",
    "MustObserve",
    "RestrictedTreeScorer",
    "Scorer",
    "Selection",
    "Summary",
    "TreeScorer",
    "TreeSpace",
    "check_weights",
    "compare_spaces",
    "distance_blocks",
    "eccentricities",
    "expand",
    "frechet_mean",
    "frechet_mean_set",
    "frechet_variance",
    "general_locus",
    "geodesic_interval",
    "grid_locus",
    "is_identifying_cover",
    "is_locus_cover",
    "is_nontrivial",
    "is_pairwise_decomposable",
    "locus",
    "make_scorer",
    "metric_space",
    "minimum_locus_cover",
    "must_observe",
    "pairwise_distances",
    "pairwise_grid_locus",
    "pairwise_locus",
    "phylogenetic_cover",
    "predict_within",
    "push",
    "sample_observed",
    "select_classes",
    "select_next",
    "small_cover",
    "spanning_tree",
    "summarize",
    "uniform_centre",
]

_HOMES = {
    "ontology.geometry.compare": (
        "Comparison",
        "compare_spaces",
    ),
    "ontology.geometry.covers.cover": (
        "Cover",
        "MustObserve",
        "is_identifying_cover",
        "is_locus_cover",
        "is_nontrivial",
        "minimum_locus_cover",
        "must_observe",
        "phylogenetic_cover",
        "small_cover",
    ),
    "ontology.geometry.distances": (
        "distance_blocks",
        "eccentricities",
        "pairwise_distances",
    ),
    "ontology.geometry.euclidean": ("EuclideanSpace",),
    "ontology.geometry.frechet": (
        "Scorer",
        "frechet_mean",
        "frechet_mean_set",
        "frechet_variance",
        "make_scorer",
    ),
    "ontology.geometry.loci.general": (
        "GeneralLocus",
        "general_locus",
    ),
    "ontology.geometry.loci.locus": (
        "Locus",
        "locus",
    ),
    "ontology.geometry.loci.pairs": (
        "geodesic_interval",
        "is_pairwise_decomposable",
        "pairwise_locus",
    ),
    "ontology.geometry.loci.published": (
        "grid_locus",
        "pairwise_grid_locus",
    ),
    "ontology.geometry.metricspace": ("metric_space",),
    "ontology.geometry.sampling": (
        "sample_observed",
        "uniform_centre",
    ),
    "ontology.geometry.scoring.densescorer": ("DenseScorer",),
    "ontology.geometry.scoring.euclideanscorer": ("EuclideanScorer",),
    "ontology.geometry.scoring.graphscorer": ("GraphScorer",),
    "ontology.geometry.scoring.hullscorer": ("HullScorer",),
    "ontology.geometry.scoring.restrictedscorer": ("RestrictedTreeScorer",),
    "ontology.geometry.scoring.treescorer": ("TreeScorer",),
    "ontology.geometry.selections.selection": (
        "Selection",
        "select_classes",
        "select_next",
    ),
    "ontology.geometry.spaces": (
        "CompleteSpace",
        "GraphSpace",
        "MatrixSpace",
        "MetricSpace",
        "TreeSpace",
    ),
    "ontology.geometry.spanning": ("spanning_tree",),
    "ontology.geometry.summaries.expand": (
        "expand",
        "predict_within",
        "push",
    ),
    "ontology.geometry.summaries.summary": (
        "DegenerateSummaryWarning",
        "Summary",
        "summarize",
    ),
    "ontology.geometry.ties": (
        "TIE_RELATIVE",
        "FrechetResult",
        "check_weights",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'ontology.geometry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

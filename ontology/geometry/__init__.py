"""The geometry of label spaces: arrays in, arrays out.

Importing this package loads numpy alone; names are handed out on first use, and what needs scipy, numba or
highspy loads them then. Distances and Fréchet means stand here; `scoring`, `loci`, `covers`, `selections` and
`summaries` are rooms of their own, and `kernels` holds the compiled inner loops.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.ontology.geometry.covers.cover import (
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
    from labelgrove.ontology.geometry.frechet import (
        Scorer,
        frechet_mean,
        frechet_mean_set,
        frechet_variance,
        make_scorer,
    )
    from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus
    from labelgrove.ontology.geometry.loci.locus import Locus, locus
    from labelgrove.ontology.geometry.loci.pairs import (
        geodesic_interval,
        is_pairwise_decomposable,
        pairwise_locus,
    )
    from labelgrove.ontology.geometry.loci.published import grid_locus, pairwise_grid_locus
    from labelgrove.ontology.geometry.sampling import sample_observed, uniform_centre
    from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
    from labelgrove.ontology.geometry.scoring.dense.euclideanscorer import EuclideanScorer
    from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
    from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
    from labelgrove.ontology.geometry.scoring.tree.hullscorer import HullScorer
    from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
    from labelgrove.ontology.geometry.selections.selection import Selection, select_classes, select_next
    from labelgrove.ontology.geometry.spaces.bulk import distance_blocks, eccentricities, pairwise_distances
    from labelgrove.ontology.geometry.spaces.compare import Comparison, compare_spaces
    from labelgrove.ontology.geometry.spaces.euclidean import EuclideanSpace
    from labelgrove.ontology.geometry.spaces.kinds import (
        CompleteSpace,
        GraphSpace,
        MatrixSpace,
        MetricSpace,
        TreeSpace,
    )
    from labelgrove.ontology.geometry.spaces.metricspace import metric_space
    from labelgrove.ontology.geometry.spaces.spanning import spanning_tree
    from labelgrove.ontology.geometry.summaries.expand import expand, predict_within, push
    from labelgrove.ontology.geometry.summaries.summary import DegenerateSummaryWarning, Summary, summarize
    from labelgrove.ontology.geometry.ties import TIE_RELATIVE, FrechetResult, check_weights

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
    "labelgrove.ontology.geometry.spaces.compare": (
        "Comparison",
        "compare_spaces",
    ),
    "labelgrove.ontology.geometry.covers.cover": (
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
    "labelgrove.ontology.geometry.spaces.bulk": (
        "distance_blocks",
        "eccentricities",
        "pairwise_distances",
    ),
    "labelgrove.ontology.geometry.spaces.euclidean": ("EuclideanSpace",),
    "labelgrove.ontology.geometry.frechet": (
        "Scorer",
        "frechet_mean",
        "frechet_mean_set",
        "frechet_variance",
        "make_scorer",
    ),
    "labelgrove.ontology.geometry.loci.general": (
        "GeneralLocus",
        "general_locus",
    ),
    "labelgrove.ontology.geometry.loci.locus": (
        "Locus",
        "locus",
    ),
    "labelgrove.ontology.geometry.loci.pairs": (
        "geodesic_interval",
        "is_pairwise_decomposable",
        "pairwise_locus",
    ),
    "labelgrove.ontology.geometry.loci.published": (
        "grid_locus",
        "pairwise_grid_locus",
    ),
    "labelgrove.ontology.geometry.spaces.metricspace": ("metric_space",),
    "labelgrove.ontology.geometry.sampling": (
        "sample_observed",
        "uniform_centre",
    ),
    "labelgrove.ontology.geometry.scoring.dense.densescorer": ("DenseScorer",),
    "labelgrove.ontology.geometry.scoring.dense.euclideanscorer": ("EuclideanScorer",),
    "labelgrove.ontology.geometry.scoring.rows.graphscorer": ("GraphScorer",),
    "labelgrove.ontology.geometry.scoring.tree.hullscorer": ("HullScorer",),
    "labelgrove.ontology.geometry.scoring.restricted.restrictedscorer": ("RestrictedTreeScorer",),
    "labelgrove.ontology.geometry.scoring.tree.treescorer": ("TreeScorer",),
    "labelgrove.ontology.geometry.selections.selection": (
        "Selection",
        "select_classes",
        "select_next",
    ),
    "labelgrove.ontology.geometry.spaces.kinds": (
        "CompleteSpace",
        "GraphSpace",
        "MatrixSpace",
        "MetricSpace",
        "TreeSpace",
    ),
    "labelgrove.ontology.geometry.spaces.spanning": ("spanning_tree",),
    "labelgrove.ontology.geometry.summaries.expand": (
        "expand",
        "predict_within",
        "push",
    ),
    "labelgrove.ontology.geometry.summaries.summary": (
        "DegenerateSummaryWarning",
        "Summary",
        "summarize",
    ),
    "labelgrove.ontology.geometry.ties": (
        "TIE_RELATIVE",
        "FrechetResult",
        "check_weights",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'labelgrove.ontology.geometry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

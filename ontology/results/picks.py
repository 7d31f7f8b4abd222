"""Covers and selections as files: labels in an order, and what is known about their number or their gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelgrove.ontology.geometry import Cover, Selection
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.results.layout import Packed, ResultFile, pack_space

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = [
    "COVER_FORMAT",
    "SELECTION_FORMAT",
    "pack_cover",
    "pack_selection",
    "read_cover",
    "read_selection",
]

COVER_FORMAT = "labelgrove/cover/1"
SELECTION_FORMAT = "labelgrove/selection/1"


def pack_cover(
    graph: LabelGraph, space: MetricSpace, found: Cover, *, method: str, identifying: bool = False
) -> Packed:
    """Return arrays and metadata of a cover.

    Parameters
    ----------
    graph, space
        The version of the ontology, and its space.
    found : Cover
        The cover; the order of its keys is kept.
    method : {"minimum", "phylogenetic", "small"}
        How it was found.
    identifying : bool, default=False
        Whether it makes every label uniquely reachable.
    """
    arrays, metadata = pack_space(graph, space)
    arrays["index"] = space.point_index(found.keys)
    metadata |= {
        "format": COVER_FORMAT,
        "method": method,
        "identifying": str(identifying).lower(),
        "status": found.status,
        "size": str(len(found)),
        "lower_bound": str(found.lower_bound),
    }
    return arrays, metadata


def read_cover(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Cover:
    """Return a cover that was written by `pack_cover`.

    Parameters
    ----------
    artifacts, digest, graph
        As `ontology.results.layout.ResultFile` takes them.

    Raises
    ------
    NotFoundError, ArtifactError
        If it is not there, or is no such file of this ontology.
    """
    file = ResultFile(artifacts, digest, graph, COVER_FORMAT)
    keys = graph.keys.take(file.index("index", graph.n_labels))
    lower_bound, status = file.whole("lower_bound", 1), file.status()
    if lower_bound > len(keys) or (status == "exact") != (lower_bound == len(keys)):
        raise file.fault(f"{len(keys)} labels, a lower bound of {lower_bound} and status {status}")
    return Cover(keys, status, lower_bound)


def pack_selection(graph: LabelGraph, found: Selection, *, method: str, seed: int) -> Packed:
    """Return arrays and metadata of a selection.

    Parameters
    ----------
    graph : LabelGraph
        The version of the ontology that `found.space` is a space of.
    found : Selection
        The selection.
    method : {"active", "uniform", "outside"}
        How it was made.
    seed : int
        Of what was drawn.
    """
    arrays, metadata = pack_space(graph, found.space)
    arrays |= {"index": found.index, "gains": found.gains}
    metadata |= {
        "format": SELECTION_FORMAT,
        "method": method,
        "seed": str(seed),
        "status": found.status,
        "size_before": str(found.size_before),
        "upper_bound": str(found.upper_bound),
        "spent": repr(float(found.spent)),
    }
    return arrays, metadata


def read_selection(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Selection:
    """Return a selection that was written by `pack_selection`.

    Parameters
    ----------
    artifacts, digest, graph
        As `ontology.results.layout.ResultFile` takes them.

    Raises
    ------
    NotFoundError, ArtifactError
        If it is not there, or is no such file of this ontology.
    """
    file = ResultFile(artifacts, digest, graph, SELECTION_FORMAT)
    index, gains = file.index("index", graph.n_labels), file.array("gains", np.int64)
    if len(index) != len(gains) or (gains < 0).any():
        raise file.fault(f"{len(gains)} gains for {len(index)} picks, none of them negative")
    upper_bound, status = file.whole("upper_bound"), file.status()
    if gains.sum() > upper_bound or (status == "exact") != (gains.sum() == upper_bound):
        raise file.fault(f"gains of {gains.sum()}, an upper bound of {upper_bound} and status {status}")
    return Selection(
        space=file.space,
        index=index,
        gains=gains,
        size_before=file.whole("size_before"),
        upper_bound=upper_bound,
        spent=file.number("spent"),
        status=status,
    )

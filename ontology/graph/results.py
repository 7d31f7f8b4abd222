"""Results as nodes and relationships of the graph: what a store is given to show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.labelgraph import LabelGraph

__all__ = ["GraphResult", "Links", "Supernodes"]


@dataclass(frozen=True)
class Links:
    """Relationships of one type from a result to labels.

    Attributes
    ----------
    type : {"OBSERVES", "REACHES", "INCLUDES", "PICKS"}
        Their type.
    index : ndarray of shape (n,), dtype=int64
        Canonical index of each label; no label twice.
    properties : mapping of str to ndarray of shape (n,)
        The properties of each: ``unique``, ``rank``, ``round``, ``gain``.
    """

    type: str
    index: NDArray[np.int64]
    properties: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Supernodes:
    """The parts of a summary.

    Attributes
    ----------
    size : ndarray of shape (n_supernodes,), dtype=int64
        Labels in each.
    of : ndarray of shape (n_labels,), dtype=int64
        The supernode of each label.
    ends : ndarray of shape (n_adjacent, 2), dtype=int64
        Supernodes that are adjacent, the smaller number first.
    weight : ndarray of shape (n_adjacent,), dtype=float64
        Length of the edge between them.
    """

    size: NDArray[np.int64]
    of: NDArray[np.int64]
    ends: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class GraphResult:
    """The result of one job.

    Attributes
    ----------
    job, kind : str
        Id of the job, 64 hexadecimal digits, and its kind.
    graph : LabelGraph
        The version of the ontology that it is a result of.
    label : {"Locus", "Cover", "Selection", "Summary", "Distances", "Bundle"}
        Label of the node.
    id : str
        Digest of the artifact: one node for one content, whoever asked for it.
    properties : mapping
        What the node says beside ``id`` and ``version``: strings, numbers, booleans.
    links : sequence of Links
        To the labels it is about.
    supernodes : Supernodes, optional
        Of a summary.
    """

    job: str
    kind: str
    graph: LabelGraph
    label: str
    id: str
    properties: Mapping[str, str | int | float | bool]
    links: tuple[Links, ...] = ()
    supernodes: Supernodes | None = None

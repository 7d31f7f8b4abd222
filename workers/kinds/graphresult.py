"""What the kinds share when they show a result in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult, Links, Supernodes
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.workers.ledger.states import Publication

__all__ = ["places", "shown_result"]


def shown_result(
    publication: Publication,
    graph: LabelGraph,
    label: str,
    properties: Mapping[str, str | int | float | bool],
    *links: Links,
    supernodes: Supernodes | None = None,
) -> GraphResult:
    """Return what the graph is given of a result; arguments are fields of `GraphResult`."""
    from labelgrove.ontology.graph.results import GraphResult

    return GraphResult(
        job=publication.job_id,
        kind=publication.kind,
        graph=graph,
        label=label,
        id=publication.sha256,
        properties=properties,
        links=links,
        supernodes=supernodes,
    )


def places(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each in its order, counted from 1.

    >>> places(np.array([30, 10, 20])).tolist()
    [1, 2, 3]
    """
    return np.arange(1, len(index) + 1, dtype=np.int64)

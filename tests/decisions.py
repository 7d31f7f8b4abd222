"""Answers of a compiled search, with the rows that it leaves open scored as an adapter scores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer

__all__ = ["Answers", "answers_of"]

Answers = Callable[[NDArray[Any]], NDArray[np.int64] | None]
"""Returns the label of each row, or None if the search leaves the whole batch to the scorer."""


def answers_of(
    scorer: TreeScorer | RestrictedTreeScorer | GraphScorer, order: NDArray[np.int64] | None = None
) -> Answers:
    """Return the answers of the scorer's decision for rows whose columns are in `order`."""
    decision = scorer.decision(order)
    assert decision is not None

    def answers(rows: NDArray[Any]) -> NDArray[np.int64] | None:
        found = decision.find(rows, 0.0)
        if found is None:
            return None
        index, left = found
        if left is not None:
            some = rows[left]
            index[left] = scorer.score(some if order is None else some[:, order]).index
        return index

    return answers

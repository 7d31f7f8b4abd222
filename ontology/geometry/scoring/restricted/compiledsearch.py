"""The search of `numpysearch`, compiled; importing this module loads numba."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.ranking import rank_groups
from labelgrove.ontology.geometry.kernels.trees import finalists
from labelgrove.ontology.geometry.kernels.trees.lowestvertex import Descent
from labelgrove.ontology.geometry.scoring.decision import Decision, Found
from labelgrove.ontology.geometry.scoring.observedtree.compileddescent import compiled_descent
from labelgrove.ontology.geometry.scoring.observedtree.compiledsums import GroupSums
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.scoring.ranking import Finalists, Ranked
from labelgrove.ontology.geometry.scoring.restricted.hanging import Hanging
from labelgrove.ontology.geometry.scoring.restricted.numpysearch import MOST_PAIRS, Pairs, search_margin
from labelgrove.ontology.geometry.ties import SURE_TOTALS, TIE_RELATIVE, TOTALS, refuse_bad_rows

__all__ = ["CompiledBatch", "SearchDecision", "ranked"]

_SPARE_PAIRS = 1 << 13
_BATCH_ENTRIES = 1 << 20
_SEARCHED = TOTALS[0] / 2, 2 * TOTALS[1]  # a valid row's sum is within these limits, however it is rounded


@dataclass(frozen=True)
class _Prepared:
    """Tables prepared once from the observed labels and the labels that hang on their hull.

    Attributes
    ----------
    tables : Tables
    sums : GroupSums
        The plain sums at the groups of labels.
    """

    descent: Descent
    tables: finalists.Tables
    sums: GroupSums

    @classmethod
    def of(cls, observed: Observed, hanging: Hanging) -> _Prepared:
        """Return the tables of `hanging`, which are built on first use."""
        known: _Prepared | None = hanging.prepared.get("compiled")
        if known is None:
            hull = observed.hull
            on = np.repeat(np.arange(len(hull.vertex)), np.diff(hanging.begin))
            known = hanging.prepared["compiled"] = cls(
                compiled_descent(observed),
                _tables(observed, hanging),
                GroupSums(observed, hanging.position, on, hanging.turn),
            )
        return known


class CompiledBatch:
    """A `Batch` whose inner loops are compiled.

    Parameters
    ----------
    observed : Observed
    given : ndarray of shape (n_samples, n_observed)
        Weights in any real dtype; float32 and float64 are read as they are.
    first : int
        The number that error messages give to row 0.
    """

    def __init__(self, observed: Observed, given: NDArray[Any], first: int) -> None:
        self._observed, self._given, self._first = observed, given, first
        dtype = given.dtype if given.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self._rows = np.require(given, dtype, ["C", "A", "W"])

    def finalists(self, hanging: Hanging, top: int) -> Pairs | None:
        """Return the same finalists as `numpysearch.find_finalists`.

        Raises
        ------
        WeightError
            For rows that break the rule of `check_weights`.
        """
        known = _Prepared.of(self._observed, hanging)
        found, total = _searched(self._rows, self._observed, known.descent, known.tables, top)
        if found is not None and not _fair(total):
            refuse_bad_rows(self._given, total, self._first)
        return found

    def sums(
        self, hanging: Hanging, sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each (sample, group) pair, measuring each group's distances once."""
        return _Prepared.of(self._observed, hanging).sums.at(self._rows, sample, group)


class SearchDecision(Decision):
    """A `Decision` for trees on which only some labels are allowed.

    Most rows of weights have one finalist, a group of labels with the same distances. Then the first label of
    the group is the answer, and no distance has to be measured. Rows of weights with several finalists are
    left open.

    Parameters
    ----------
    observed : Observed
    hanging : Hanging
        All labels that may be an answer.
    order : ndarray of shape (n_observed,), dtype=int64, or None
        For each observed label, its column in the rows; None if the columns are in the order of the observed
        labels.
    """

    def __init__(self, observed: Observed, hanging: Hanging, order: NDArray[np.int64] | None) -> None:
        self._observed = observed
        known = _Prepared.of(observed, hanging)
        self._descent = known.descent if order is None else compiled_descent(observed, order)
        self._tables = known.tables
        self._label = hanging.label[hanging.first[:-1]].astype(np.int64)

    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide, and the rows left open; see `Decision.find`.

        None is also returned if there are too many finalists for memory.
        """
        index, left = np.empty(len(rows), dtype=np.int64), []
        step = max(1, _BATCH_ENTRIES // rows.shape[1])
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            found, total = _searched(part, self._observed, self._descent, self._tables, 1, error)
            if found is None or not _fair(total):
                return None
            sample, group = found
            index[start + sample] = self._label.take(group)
            if len(sample) > len(part):  # each row has at least one finalist
                left.append(start + np.flatnonzero(np.bincount(sample) > 1))
        return index, np.concatenate(left) if left else None


def ranked(hanging: Hanging, finalists: Finalists, top: int) -> Ranked:
    """Return the result of `ontology.geometry.scoring.ranking.ranked_groups` for groups of `hanging`."""
    sample, group, total = finalists
    n_samples = int(sample[-1]) + 1
    index, value = np.empty((n_samples, top), dtype=np.int64), np.empty((n_samples, top))
    n_tied = np.empty(n_samples, dtype=np.int64)
    rank_groups(
        sample, group, total.copy(), hanging.first, hanging.label, 1 + TIE_RELATIVE, index, value, n_tied
    )
    return index, value, n_tied


def _searched(
    rows: NDArray[Any],
    observed: Observed,
    descent: Descent,
    tables: finalists.Tables,
    top: int,
    error: float = 0.0,
) -> tuple[Pairs | None, NDArray[np.float64]]:
    """Return the finalists of the rows (None: too many for memory) and the total weight of each row.

    `error` is explained in `Decision.find`. It changes F / W of a label at height h by at most `error` times
    the largest squared distance to an observed label, which is at most ``2 (reach^2 + h^2)``.
    """
    margin = search_margin(observed.hull, len(observed.at)) + 2 * error
    most, total = len(rows) + _SPARE_PAIRS, np.empty(len(rows))
    while True:
        sample, group = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
        found = finalists.find_finalists(
            rows,
            descent,
            tables,
            margin,
            margin * observed.skeleton.reach**2,
            top,
            _SEARCHED,
            total,
            sample,
            group,
        )
        if found >= 0:
            return (sample[:found], group[:found]), total
        if len(rows) > 1 and most > MOST_PAIRS:
            return None, total
        most *= 8


def _fair(total: NDArray[np.float64]) -> bool:
    """Return whether all rows are sure to be valid weights; the search has skipped rows that cannot be."""
    return bool(total.min() >= SURE_TOTALS[0] and total.max() <= SURE_TOTALS[1])


def _tables(observed: Observed, hanging: Hanging) -> finalists.Tables:
    hull = observed.hull
    edge_to = hull.child
    below, length = hanging.below[edge_to], hull.depth[edge_to] - hull.depth[hull.parent[edge_to]]
    through = np.full(len(hull.vertex), np.inf)
    np.minimum.at(through, hull.parent[edge_to], length + below)
    return finalists.Tables(
        vertex=_records(
            finalists.VERTEX,
            depth=hull.depth,
            length=hull.depth - hull.depth[hull.parent],
            nearest=hanging.nearest,
            above=hanging.above,
            through=through,
            parent=hull.parent,
            low=hull.low,
            high=hull.high,
            begin=hull.begin[:-1],
            end=hull.begin[1:],
            group=hanging.begin[:-1],
            group_end=hanging.begin[1:],
        ),
        edge=_records(
            finalists.EDGE,
            length=length,
            below=below,
            low=hull.low[edge_to],
            high=hull.high[edge_to],
            vertex=edge_to,
        ),
        height=hanging.height,
        first=hanging.first,
    )


def _records(dtype: np.dtype[np.void], **columns: NDArray[Any]) -> NDArray[np.void]:
    records = np.empty(len(next(iter(columns.values()))), dtype=dtype)
    for name, column in columns.items():
        records[name] = column
    return records

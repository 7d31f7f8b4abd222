"""The search of `numpysearch`, compiled; importing this module loads numba."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import sums_of_groups
from labelgrove.ontology.geometry.kernels.rows.ranking import rank_groups
from labelgrove.ontology.geometry.kernels.trees import finalists
from labelgrove.ontology.geometry.scoring.decision import Decision, Found
from labelgrove.ontology.geometry.scoring.observedtree.compiledsums import sums_of_positions
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
    depth, meet : ndarray of shape (n_groups,)
        `depth`: the depth of each group's labels in the tree. `meet`: the depth of the vertex where the path
        from these labels to the hull turns downwards.
    low, high : ndarray of shape (n_groups,), dtype=int32
        Observed labels are numbered in preorder. Those at or below the hull vertex of group g are
        ``low[g], ..., high[g] - 1``.
    column : ndarray of shape (n_observed,), dtype=uint32
        Column of each observed label, in preorder.
    """

    tables: finalists.Tables
    depth: NDArray[np.float64]
    meet: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    column: NDArray[np.uint32]

    @classmethod
    def of(cls, observed: Observed, hanging: Hanging) -> _Prepared:
        """Return the tables of `hanging`, which are built on first use."""
        known: _Prepared | None = hanging.prepared.get("compiled")
        if known is None:
            hull = observed.hull
            on = np.repeat(np.arange(len(hull.vertex)), np.diff(hanging.begin))
            known = hanging.prepared["compiled"] = cls(
                _tables(observed, hanging),
                observed.tree.depth_at(hanging.position),
                observed.tree.depth_at(hanging.turn),
                hull.low[on].astype(np.int32),
                hull.high[on].astype(np.int32),
                observed.by_preorder.astype(np.uint32),
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
        found, total = _searched(
            self._rows, self._observed, _Prepared.of(self._observed, hanging).tables, top
        )
        if found is not None and not _fair(total):
            refuse_bad_rows(self._given, total, self._first)
        return found

    def sums(
        self, hanging: Hanging, sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each (sample, group) pair, measuring each group's distances once."""
        observed, total = self._observed, np.empty(len(group))
        known, by = _Prepared.of(observed, hanging), np.argsort(group, kind="stable")
        if observed.tree.n_parts > 1:
            sums_of_positions(observed, self._rows, sample, hanging.position[group], by, total)
            return total
        sums_of_groups(
            self._rows,
            sample,
            group,
            by,
            known.depth,
            known.meet,
            known.low,
            known.high,
            observed.label_depth,
            observed.gap,
            known.column,
            total,
        )
        return total


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
        self._tables = _Prepared.of(observed, hanging).tables
        if order is not None:
            self._tables = self._tables._replace(order=order.astype(np.uint32)[self._tables.order])
        self._label = hanging.label[hanging.first[:-1]].astype(np.int64)

    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide, and the rows left open; see `Decision.find`.

        None is also returned if there are too many finalists for memory.
        """
        index, left = np.empty(len(rows), dtype=np.int64), []
        step = max(1, _BATCH_ENTRIES // rows.shape[1])
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            found, total = _searched(part, self._observed, self._tables, 1, error)
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
    rows: NDArray[Any], observed: Observed, tables: finalists.Tables, top: int, error: float = 0.0
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
            rows, tables, margin, margin * observed.skeleton.reach**2, top, _SEARCHED, total, sample, group
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
    skeleton, hull = observed.skeleton, observed.hull
    n_observed = len(observed.at)
    length = n_observed // finalists.STRANDS + 1
    place = np.arange(length * finalists.STRANDS)  # of each label in preorder, and of the padding
    place = place % length * finalists.STRANDS + place // length
    order = np.zeros(len(place), dtype=np.uint32)
    order[place[:n_observed]] = observed.by_preorder
    label_depth = np.zeros(len(place))
    label_depth[place[:n_observed]] = skeleton.label_depth
    child, edge_to = skeleton.child, hull.child
    return finalists.Tables(
        order=order,
        label_depth=label_depth,
        end=int(place[n_observed]),
        node=_records(
            finalists.NODE,
            depth=skeleton.depth,
            begin=skeleton.begin[:-1],
            end=skeleton.begin[1:],
            chain_last=skeleton.chain_last,
        ),
        limb=_records(
            finalists.LIMB,
            length=skeleton.length[child],
            low=place[skeleton.low[child]],
            high=place[skeleton.high[child]],
            node=child,
            chain_first=skeleton.chain_first[child],
            chain_last=skeleton.chain_last[child],
        ),
        chain_depth=hull.depth,
        vertex=_records(
            finalists.VERTEX,
            depth=hull.depth,
            length=hull.depth - hull.depth[hull.parent],
            nearest=hanging.nearest,
            above=hanging.above,
            parent=hull.parent,
            low=place[hull.low],
            high=place[hull.high],
            begin=hull.begin[:-1],
            end=hull.begin[1:],
            group=hanging.begin[:-1],
            group_end=hanging.begin[1:],
        ),
        edge=_records(
            finalists.EDGE,
            length=hull.depth[edge_to] - hull.depth[hull.parent[edge_to]],
            below=hanging.below[edge_to],
            low=place[hull.low[edge_to]],
            high=place[hull.high[edge_to]],
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

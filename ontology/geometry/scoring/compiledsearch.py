"""The search of `ontology.geometry.scoring.treesearch`, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.kernels import scoring
from ontology.geometry.kernels.plainsums import sums_of_groups
from ontology.geometry.scoring.hanging import Hanging
from ontology.geometry.scoring.treesearch import MOST_PAIRS, Observed, Pairs, search_margin
from ontology.geometry.ties import refuse_bad_rows

__all__ = ["CompiledBatch"]

_SPARE_PAIRS = 1 << 13

_Measures = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
"""Depth in the tree, turn, and low and high of the vertex of each group."""

_TABLES: WeakKeyDictionary[Hanging, scoring.Tables] = WeakKeyDictionary()
_MEASURES: WeakKeyDictionary[Hanging, _Measures] = WeakKeyDictionary()


class CompiledBatch:
    """A `Batch` whose inner loops are compiled.

    Parameters
    ----------
    observed : Observed
    given : ndarray of shape (n_samples, n_observed)
        Weights in any real dtype; float32 and float64 are read as they are.
    first : int
        The number of row 0 in messages.
    """

    def __init__(self, observed: Observed, given: NDArray[Any], first: int) -> None:
        self._observed, self._given, self._first = observed, given, first
        dtype = given.dtype if given.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self._rows = np.ascontiguousarray(given, dtype=dtype)

    def finalists(self, hanging: Hanging, top: int) -> Pairs | None:
        """Return what `find_finalists` of `treesearch` does.

        Raises
        ------
        WeightError
            For rows that break the rule of `check_weights`.
        """
        skeleton, n_samples = self._observed.skeleton, len(self._rows)
        margin = search_margin(self._observed.hull, len(self._observed.at))
        most = n_samples + _SPARE_PAIRS
        total = np.empty(n_samples)
        while True:
            sample, group = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
            found = scoring.find_finalists(
                self._rows,
                _tables(self._observed, hanging),
                margin,
                margin * skeleton.reach**2,
                top,
                total,
                sample,
                group,
            )
            if found >= 0:
                if not (total.min() >= scoring.SMALLEST_TOTAL and total.max() <= scoring.LARGEST_TOTAL):
                    refuse_bad_rows(self._given, total, self._first)
                return sample[:found], group[:found]
            if n_samples > 1 and most > MOST_PAIRS:
                return None
            most *= 8

    def sums(
        self, hanging: Hanging, sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each (sample, group) pair; measures each group's distances once."""
        observed, total = self._observed, np.empty(len(group))
        sums_of_groups(
            self._rows,
            sample,
            group,
            np.argsort(group, kind="stable"),
            *_measures(observed, hanging),
            observed.label_depth,
            observed.gap,
            observed.by_preorder.astype(np.uint32),
            total,
        )
        return total


def _tables(observed: Observed, hanging: Hanging) -> scoring.Tables:
    tables = _TABLES.get(hanging)
    if tables is None:
        tables = _TABLES[hanging] = _made(observed, hanging)
    return tables


def _measures(observed: Observed, hanging: Hanging) -> _Measures:
    """Return what is measured of each group."""
    measures = _MEASURES.get(hanging)
    if measures is None:
        on = np.repeat(np.arange(len(hanging.nearest)), np.diff(hanging.begin))
        depth = observed.tree.depth[hanging.position]
        measures = _MEASURES[hanging] = depth, hanging.meet, observed.hull.low[on], observed.hull.high[on]
    return measures


def _made(observed: Observed, hanging: Hanging) -> scoring.Tables:
    skeleton, hull = observed.skeleton, observed.hull
    n_observed = len(observed.at)
    length = n_observed // scoring.STRANDS + 1
    place = np.arange(length * scoring.STRANDS)  # of each label in preorder, and of those it is padded with
    place = place % length * scoring.STRANDS + place // length
    order = np.zeros(len(place), dtype=np.uint32)
    order[place[:n_observed]] = observed.by_preorder
    label_depth = np.zeros(len(place))
    label_depth[place[:n_observed]] = skeleton.label_depth
    child, edge_to = skeleton.child, hull.child
    return scoring.Tables(
        order=order,
        label_depth=label_depth,
        end=int(place[n_observed]),
        node=_records(
            scoring.NODE,
            depth=skeleton.depth,
            begin=skeleton.begin[:-1],
            end=skeleton.begin[1:],
            chain_last=skeleton.chain_last,
        ),
        limb=_records(
            scoring.LIMB,
            length=skeleton.length[child],
            low=place[skeleton.low[child]],
            high=place[skeleton.high[child]],
            node=child,
            chain_first=skeleton.chain_first[child],
            chain_last=skeleton.chain_last[child],
        ),
        chain_depth=hull.depth,
        vertex=_records(
            scoring.VERTEX,
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
            scoring.EDGE,
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

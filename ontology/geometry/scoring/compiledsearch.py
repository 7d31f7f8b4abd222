"""The search of `ontology.geometry.scoring.treesearch`, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.kernels import scoring
from ontology.geometry.scoring.hanging import Hanging
from ontology.geometry.scoring.treesearch import MOST_PAIRS, Observed, Pairs, search_margin
from ontology.geometry.ties import refuse_bad_rows

__all__ = ["CompiledBatch"]

_BLOCK = 8
_SPARE_PAIRS = 1 << 13
_BLOCK_ENTRIES = 1 << 20


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
        observed, hull = self._observed, self._observed.hull
        total = np.empty(len(group))
        by = np.argsort(group, kind="stable")
        step = max(1, _BLOCK_ENTRIES // len(observed.at))
        for start in range(0, len(by), step):
            part = by[start : start + step]
            distinct, which = np.unique(group[part], return_inverse=True)
            on = np.searchsorted(hanging.begin, distinct, side="right") - 1
            powered = np.empty((len(distinct), len(observed.at)))
            scoring.squared_rows(
                observed.tree.depth[hanging.position[distinct]],
                hanging.meet[distinct],
                hull.low[on],
                hull.high[on],
                observed.label_depth,
                observed.gap,
                observed.by_preorder.astype(np.uint32),
                powered,
            )
            sums = np.empty(len(part))
            scoring.plain_sums(self._rows, powered, sample[part], which, sums)
            total[part] = sums
        return total


def _tables(observed: Observed, hanging: Hanging) -> scoring.Tables:
    skeleton, hull = observed.skeleton, observed.hull
    n_observed = len(observed.at)
    n_blocks = n_observed // _BLOCK + 1
    order = np.zeros(n_blocks * _BLOCK, dtype=np.uint32)
    order[:n_observed] = observed.by_preorder
    depth = np.zeros(n_blocks * _BLOCK)
    depth[:n_observed] = skeleton.label_depth
    return scoring.Tables(
        order=np.ascontiguousarray(order.reshape(n_blocks, _BLOCK).T).reshape(-1),
        label_depth=np.ascontiguousarray(depth.reshape(n_blocks, _BLOCK).T).reshape(-1),
        node_depth=skeleton.depth,
        node_length=skeleton.length,
        node_low=skeleton.low,
        node_high=skeleton.high,
        node_begin=skeleton.begin,
        node_child=skeleton.child,
        chain_first=skeleton.chain_first,
        chain_last=skeleton.chain_last,
        depth=hull.depth,
        parent=hull.parent,
        low=hull.low,
        high=hull.high,
        begin=hull.begin,
        child=hull.child,
        group=hanging.begin,
        height=hanging.height,
        first=hanging.first,
        nearest=hanging.nearest,
        below=hanging.below,
        above=hanging.above,
    )

"""Plain sums at vertices of a tree, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import plain_sums
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.ties import powers

__all__ = ["sums_of_positions"]

_BLOCK_ENTRIES = 1 << 20


def sums_of_positions(
    observed: Observed,
    weights: NDArray[Any],
    sample: NDArray[np.int64],
    position: NDArray[np.integer],
    by: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write to `out`, for each i, the plain sum of sample ``sample[i]`` at the vertex ``position[i]``.

    Vertices are given as positions in the tree. `by` lists every i, in an order that makes equal positions
    adjacent.
    """
    step = max(1, _BLOCK_ENTRIES // len(observed.at))
    for start in range(0, len(by), step):
        part = by[start : start + step]
        distinct, which = np.unique(position[part], return_inverse=True)
        sums = np.empty(len(part))
        powered = powers(observed.tree.distances(distinct.astype(np.int64), observed.at), 2)
        plain_sums(weights, powered, sample[part], which, sums)
        out[part] = sums

"""Distances from answers to their truths in any metric space, without a matrix over all labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import MetricSpace

__all__ = ["pair_distances"]

_SOURCES_AT_ONCE = 256  # single-source searches whose distances are in memory together


def pair_distances(
    space: MetricSpace, row: NDArray[np.int64], column: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the distance of each allowed label ``row[i]`` to the point ``column[i]``.

    Parameters
    ----------
    space : MetricSpace
        Measures the distances.
    row : ndarray of shape (n,), dtype=int64
        Allowed labels.
    column : ndarray of shape (n,), dtype=int64
        Points.

    Returns
    -------
    distances : ndarray of shape (n,), dtype=float64
        In edge-weight units.

    Notes
    -----
    If `row` has fewer distinct values than `column`, distances are measured from the labels in `row`,
    otherwise from the points in `column`. In both cases they are measured from 256 labels at a time.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> space = metric_space(LabelGraph.grid((1, 4)))
    >>> pair_distances(space, np.array([0, 3]), np.array([3, 2])).tolist()
    [3.0, 1.0]
    """
    from_rows = len(np.unique(row)) < len(np.unique(column))
    near, far = (row, column) if from_rows else (column, row)
    sources, source = np.unique(near, return_inverse=True)
    out = np.empty(len(row))
    by_source = np.argsort(source, kind="stable")
    steps = np.arange(0, len(sources) + _SOURCES_AT_ONCE, _SOURCES_AT_ONCE)
    bounds = np.searchsorted(source[by_source], steps)
    for first, (low, high) in zip(steps.tolist(), pairwise(bounds.tolist()), strict=False):
        pairs = by_source[low:high]
        ends, end = np.unique(far[pairs], return_inverse=True)
        some, at = sources[first : first + _SOURCES_AT_ONCE], source[pairs] - first
        if from_rows:
            out[pairs] = space.distances(some, ends)[at, end]
        else:
            out[pairs] = space.distances(ends, some)[end, at]
    return out

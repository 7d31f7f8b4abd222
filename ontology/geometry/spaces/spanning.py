"""spanning_tree: a tree in place of a metric, and how much longer its paths are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import whole_number
from labelgrove.ontology.geometry.sampling import generator
from labelgrove.ontology.geometry.spaces.kinds import MetricSpace, TreeSpace
from labelgrove.ontology.geometry.spaces.observed import allowed_points
from labelgrove.ontology.geometry.status import Status

__all__ = ["Distortion", "spanning_tree"]

_BLOCK_ENTRIES = 1 << 21


@dataclass(frozen=True)
class Distortion:
    """By how much the paths of a spanning tree are longer than the distances they stand for.

    Attributes
    ----------
    largest, mean : float
        Of d_tree / d over the pairs measured; 1 is no distortion at all, and in a metric only
        rounding gives less. For a single label both are 1.
    n_pairs : int
        Number of pairs measured, each counted once.
    status : {"exact", "lower_bound"}
        ``"exact"``: all pairs were measured. Otherwise `largest` is a lower bound and `mean` an estimate,
        over all pairs with at least one of a few labels drawn at random.
    """

    largest: float
    mean: float
    n_pairs: int
    status: Status


def spanning_tree(
    space: MetricSpace,
    *,
    max_pairs: int = 5_000_000,
    seed: int | np.random.Generator = 0,
) -> tuple[TreeSpace, Distortion]:
    """Return the minimum spanning tree of the allowed labels as a space of its own, and its distortion.

    Parameters
    ----------
    space : MetricSpace
        Any space whose allowed labels are points; no two of them at distance 0.
    max_pairs : int, default=5_000_000
        Up to so many pairs the distortion is measured on all of them, else on those of as many labels, drawn
        at random, as stay within it (one label at least).
    seed : int or numpy.random.Generator, default=0
        For that draw.

    Returns
    -------
    tree : TreeSpace
        Over ``space.keys`` in their order, every label allowed; edges are as long as the distances they stand
        for. The first label is the root.
    distortion : Distortion

    Raises
    ------
    SpaceError
        If two labels are at distance 0, or an allowed label is not a point.

    Notes
    -----
    Prim's algorithm, one row of distances at a time: O(n_labels^2) time besides measuring them, O(n_labels)
    memory. Of labels equally near to the tree the one of lowest index is joined next, to the lowest index of
    those in the tree at that distance, so the tree depends on canonical order alone.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.kinds import CompleteSpace
    >>> tree, distortion = spanning_tree(CompleteSpace(["a", "b", "c", "d"]))
    >>> tree.parent.tolist(), distortion.largest, distortion.mean
    ([-1, 0, 0, 0], 2.0, 1.5)
    """
    max_pairs = whole_number("max_pairs", max_pairs, 1)
    rng = generator(seed)
    points = allowed_points(space)
    parent, length = _prim(space, points)
    tree = TreeSpace.from_arrays(space.keys, parent, length)
    return tree, _distortion(space, points, tree, max_pairs, rng)


def _prim(space: MetricSpace, points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return parent and length of each allowed label in the minimum spanning tree hung from the first."""
    n = len(points)
    parent = np.full(n, -1, dtype=np.int64)
    length = np.zeros(n)
    nearest = np.full(n, np.inf)  # distance to the tree; infinite for who is in it
    outside = np.ones(n, dtype=bool)
    joined = 0
    for _ in range(n - 1):
        outside[joined] = False
        nearest[joined] = np.inf
        distance = space.distances(cols=points[joined : joined + 1])[:, 0]
        closer = outside & ((distance < nearest) | ((distance == nearest) & (joined < parent)))
        nearest[closer] = distance[closer]
        parent[closer] = joined
        joined = int(np.argmin(nearest))
        length[joined] = nearest[joined]
        if nearest[joined] == 0:
            raise SpaceError(
                f"space: {space.keys[parent[joined]]!r} and {space.keys[joined]!r} are at distance 0; "
                "a tree keeps labels apart, so leave one of them out"
            )
    return parent, length


def _distortion(
    space: MetricSpace,
    points: NDArray[np.int64],
    tree: TreeSpace,
    max_pairs: int,
    rng: np.random.Generator,
) -> Distortion:
    n = len(points)
    if n == 1:
        return Distortion(1.0, 1.0, 0, "exact")
    exact = n * (n - 1) // 2 <= max_pairs
    n_sources = n - 1 if exact else max(1, max_pairs // n)
    sources = np.arange(n - 1) if exact else rng.choice(n, n_sources, replace=False)
    turn = np.full(n, n)  # a pair of two sources is measured from the earlier one
    turn[sources] = np.arange(n_sources)
    largest, total, n_pairs = 0.0, 0.0, 0
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, n_sources, step):
        block = sources[start : start + step]
        row, col = np.nonzero(turn[:, None] > turn[block])
        true = space.distances(cols=points[block])[row, col].astype(np.float64)
        ratio = tree.distances(cols=block)[row, col] / true
        largest = max(largest, float(ratio.max()))
        total += float(ratio.sum())
        n_pairs += len(ratio)
    return Distortion(largest, total / n_pairs, n_pairs, "exact" if exact else "lower_bound")

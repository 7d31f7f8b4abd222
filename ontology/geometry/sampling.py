"""sample_observed: random sets of observed labels, uniform or concentrated near the center of the space."""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import nonnegative_number, whole_number
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.scoring.dense.euclideanscorer import EuclideanScorer
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import plain_sums, powers, tied

__all__ = ["generator", "sample_observed", "uniform_center"]

_LARGEST_EXACT = 1 << 62


def sample_observed(
    space: MetricSpace,
    n: int,
    *,
    method: Literal["uniform", "gibbs"] = "uniform",
    theta: float = 0.5,
    seed: int | np.random.Generator,
) -> tuple[str, ...]:
    """Draw labels without replacement, as the observed labels of an experiment.

    Parameters
    ----------
    space : MetricSpace
        The space, from whose allowed labels the function draws.
    n : int
        Number of labels to draw.
    method : {"uniform", "gibbs"}, default="uniform"
        ``"gibbs"``: each draw takes one of the labels that are left, with probability proportional to
        ``exp(-theta * d(label, center))``, where the center is `uniform_center`.
    theta : float, default=0.5
        Rate of the exponent, not negative, per edge-length unit; 0 makes Gibbs draws uniform.
    seed : int or numpy.random.Generator
        Source of the randomness; the same seed gives the same labels.

    Returns
    -------
    keys : tuple of str, length n
        Keys in the order drawn.

    Raises
    ------
    InputError
        If `n` is not between 1 and the number of labels, or another argument breaks its rule.
    SpaceError
        If an allowed label is not a point of the space and so cannot be observed.

    Notes
    -----
    Gibbs draws add a standard Gumbel variable g_i to each ``a_i = -theta * d_i`` and take the n labels with
    the largest sums, largest first. The result has the distribution of successive draws: label i has the
    largest sum with probability ``exp(a_i) / sum_j exp(a_j)``, and given this label, the order of the others
    is again that of independent Gumbel variables. This takes one pass over the labels and does not underflow
    far from the center.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    >>> len(set(sample_observed(line, 3, method="gibbs", seed=0)))
    3
    """
    points = allowed_points(space)
    n = whole_number("n", n, 1, len(points))
    if not isinstance(method, str) or method not in ("uniform", "gibbs"):
        raise InputError(f"method: {method!r} given; choose 'uniform' or 'gibbs'")
    theta = nonnegative_number("theta", theta)
    rng = generator(seed)
    if method == "uniform":
        drawn = rng.permutation(len(points))[:n]
    else:
        center = _center(space, points)
        distance = space.distances(cols=points[[center]])[:, 0].astype(np.float64)
        if theta * float(distance.max()) > sys.float_info.max:
            raise InputError(
                f"theta: {theta} times the distance {distance.max():g} overflows; give a smaller theta"
            )
        drawn = np.argsort(theta * distance - rng.gumbel(size=len(points)), kind="stable")[:n]
    return space.points.take(points[drawn])


def uniform_center(space: MetricSpace) -> str:
    """Return the allowed label with the smallest sum of squared distances to all allowed labels.

    Parameters
    ----------
    space : MetricSpace
        The space; each allowed label must be a point (`SpaceError`).

    Returns
    -------
    key : str
        The Fréchet mean of uniform weights over the allowed labels, itself an allowed label; ties go to the
        lowest canonical index (`ontology.geometry.ties`).

    Notes
    -----
    O(n_points) on trees, also if only leaves are allowed: the sum of a vertex is computed from that of its
    parent. If the lengths are whole numbers, the sums are too; otherwise they are float64 and only find the
    finalists, among which the plain sum decides. On Euclidean spaces `EuclideanScorer` takes
    O(n_labels * n_dimensions). Elsewhere all distances between allowed labels are measured, a block of rows
    at a time.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> uniform_center(TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3]))
    'c'
    """
    points = allowed_points(space)
    return space.keys[_center(space, points)]


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the random generator for `seed`, or raise `InputError`."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed, 0))


def _center(space: MetricSpace, points: NDArray[np.int64]) -> int:
    """Return the allowed label at the center, as an index among the allowed labels."""
    if isinstance(space, CompleteSpace):
        return 0  # all labels have the same distances
    if isinstance(space, TreeSpace):
        return _tree_center(space.tree, points)
    ones = np.ones(len(points))
    if isinstance(space, EuclideanSpace):
        return int(EuclideanScorer(space, points).score(ones).index[0])
    return int(DenseScorer(RowsOnDemand(space, points)).score(ones).index[0])


def _tree_center(tree: RootedTree, points: NDArray[np.int64]) -> int:
    at = tree.positions(points)
    # relative to the vertex where all of them meet; vertices outside its subtree play no role
    top = tree.meeting(int(at.min()), int(at.max()))
    inside = np.arange(top, int(tree.end[top]))
    depth, length = np.zeros(len(tree)), np.zeros(len(tree))
    depth[inside], length[inside[1:]] = tree.below(top, inside), tree.length[inside[1:]]
    reach = 2 * float(depth.max())
    if (length == np.floor(length)).all() and len(points) * max(reach, 1) ** 2 < _LARGEST_EXACT:
        whole = _squared_sums(tree, length.astype(np.int64), depth.astype(np.int64), at)
        return int(tied(whole.astype(np.float64))[0])
    # every step of the sums below rounds numbers that are at most this large
    sums = _squared_sums(tree, length, depth, at)
    slack = 32 * (len(tree) + 8) * 2.0**-53 * len(points) * reach**2
    finalists = np.flatnonzero(sums <= sums.min() * (1 + 1e-11) + 2 * slack)
    plain = np.empty(len(finalists))
    step = max(1, (1 << 21) // len(points))
    for start in range(0, len(finalists), step):
        block = tree.distances(at, at[finalists[start : start + step]])
        plain[start : start + step] = plain_sums(
            np.ones((len(points), 1)), powers(block, 2), np.arange(block.shape[1])
        )
    return int(finalists[tied(plain)[0]])


def _squared_sums(
    tree: RootedTree, length: NDArray[np.number], depth: NDArray[np.number], at: NDArray[np.int64]
) -> NDArray[np.number]:
    """Return, for each of the positions `at`, the sum of squared distances to all of them.

    Let n be the number of positions `at`, and let S and F be the sums of the distances and of the squared
    distances from a vertex p to them. Let c be a child of p, at the end of an edge of length t, let m be the
    number of the positions at or below c, and B the sum of their distances to p. Then the sums at c are
    ``S + t (n - 2m)`` and ``F + 2t (S - 2B) + t^2 n``. m and B are differences of running sums over the
    preorder. The sum of the steps from the root down to a vertex is also a running sum over the preorder, if
    each step is subtracted again where the subtree of its child ends. Whole numbers stay exact even if a
    running sum wraps around 2^63, because the differences are still right.
    """
    n, parent, end = len(at), tree.parent, tree.end
    here = np.bincount(at, minlength=len(tree)).astype(depth.dtype)
    number = _running(here)
    moment = _running(here * depth)
    below = number[end] - number[:-1]
    pull = moment[end] - moment[:-1] - below * depth[parent]
    first = (here * depth).sum() + _along_paths(tree, length * (n - 2 * below))
    second = (here * depth * depth).sum() + _along_paths(
        tree, 2 * length * (first[parent] - 2 * pull) + length * length * n
    )
    return np.asarray(second[at])


def _running(values: NDArray[np.number]) -> NDArray[np.number]:
    return np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])


def _along_paths(tree: RootedTree, steps: NDArray[np.number]) -> NDArray[np.number]:
    """Return the sum of `steps` from the root (exclusive) down to each vertex (inclusive)."""
    steps = steps.copy()
    steps[0] = 0
    change = np.zeros(len(tree) + 1, dtype=steps.dtype)
    change[:-1] = steps
    np.subtract.at(change, tree.end, steps)
    return np.asarray(np.cumsum(change[:-1]))

"""sample_observed: draw random sets of observed labels, uniformly or mostly near the center of the space."""

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
    """Draw labels without replacement, for an experiment to use as its observed labels.

    Parameters
    ----------
    space : MetricSpace
        The space; the draws are from its allowed labels.
    n : int
        Number of labels to draw.
    method : {"uniform", "gibbs"}, default="uniform"
        ``"uniform"``: all labels are equally likely. ``"gibbs"``: each draw takes one of the labels that are
        left, with probability proportional to ``exp(-theta * d(label, center))``, where d is the distance and
        the center is `uniform_center`.
    theta : float, default=0.5
        Factor in the exponent of Gibbs draws, at least 0, per unit of edge length. If it is 0, Gibbs draws
        are uniform.
    seed : int or numpy.random.Generator
        Source of the randomness; the same seed gives the same labels.

    Returns
    -------
    keys : tuple of str, length n
        Keys in the order drawn.

    Raises
    ------
    InputError
        If `n` is not between 1 and the number of allowed labels, or another argument is invalid.
    SpaceError
        If an allowed label is not a point of the space and so cannot be observed.

    Notes
    -----
    Gibbs draws are made all at once. Let d_i be the distance of label i from the center. The function adds a
    standard Gumbel variable g_i to each ``a_i = -theta * d_i`` and takes the n labels with the largest sums,
    largest first. The result has the distribution of successive draws: label i has the largest sum with
    probability ``exp(a_i) / sum_j exp(a_j)``, and once the first label is known, the same holds for the
    labels that are left. This takes one pass over the labels and does not underflow far from the center.

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
        The space. If an allowed label is not a point, `SpaceError` is raised.

    Returns
    -------
    key : str
        The Fréchet mean of uniform weights over the allowed labels, itself an allowed label; ties go to the
        lowest canonical index (`ontology.geometry.ties`).

    Notes
    -----
    Trees take O(n_points) time, even if only leaves are allowed: the sum of a vertex is computed from the sum
    of its parent. If all edge lengths are whole numbers and the sums are below 2^62, the sums are exact, and
    the label with the smallest sum is returned. Otherwise the sums are float64 and serve only to rule labels
    out; the plain sum decides among the finalists.
    Euclidean spaces take O(n_labels * n_dimensions) time (`EuclideanScorer`). On other spaces all distances
    between allowed labels are measured, a block of rows at a time.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> uniform_center(TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3]))
    'c'
    """
    points = allowed_points(space)
    return space.keys[_center(space, points)]


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return `seed` if it is a generator, else a new generator with this seed, a whole number >= 0."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed, 0))


def _center(space: MetricSpace, points: NDArray[np.int64]) -> int:
    """Return the index of the center of the space (see `uniform_center`) among the allowed labels."""
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
    """Return, for each of the vertices `at`, the sum of its squared distances to all vertices in `at`.

    The vertices are given as positions in `tree`; `length` and `depth` contain a number for each position.
    Let n be the number of vertices in `at`. For a vertex p of the tree, let S be the sum of its distances to
    the vertices in `at`, and F the sum of the squares of these distances. Let c be a child of p, and t the
    length of the edge between p and c. Let m be the number of vertices in `at` that are at or below c, and B
    the sum of the distances from these m vertices to p. Then S and F of c are ``S + t (n - 2m)`` and
    ``F + 2t (S - 2B) + t^2 n``.

    Both m and B are differences of running sums over the preorder. Each edge on the path from the root to a
    vertex changes S and F by the terms above. So S and F of the vertex are those of the root plus the changes
    on this path. The sum of these changes is a running sum as well: the change on the edge from p to c is
    added at c, and subtracted again where the subtree of c ends. Whole numbers stay exact even if a running
    sum overflows 2^63, because overflow cancels in the differences.
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
    """Return, for each vertex, a sum over the vertices on the path from the root down to it.

    `steps` contains the term of each vertex. The sum of a vertex includes its own term, but not the root's.
    """
    steps = steps.copy()
    steps[0] = 0
    change = np.zeros(len(tree) + 1, dtype=steps.dtype)
    change[:-1] = steps
    np.subtract.at(change, tree.end, steps)
    return np.asarray(np.cumsum(change[:-1]))

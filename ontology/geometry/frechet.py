"""Fréchet means and variances over metric spaces, and the choice of the scorer that computes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.arguments import listed
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.scoring.dense.euclideanscorer import EuclideanScorer
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.hullscorer import HullScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace
from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace
from labelgrove.ontology.geometry.spaces.matrixspace import MatrixSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import observed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import FrechetResult, check_beta

__all__ = ["frechet_mean", "frechet_mean_set", "frechet_variance", "make_scorer", "point_scorer"]


def make_scorer(space: MetricSpace, observed: Iterable[str], *, beta: float = 2) -> Scorer:
    """Prepare the scorer that fits a space.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    observed : iterable of str
        Keys of the observed labels, each listed once, in the order of the columns of weights. Any point of
        the space may be observed.
    beta : float, default=2
        Exponent of the distances, a positive number: 2 gives Fréchet means, 1 gives Fréchet medians.

    Returns
    -------
    scorer : TreeScorer, RestrictedTreeScorer, HullScorer, EuclideanScorer, GraphScorer or DenseScorer
        With `beta` 2: a `TreeScorer` for a tree if every label is allowed, a `RestrictedTreeScorer` for any
        other tree, a `EuclideanScorer` for vectors (it needs no matrix of distances) and a `GraphScorer` for
        a graph or a matrix (it measures all distances once). With any other `beta`: a `HullScorer` for a
        tree. For all spaces and exponents not named so far: a `DenseScorer`. For complete graphs and vectors,
        a `DenseScorer` measures rows of distances when they are needed; for other spaces, it measures all
        distances once.

    Raises
    ------
    InputError
        If `observed` is empty or names a label twice, or `beta` is not positive.
    UnknownLabelError
        If `observed` names a label that is not a point of the space.
    """
    check_beta(beta)
    return point_scorer(space, observed_points(space, listed("observed", observed, ordered=True)), beta=beta)


def point_scorer(space: MetricSpace, points: NDArray[np.int64], *, beta: float = 2) -> Scorer:
    """Prepare the scorer of `make_scorer` for observed labels given as points, without looking up keys.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    points : ndarray of shape (n_observed,), dtype=int64
        Points of the space, each listed once, in the order of the columns of weights.
    beta : float, default=2
        Exponent of the distances, positive.

    Raises
    ------
    InputError
        If there are no points, or a point is not in the space.
    """
    if isinstance(space, TreeSpace) and beta == 2:
        return TreeScorer(space, points) if space.allowed is None else RestrictedTreeScorer(space, points)
    if isinstance(space, TreeSpace):
        return HullScorer(space, points, beta=beta)
    if isinstance(space, EuclideanSpace) and beta == 2:
        return EuclideanScorer(space, points)
    if isinstance(space, GraphSpace | MatrixSpace):
        distances = space.distances(cols=points)
        return GraphScorer(distances) if beta == 2 else DenseScorer(distances, beta=beta)
    return DenseScorer(RowsOnDemand(space, points), beta=beta)


def frechet_mean(
    space: MetricSpace,
    observed: Iterable[str],
    weights: ArrayLike,
    *,
    beta: float = 2,
    top: int = 1,
    candidates: Iterable[str] | None = None,
) -> FrechetResult:
    """Return the Fréchet mean of each sample, or its best `top` labels.

    It is the allowed label y with the smallest ``sum_i w_i d(y, l_i)^beta``, where w are the weights of the
    sample on the observed labels l_1, ..., l_K.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    observed : iterable of str, length n_observed
        Keys of the observed labels, each listed once. Any point of the space may be observed.
    weights : array_like of shape (n_samples, n_observed) or (n_observed,)
        Non-negative; rows need not sum to one. They are converted to float64 and not normalized.
    beta : float, default=2
        Exponent of the distances: 2 gives the Fréchet mean, 1 the median.
    top : int, default=1
        Number of labels to return, best first.
    candidates : iterable of str, optional
        Keys of the allowed labels that may be returned; all by default.

    Returns
    -------
    result : FrechetResult
        ``index`` and ``value`` have shape (n_samples,), or (n_samples, top) for ``top > 1``. If `weights` is
        a single row, the first axis is left out.

    Raises
    ------
    WeightError, UnknownLabelError, InputError
        For arguments that break a rule; the message names the rule.

    Notes
    -----
    The result is exact up to the tie rule of `ontology.geometry.ties`; among tied labels, the one with the
    lowest canonical index is returned. A sample takes O(n_observed) time on a tree with `beta` 2, and
    O(n_observed * n_labels) time in other cases. On graphs, a sample takes less time if it is in a
    batch of several hundred. To score many batches, prepare a scorer once with `make_scorer`.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> space = metric_space(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")]))
    >>> result = frechet_mean(space, ["oak", "elm"], [[1.0, 1.0], [1.0, 0.0]])
    >>> space.keys.take(result.index), result.value
    (('tree', 'oak'), array([2., 0.]))
    """
    scorer = make_scorer(space, observed, beta=beta)
    result = scorer.score(weights, top, None if candidates is None else space.index(candidates))
    if np.ndim(weights) == 1:
        return FrechetResult(result.index[0], result.value[0], result.n_tied[0])
    return result


def frechet_mean_set(
    space: MetricSpace, observed: Iterable[str], weights: ArrayLike, *, beta: float = 2
) -> tuple[str, ...]:
    """Return the keys of all labels tied for the Fréchet mean, in canonical order.

    Parameters
    ----------
    space, observed, beta
        As for `frechet_mean`.
    weights : array_like of shape (n_observed,)
        One row of weights.

    Raises
    ------
    WeightError, UnknownLabelError, InputError
        As for `frechet_mean`, and `WeightError` if there is more than one row of weights.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
    >>> frechet_mean_set(CompleteSpace(["a", "b", "c"]), ["a", "b"], [1.0, 1.0])
    ('a', 'b')
    """
    return space.keys.take(make_scorer(space, observed, beta=beta).tied(weights))


def frechet_variance(
    space: MetricSpace, observed: Iterable[str], weights: ArrayLike, *, beta: float = 2
) -> NDArray[np.float64]:
    """Return the Fréchet variance of every allowed label, for each sample.

    It is ``sum_i w_i d(y, l_i)^beta`` for a label y, where w are the weights of the sample on the observed
    labels l_1, ..., l_K.

    Parameters
    ----------
    space, observed, weights, beta
        As for `frechet_mean`.

    Returns
    -------
    variance : ndarray of shape (n_samples, n_labels), dtype=float64
        One column for each allowed label, in canonical order. The unit is that of edge lengths to the power
        of `beta`, times that of the weights. For a single row of weights, the shape is (n_labels,).

    Raises
    ------
    WeightError, UnknownLabelError, InputError
        As for `frechet_mean`.

    Notes
    -----
    O(n_samples * n_observed * n_labels) time. In addition to the result and the scorer (`make_scorer`),
    the function needs memory for one batch of rows of distances.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
    >>> frechet_variance(CompleteSpace(["a", "b", "c"]), ["a", "b"], [3.0, 1.0])
    array([1., 3., 4.])
    """
    variance = make_scorer(space, observed, beta=beta).variance(weights)
    return variance[0] if np.ndim(weights) == 1 else variance

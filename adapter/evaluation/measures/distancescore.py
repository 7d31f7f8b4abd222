"""Mean squared distance to the truth, for answers given as keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.adapter.evaluation.measures.pairdistances import pair_distances
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, counted
from labelgrove.ontology.geometry import MatrixSpace, MetricSpace

__all__ = ["expected_sq_distance", "mean_over_samples"]


def expected_sq_distance(
    y_true: ArrayLike, y_pred: ArrayLike, *, space: MetricSpace, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean squared distance from answers to the truth.

    Parameters
    ----------
    y_true : array_like of str, shape (n_samples,)
        Keys of the true labels: any points of `space`.
    y_pred : array_like of str, shape (n_samples,)
        Keys of the answers: allowed labels.
    space : MetricSpace
        Measures the distances.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample; equal by default.

    Raises
    ------
    UnknownLabelError
        For labels outside the space; the message says how many there are.
    SpaceError
        If `space` is a matrix that has no column for a truth.
    InputError
        For arrays of different lengths or without samples.

    Examples
    --------
    >>> from labelgrove.ontology import LabelGraph
    >>> from labelgrove.ontology.geometry import metric_space
    >>> space = metric_space(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    >>> expected_sq_distance(["oak", "oak"], ["elm", "tree"], space=space)
    2.5
    """
    truth, answer = _keys("y_true", y_true), _keys("y_pred", y_pred)
    if len(truth) != len(answer) or not truth:
        raise InputError(
            f"y_true, y_pred: {len(truth)} and {counted(len(answer), 'label')} given; both must be "
            "equally long, with at least one label"
        )
    try:
        column = space.point_index(truth)
    except UnknownLabelError as error:
        if isinstance(space, MatrixSpace) and all(key in space.keys for key in truth):
            raise SpaceError(
                f"y_true: {error}; a block bundle has only distances to its observed labels; make the "
                "scorer from the graph: expected_sq_distance_scorer(graph)"
            ) from None
        raise UnknownLabelError(f"y_true: {error}; name labels by key, or leave these samples out") from None
    try:
        row = space.index(answer)
    except UnknownLabelError as error:
        raise UnknownLabelError(f"y_pred: {error}; the answers must be allowed labels of the space") from None
    distance = pair_distances(space, row, column)
    return mean_over_samples(distance * distance, sample_weight)


def mean_over_samples(values: NDArray[np.generic], sample_weight: ArrayLike | None) -> float:
    """Return the mean of one value per sample, weighted by `sample_weight` if it is given."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(values.astype(np.float64), weights=weights))


def _keys(name: str, labels: ArrayLike) -> list[str]:
    listed = np.asarray(labels, dtype=object)
    if listed.ndim != 1:
        raise InputError(f"{name}: shape {listed.shape} given, expected one key for each sample")
    return list(listed)

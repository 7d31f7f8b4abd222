"""compare_spaces: one classifier, several metrics, and the expected squared distance in units of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry.arguments import given_array, listed, refuse_other_than
from labelgrove.ontology.geometry.frechet import make_scorer
from labelgrove.ontology.geometry.spaces.kinds import MetricSpace

__all__ = ["Comparison", "compare_spaces", "squared_distances"]

_BLOCK_ENTRIES = 1 << 21


@dataclass(frozen=True)
class Comparison:
    """What the Fréchet-mean rule loses in one space.

    Attributes
    ----------
    name : str
        Of the space.
    mean_squared : float
        Mean over the samples of the squared distance from the predicted to the true label: the mean squared
        error where labels are numbers on a line, the 0-1 loss on a complete graph.
    diameter : float
        Largest distance between two allowed labels.
    relative : float
        ``mean_squared / diameter**2``, without a unit, which is what spaces can be compared by.
    """

    name: str
    mean_squared: float
    diameter: float
    relative: float


def compare_spaces(
    spaces: Mapping[str, MetricSpace],
    observed: Iterable[str],
    weights: ArrayLike,
    truth: Sequence[str],
) -> tuple[Comparison, ...]:
    """Predict by the Fréchet mean in each space, from the same probabilities, and compare the losses.

    Parameters
    ----------
    spaces : mapping of str to MetricSpace
        Each holds the observed and the true labels among its points.
    observed : iterable of str, length n_observed
        Keys of the observed labels, in the order of the columns of `weights`.
    weights : array_like of shape (n_samples, n_observed)
        Probabilities or any other non-negative weights.
    truth : sequence of str, length n_samples
        Key of the true label of each sample.

    Returns
    -------
    comparisons : tuple of Comparison
        In the order of `spaces`.

    Raises
    ------
    SpaceError
        For a space of diameter 0, in which there is nothing to compare.
    InputError
        If there is no space or no sample, or `truth` has another length than `weights`.
    UnknownLabelError
        If a space lacks a label.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.kinds import CompleteSpace, TreeSpace
    >>> from labelgrove.ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abc"), [-1, 0, 1])
    >>> spaces = {"flat": CompleteSpace(["a", "b", "c"]), "line": line}
    >>> found = compare_spaces(spaces, ["a", "c"], [[0.6, 0.4], [0.4, 0.6]], ["a", "a"])
    >>> [(one.name, one.mean_squared, one.relative) for one in found]
    [('flat', 0.5, 0.5), ('line', 1.0, 0.25)]
    """
    columns = listed("observed", observed, ordered=True)
    shape = given_array("weights", weights, WeightError).shape
    n_rows = shape[0] if len(shape) == 2 else len(shape)
    truth = listed("truth", truth, ordered=True)
    if len(truth) != n_rows or not n_rows:
        raise InputError(
            f"truth: {len(truth)} keys for {n_rows} rows of weights; give one key for each row, one at least"
        )
    refuse_other_than(Mapping, "spaces", spaces, "a name for each space")
    if not spaces:
        raise InputError("spaces: empty; name at least one space")
    found = []
    for name, space in spaces.items():
        refuse_other_than(MetricSpace, f"spaces[{name!r}]", space, "build one with metric_space(graph)")
        try:
            true = space.point_index(truth)
        except UnknownLabelError as error:
            raise UnknownLabelError(f"truth, in the space {name!r}: {error}") from None
        diameter = space.diameter()
        if diameter == 0:
            raise SpaceError(f"spaces: {name!r} has diameter 0; compare spaces with labels apart")
        predicted = make_scorer(space, columns).score(weights).index
        mean = float(squared_distances(space, predicted, true).mean())
        found.append(Comparison(name, mean, diameter, mean / diameter**2))
    return tuple(found)


def squared_distances(
    space: MetricSpace, labels: NDArray[np.int64], points: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the squared distance of each allowed label to its own point; both of shape (n_samples,).

    Notes
    -----
    Distances are measured between distinct labels and distinct points, in blocks of points.
    """
    distinct_labels, row = np.unique(labels, return_inverse=True)
    distinct_points, col = np.unique(points, return_inverse=True)
    out = np.empty(len(labels))
    step = max(1, _BLOCK_ENTRIES // len(distinct_labels))
    for start in range(0, len(distinct_points), step):
        block = space.distances(distinct_labels, distinct_points[start : start + step]).astype(np.float64)
        here = np.flatnonzero((col >= start) & (col < start + step))
        out[here] = block[row[here], col[here] - start] ** 2
    return out

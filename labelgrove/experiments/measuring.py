"""Measure the errors of every decision rule on predictions, and apply and fit temperatures.

A decision rule answers each sample with a label. The decision rules are the Fréchet mean, argmax and the
other baselines. On every row of predictions, argmax is verified to be the Fréchet mean on the complete graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.evaluation import RULES, evaluate
from labelgrove.adapter.evaluation.baselines import constant_label, least_loss
from labelgrove.adapter.evaluation.measures.pairdistances import pair_distances
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import GroveError, first_few
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace, make_scorer
from labelgrove.ontology.geometry.ties import check_weights

__all__ = [
    "ArgmaxIdentityError",
    "argmax_columns",
    "check_argmax",
    "class_errors",
    "fitted_temperature",
    "mean_and_argmax",
    "rule_errors",
    "squared_errors",
    "tempered",
]

_ROWS = 512


class ArgmaxIdentityError(GroveError):
    """Raised if argmax and the Fréchet mean of the complete graph differ on a row: a defect of labelgrove."""


def rule_errors(space: MetricSpace, predicted: Predicted) -> dict[str, Any]:
    """Return the errors of every decision rule, such as argmax, on one set of predictions.

    On every row, argmax is verified to be the Fréchet mean on the complete graph.

    Parameters
    ----------
    space : MetricSpace
    predicted : Predicted
        The predictions; every true label is an allowed label of `space`.

    Returns
    -------
    result : dict
        ``rules`` contains for each rule ``squared`` (E[d^2], in squared edge-length units), ``accuracy`` and
        ``unobserved`` (E[d^2] over the samples whose label was not observed, or None if there are none). The
        other entries are ``n_samples``, ``n_observed``, ``diameter``, ``checked_rows`` and ``one_answer``:
        whether argmax, the Fréchet mean and the constant give the same answer to every sample, so that the
        rules cannot be told apart.

    Raises
    ------
    ArgmaxIdentityError
        As for `check_argmax`.
    """
    checked = check_argmax(predicted.columns, predicted.probabilities)
    found = evaluate(
        space,
        predicted.probabilities,
        predicted.truth,
        observed=predicted.columns,
        train_truth=predicted.train_labels,
        resamples=1,  # intervals here are over trials, not over the samples of one
    )
    return {
        "rules": {
            rule: {
                "squared": found[rule].all.mean_squared_distance,
                "accuracy": found[rule].all.accuracy,
                "unobserved": found[rule].unobserved.mean_squared_distance,
            }
            for rule in RULES
        },
        "n_samples": found.n_samples,
        "n_observed": found.n_observed,
        "diameter": found.diameter,
        "one_answer": _is_one_answer(space, predicted, found.constant),
        "checked_rows": checked,
    }


def mean_and_argmax(
    space: MetricSpace, predicted: Predicted, *, beta: float = 2
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the squared errors of the Fréchet mean and of argmax, and the answers of the Fréchet mean.

    Parameters
    ----------
    space : MetricSpace
    predicted : Predicted
    beta : float, default=2
        Exponent of the distances in the mean; errors are squared distances for any exponent.

    Returns
    -------
    mean, argmax : ndarray of shape (n_samples,), dtype=float64
    answers : ndarray of shape (n_samples,), dtype=int64
        Answers of the Fréchet mean, as indices of allowed labels.
    """
    answers = make_scorer(space, predicted.columns, beta=beta).score(predicted.probabilities).index
    truth = space.index(predicted.truth)
    columns = space.index(predicted.columns)
    first = columns[argmax_columns(columns, predicted.probabilities)]
    return squared_errors(space, truth, answers), squared_errors(space, truth, first), answers


def class_errors(space: MetricSpace, predicted: Predicted) -> dict[str, list[float]]:
    """Return the mean squared error of three rules for each true label, in the order of `np.unique`.

    The rules are ``argmax``, ``frechet_mean`` and ``constant``: one label, the Fréchet mean of the training
    labels, for all samples.
    """
    mean, argmax, _ = mean_and_argmax(space, predicted)
    labels, row, counts = np.unique(predicted.truth, return_inverse=True, return_counts=True)
    one = np.full(len(row), constant_label(space, Counter(predicted.train_labels)))
    constant = squared_errors(space, space.index(predicted.truth), one)
    return {
        rule: (np.bincount(row, squared, minlength=len(labels)) / counts).tolist()
        for rule, squared in (("argmax", argmax), ("frechet_mean", mean), ("constant", constant))
    }


def _is_one_answer(space: MetricSpace, predicted: Predicted, constant: str) -> bool:
    """Return whether argmax and the Fréchet mean both answer every sample with the label `constant`."""
    columns = space.point_index(predicted.columns)
    argmax = columns[argmax_columns(columns, predicted.probabilities)]
    if (argmax != space.point_index([constant])[0]).any():
        return False
    mean = make_scorer(space, predicted.columns).score(predicted.probabilities).index
    return bool((mean == space.index([constant])[0]).all())


def squared_errors(
    space: MetricSpace, truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the squared distance from each answer to its truth; both are indices of allowed labels."""
    points = answers if space.allowed is None else space.allowed[answers]
    return pair_distances(space, truth, points) ** 2


def tempered(probabilities: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """Divide the logarithms of the probabilities in each row by `temperature`, and return their softmax.

    The result is float64. If a row is not valid as weights, raise `WeightError`.

    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3).tolist()
    [[0.941, 0.059]]
    """
    check_weights(probabilities, probabilities.shape[1])
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities, dtype=np.float64) / temperature
    logits -= logits.max(axis=1, keepdims=True)
    out = np.exp(logits)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def fitted_temperature(predicted: Predicted) -> float:
    """Return the temperature with the greatest likelihood of the true labels, which must all have columns."""
    fit = fit_temperature(
        predicted.probabilities, predicted.truth, columns=predicted.columns, outputs="probabilities"
    )
    return fit.temperature


def argmax_columns(order: NDArray[np.int64], probabilities: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each row the index of the column with the least expected 0-1 loss.

    `order` has a number for each column; of tied columns, the one with the smallest number is returned.
    """
    arranged = np.argsort(order, kind="stable")
    out = np.empty(len(probabilities), dtype=np.int64)
    for start in range(0, len(probabilities), _ROWS):
        rows = np.asarray(probabilities[start : start + _ROWS], dtype=np.float64)[:, arranged]
        out[start : start + _ROWS] = arranged[least_loss(rows)]
    return out


def check_argmax(columns: Sequence[str], probabilities: NDArray[Any]) -> int:
    """Verify on every row that the Fréchet mean of the complete graph equals argmax, ties included.

    Parameters
    ----------
    columns : sequence of str, length n_observed
    probabilities : ndarray of shape (n_samples, n_observed)

    Returns
    -------
    n_samples : int
        Number of rows that were checked, which are all rows.

    Raises
    ------
    ArgmaxIdentityError
        If the two differ on a row; the message names the first such rows.

    Notes
    -----
    Only the observed labels are scored. On a complete graph, the variance of any other label is the sum of
    the weights of the row; the variance of an observed label is this sum without its own weight, so it is
    never larger. The check takes O(n_samples * n_observed^2) time; it reads 512 rows at a time.
    """
    space = CompleteSpace(sorted(columns, key=str.encode))
    order = space.index(columns)
    scorer = make_scorer(space, columns)
    expected = order[argmax_columns(order, probabilities)]
    for start in range(0, len(probabilities), _ROWS):
        found = scorer.score(np.asarray(probabilities[start : start + _ROWS])).index
        wrong = np.flatnonzero(found != expected[start : start + _ROWS]) + start
        if len(wrong):
            raise ArgmaxIdentityError(
                f"rows {first_few(wrong.tolist())}: on the complete graph the Fréchet mean is not argmax in "
                f"{len(wrong)} of the {len(found)} rows from row {start} on; please report this with the "
                "probabilities"
            )
    return len(probabilities)

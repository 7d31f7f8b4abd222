"""Fit a temperature, or a scale and a bias for each class, on samples whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.adapter.calibration.temperatures import CAVEAT, LabeledOutputs
from labelgrove.adapter.evaluation.measures.calibrationerror import BINS
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.outputs.rowblocks import OutputStream
from labelgrove.adapter.outputs.weights import softmax
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["TemperatureFit", "fit_temperature", "fit_vector_scaling"]

By = Literal["nll", "ece", "error", "squared_distance"]

_MEASURES = {"nll": "nll", "ece": "ece", "error": "distance_error", "squared_distance": "squared_distance"}
_FAR = ("error", "squared_distance")  # measured on the answers of the Fréchet mean, over all samples
_LOWEST, _HIGHEST = 2.0**-7, 2.0**7
_OCTAVES = 14  # from the lowest to the highest temperature
_STEPS = {"ece": (32, 256), "error": (4, 64), "squared_distance": (4, 64)}  # least and most for each octave
_WORK = 1 << 26  # outputs to read before the number of steps is reduced
_FINE, _ROUNDS, _VALLEYS = 9, 3, 6
_FEW = 50  # with fewer samples a fit is hardly better than a guess


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted temperature and its effect.

    Attributes
    ----------
    temperature : float
        Divisor of the logits: ``Adapter(..., outputs="logits", temperature=fit.temperature)``.
    by : {"nll", "ece", "error", "squared_distance"}
        The measure that the temperature minimizes.
    value, value_before : float
        The measure at the fitted temperature, and at the adapter's temperature (1 without an adapter).
    n_samples, n_unobserved : int
        Number of all samples, and of the samples whose truth is not an observed label.
    at_bound : bool
        Whether the temperature is an end of the searched range, 1/128 to 128, because the measure has no
        minimum inside this range.
    notes : tuple of str
        Warnings and remarks for the user.
    """

    temperature: float
    by: str
    value: float
    value_before: float
    n_samples: int
    n_unobserved: int
    at_bound: bool
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @property
    def samples(self) -> str:
        """A description of the samples on which the measure was computed."""
        if self.by in _FAR:
            return f"{self.n_samples:,} samples, {self.n_unobserved:,} of them with an unobserved truth"
        n_observed = self.n_samples - self.n_unobserved
        return f"the {n_observed:,} of {self.n_samples:,} samples with an observed truth"


@dataclass(frozen=True)
class VectorScaling:
    """A scale and a bias for each column.

    Attributes
    ----------
    scale, bias : tuple of float
        Scale and bias of each column, in the model's order.
    nll, nll_before : float
        Mean negative log-likelihood with the scaling and without it.
    n_samples : int
        Number of samples whose truth is observed, on which the scaling was fitted.
    notes : tuple of str
    """

    scale: tuple[float, ...]
    bias: tuple[float, ...]
    nll: float
    nll_before: float
    n_samples: int
    notes: tuple[str, ...]

    def apply(self, logits: ArrayLike) -> NDArray[np.float64]:
        """Return `logits`, of shape (n, n_columns), scaled and shifted.

        Score the result with ``outputs="logits"``.
        """
        given = np.asarray(logits, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.scale):
            raise InputError(f"logits: shape {given.shape} given, expected (n_samples, {len(self.scale)})")
        scaled: NDArray[np.float64] = given * np.array(self.scale) + np.array(self.bias)
        return scaled

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def fit_temperature(
    P: OutputStream,
    truth: Iterable[str | int],
    *,
    by: By = "nll",
    adapter: Adapter | None = None,
    space: MetricSpace | None = None,
    columns: Iterable[str] | None = None,
    outputs: OutputKind = "logits",
    bins: int = BINS,
) -> TemperatureFit:
    """Return the temperature that minimizes a measure on samples on which the model was not trained.

    Parameters
    ----------
    P : array_like of shape (n_samples, n_columns), sparse outputs or OutputFile
        Logits or log-probabilities; probabilities are replaced by their logarithms.
    truth : iterable of str or int, length n_samples
        Key of each sample's label. If neither `adapter` nor `columns` is given: the index of the label's
        column, as a number or as text.
    by : {"nll", "ece", "error", "squared_distance"}, default="nll"
        ``"nll"``: negative log-likelihood; ``"ece"``: expected calibration error of the model's argmax;
        ``"error"``: share of wrong answers of the Fréchet mean (argmax has the same share at every
        temperature); ``"squared_distance"``: E[d^2], the mean squared distance from the Fréchet mean to the
        truth. The last two need an adapter.
    adapter : Adapter, optional
        Gives the answers and says which kind of outputs P contains. Its own temperature is only compared with
        the result.
    space : MetricSpace, optional
        Used only by the last two measures; as for `adapter.evaluation.evaluate`.
    columns, outputs : optional
        Without an adapter: keys of the columns, and the kind of the outputs.
    bins : int, optional
        Number of bins of the expected calibration error, which all have the same width.

    Returns
    -------
    TemperatureFit

    Raises
    ------
    WeightError, UnknownLabelError
        For invalid outputs and truths, as in `adapter.evaluation.evaluate`.
    InputError
        If arguments do not fit together; also if `by` is ``"nll"`` or ``"ece"`` and no sample has an observed
        truth.
    MissingExtraError
        If `by` is ``"nll"`` and scipy is not installed.

    Notes
    -----
    ``"nll"`` is a smooth function of 1 / temperature with one minimum, which is found to a relative 1e-8. The
    other measures are step functions, with larger steps for fewer samples. They are searched on a grid of
    temperatures, and the grid is refined three times around its six lowest valleys. The ratio between
    neighbors on the grid grows with the number of outputs: from 2^(1/256) to 2^(1/32) for ``"ece"``, and from
    2^(1/64) to 2^(1/4) for the other two. A minimum between grid points can be missed. If several
    temperatures have the smallest value found, the one nearest to 1 is chosen. Samples with an unobserved
    truth are used only for the last two measures.

    Examples
    --------
    >>> fit = fit_temperature([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]], [0, 0, 1, 1])
    >>> round(fit.temperature, 4)  # three of four are right: 2 / T = log 3
    1.8205
    """
    if by not in _MEASURES:
        raise InputError(f"by: {by!r} given; choose {', '.join(map(repr, _MEASURES))}")
    far = by in _FAR
    if far and adapter is None:
        raise InputError(
            f"by: {by!r} is measured on answers of the Fréchet mean: give the adapter that computes them "
            "(argmax gives the same answers at every temperature)"
        )
    data = LabeledOutputs(
        P, truth, adapter=adapter, columns=columns, outputs=outputs, space=space, distances=far
    )
    if not far and not data.n_observed:
        raise InputError(
            f"truth: none of {data.n} samples has an observed label, but by={by!r} needs such samples; fit "
            "by='squared_distance' (grove: --measure squared_distance)"
        )

    def measured(temperatures: list[float]) -> NDArray[np.float64]:
        found = data.measure(temperatures, {_MEASURES[by]}, bins=bins)
        return np.asarray(getattr(found, _MEASURES[by]))

    best = _solved(data) if by == "nll" else _searched(measured, _steps(data, by))
    own = data.adapter.temperature
    before, value = (float(measured([t])[0]) for t in (own, best))
    at_bound = not _LOWEST * (1 + 1e-6) < best < _HIGHEST * (1 - 1e-6)
    return TemperatureFit(
        temperature=best,
        by=by,
        value=value,
        value_before=before,
        n_samples=data.n,
        n_unobserved=data.n - data.n_observed,
        at_bound=at_bound,
        notes=_notes(data, far, at_bound),
    )


def fit_vector_scaling(
    P: OutputStream,
    truth: Iterable[str | int],
    *,
    adapter: Adapter | None = None,
    columns: Iterable[str] | None = None,
    outputs: OutputKind = "logits",
    penalty: float = 1e-3,
) -> VectorScaling:
    """Return the scale and bias of each column that minimize the negative log-likelihood.

    Parameters
    ----------
    P, truth, adapter, columns, outputs
        As for `fit_temperature`; all numbers must be finite.
    penalty : float, default=1e-3
        Weight of ``sum((scale - 1)^2 + bias^2)`` relative to the mean negative log-likelihood; it keeps
        columns without a sample unchanged.

    Raises
    ------
    InputError
        As for `fit_temperature`; also if a logit is minus infinity, or if the penalty is not positive and
        finite.
    MissingExtraError
        If scipy is not installed.

    Notes
    -----
    Reads all rows into memory in float64, and runs L-BFGS from scale 1 and bias 0.
    """
    if not (isinstance(penalty, int | float) and 0 < penalty < np.inf):
        raise InputError(
            f"penalty: {penalty!r} given; it must be a positive finite number (0.001 by default)"
        )
    optimize = _scipy_optimize()
    data = LabeledOutputs(P, truth, adapter=adapter, columns=columns, outputs=outputs)
    seen = data.column >= 0
    if not seen.any():
        raise InputError(
            f"truth: none of {data.n} samples has an observed label, and the fit needs some; give samples "
            "whose truth is observed"
        )
    logits = np.concatenate([rows for _, rows in data.logits()])[seen]
    column = data.column[seen]
    if not np.isfinite(logits).all():
        row, at = (int(i) for i in np.argwhere(~np.isfinite(logits))[0])
        raise InputError(
            f"P: row {np.flatnonzero(seen)[row]}, column {data.adapter.bundle.observed_keys[at]!r} is minus "
            "infinity, which no scale changes; give finite logits"
        )
    n, k = logits.shape
    own = np.zeros((n, k))
    own[np.arange(n), column] = 1.0

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale, bias = parameters[:k], parameters[k:]
        scaled = logits * scale + bias
        probabilities = softmax(scaled, 1.0)
        top = scaled.max(axis=1, keepdims=True)
        log_total = np.log(np.exp(scaled - top).sum(axis=1)) + top[:, 0]
        moved = parameters - start
        value = float((log_total - scaled[np.arange(n), column]).mean()) + penalty * float(moved @ moved)
        pull = (probabilities - own) / n
        slope = np.concatenate([(pull * logits).sum(axis=0), pull.sum(axis=0)])
        return value, slope + 2 * penalty * moved

    start = np.concatenate([np.ones(k), np.zeros(k)])
    solved = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8}
    )
    moved = solved.x - start
    given = {key: i for i, key in enumerate(data.adapter.bundle.observed_keys)}
    order = [given[key] for key in data.adapter.observed]
    absent = k - len(np.unique(column))
    notes = _notes(data, False, False)
    if absent:
        notes += (f"{absent} of {k} columns have no sample: only the penalty determines their values",)
    return VectorScaling(
        scale=tuple(solved.x[:k][order].tolist()),
        bias=tuple(solved.x[k:][order].tolist()),
        nll=float(solved.fun) - penalty * float(moved @ moved),
        nll_before=loss(start)[0],
        n_samples=n,
        notes=notes,
    )


def _solved(data: LabeledOutputs) -> float:
    """Return the temperature at which the negative log-likelihood is smallest and has derivative 0.

    If the derivative is 0 at no temperature in the searched range, return the better end of the range. If it
    is 0 at every temperature, return 1.
    """
    optimize = _scipy_optimize()
    data.measure([1.0], {"nll"})  # refuses truths of probability 0

    def slope(log_temperature: float) -> float:
        """Return the derivative of the negative log-likelihood with respect to 1 / temperature.

        For each sample with an observed truth, take the mean of the logits under the probabilities of the
        model at this temperature, minus the logit of the truth. The derivative is the sum of these
        differences.
        """
        total = 0.0
        for of, logits in data.logits():
            column = data.column[of]
            seen = column >= 0
            rows, at = logits[seen], column[seen]
            rows = rows - rows.max(axis=1, keepdims=True)
            weights = softmax(rows, float(np.exp(log_temperature)))
            expected = np.where(weights > 0, weights * np.where(weights > 0, rows, 0.0), 0.0).sum(axis=1)
            total += float((expected - rows[np.arange(len(rows)), at]).sum())
        return total

    if slope(0.0) == 0:  # then it is 0 at every temperature: the outputs say nothing, or everything
        return 1.0
    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    if slope(low) <= 0:  # too flat even at the sharpest temperature
        return _LOWEST
    if slope(high) >= 0:
        return _HIGHEST
    return float(np.exp(optimize.brentq(slope, low, high, xtol=1e-9)))


def _steps(data: LabeledOutputs, by: str) -> int:
    """Return the number of temperatures to try in each octave (factor of 2): more for fewer outputs."""
    least, most = _STEPS[by]
    return int(np.clip(_WORK // (_OCTAVES * data.n * data.adapter.n_observed), least, most))


def _searched(measured: Callable[[list[float]], NDArray[np.float64]], steps: int) -> float:
    """Return the temperature with the smallest measured value, from a grid refined around its lowest points.

    `measured` returns the values at a list of temperatures, and the grid has `steps` points in each octave.
    The values have many local minima, because each sample that changes its bin or its answer makes a step. So
    the grid has many points, and it is refined around several of them, not only around the best.
    """
    low, high = np.log2(_LOWEST), np.log2(_HIGHEST)
    powers = np.linspace(low, high, _OCTAVES * steps + 1)
    values = measured((2.0**powers).tolist())
    around = np.concatenate([[np.inf], values, [np.inf]])
    valleys = np.flatnonzero((values <= around[:-2]) & (values <= around[2:]))
    starts = sorted(valleys.tolist(), key=lambda i: (values[i], abs(powers[i])))[:_VALLEYS]
    found = [(float(values[i]), abs(float(powers[i])), float(powers[i])) for i in starts]
    step = float(powers[1] - powers[0])
    for _ in range(_ROUNDS):
        grids = [np.clip(np.linspace(at - step, at + step, _FINE), low, high) for _, _, at in found]
        values = measured((2.0 ** np.concatenate(grids)).tolist())
        for i, (grid, own) in enumerate(zip(grids, np.split(values, len(grids)), strict=True)):
            best = min((float(v), abs(float(p)), float(p)) for v, p in zip(own, grid, strict=True))
            found[i] = min(found[i], best)
        step *= 2 / (_FINE - 1)
    return float(2.0 ** min(found)[2])


def _notes(data: LabeledOutputs, far: bool, at_bound: bool) -> tuple[str, ...]:
    notes = []
    left = data.n - data.n_observed
    if not left:
        notes.append(CAVEAT)
    elif not far:
        notes.append(f"{left} of {data.n} samples have an unobserved truth and are not used for the fit")
    if at_bound:
        notes.append(
            "the best temperature is at an end of the range: the samples are separable, too few, or carry no "
            "information; do not use it without evaluating it on other samples"
        )
    if data.n < _FEW:
        notes.append(f"few samples ({data.n}): the temperature is uncertain")
    return tuple(notes)


def _scipy_optimize() -> Any:
    try:
        from scipy import optimize
    except ImportError as error:
        raise MissingExtraError.of("scipy", "science", "fitting a calibration") from error
    return optimize

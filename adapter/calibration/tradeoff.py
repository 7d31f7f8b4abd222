"""The trade-off between distance and calibration.

`TradeOff` contains measures at several temperatures. `BetaTable` contains errors for several exponents of the
distances at several temperatures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labelgrove.adapter.calibration.temperatures import CAVEAT, LabeledOutputs, check_temperatures
from labelgrove.adapter.evaluation.measures.calibrationerror import BINS, Reliability
from labelgrove.adapter.outputs.rowblocks import OutputStream
from labelgrove.adapter.outputs.weights import softmax
from labelgrove.adapter.scorer import Adapter
from labelgrove.adapter.texttable import Table
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["BETAS", "TEMPERATURES", "BetaTable", "TradeOff", "beta_table", "trade_off"]

TEMPERATURES = tuple(float(t) for t in 2.0 ** np.arange(-5.0, 5.5, 0.5))
"""Default temperatures: from 1/32 to 32, in steps of a factor of the square root of 2."""

BETAS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Default exponents of the distances: those of the source paper's ablation."""


@dataclass(frozen=True)
class TradeOff:
    """Measures at each temperature, and the default and best temperatures.

    Attributes
    ----------
    temperatures : tuple of float
        The temperatures in ascending order, including the default.
    squared_distance : tuple of float
        E[d^2], the mean squared distance from the Fréchet mean to the truth.
    accuracy : tuple of float
        Share of right answers of the Fréchet mean.
    ece : tuple of float or None
        Calibration error of the model's argmax, over samples whose truth is observed; None without such
        samples.
    default, distance_best, ece_best : int or None
        Indices into `temperatures`: of the adapter's temperature, of the temperature with the smallest
        E[d^2], and of the temperature with the smallest `ece`. If several temperatures have the smallest
        value, the one nearest to the default is chosen.
    reliability : Reliability
        Reliability at the default temperature.
    n_samples, n_unobserved : int
    notes : tuple of str
    """

    temperatures: tuple[float, ...]
    squared_distance: tuple[float, ...]
    accuracy: tuple[float, ...]
    ece: tuple[float | None, ...]
    default: int
    distance_best: int
    ece_best: int | None
    reliability: Reliability
    n_samples: int
    n_unobserved: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def table(self, *, fitted: float | None = None) -> Table:
        """Return a table of the measures at each temperature.

        Marks show the default temperature, the temperature `fitted`, the one with the smallest E[d²], and the
        one with the smallest ECE.
        """
        rows = []
        marks = {"default": self.default, "E[d²]-best": self.distance_best, "ECE-best": self.ece_best}
        for i, temperature in enumerate(self.temperatures):
            listed = ["fitted"] if temperature == fitted else []
            named = ", ".join([*listed, *(name for name, at in marks.items() if at == i)])
            rows.append((named, temperature, self.squared_distance[i], self.ece[i], self.accuracy[i]))
        columns = ("", "temperature", "E[d²]", "ECE", "accuracy")
        return Table("Temperatures", columns, tuple(rows))


@dataclass(frozen=True)
class BetaTable:
    """The mean squared distance E[d^2] from answers to the truth, for each exponent and each temperature.

    The exponent is that of the distances in the Fréchet variance: 2 for the Fréchet mean.

    Attributes
    ----------
    betas, temperatures : tuple of float
    squared_distance : tuple of tuple of float
        A row for each exponent, a column for each temperature.
    best : tuple of two int
        Row and column of the smallest value; of equal values the first.
    """

    betas: tuple[float, ...]
    temperatures: tuple[float, ...]
    squared_distance: tuple[tuple[float, ...], ...]
    best: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return a table with a row for each exponent; its title names the smallest value."""
        beta, temperature = self.betas[self.best[0]], self.temperatures[self.best[1]]
        title = f"E[d²] by exponent and temperature, least at beta {beta:g} and temperature {temperature:.4g}"
        rows = zip(self.betas, *zip(*self.squared_distance, strict=True), strict=True)
        return Table(title, ("beta", *(f"T = {t:.4g}" for t in self.temperatures)), tuple(rows))


def trade_off(
    adapter: Adapter,
    P: OutputStream,
    truth: Iterable[str],
    *,
    space: MetricSpace | None = None,
    temperatures: Iterable[float] = TEMPERATURES,
    bins: int = BINS,
) -> TradeOff:
    """Return the mean squared distance E[d^2], the calibration error and the accuracy at each temperature.

    Parameters
    ----------
    adapter, P, truth, space, bins
        As for `adapter.calibration.fit_temperature`.
    temperatures : iterable of float
        Temperatures; the adapter's temperature is added.

    Returns
    -------
    TradeOff

    Raises
    ------
    GroveError
        As for `fit_temperature`.

    Notes
    -----
    Reads P twice; each temperature costs as much as one prediction of all samples.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"], outputs="logits")
    >>> found = trade_off(adapter, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], ["oak", "elm"], temperatures=[0.25])
    >>> found.temperatures, found.squared_distance, found.default, found.distance_best
    ((0.25, 1.0), (0.0, 1.0), 1, 0)
    """
    own = adapter.temperature
    listed = tuple(sorted({*check_temperatures(temperatures), own}))
    data = LabeledOutputs(P, truth, adapter=adapter, space=space, distances=True)
    found = data.measure(listed, {"squared_distance", "ece"}, bins=bins)
    default = listed.index(own)

    def smallest(values: Sequence[float]) -> int:
        far = [abs(np.log(t / own)) for t in listed]
        return min(range(len(listed)), key=lambda i: (values[i], far[i]))

    observed = data.n_observed > 0
    return TradeOff(
        temperatures=listed,
        squared_distance=tuple(found.squared_distance.tolist()),
        accuracy=tuple((1 - found.distance_error).tolist()),
        ece=tuple(found.ece.tolist()) if observed else (None,) * len(listed),
        default=default,
        distance_best=smallest(found.squared_distance.tolist()),
        ece_best=smallest(found.ece.tolist()) if observed else None,
        reliability=data.reliability(own, bins=bins),
        n_samples=data.n,
        n_unobserved=data.n - data.n_observed,
        notes=() if data.n_observed < data.n else (CAVEAT,),
    )


def beta_table(
    adapter: Adapter,
    P: OutputStream,
    truth: Iterable[str],
    *,
    space: MetricSpace | None = None,
    betas: Iterable[float] = BETAS,
    temperatures: Iterable[float] = (0.5, 0.7, 1.0, 1.4, 2.0),
) -> BetaTable:
    """Return the mean squared distance E[d^2] from the answers to the truth.

    It is computed for each exponent of the distances at each temperature.

    An exponent other than 2 can compensate for outputs that are not calibrated, so compare exponents at a
    fitted temperature.

    Parameters
    ----------
    adapter, P, truth, space
        As for `trade_off`; the adapter's exponent is ignored.
    betas, temperatures : iterable of float

    Raises
    ------
    GroveError
        As for `trade_off`.
    """
    degrees = check_temperatures(temperatures)
    exponents = list(betas)
    if not exponents:
        raise InputError("betas: none given; give one or more, or leave them out")
    adapter = adapter.pinned()
    scorers = [Adapter(adapter.bundle, beta=beta) for beta in exponents]
    data = LabeledOutputs(P, truth, adapter=adapter, space=space, distances=True)
    total = np.zeros((len(scorers), len(degrees)))
    for of, logits in data.logits():
        for j, temperature in enumerate(degrees):
            weights = softmax(logits, temperature)
            for i, scorer in enumerate(scorers):
                total[i, j] += data.squared(of, weights, scorer)[0].sum()
    total /= data.n
    row, column = np.unravel_index(int(total.argmin()), total.shape)
    return BetaTable(
        betas=tuple(scorer.beta for scorer in scorers),
        temperatures=tuple(degrees),
        squared_distance=tuple(tuple(values) for values in total.tolist()),
        best=(int(row), int(column)),
    )

"""The complete calibration report of a model on a label space, as one record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labelgrove.adapter.calibration.fitting import By, TemperatureFit, fit_temperature
from labelgrove.adapter.calibration.temperatures import LabeledOutputs
from labelgrove.adapter.calibration.tradeoff import (
    BETAS,
    TEMPERATURES,
    BetaTable,
    TradeOff,
    beta_table,
    trade_off,
)
from labelgrove.adapter.evaluation.evidence.verdict import applied
from labelgrove.adapter.evaluation.measures.calibrationerror import BINS, Reliability
from labelgrove.adapter.outputs.rowblocks import OutputStream
from labelgrove.adapter.scorer import Adapter
from labelgrove.adapter.texttable import Span, Table, shown
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["CalibrationReport", "bin_table", "calibrate"]


SAME_SAMPLES = "temperatures were chosen and measured on the same samples; expect a smaller gain on others"
"""Warning for every figure at a temperature that was chosen on the same samples."""


@dataclass(frozen=True)
class CalibrationReport:
    """A fitted temperature, with measures at this temperature and at others.

    Attributes
    ----------
    fit : TemperatureFit
    trade_off : TradeOff
        Measures at several temperatures, including the fitted one.
    equal_mass : Reliability
        Reliability at the default temperature, in bins of equal numbers of samples.
    fitted : Reliability
        Reliability at the fitted temperature, in bins of equal width.
    betas : BetaTable
        E[d²], the mean squared distance from the answers to the truth, for several exponents of the distances
        at four temperatures: the default, the one with the smallest ECE (expected calibration error), the one
        with the smallest E[d²], and the fitted one.
    outputs : str
        Kind of the model's outputs.
    kind_note : str or None
        A note for the user if the outputs do not look like this kind.
    """

    fit: TemperatureFit
    trade_off: TradeOff
    equal_mass: Reliability
    fitted: Reliability
    betas: BetaTable
    outputs: str
    kind_note: str | None = None

    @property
    def change(self) -> tuple[float, float]:
        """A pair: E[d²] of the Fréchet mean at the default temperature, and E[d²] at the fitted one."""
        curve = self.trade_off
        fitted = curve.temperatures.index(self.fit.temperature)
        return curve.squared_distance[curve.default], curve.squared_distance[fitted]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings and remarks for the user, without repetitions."""
        kind = () if self.kind_note is None else (self.kind_note,)
        return tuple(dict.fromkeys((*self.fit.notes, *self.trade_off.notes, SAME_SAMPLES, *kind)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings and remarks for the user, and then the advice of `step`."""
        return (*self.remarks, self.step)

    @property
    def step(self) -> str:
        """The advice to the user: apply the fitted temperature, or keep the default one."""
        before, after = self.change
        own = self.trade_off.temperatures[self.trade_off.default]
        return (
            f"at the fitted temperature E[d²] of the Fréchet mean rises from {shown(before)} to "
            f"{shown(after)}: stay at {own:g}, or fit E[d²] itself with by='squared_distance' "
            "(grove: --measure squared_distance)"
            if after > before
            else applied(self.outputs, self.fit.temperature)
        )

    def __str__(self) -> str:
        return self.render()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        parts = {name: getattr(self, name) for name in ("fit", "trade_off", "betas")}
        bins = {"equal_mass": vars(self.equal_mass), "fitted": vars(self.fitted)}
        return {name: part.to_dict() for name, part in parts.items()} | bins | {"notes": list(self.notes)}

    def render(self) -> str:
        """Return the report as text; it ends with the advice."""
        bins = bin_table(self.trade_off.reliability, "default temperature")
        lines = [self.summary()]
        for table in (self.temperature_table(), self.error_table(), bins, self.betas.table()):
            lines += [f"{table.title}:", *table.text()]
        remarks = (f"note: {said}" if said == self.kind_note else said for said in self.remarks)
        return "\n".join([*lines, *remarks, self.step])

    def summary(self) -> str:
        """Return the result of the fit in one sentence."""
        fit = self.fit
        return (
            f"temperature {fit.temperature:.6g} by {fit.by}: {fit.value_before:.4g} -> {fit.value:.4g} over "
            f"{fit.samples}"
        )

    def temperature_table(self) -> Table:
        """Return a table of the measures at each temperature.

        Marks show the default and the fitted temperature, the one with the smallest E[d²], and the one with
        the smallest ECE.
        """
        return self.trade_off.table(fitted=self.fit.temperature)

    def error_table(self) -> Table:
        """Return a table of the calibration errors at the default and at the fitted temperature."""
        named = {
            "default, equal width": self.trade_off.reliability,
            "default, equal mass": self.equal_mass,
            "fitted, equal width": self.fitted,
        }
        rows = ((name, r.ece, r.largest_gap, r.mean_confidence, r.mean_accuracy) for name, r in named.items())
        columns = ("", "ECE", "largest gap", "confidence", "accuracy")
        return Table("Calibration error", columns, tuple(rows))


def calibrate(
    adapter: Adapter,
    P: OutputStream,
    truth: Iterable[str],
    *,
    by: By = "nll",
    space: MetricSpace | None = None,
    temperatures: Iterable[float] = TEMPERATURES,
    betas: Iterable[float] = BETAS,
    bins: int = BINS,
) -> CalibrationReport:
    """Fit a temperature, and report measures at this and at other temperatures.

    Parameters
    ----------
    adapter, P, truth, by, space, bins
        As for `adapter.calibration.fit_temperature`.
    temperatures, betas : iterable of float
        As for `adapter.calibration.tradeoff.trade_off` and `adapter.calibration.tradeoff.beta_table`.

    Raises
    ------
    GroveError
        As for `fit_temperature`.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"], outputs="logits")
    >>> P = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.9, 0.0]]
    >>> report = calibrate(adapter, P, ["oak", "elm", "moss", "tree"], by="squared_distance")
    >>> report.fit.value_before, report.fit.value
    (0.75, 0.0)
    """
    truths, exponents = list(truth), list(betas)
    adapter = adapter.pinned()
    fit = fit_temperature(P, truths, by=by, adapter=adapter, space=space, bins=bins)
    curve = trade_off(
        adapter, P, truths, space=space, temperatures=[*temperatures, fit.temperature], bins=bins
    )
    data = LabeledOutputs(P, truths, adapter=adapter)
    marked = [curve.default, curve.distance_best, *([] if curve.ece_best is None else [curve.ece_best])]
    degrees = sorted({*(curve.temperatures[i] for i in marked), fit.temperature})
    return CalibrationReport(
        fit=fit,
        trade_off=curve,
        equal_mass=data.reliability(adapter.temperature, bins=bins, scheme="mass"),
        fitted=data.reliability(fit.temperature, bins=bins),
        betas=beta_table(adapter, P, truths, space=space, betas=exponents, temperatures=degrees),
        outputs=adapter.outputs,
        kind_note=data.kind_note,
    )


def bin_table(found: Reliability, where: str) -> Table:
    """Return a table of a reliability diagram, without empty bins; its title ends with `where`."""
    rows = tuple(
        (Span(found.edges[i], found.edges[i + 1]), count, found.confidence[i], found.accuracy[i])
        for i, count in enumerate(found.counts)
        if count
    )
    columns = ("confidence", "samples", "mean confidence", "accuracy")
    return Table(f"Reliability, {where}", columns, rows)

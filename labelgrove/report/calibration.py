"""Make the report of a calibration, alone or as sections of the report of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labelgrove.adapter.calibration.report import CalibrationReport, bin_table
from labelgrove.adapter.calibration.tradeoff import TradeOff
from labelgrove.adapter.texttable import Table
from labelgrove.report.content import Folded, Notes, Origin, Pictures, Report, Section
from labelgrove.report.picturedata import Line, Mark, Panel, ReliabilityDiagram

__all__ = ["calibration_report", "calibration_sections"]

_MEASURES = {
    "nll": "negative log-likelihood",
    "ece": "expected calibration error",
    "error": "share of wrong answers",
    "squared_distance": "E[d²]",
}


def calibration_report(found: CalibrationReport, origin: Origin) -> Report:
    """Return the report of a calibration; `origin` has its command, versions and digests."""
    fit, curve = found.fit, found.trade_off
    own = curve.temperatures[curve.default]
    before, after = found.change
    facts: dict[str, Any] = {
        "samples": fit.n_samples,
        "truth not observed": fit.n_unobserved,
        "fitted temperature": fit.temperature,
        "default temperature": own,
    }
    change = f"stays {before:.4g}, as at temperature {own:.4g}"
    if after != before:
        moves = "falls" if after < before else "rises"
        change = f"{moves} from {before:.4g} at temperature {own:.4g} to {after:.4g}"
    return Report(
        title="Which temperature suits this model?",
        answer=f"temperature {fit.temperature:.4g}",
        tone="good" if after < before else "mixed" if after == before else "bad",
        sentence=f"{_fitted(found)}; E[d²] of the Fréchet mean {change}.",
        facts=facts,
        sections=tuple(calibration_sections(found)),
        origin=origin,
        document=found.to_dict() | {"origin": {"command": origin.command, **origin.facts}},
    )


def calibration_sections(found: CalibrationReport, *, verdict: float | None = None) -> Iterator[Section]:
    """Yield the sections about temperatures, confidence, other exponents, and cautions.

    The section about confidence compares the default temperature with the fitted one. `verdict` is the
    temperature that the verdict of the page names, if any; it is marked in the curves.
    """
    curve = found.trade_off
    marks = _marks(found, verdict)
    panels = [
        _curve("E[d²] of the Fréchet mean", "E[d²]", curve.squared_distance, "Fréchet mean", curve, marks)
    ]
    if curve.ece_best is not None:
        ece = tuple(0.0 if e is None else e for e in curve.ece)
        panels.append(_curve("Calibration error of argmax", "ECE", ece, "argmax", curve, marks))
        panels.append(_path(curve, "calibration error", "ECE", curve.ece))
    panels.append(
        _curve("Accuracy of the Fréchet mean", "accuracy", curve.accuracy, "Fréchet mean", curve, marks)
    )
    panels.append(_path(curve, "accuracy", "accuracy", curve.accuracy))
    said = f"{_fitted(found)}."
    if verdict is not None:
        said += (
            f" No other samples have confirmed it. The verdict's temperature, {verdict:.4g}, is a different "
            "one: half of the samples chose it among a few temperatures, and the other half showed that it "
            "helps. Use it."
        )
    else:
        said += f" {found.step[0].upper()}{found.step[1:]}."
    yield Section(
        "Gains and costs of each temperature",
        (
            said,
            Pictures(tuple(panels)),
            Folded(_fit_table(found)),
            Folded(found.temperature_table()),
        ),
    )
    yield Section("Confidence before and after", tuple(_confidence(found)))
    yield Section(
        "Other exponents of the distances",
        (
            "An exponent other than 2 that wins at the default temperature, but not at a fitted one, only "
            "compensated for an unsuitable temperature.",
            found.betas.table(),
        ),
    )
    yield Section("Cautions", (Notes(found.remarks),))


def _confidence(found: CalibrationReport) -> Iterator[str | Pictures | Table | Folded]:
    diagrams = {"default": found.trade_off.reliability, "fitted": found.fitted}
    if not found.fitted.n:
        yield "No sample has an observed truth, so nothing can be said about the confidence."
        return
    yield Pictures(
        tuple(ReliabilityDiagram(f"At the {name} temperature", bins) for name, bins in diagrams.items())
    )
    yield found.error_table()
    for name, bins in diagrams.items():
        yield Folded(bin_table(bins, f"{name} temperature"))
    yield Folded(bin_table(found.equal_mass, "default temperature, bins of equal mass"))


def _marks(found: CalibrationReport, verdict: float | None) -> tuple[Mark, ...]:
    """Return the temperatures to mark in the curves, each with its name, such as ``default``."""
    curve = found.trade_off
    marks = {
        "default": curve.temperatures[curve.default],
        "fitted": found.fit.temperature,
        "E[d²]-best": curve.temperatures[curve.distance_best],
        "ECE-best": None if curve.ece_best is None else curve.temperatures[curve.ece_best],
        "verdict": verdict,
    }
    return tuple(Mark(name, at) for name, at in marks.items() if at is not None)


def _curve(
    title: str,
    y_label: str,
    values: tuple[float, ...],
    name: str,
    curve: TradeOff,
    marks: tuple[Mark, ...],
) -> Panel:
    line = Line.bare(name, curve.temperatures, values)
    return Panel(title, "temperature", y_label, (line,), log_x=True, marks=marks)


def _path(curve: TradeOff, what: str, label: str, values: tuple[float | None, ...]) -> Panel:
    """Return the panel that shows E[d²] on the y-axis and another measure on the x-axis.

    The curve has one point for each temperature, in order of temperature.
    """
    known = [(v, d) for v, d in zip(values, curve.squared_distance, strict=True) if v is not None]
    line = Line.bare("from low to high temperature", tuple(v for v, _ in known), tuple(d for _, d in known))
    places = {"default": curve.default, "E[d²]-best": curve.distance_best, "ECE-best": curve.ece_best}
    marks = tuple(Mark(n, v) for n, i in places.items() if i is not None and (v := values[i]) is not None)
    return Panel(f"E[d²] against {what}", label, "E[d²]", (line,), marks=marks)


def _fit_table(found: CalibrationReport) -> Table:
    fit = found.fit
    columns = ("measure", "fitted temperature", "before", "after", "samples", "truth not observed")
    row = (_MEASURES[fit.by], fit.temperature, fit.value_before, fit.value, fit.n_samples, fit.n_unobserved)
    return Table("What the fitted temperature changes", columns, (row,))


def _fitted(found: CalibrationReport) -> str:
    fit = found.fit
    what = _MEASURES[fit.by] if fit.by == "squared_distance" else f"the {_MEASURES[fit.by]}"
    return (
        f"Temperature {fit.temperature:.4g} makes {what} smallest, {fit.value_before:.4g} to "
        f"{fit.value:.4g}, over {fit.samples}"
    )

"""What a calibration says, as a report of its own or as sections of an evaluation's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapter.calibration.report import CalibrationReport, bin_table
from adapter.calibration.tradeoff import TradeOff
from adapter.evaluation.text import Table
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
    """Return the report of a calibration; `origin` is the command, versions and digests it comes from."""
    fit, curve = found.fit, found.trade_off
    own = curve.temperatures[curve.default]
    before, after = found.change
    facts: dict[str, Any] = {
        "samples": fit.n_samples,
        "truth not observed": fit.n_unobserved,
        "fitted temperature": fit.temperature,
        "default temperature": own,
    }
    change = "falls" if after < before else "rises" if after > before else "stays"
    return Report(
        title="Which temperature suits this model?",
        answer=f"temperature {fit.temperature:.4g}",
        tone="good" if after < before else "mixed" if after == before else "bad",
        sentence=(
            f"{_fitted(found)}; E[d²] of the Fréchet mean {change} from {before:.4g} at temperature "
            f"{own:.4g} to {after:.4g}."
        ),
        facts=facts,
        sections=tuple(calibration_sections(found)),
        origin=origin,
        document=found.to_dict() | {"origin": {"command": origin.command, **origin.facts}},
    )


def calibration_sections(found: CalibrationReport) -> Iterator[Section]:
    """Yield what a temperature buys and costs, the reliability before and after, and other exponents."""
    curve = found.trade_off
    panels = [_curve("E[d²] of the Fréchet mean", "E[d²]", curve.squared_distance, "Loki", curve, found)]
    if curve.ece_best is not None:
        ece = tuple(0.0 if e is None else e for e in curve.ece)
        panels.append(_curve("Calibration error of argmax", "ECE", ece, "argmax", curve, found))
        panels.append(_path(curve, "calibration error", "ECE", curve.ece))
    panels.append(_curve("Accuracy of the Fréchet mean", "accuracy", curve.accuracy, "Loki", curve, found))
    panels.append(_path(curve, "accuracy", "accuracy", curve.accuracy))
    yield Section(
        "What a temperature buys and costs",
        (
            f"{_fitted(found)}.",
            Pictures(tuple(panels)),
            Folded(_fit_table(found)),
            Folded(found.temperature_table()),
        ),
    )
    diagrams = {"default": curve.reliability, "fitted": found.fitted}
    shown = {name: bins for name, bins in diagrams.items() if bins.n}
    yield Section(
        "Confidence before and after",
        (
            *(
                (Pictures(tuple(ReliabilityDiagram(f"At the {n} temperature", b) for n, b in shown.items())),)
                if shown
                else ()
            ),
            found.error_table(),
            *(Folded(bin_table(bins, f"{name} temperature")) for name, bins in diagrams.items()),
            Folded(bin_table(found.equal_mass, "default temperature, bins of equal mass")),
        ),
    )
    yield Section(
        "Other exponents of the distances",
        (
            "An exponent other than 2 that wins at the default temperature, and not at a fitted one, only "
            "made up for the temperature.",
            found.betas.table(),
        ),
    )
    if found.notes:
        yield Section("What to beware of", (Notes(found.notes),))


def _curve(
    title: str,
    y_label: str,
    values: tuple[float, ...],
    name: str,
    curve: TradeOff,
    found: CalibrationReport,
) -> Panel:
    marks = [Mark("default", curve.temperatures[curve.default]), Mark("fitted", found.fit.temperature)]
    marks.append(Mark("Loki-best", curve.temperatures[curve.loki_best]))
    if curve.ece_best is not None:
        marks.append(Mark("ECE-best", curve.temperatures[curve.ece_best]))
    line = Line.bare(name, curve.temperatures, values)
    return Panel(title, "temperature", y_label, (line,), log_x=True, marks=tuple(marks))


def _path(curve: TradeOff, what: str, label: str, values: tuple[float | None, ...]) -> Panel:
    """Return E[d²] against another measure, along the temperatures."""
    known = [(v, d) for v, d in zip(values, curve.squared_distance, strict=True) if v is not None]
    line = Line.bare("from cold to hot", tuple(v for v, _ in known), tuple(d for _, d in known))
    places = {"default": curve.default, "Loki-best": curve.loki_best, "ECE-best": curve.ece_best}
    marks = tuple(Mark(n, v) for n, i in places.items() if i is not None and (v := values[i]) is not None)
    return Panel(f"E[d²] against {what}", label, "E[d²]", (line,), marks=marks)


def _fit_table(found: CalibrationReport) -> Table:
    fit = found.fit
    columns = ("measure", "fitted temperature", "before", "after", "samples", "truth not observed")
    row = (_MEASURES[fit.by], fit.temperature, fit.value_before, fit.value, fit.n_samples, fit.n_unobserved)
    return Table("What the fitted temperature changes", columns, (row,))


def _fitted(found: CalibrationReport) -> str:
    fit = found.fit
    return (
        f"Temperature {fit.temperature:.4g} makes the {_MEASURES[fit.by]} smallest, {fit.value_before:.4g} "
        f"to {fit.value:.4g}, over {fit.samples}"
    )

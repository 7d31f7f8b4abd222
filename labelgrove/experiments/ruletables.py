"""Provide the table of all decision rules, and the findings that several claims share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labelgrove.experiments.contrast import Contrast, Finding, judge, mean, standard_error
from labelgrove.experiments.experiment import Panel, Record, Table, band

__all__ = ["Trials", "contrasts", "grouped", "rule_findings", "rule_panel", "rule_table"]

Trials = Mapping[tuple[Any, ...], Sequence[Record]]
"""For each setting, the results of its trials; each result has the entries of `measuring.rule_errors`."""

_SHOWN = {
    "argmax": "argmax",
    "frechet_mean": "Fréchet mean",
    "constant": "constant",
    "observed_only": "observed only",
    "crm": "CRM",
    "nearest_observed": "oracle",
}


def grouped(
    results: Sequence[tuple[Record, Record]], names: Sequence[str], part: str | None = None
) -> dict[tuple[Any, ...], list[Record]]:
    """Group the results of all units by the values of the parameters `names`.

    The keys of the returned dictionary are tuples of these values. If `part` is given, the groups
    contain only the entry `part` of each result.
    """
    found: dict[tuple[Any, ...], list[Record]] = {}
    for unit, result in results:
        key = tuple(unit[name] for name in names)
        found.setdefault(key, []).append(result if part is None else result[part])
    return found


def rule_table(title: str, heads: Sequence[str], trials: Trials) -> Table:
    """Return a table of E[d^2] of every decision rule, with a row for each setting.

    The figures are means over trials; those of argmax and the Fréchet mean are followed by ± and their
    standard error.
    """
    rows = []
    for key, found in trials.items():
        values = {rule: [r["rules"][rule]["squared"] for r in found] for rule in _SHOWN}
        cells = [
            _with_error(values[rule]) if rule in ("argmax", "frechet_mean") else mean(values[rule])
            for rule in _SHOWN
        ]
        saved = 1 - mean(values["frechet_mean"]) / mean(values["argmax"]) if mean(values["argmax"]) else None
        exact = [mean([r["rules"][rule]["accuracy"] for r in found]) for rule in ("argmax", "frechet_mean")]
        rows.append((*key, *cells, _percent(saved), *exact))
    columns = (*heads, *_SHOWN.values(), "saved", "accuracy argmax", "accuracy Fréchet mean")
    return Table(title, columns, tuple(rows))


def contrasts(
    heads: Sequence[str], trials: Trials, before: str, after: str = "frechet_mean"
) -> list[Contrast]:
    """Return the errors of the rules `before` and `after`, trial by trial: one contrast for each setting."""
    return [
        Contrast(
            ", ".join(f"{head} {cell}" if head else str(cell) for head, cell in zip(heads, key, strict=True)),
            tuple(r["rules"][before]["squared"] for r in found),
            tuple(r["rules"][after]["squared"] for r in found),
            testable=not all(r["one_answer"] for r in found),
        )
        for key, found in trials.items()
    ]


def rule_findings(claim: str, heads: Sequence[str], trials: Trials) -> tuple[Finding, ...]:
    """Return two findings.

    The first compares the Fréchet mean with argmax, and decides the claim. The second compares it with
    one constant answer.
    """
    return (
        judge(claim, contrasts(heads, trials, "argmax"), before="argmax", after="Fréchet mean"),
        judge(
            "The Fréchet mean has a smaller error than one constant answer",
            contrasts(heads, trials, "constant"),
            before="constant",
            after="Fréchet mean",
        ),
    )


def rule_panel(title: str, x_label: str, trials: Mapping[float, Sequence[Record]]) -> Panel:
    """Return a panel with the curves of argmax, the Fréchet mean, the constant and the oracle.

    Each key of `trials` is a value on the x-axis.
    """
    lines = tuple(
        band(_SHOWN[rule], {x: [r["rules"][rule]["squared"] for r in found] for x, found in trials.items()})
        for rule in ("argmax", "frechet_mean", "constant", "nearest_observed")
    )
    return Panel(title, x_label, "E[d²]", lines)


def _with_error(values: Sequence[float]) -> str:
    error = standard_error(values)
    return f"{mean(values):.4g}" + ("" if error is None else f" ± {error:.2g}")


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"

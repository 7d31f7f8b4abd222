"""An evaluation as text and as Markdown: the same blocks, lines and tables, written in two ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adapter.bundlechecks import UNIT
from adapter.evaluation.measures import Scores
from adapter.evaluation.result import Evaluation

__all__ = ["Table", "as_markdown", "as_text", "bullets", "shown"]

_MOST_BRANCHES = 20
_MOST_BINS = 60


@dataclass(frozen=True)
class Table:
    """Cells under a head; the first column is text, the others are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> list[str]:
        """Return aligned lines."""
        widths = [max(len(row[i]) for row in (self.head, *self.rows)) for i in range(len(self.head))]
        lines = (
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in (self.head, *self.rows)
        )
        return [line.rstrip() for line in lines]

    def markdown(self) -> list[str]:
        """Return the lines of a Markdown table."""
        ruler = ("---", *["---:"] * (len(self.head) - 1))
        return [f"| {' | '.join(map(_escaped, row))} |" for row in (self.head, ruler, *self.rows)]


def as_text(found: Evaluation) -> str:
    """Return an evaluation for a terminal."""
    lines = [_summary(found)]
    for title, table in _tables(found):
        lines += ([f"{title}:"] if title else []) + table.text()
    return "\n".join([*lines, *_remarks(found), f"verdict: {found.verdict}"])


def as_markdown(found: Evaluation) -> str:
    """Return an evaluation as a Markdown page."""
    lines = ["# Evaluation", "", f"**{found.verdict.answer}**: {_escaped(found.verdict.reason)}", ""]
    lines += [_summary(found), ""]
    for title, table in _tables(found):
        lines += ([f"## {title}", ""] if title else []) + [*table.markdown(), ""]
    return "\n".join([*lines, *bullets(_remarks(found)), ""])


def bullets(remarks: Iterable[str]) -> list[str]:
    """Return remarks as the lines of a Markdown list."""
    return [f"- {_escaped(remark)}" for remark in remarks]


def shown(value: float | None) -> str:
    """Return a number as reports show it, ``-`` for none."""
    return "-" if value is None else f"{value:.4g}"


def _summary(found: Evaluation) -> str:
    first = found.rules[0]
    return (
        f"{found.n_samples} samples ({first.observed.n} with an observed truth, {first.unobserved.n} "
        f"without), {found.n_labels} labels, {found.n_observed} observed, diameter {found.diameter:g} {UNIT}"
    )


def _tables(found: Evaluation) -> list[tuple[str, Table]]:
    percent = f"{100 * found.level:g} %"
    rows = []
    for r in found.rules:
        means = (r.all.mean_squared_distance, r.all.normalized, r.all.mean_distance, r.all.accuracy)
        parts = (r.observed.mean_squared_distance, r.unobserved.mean_squared_distance)
        rows.append((r.rule, *map(shown, (*means, *parts))))
    head = ("rule", "E[d^2]", "E[d^2]/diam^2", "E[d]", "accuracy", "E[d^2] observed", "E[d^2] unobserved")
    spreads = [
        (
            r.rule,
            f"{r.interval.low:.4g} .. {r.interval.high:.4g}",
            *(
                ("-", "-")
                if r.rule == "loki"
                else (shown(r.difference.mean), f"{r.difference.low:.4g} .. {r.difference.high:.4g}")
            ),
        )
        for r in found.rules
    ]
    tables = [
        ("", Table(head, tuple(rows))),
        (
            f"{percent} bootstrap intervals",
            Table(("rule", "E[d^2]", "minus loki", "interval"), tuple(spreads)),
        ),
        ("Exact and hierarchical", _hierarchical(found)),
    ]
    if len(found.severity_edges) - 1 <= _MOST_BINS:
        tables.append(("Samples by distance", _severity(found)))
    if found.branch_level is not None:
        tables.append((f"E[d^2] by branch (level {found.branch_level})", _branches(found)))
    return tables


def _hierarchical(found: Evaluation) -> Table:
    top = f"top-{found.top_k}"
    if found.branch_level is None:
        rows = [(r.rule, shown(r.all.accuracy), shown(r.all.top_k_accuracy)) for r in found.rules]
        return Table(("rule", "accuracy", top), tuple(rows))
    head = ("rule", "accuracy", top, "LCA height", "precision", "recall", "F")
    return Table(head, tuple((r.rule, *map(shown, _exact(r.all))) for r in found.rules))


def _severity(found: Evaluation) -> Table:
    """Show how many answers lie in each bin of distance, up to the last that has one."""
    edges = found.severity_edges
    whole = all(edge.is_integer() for edge in edges)
    last = max(max((i for i, n in enumerate(r.severity) if n), default=0) for r in found.rules)
    rows = [
        (
            f"{edges[i]:g}" if whole else f"{edges[i]:.4g} .. {edges[i + 1]:.4g}",
            *(str(r.severity[i]) for r in found.rules),
        )
        for i in range(last + 1)
    ]
    return Table(("distance", *(r.rule for r in found.rules)), tuple(rows))


def _exact(scores: Scores) -> Iterable[float | None]:
    return (
        scores.accuracy,
        scores.top_k_accuracy,
        scores.lca_height,
        scores.hierarchical_precision,
        scores.hierarchical_recall,
        scores.hierarchical_f,
    )


def _branches(found: Evaluation) -> Table:
    """Show the largest branches, one for each row."""
    first: Sequence[tuple[int, int]] = sorted(
        ((-b.scores.n, i) for i, b in enumerate(found.rules[0].branches))
    )[:_MOST_BRANCHES]
    rows = [
        (
            found.rules[0].branches[i].key,
            str(-n),
            *(shown(r.branches[i].scores.mean_squared_distance) for r in found.rules),
        )
        for n, i in first
    ]
    left = len(found.rules[0].branches) - len(rows)
    if left:
        rows.append((f"({left} more)", *[""] * (1 + len(found.rules))))
    return Table(("branch", "n", *(r.rule for r in found.rules)), tuple(rows))


def _remarks(found: Evaluation) -> list[str]:
    sure = found.calibration
    remarks = [f"constant: {found.constant!r}, the Fréchet mean of {found.constant_from}"]
    if sure.ece is not None:
        remarks.append(
            f"calibration of the model's argmax over {sure.n} samples with an observed truth: mean "
            f"confidence {shown(sure.mean_confidence)}, accuracy {shown(sure.mean_accuracy)}, "
            f"ECE {sure.ece:.4g} ({len(sure.counts)} bins)"
        )
    return [*remarks, *found.notes]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")

"""Make the tables of an evaluation, and the text that a terminal shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from labelgrove.adapter.bundles.bundlechecks import UNIT
from labelgrove.adapter.evaluation.evidence.verdict import applied
from labelgrove.adapter.outputs.outputkinds import is_about_kind
from labelgrove.adapter.texttable import Span, Table, shown
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from labelgrove.adapter.evaluation.measures.scores import Scores
    from labelgrove.adapter.evaluation.result import Evaluation

__all__ = [
    "MOST_BRANCHES",
    "as_text",
    "branch_table",
    "interval_table",
    "measures_table",
    "price",
    "remarks",
    "rule_name",
    "severity_table",
]

_MEASURES = {
    "n": "samples",
    "mean_squared_distance": "E[d²]",
    "mean_distance": "E[d]",
    "normalized": "E[d²]/diam²",
    "accuracy": "accuracy",
    "top_k_accuracy": "top-{k}",
    "lca_height": "LCA height",
    "hierarchical_precision": "precision",
    "hierarchical_recall": "recall",
    "hierarchical_f": "F",
}
"""Name of each field of `Scores` in tables."""
_OF_A_TREE = ("lca_height", "hierarchical_precision", "hierarchical_recall", "hierarchical_f")

_ORACLE = "nearest_observed"
MOST_BRANCHES = 20
"""Most branches that a table lists."""

_MOST_BINS = 60


def rule_name(rule: str) -> str:
    """Return the name of a rule as tables show it: the oracle is marked as one.

    >>> rule_name("crm"), rule_name("nearest_observed")
    ('crm', 'nearest_observed (oracle)')
    """
    return f"{rule} (oracle)" if rule == _ORACLE else rule


def as_text(found: Evaluation, named: Callable[[str], str] = str, *, unit: str = UNIT) -> str:
    """Return an evaluation as text for a terminal.

    `named` turns the key of a label into the text that is shown for it. `unit` is the unit of distances.
    """
    lines = [_summary(found, unit)]
    tables = [_error_table(found), interval_table(found), _exactness_table(found)]
    if len(found.severity_edges) - 1 <= _MOST_BINS:
        tables.append(severity_table(found))
    if found.branch_level is not None:
        names = [named(branch.key) for branch in found.rules[0].branches]
        tables.append(branch_table(found, most=MOST_BRANCHES, names=names))
    for table in tables:
        lines += [f"{table.title}:", *table.text()]
    said = remarks(found, named)
    kind = [f"note: {note}" for note in said if is_about_kind(note)]
    other = [note for note in said if not is_about_kind(note)]
    return "\n".join([*lines, *other, *kind, f"verdict: {found.verdict}"])


def _summary(found: Evaluation, unit: str) -> str:
    """Return one line with the numbers of samples and labels, and the diameter."""
    first = found.rules[0]
    return (
        f"{counted(found.n_samples, 'sample')} ({first.observed.n} with an observed truth, "
        f"{first.unobserved.n} without), {counted(found.n_labels, 'label')}, {found.n_observed} observed, "
        f"diameter {found.diameter:g} {unit}"
    )


def interval_table(found: Evaluation) -> Table:
    """Return a table of each rule's E[d²] and of its difference from the Fréchet mean's E[d²].

    The table also shows the intervals of both. E[d²] is the mean squared distance from the answers to the
    truth.
    """
    percent = f"{100 * found.level:g} %"
    rows = []
    for r in found.rules:
        own, more = (Span(i.low, i.high) for i in (r.interval, r.difference))
        beside = (None,) * 3 if r.rule == "frechet_mean" else (r.difference.mean, more, r.n_differing)
        rows.append((rule_name(r.rule), r.interval.mean, own, *beside))
    columns = (
        "rule",
        "E[d²]",
        f"{percent} interval",
        "minus frechet_mean",
        f"{percent} interval, paired",
        "samples that differ",
    )
    return Table(f"E[d²] with {percent} bootstrap intervals", columns, tuple(rows))


def severity_table(found: Evaluation) -> Table:
    """Return a table of the number of samples in each distance bin, up to the last bin that is not empty."""
    edges = found.severity_edges
    whole = all(edge.is_integer() for edge in edges)
    last = max(max((i for i, n in enumerate(r.severity) if n), default=0) for r in found.rules)
    rows = [
        (
            int(edges[i]) if whole else Span(edges[i], edges[i + 1]),
            *(r.severity[i] for r in found.rules),
        )
        for i in range(last + 1)
    ]
    return Table("Samples by distance", ("distance", *(rule_name(r.rule) for r in found.rules)), tuple(rows))


def branch_table(found: Evaluation, *, most: int, names: Sequence[str] | None = None) -> Table:
    """Return a table with one row per branch: the mean squared error E[d²] of each rule.

    Only the `most` branches with the most samples are shown.

    `names` contains the text to show for each branch, in the order of the branches in `found`; by default the
    keys are shown.
    """
    first: Sequence[tuple[int, int]] = sorted(
        ((-b.scores.n, i) for i, b in enumerate(found.rules[0].branches))
    )[:most]
    rows: list[tuple[Any, ...]] = [
        (
            found.rules[0].branches[i].key if names is None else names[i],
            -n,
            *(r.branches[i].scores.mean_squared_distance for r in found.rules),
        )
        for n, i in first
    ]
    left = len(found.rules[0].branches) - len(rows)
    if left:
        rows.append((f"({left} more)", *[""] * (1 + len(found.rules))))
    title = f"E[d²] by branch (level {found.branch_level})"
    return Table(title, ("branch", "samples", *(rule_name(r.rule) for r in found.rules)), tuple(rows))


def remarks(found: Evaluation, named: Callable[[str], str] = str) -> list[str]:
    """Return the remarks that a report ends with: calibration, advice and notes.

    `named` turns the key of a label into the text that is shown for it.
    """
    sure = found.calibration
    said = [f"constant: {named(found.constant)!r}, the Fréchet mean of {found.constant_from}"]
    if sure.ece is not None:
        said.append(
            f"calibration of the model's argmax over {counted(sure.n, 'sample')} with an observed truth: "
            f"mean confidence {shown(sure.mean_confidence)}, accuracy {shown(sure.mean_accuracy)}, "
            f"ECE {sure.ece:.4g} ({len(sure.counts)} bins)"
        )
    if found.verdict.temperature is not None:
        said.append(applied(found.outputs, found.verdict.temperature))
    paid = price(found)
    return [*said, *([paid] if paid else []), *found.notes]


def price(found: Evaluation) -> str:
    """Return a phrase that says what gets worse, compared with argmax, if the Fréchet mean is used.

    The phrase is empty if nothing gets worse, or if the Fréchet mean does not have the smaller E[d²].
    """
    mean, argmax = found["frechet_mean"], found["argmax"]
    if not mean.interval.mean < argmax.interval.mean:
        return ""
    costs = []
    exact = [r.all.accuracy or 0.0 for r in (argmax, mean)]
    if exact[1] < exact[0]:
        costs.append(
            f"accuracy falls from {_percent(exact[0])} to {_percent(exact[1])}, because the mean hedges"
        )
    known = [r.observed.mean_squared_distance or 0.0 for r in (argmax, mean)]
    if known[1] > known[0]:
        costs.append(
            f"where the truth is observed, in {_percent(mean.observed.n / found.n_samples)} of the samples, "
            f"E[d²] rises from {shown(known[0])} to {shown(known[1])} squared {UNIT}; the gain comes from "
            "the other samples"
        )
    return f"the price, compared with argmax: {'; '.join(costs)}" if costs else ""


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def measures_table(
    found: Evaluation, title: str, scores: Iterable[tuple[tuple[Any, ...], Scores]], heads: tuple[str, ...]
) -> Table:
    """Return a table with one row for each pair in `scores`.

    A pair consists of a tuple with the first cells of the row, and of the `Scores` that give the other cells.
    `heads` contains the names of the columns of the first cells.
    """
    names = [name for name in _MEASURES if found.branch_level is not None or name not in _OF_A_TREE]
    columns = (_MEASURES[name].format(k=found.top_k) for name in names)
    rows = ((*cells, *(getattr(s, name) for name in names)) for cells, s in scores)
    return Table(title, (*heads, *columns), tuple(rows))


def _error_table(found: Evaluation) -> Table:
    columns = ("rule", "E[d²]", "E[d²]/diam²", "E[d]", "accuracy", "E[d²] observed", "E[d²] unobserved")
    rows = []
    for r in found.rules:
        means = (r.all.mean_squared_distance, r.all.normalized, r.all.mean_distance, r.all.accuracy)
        parts = (r.observed.mean_squared_distance, r.unobserved.mean_squared_distance)
        rows.append((rule_name(r.rule), *means, *parts))
    return Table("Errors", columns, tuple(rows))


def _exactness_table(found: Evaluation) -> Table:
    names = ["accuracy", "top_k_accuracy", *(_OF_A_TREE if found.branch_level is not None else ())]
    columns = ("rule", *(_MEASURES[name].format(k=found.top_k) for name in names))
    rows = tuple((rule_name(r.rule), *(getattr(r.all, name) for name in names)) for r in found.rules)
    return Table("Exact and hierarchical", columns, rows)

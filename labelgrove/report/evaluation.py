"""Make the report of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from labelgrove.adapter.bundles.bundlechecks import UNIT
from labelgrove.adapter.calibration.report import CalibrationReport, bin_table
from labelgrove.adapter.evaluation.evidence.verdict import CALIBRATE, REFUSE, THIN, UNDECIDED, USE
from labelgrove.adapter.evaluation.result import Evaluation, RuleResult
from labelgrove.adapter.evaluation.text import (
    MOST_BRANCHES,
    branch_table,
    interval_table,
    measures_table,
    price,
    remarks,
    rule_name,
    severity_table,
)
from labelgrove.adapter.texttable import Table
from labelgrove.report.calibration import calibration_sections
from labelgrove.report.content import Folded, Notes, Origin, Pictures, Report, Section, Tone
from labelgrove.report.picturedata import (
    Branches,
    Differences,
    Histogram,
    Picture,
    Regions,
    ReliabilityDiagram,
)

__all__ = ["evaluation_report"]

_TONES: Mapping[str, Tone] = {
    USE: "good",
    CALIBRATE: "mixed",
    REFUSE: "bad",
    UNDECIDED: "open",
    THIN: "open",
}
_ORACLES = (rule_name("nearest_observed"),)
_RULES = {
    "frechet_mean": "the Fréchet mean among all allowed labels",
    "argmax": "the observed label with the largest weight",
    "constant": "one label for every sample",
    "observed_only": "the Fréchet mean among observed labels",
    "crm": "the observed label with the smallest expected distance",
    "nearest_observed": "an oracle, which no model has: the observed label nearest to the truth; no "
    "rule that answers with observed labels can beat",
}


def evaluation_report(
    found: Evaluation,
    origin: Origin,
    *,
    calibration: CalibrationReport | None = None,
    regions: Regions | None = None,
    named: Callable[[str], str] = str,
) -> Report:
    """Return the report of an evaluation.

    Parameters
    ----------
    found : Evaluation
    origin : Origin
        The command, versions and digests of the evaluation. The report adds the settings in `found`.
    calibration : CalibrationReport, optional
        The calibration of the same model on the same samples; its pictures and figures are added.
    regions : Regions, optional
        The answer to each probability vector, if three labels are observed.
    named : callable, default=str
        Turns the key of a label into the text for it.
    """
    paid = price(found) if found.verdict.answer == USE else ""
    sections = [
        Section("Comparison of the rules", tuple(_comparison(found))),
        *_hierarchy(found, named),
        *_regions(regions),
        Section("How sure the model is", tuple(_confidence(found))),
        *(
            ()
            if calibration is None
            else calibration_sections(calibration, verdict=found.verdict.temperature)
        ),
        Section("Remarks", (Notes(tuple(r for r in remarks(found, named) if r != paid)),)),
    ]
    own: dict[str, Any] = {
        "bundle": found.bundle,
        "model's outputs": found.outputs,
        "temperature": found.temperature,
        "exponent of the distances (beta)": found.beta,
        "resamples": found.resamples,
        "seed": found.seed,
        "level of the intervals": found.level,
        "k of top-k accuracy": found.top_k,
        "level of the branches": found.branch_level,
    }
    return Report(
        title="Does the Fréchet mean help this model?",
        answer=found.verdict.answer,
        tone=_TONES[found.verdict.answer],
        sentence=_sentence(found.verdict.reason),
        price=_sentence(paid) if paid else "",
        facts=_facts(found),
        sections=tuple(sections),
        origin=Origin(origin.command, own | dict(origin.facts), origin.others),
        document=found.to_dict()
        | ({} if calibration is None else {"calibrated": calibration.to_dict()})
        | {"origin": {"command": origin.command, **origin.facts}},
    )


def _sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}."


def _facts(found: Evaluation) -> dict[str, Any]:
    """Return the figures at the top of the report by name; those that do not apply are left out."""
    truths, verdict = found.rules[0], found.verdict
    facts = {
        "samples": found.n_samples,
        "effective samples": found.n_effective if found.n_effective < found.n_samples else None,
        "truth observed": truths.observed.n,
        "truth not observed": truths.unobserved.n,
        "labels": found.n_labels,
        "observed labels": found.n_observed,
        "diameter": found.diameter,
        "temperature to try": verdict.temperature,
        "samples that may be enough": verdict.enough,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _comparison(found: Evaluation) -> Iterator[str | Table | Folded | Pictures]:
    yield (
        f"E[d²] is the mean squared distance from the answer to the truth, in squared {UNIT}: less is "
        "better. The difference between a rule and the Fréchet mean is measured on the same samples; if "
        "its interval excludes zero, the samples show that one of the two is better. The oracle knows the "
        "truth: it is not a rule to choose, but the best result possible with observed labels."
    )
    yield interval_table(found)
    others = [r for r in found.rules if r.rule != "frechet_mean"]
    yield Pictures(
        (
            Differences(
                "Difference of each rule from the Fréchet mean",
                "E[d²] minus E[d²] of the Fréchet mean",
                "the Fréchet mean is better",
                "the Fréchet mean is worse",
                tuple(
                    (rule_name(r.rule), r.difference.mean, r.difference.low, r.difference.high)
                    for r in others
                ),
                oracles=_ORACLES,
            ),
            Histogram(
                "Distances from the answers to the truth",
                "distance; bars are shares of the samples",
                found.severity_edges,
                tuple((rule_name(r.rule), r.severity, r.interval.mean) for r in found.rules),
                oracles=_ORACLES,
            ),
        )
    )
    yield Folded(severity_table(found))
    yield measures_table(
        found,
        "Every measure, over all samples",
        (((rule_name(r.rule),), r.all) for r in found.rules),
        ("rule",),
    )
    parts = {"where the truth is observed": "observed", "where the truth is not observed": "unobserved"}
    for said, part in parts.items():
        rows = (((rule_name(r.rule),), getattr(r, part)) for r in found.rules)
        yield Folded(measures_table(found, f"Every measure, {said}", rows, ("rule",)))
    told = tuple((rule_name(r.rule), _RULES[r.rule]) for r in found.rules)
    yield Folded(Table("Answers of each rule", ("rule", "answer"), told))


def _confidence(found: Evaluation) -> Iterator[str | Pictures | Folded]:
    bins = found.calibration
    if not bins.n:
        yield "No sample has an observed truth, so nothing can be said about the confidence."
        return
    yield (
        "Confidence is the largest probability of a sample; accuracy is the share of samples for which "
        "argmax is right. Both are measured on samples whose truth is observed, and say nothing about the "
        "other samples."
    )
    yield Pictures((ReliabilityDiagram("Accuracy against confidence", bins),))
    columns = ("samples", "mean confidence", "accuracy", "ECE", "largest gap")
    row = (bins.n, bins.mean_confidence, bins.mean_accuracy, bins.ece, bins.largest_gap)
    yield Folded(Table("Calibration error of argmax", columns, (row,)))
    yield Folded(bin_table(bins, "bins of equal width"))


def _hierarchy(found: Evaluation, named: Callable[[str], str]) -> Iterator[Section]:
    if found.branch_level is None:
        return
    names = [named(branch.key) for branch in found.rules[0].branches]
    pictures = _branch_pictures(found, names)
    rows = (
        ((name, rule_name(r.rule)), r.branches[i].scores) for i, name in enumerate(names) for r in found.rules
    )
    yield Section(
        "Where in the hierarchy",
        (
            f"Samples by branch: the label of level {found.branch_level} that is their truth or lies above "
            "it. The children of the root are level 1.",
            *((Pictures(pictures),) if pictures else ()),
            branch_table(found, most=MOST_BRANCHES, names=names),
            Folded(measures_table(found, "Every measure of every branch", rows, ("branch", "rule"))),
        ),
    )


def _branch_pictures(found: Evaluation, names: list[str]) -> tuple[Picture, ...]:
    """Return a picture of the errors of argmax and of the Fréchet mean in each branch.

    The smallest branches are joined into one. Without branches, return no picture.
    """
    mean, argmax = (_errors(found[rule]) for rule in ("frechet_mean", "argmax"))
    order = sorted(range(len(mean)), key=lambda i: (-mean[i][0], i))
    rows = [(names[i], mean[i][0], argmax[i][1], mean[i][1]) for i in order]
    rest = rows[MOST_BRANCHES:]
    if len(rest) > 1:
        n = sum(count for _, count, _, _ in rest)
        before = sum(count * error for _, count, error, _ in rest) / n
        after = sum(count * error for _, count, _, error in rest) / n
        rows = [*rows[:MOST_BRANCHES], (f"{len(rest)} more branches", n, before, after)]
    title = f"Wins and losses by branch (level {found.branch_level})"
    return (Branches(title, "argmax", "Fréchet mean", tuple(rows)),) if rows else ()


def _errors(result: RuleResult) -> list[tuple[int, float]]:
    return [(b.scores.n, float(b.scores.mean_squared_distance or 0.0)) for b in result.branches]


def _regions(regions: Regions | None) -> Iterator[Section]:
    if regions is None:
        return
    rows = tuple((r.name, r.share, "observed" if r.observed else None) for r in regions.regions)
    yield Section(
        "The answer to each probability vector",
        (
            "Each point of the triangle is one probability vector; each corner is certainty of one class.",
            Pictures((regions,)),
            Folded(Table("Regions by their share of the triangle", ("label", "share", ""), rows)),
        ),
    )

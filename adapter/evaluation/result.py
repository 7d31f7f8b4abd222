"""The classes of an evaluation's result, from which its JSON form and all reports are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from labelgrove.adapter.bundles.bundlechecks import UNIT
from labelgrove.adapter.evaluation.evidence.bootstrap import Interval
from labelgrove.adapter.evaluation.evidence.verdict import Verdict
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.adapter.evaluation.measures.scores import Scores
from labelgrove.adapter.evaluation.text import as_text
from labelgrove.ontology.errors import ArtifactError, InputError

__all__ = ["RULES", "Branch", "Evaluation", "RuleResult"]

RULES = ("frechet_mean", "argmax", "constant", "observed_only", "crm", "nearest_observed")
"""The rules, in the order of reports."""


@dataclass(frozen=True)
class Branch:
    """One rule's scores over the samples whose truth is in one branch of the hierarchy."""

    key: str
    scores: Scores


@dataclass(frozen=True)
class RuleResult:
    """One rule's scores over all samples, and over parts of the samples.

    Attributes
    ----------
    rule : str
    all, observed, unobserved : Scores
        Scores over all samples, over samples with an observed truth, and over the others.
    branches : tuple of Branch
        Branches with samples, in canonical order; empty without a tree.
    severity : tuple of int
        Number of samples in each bin of `Evaluation.severity_edges`. A sample is in the bin that contains the
        distance from its answer to its truth.
    interval : Interval
        Interval of E[d^2], the mean squared distance to the truth.
    difference : Interval
        Interval of the rule's E[d^2] minus the Fréchet mean's E[d^2], on paired samples; above 0 if the
        Fréchet mean is better.
    n_differing : int
        Number of samples in which the rule and the Fréchet mean are not equally far from the truth.
    """

    rule: str
    all: Scores
    observed: Scores
    unobserved: Scores
    branches: tuple[Branch, ...]
    severity: tuple[int, ...]
    interval: Interval
    difference: Interval
    n_differing: int


@dataclass(frozen=True)
class Evaluation:
    """The result of `evaluate`; ``evaluation["frechet_mean"]`` is the result of one rule.

    Attributes
    ----------
    n_samples, n_labels, n_observed : int
    n_effective : int
        Number of samples that count as evidence. Samples with the same outputs and the same truth are copies
        and count as one.
    diameter : float
        Diameter of the allowed labels, in edge-weight units.
    bundle : str
        Digest of the evaluated bundle.
    outputs : str
        Kind of the model's outputs.
    temperature, beta : float
        Temperature and exponent of the adapter.
    constant : str
        Key of the constant rule's answer.
    constant_from : {"the training labels", "the truth itself"}
        The labels whose Fréchet mean is the constant rule's answer. ``"the truth itself"`` makes the rule
        look better than it is.
    top_k : int
        The k of top-k accuracy.
    branch_level : int or None
        Level of the tree at which branches begin, in edges from the root; None without a tree.
    level : float
        Confidence level of the intervals.
    resamples, seed : int
        Number of bootstrap draws, and the seed of all random choices.
    severity_edges : tuple of float
        Edges of the bins of the histograms. A bin includes its lower edge and excludes its upper edge; the
        last bin includes both. Bins have width 1 if all distances are whole numbers.
    calibration : Reliability
        Reliability of the model's argmax, over the samples whose truth is observed.
    rules : tuple of RuleResult
    verdict : Verdict
    notes : tuple of str
        Remarks for the user, such as that a rule could not be applied.
    """

    n_samples: int
    n_effective: int
    n_labels: int
    n_observed: int
    diameter: float
    bundle: str
    outputs: str
    temperature: float
    beta: float
    constant: str
    constant_from: str
    top_k: int
    branch_level: int | None
    level: float
    resamples: int
    seed: int
    severity_edges: tuple[float, ...]
    calibration: Reliability
    rules: tuple[RuleResult, ...]
    verdict: Verdict
    notes: tuple[str, ...]

    def __getitem__(self, rule: str) -> RuleResult:
        for result in self.rules:
            if result.rule == rule:
                return result
        raise InputError(f"rule: {rule!r} given; choose one of {', '.join(r.rule for r in self.rules)}")

    def __repr__(self) -> str:
        errors = ", ".join(f"{r.rule}={r.all.mean_squared_distance:.4g}" for r in self.rules)
        return f"Evaluation({self.verdict.answer!r}, n_samples={self.n_samples}, {errors})"

    def __str__(self) -> str:
        return self.render()

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as dicts, lists and numbers that JSON can represent."""
        return asdict(self) | {"unit": UNIT, "rules": {r.rule: asdict(r) for r in self.rules}}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the evaluation that `to_dict` described; further entries of the document are left out.

        Raises
        ------
        ArtifactError
            If an entry is missing, because another release wrote the document.
        """
        try:
            given = {field.name: _frozen(document[field.name]) for field in fields(cls)}
            given |= {
                "calibration": Reliability(**_frozen_entries(document["calibration"])),
                "verdict": Verdict(**document["verdict"]),
                "rules": tuple(map(_rule, document["rules"].values())),
            }
        except (KeyError, TypeError) as error:
            raise ArtifactError(
                f"evaluation: its document is not as this release writes it ({error}); evaluate again"
            ) from error
        return cls(**given)

    def render(self, named: Callable[[str], str] = str, *, unit: str = UNIT) -> str:
        """Return the report as text: verdict, tables and notes.

        Parameters
        ----------
        named : callable, default=str
            Turns the key of a label into the text that the report shows for it.
        unit : str, default="edge-weight units"
            Unit of the diameter; give ``"edges"`` if all edges have length 1.
        """
        return as_text(self, named, unit=unit)


def _rule(document: Mapping[str, Any]) -> RuleResult:
    """Return the result of one rule from its part of the document."""
    parts = {name: Scores(**document[name]) for name in ("all", "observed", "unobserved")}
    intervals = {name: Interval(**document[name]) for name in ("interval", "difference")}
    branches = tuple(Branch(one["key"], Scores(**one["scores"])) for one in document["branches"])
    return RuleResult(**{**_frozen_entries(document), **parts, **intervals, "branches": branches})


def _frozen_entries(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _frozen(value) for name, value in document.items()}


def _frozen(value: Any) -> Any:
    """Return a list, which JSON has in place of a tuple, as a tuple."""
    return tuple(value) if isinstance(value, list) else value

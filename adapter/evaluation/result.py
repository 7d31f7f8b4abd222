"""What an evaluation found, as records that JSON and all reports are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from labelgrove.adapter.bundles.bundlechecks import UNIT
from labelgrove.adapter.evaluation.evidence.bootstrap import Interval
from labelgrove.adapter.evaluation.evidence.verdict import Verdict
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.adapter.evaluation.measures.scores import Scores
from labelgrove.adapter.evaluation.text import as_text
from labelgrove.ontology.errors import InputError

__all__ = ["RULES", "Branch", "Evaluation", "RuleResult"]

RULES = ("frechet_mean", "argmax", "constant", "observed_only", "crm", "nearest_observed")
"""The rules of a report, in its order."""


@dataclass(frozen=True)
class Branch:
    """One rule's scores over the samples whose truth is in one branch of the hierarchy."""

    key: str
    scores: Scores


@dataclass(frozen=True)
class RuleResult:
    """One rule: its scores over all samples, and over parts of them.

    Attributes
    ----------
    rule : str
    all, observed, unobserved : Scores
        Over all samples, and over those whose truth is observed or is not.
    branches : tuple of Branch
        In canonical order, those with samples alone; empty without a tree.
    severity : tuple of int
        Number of samples whose distance falls into each bin of `Evaluation.severity_edges`.
    interval : Interval
        Of E[d^2].
    difference : Interval
        Of E[d^2] minus that of the Fréchet mean, samples paired: above 0 where the Fréchet mean is better.
    n_differing : int
        Samples in which it is not as far from the truth as the Fréchet mean.
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
    """What `evaluate` found; ``evaluation["frechet_mean"]`` is the result of one rule.

    Attributes
    ----------
    n_samples, n_labels, n_observed : int
    n_effective : int
        Samples that count as evidence: copies of one, the same outputs with the same truth, count as one.
    diameter : float
        Of the allowed labels, in edge-weight units.
    bundle : str
        Digest of the bundle that was scored.
    outputs : str
        What the model emits.
    temperature, beta : float
        Of the adapter.
    constant : str
        Key that the constant rule answers.
    constant_from : {"the training labels", "the truth itself"}
        What it is the Fréchet mean of; the latter flatters it.
    top_k : int
        The k of top-k accuracy.
    branch_level : int or None
        Level of the tree whose labels are the branches; None without a tree.
    level : float
        Of the intervals.
    resamples, seed : int
        Of the bootstrap.
    severity_edges : tuple of float
        Bins of the histograms, each closed below and open above (the last: closed); of width 1 where all
        distances are whole numbers.
    calibration : Reliability
        Of the model's own argmax, over the samples whose truth is observed.
    rules : tuple of RuleResult
    verdict : Verdict
    notes : tuple of str
        What a reader must know, such as a rule that could not be applied.
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
        raise InputError(f"rule {rule!r} is not among {', '.join(r.rule for r in self.rules)}")

    def __repr__(self) -> str:
        errors = ", ".join(f"{r.rule}={r.all.mean_squared_distance:.4g}" for r in self.rules)
        return f"Evaluation({self.verdict.answer!r}, n_samples={self.n_samples}, {errors})"

    def __str__(self) -> str:
        return self.render()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"unit": UNIT, "rules": {r.rule: asdict(r) for r in self.rules}}

    def render(self, named: Callable[[str], str] = str) -> str:
        """Return the report as text for people: verdict, tables, notes.

        Parameters
        ----------
        named : callable, default=str
            Turns the key of a label into what is written for it.
        """
        return as_text(self, named)

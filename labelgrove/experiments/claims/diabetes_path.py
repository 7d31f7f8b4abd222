"""Diabetes on a path graph: each label is a bin of the measured progression.

Distances are differences between bin indices, so E[d²] is the mean squared error in bins².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labelgrove.datasets.diabetes import diabetes_on_path
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.experiment import Claim, Experiment, Record, Summary
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.ruletables import grouped, rule_findings, rule_panel, rule_table
from labelgrove.ontology.geometry import sample_observed
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "DiabetesPath", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment; `sizes` are the numbers K of observed bins."""

    sizes: tuple[int, ...] = (3, 5, 8, 12)
    seeds: tuple[int, ...] = tuple(range(20))
    regularisation: float = 1.0


class DiabetesPath(Experiment[Settings, None]):
    """Observe K of the 33 bins on a path, drawn at random among the bins with patients."""

    claim = Claim(
        name="diabetes-path",
        sentence="On a path, where E[d²] is the mean squared error, the Fréchet mean of K observed bins is "
        "nearer to the truth than argmax",
        source="E[d²] generalizes the mean squared error; partially observed label spaces",
        inputs="scikit-learn's diabetes in 33 bins of equal width. All seeds share 442 patients",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        return Settings(sizes=(5, 12), seeds=(0, 1, 2)) if quick else Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each K in `sizes` and each seed."""
        return [{"K": k, "seed": seed} for k in settings.sizes for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> None:
        """Load nothing: the patients come with scikit-learn."""

    def measure(self, data: None, settings: Settings, unit: Record) -> Record:
        """Train on the patients of the observed bins, and measure the errors of every decision rule."""
        labeled = diabetes_on_path(unit["seed"])
        observed = sample_observed(labeled.trainable, unit["K"], seed=unit["seed"])
        predicted, _ = fit_predict(labeled, observed, "logistic", regularisation=settings.regularisation)
        return rule_errors(labeled.space, predicted)

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the Fréchet mean with the other decision rules for each K."""
        trials = grouped(results, ("K",))
        curves = {k: found for (k,), found in trials.items()}
        return Summary(
            findings=rule_findings(self.claim.sentence, ("K =",), trials),
            tables=(rule_table("E[d²] in squared bins, mean over seeds.", ("K",), trials),),
            panels=(rule_panel("Diabetes progression, 33 bins", "observed bins K", curves),),
        )


EXPERIMENT = DiabetesPath()

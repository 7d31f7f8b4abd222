"""Answer with any position of a 9 x 9 grid after training on digits in its four corners.

The corners are an identifying cover of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labelgrove.datasets.digits import CORNERS, digits_on_grid
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import judge
from labelgrove.experiments.experiment import Claim, Experiment, Record, Summary
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.ruletables import contrasts, grouped, rule_findings, rule_table
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "DigitsGrid", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    A seed decides which `n_images` digits are for training, and at which position each other digit is pasted.
    """

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    regularisation: float = 0.01
    n_images: int = 100


class DigitsGrid(Experiment[Settings, None]):
    """Train a model on digits in the four corners only, and let it answer with any of the 81 positions."""

    claim = Claim(
        name="digits-grid",
        sentence="Four corners identify a grid: a model that knows them can answer with every position, "
        "nearer to the truth than argmax",
        source="grid covers; partially observed label spaces",
        inputs="scikit-learn's digits, pasted at 81 positions. All seeds share 1,797 images",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        return Settings(seeds=(0, 1), n_images=40) if quick else Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each seed."""
        return [{"seed": seed} for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> None:
        """Load nothing: the images come with scikit-learn."""

    def measure(self, data: None, settings: Settings, unit: Record) -> Record:
        """Train on digits in the corners, and measure the errors of every decision rule."""
        labeled = digits_on_grid(CORNERS, unit["seed"], n_images=settings.n_images)
        predicted, _ = fit_predict(labeled, CORNERS, "logistic", regularisation=settings.regularisation)
        return rule_errors(labeled.space, predicted)

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the Fréchet mean with argmax, a constant and the oracle."""
        trials = {("the four corners",): grouped(results, [])[()]}
        beyond = judge(
            "The Fréchet mean has a smaller error than any rule that answers with the corners alone",
            contrasts([""], trials, "nearest_observed"),
            before="nearest corner",
            after="Fréchet mean",
        )
        return Summary(
            findings=(*rule_findings(self.claim.sentence, [""], trials), beyond),
            tables=(rule_table("E[d²] in squared steps on the grid.", ["observed"], trials),),
            notes=(
                "The penalty matters: with a weak one the corners are told apart with probabilities of 0 and "
                "1, from which no rule can read a distance (see under-confident for the opposite).",
            ),
        )


EXPERIMENT = DigitsGrid()

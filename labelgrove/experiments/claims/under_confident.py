"""The counterexample: with an under-confident model, the Fréchet mean is worse than argmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labelgrove.datasets.digits import CORNERS, digits_on_grid, grid_space
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import judge
from labelgrove.experiments.experiment import Claim, Experiment, Record, Summary
from labelgrove.experiments.measuring import fitted_temperature, rule_errors, tempered
from labelgrove.experiments.ruletables import contrasts, grouped, rule_findings, rule_table
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import sample_observed
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "Settings", "UnderConfident"]

_CORNERS = 4


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `sizes` are numbers K of observed positions. K = 4 stands for the corners; it is always measured, and must
    not be listed. `regularisation` is C, the inverse strength of the penalty; at the default, 0.01, the
    penalty is so strong that it flattens the probabilities.
    """

    sizes: tuple[int, ...] = (9, 20)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    regularisation: float = 0.01
    held_out: float = 0.2
    n_images: int = 50


class UnderConfident(Experiment[Settings, None]):
    """Test digits on a grid, with random observed positions and a penalty that flattens probabilities."""

    claim = Claim(
        name="under-confident",
        sentence="In partially observed label spaces the Fréchet mean always improves on argmax, whatever "
        "the model",
        source="ImageNet: “always significantly outperforms the baseline”",
        inputs="scikit-learn's digits on a 9 x 9 grid, logistic regression with C = 0.01. All seeds share "
        "1,797 images",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        return Settings(sizes=(20,), seeds=(0, 1, 2), n_images=20) if quick else Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each K, including 4 for the corners, and each seed.

        Raise `InputError` if `sizes` already contains 4.
        """
        if _CORNERS in settings.sizes:
            raise InputError("sizes: 4 means the four corners, which are always measured; give other numbers")
        return [{"K": k, "seed": seed} for k in (*settings.sizes, _CORNERS) for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> None:
        """Load nothing: the images come with scikit-learn."""

    def measure(self, data: None, settings: Settings, unit: Record) -> Record:
        """Measure the errors of every decision rule, for the unchanged model and for the calibrated one.

        To calibrate the model, a temperature is fitted on held-out images.
        """
        k, seed = unit["K"], unit["seed"]
        observed = CORNERS if k == _CORNERS else sample_observed(grid_space(), k, seed=seed)
        labeled = digits_on_grid(observed, seed, n_images=settings.n_images)
        predicted, kept = fit_predict(
            labeled,
            observed,
            "logistic",
            regularisation=settings.regularisation,
            held_out=settings.held_out,
            seed=seed,
        )
        temperature = 1.0 if kept is None else fitted_temperature(kept)
        calibrated = replace(predicted, probabilities=tempered(predicted.probabilities, temperature))
        raw, repaired = (rule_errors(labeled.space, p) for p in (predicted, calibrated))
        checked = raw["checked_rows"] + repaired["checked_rows"]
        return {"raw": raw, "calibrated": repaired, "temperature": temperature, "checked_rows": checked}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Judge the unchanged model; show what calibration on observed labels makes better and worse."""
        trials = {
            (k, "raw" if part == "raw" else "calibrated"): found
            for part in ("raw", "calibrated")
            for (k,), found in grouped(results, ("K",), part).items()
        }
        drawn = {key: found for key, found in trials.items() if key[0] != _CORNERS and key[1] == "raw"}
        corners = grouped(results, ("K",), "raw")[(_CORNERS,)]
        after = grouped(results, ("K",), "calibrated")
        repaired = {key: found for key, found in after.items() if key[0] != _CORNERS}
        ruined = [
            {
                "rules": {
                    "raw": raw["rules"]["frechet_mean"],
                    "frechet_mean": calibrated["rules"]["frechet_mean"],
                },
                "one_answer": False,
            }
            for raw, calibrated in zip(corners, after[(_CORNERS,)], strict=True)
        ]
        return Summary(
            findings=(
                *rule_findings(self.claim.sentence, ("K =", ""), drawn),
                judge(
                    "A temperature fitted on held-out samples of observed labels repairs it",
                    contrasts(("K =",), repaired, "argmax"),
                    before="argmax",
                    after="Fréchet mean, calibrated",
                ),
                judge(
                    "The same calibration does no harm where four corners were observed",
                    contrasts(("",), {("the four corners",): ruined}, "raw"),
                    before="Fréchet mean as it is",
                    after="Fréchet mean, calibrated",
                ),
            ),
            tables=(
                rule_table("E[d²] as the model is, and calibrated (K = 4: corners).", ("K", "model"), trials),
            ),
            notes=(
                "Calibration on observed labels is not calibration for unobserved ones: where the observed "
                "labels are easy to tell apart, likelihood drives the temperature to its bound.",
            ),
        )


EXPERIMENT = UnderConfident()

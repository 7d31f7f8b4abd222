"""Test whether the temperature that calibrates a model also suits the Fréchet mean.

Test also whether a tuned temperature makes the Fréchet mean more accurate than argmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelgrove.adapter.calibration import expected_calibration_error
from labelgrove.datasets.glosses import Glosses
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Contrast, Finding, Verdict, judge, mean
from labelgrove.experiments.experiment import Claim, Mark, Panel, Record, Summary, Table, band
from labelgrove.experiments.measuring import (
    argmax_columns,
    check_argmax,
    mean_and_argmax,
    tempered,
)
from labelgrove.experiments.onglosses import (
    FEW_CLASSES,
    ZERO_SHOT_FILES,
    ZERO_SHOT_GLOSSES,
    OnZeroShotGlosses,
)

__all__ = ["EXPERIMENT", "Calibration", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `default` is the temperature that is usual for a zero-shot model; it should be one of `temperatures`, the
    values tried.
    """

    seeds: tuple[int, ...] = tuple(range(10))
    temperatures: tuple[float, ...] = (0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.3)
    default: float = 0.05
    n_classes: int = 100
    n_test: int = 2000
    n_dimensions: int = 300
    n_labels: int = 0


class Calibration(OnZeroShotGlosses[Settings]):
    """Measure ECE, E[d²] and accuracy at each temperature.

    ECE is the expected calibration error of the model's own argmax, in 15 bins of equal width.
    """

    claim = Claim(
        name="calibration",
        sentence="Tuning the temperature makes the Fréchet mean more accurate than argmax, even without an "
        "external metric",
        source="CLIP on CIFAR-100: default, ECE-best and distance-best temperatures are close",
        inputs=ZERO_SHOT_GLOSSES,
        own_files=ZERO_SHOT_FILES,
        command="grove experiment calibration --probs clip-cifar100.npy --columns classes.txt --truth "
        "truth.txt \\\n"
        "  --class-embeddings clip-text.npy --classes classes.txt --hierarchy cifar100.txt \\\n"
        "  --answers leaves --set temperatures=0.5,0.7,0.85,1,1.2,1.5,2 --set default=1",
    )

    version = 2

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(seeds=(0, 1), temperatures=(0.03, 0.05, 0.1, 0.2), **FEW_CLASSES)
        return Settings()

    def measure(self, data: Glosses | Files, settings: Settings, unit: Record) -> Record:
        """At each temperature, measure ECE, and measure E[d²] and accuracy in every space but ``complete``.

        ECE does not depend on the space.
        """
        found = self.trial(data, settings, unit["seed"])
        columns, truth = np.array(found.predicted.columns), np.array(found.predicted.truth)
        order = np.argsort(np.argsort(columns))
        spaces = {name: space for name, space in found.spaces.items() if name != "complete"}
        out: dict[str, list[float]] = {"ece": []}
        checked = 0
        for temperature in settings.temperatures:
            rows = tempered(found.predicted.probabilities, temperature)
            correct = columns[argmax_columns(order, rows)] == truth
            checked += check_argmax(found.predicted.columns, rows)
            out["ece"].append(expected_calibration_error(rows.max(axis=1), correct))
            for name, space in spaces.items():
                mean, argmax, answers = mean_and_argmax(space, replace(found.predicted, probabilities=rows))
                exact = float((answers == space.index(found.predicted.truth)).mean())
                for what, value in (
                    ("frechet_mean", float(mean.mean())),
                    ("argmax", float(argmax.mean())),
                    ("accuracy", exact),
                ):
                    out.setdefault(f"{name}: {what}", []).append(value)
            out.setdefault("argmax accuracy", []).append(float(correct.mean()))
        return {**out, "checked_rows": checked}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Judge the accuracy of the Fréchet mean, and how close three temperatures are (`_closeness`).

        The accuracy is compared with that of argmax only in the first of the metric spaces, and only at the
        temperature at which the Fréchet mean is the most accurate in this space.
        """
        found = [result for _, result in results]
        spaces = [name.removesuffix(": frechet_mean") for name in found[0] if name.endswith(": frechet_mean")]
        first = spaces[0]
        grid = settings.temperatures
        best = int(np.argmax([mean([r[f"{first}: accuracy"][i] for r in found]) for i in range(len(grid))]))
        accuracy = judge(
            self.claim.sentence,
            [
                Contrast(
                    f"{first}, T = {grid[best]:g}, the best of {len(grid)}",
                    tuple(1 - r["argmax accuracy"][best] for r in found),
                    tuple(1 - r[f"{first}: accuracy"][best] for r in found),
                )
            ],
            before="error rate of argmax",
            after="of the Fréchet mean",
        )
        calibrated = [_at_least(grid, r["ece"]) for r in found]
        suited = {name: [_at_least(grid, r[f"{name}: frechet_mean"]) for r in found] for name in spaces}
        rows = [
            (
                t,
                mean([r["ece"][i] for r in found]),
                *(
                    mean([r[f"{name}: {w}"][i] for r in found])
                    for name in spaces
                    for w in ("frechet_mean", "accuracy")
                ),
            )
            for i, t in enumerate(grid)
        ]
        heads = [f"{name} {what}" for name in spaces for what in ("E[d²]", "accuracy")]
        marks = (
            Mark("default", settings.default),
            Mark("ECE-best", float(np.median(calibrated))),
            Mark("distance-best", float(np.median(suited[first]))),
        )
        panels = (
            Panel(
                "Calibration error",
                "temperature",
                "ECE",
                (band("ECE", {t: [r["ece"][i] for r in found] for i, t in enumerate(grid)}),),
                log_x=True,
                marks=marks,
            ),
            Panel(
                "Error of the Fréchet mean divided by that of argmax",
                "temperature",
                "E[d²] Fréchet mean / E[d²] argmax",
                tuple(
                    band(
                        name,
                        {
                            t: [r[f"{name}: frechet_mean"][i] / r[f"{name}: argmax"][i] for r in found]
                            for i, t in enumerate(grid)
                        },
                    )
                    for name in spaces
                ),
                log_x=True,
                marks=marks,
            ),
        )
        return Summary(
            findings=(accuracy, _closeness(settings, calibrated, suited)),
            tables=(
                Table("Means over seeds at each temperature.", ("T", "ECE", *heads), tuple(rows)),
                Table(
                    "The best temperature of each seed: median, least and largest.",
                    ("what is least", "median T", "least", "largest"),
                    tuple(
                        (what, float(np.median(values)), min(values), max(values))
                        for what, values in (
                            ("ECE", calibrated),
                            *((f"E[d²], {n}", v) for n, v in suited.items()),
                        )
                    ),
                ),
            ),
            panels=panels,
            notes=(
                f"Argmax itself is right {mean([r['argmax accuracy'][0] for r in found]):.4f} of the "
                "time, at any temperature.",
                "The best temperature for accuracy is chosen on the samples it is judged on, which "
                "flatters it.",
            ),
        )


def _at_least(grid: Sequence[float], values: Sequence[float]) -> float:
    return float(grid[int(np.argmin(values))])


def _closeness(settings: Settings, calibrated: list[float], suited: dict[str, list[float]]) -> Finding:
    """Return the finding on whether three temperatures are within a factor of two of each other.

    These are the default, the temperature with the least ECE, and the one with the least E[d²] of the
    Fréchet mean.
    """
    middle = float(np.median(calibrated))
    medians = {name: float(np.median(values)) for name, values in suited.items()}
    close = [max(t, middle) <= 2 * min(t, middle) for t in medians.values()]
    near = max(middle, settings.default) <= 2 * min(middle, settings.default)
    verdict = (
        Verdict.HOLDS if all(close) and near else Verdict.IN_PART if any(close) or near else Verdict.FAILS
    )
    shown = ", ".join(f"{name} {t:g}" for name, t in medians.items())
    return Finding(
        "The default temperature, the one with the least E[d²] and the one with the least ECE are within a "
        "factor of two",
        verdict,
        f"median over seeds: ECE {middle:g}, default {settings.default:g}, E[d²]: {shown}",
    )


EXPERIMENT = Calibration()

"""Active selection against random: the error after the chosen classes are trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from labelgrove.experiments.claims.inputs import OnLabelledGlosses
from labelgrove.experiments.contrast import Contrast, judge, mean
from labelgrove.experiments.experiment import Panel, Record, Summary, Table, band
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.sources.labelled import Labelled
from labelgrove.experiments.training import fit_predict
from ontology.geometry import locus, sample_observed, select_classes

__all__ = ["EXPERIMENT", "ActiveError", "Settings"]


@dataclass(frozen=True)
class Settings:
    """The model is trained again after each of the rounds named."""

    n_start: int = 50
    rounds: tuple[int, ...] = (10, 25, 50)
    seeds: tuple[int, ...] = tuple(range(8))
    models: tuple[str, ...] = ("logistic", "5-nn")
    n_test: int = 3000
    n_dimensions: int = 300
    n_labels: int = 0


class ActiveError(OnLabelledGlosses[Settings]):
    """From the same labels, those chosen actively and those drawn at random are added and trained on."""

    name: ClassVar[str] = "active-error"
    claim: ClassVar[str] = (
        "Classes chosen actively make the error of the Fréchet mean smaller than classes chosen at random"
    )
    source: ClassVar[str] = "ImageNet, 500 random classes and 50 more, 10 trials"
    command: ClassVar[str] = (
        "grove experiment active-error --hierarchy imagenet-wordnet.txt --answers leaves \\\n"
        "  --embeddings simclr-train.npy --labels train.txt \\\n"
        "  --test-embeddings simclr-val.npy --test-labels val.txt \\\n"
        "  --set n_start=500 --set seeds=0,1,2,3,4,5,6,7,8,9 --set models=one-vs-rest"
    )

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the settings."""
        if quick:
            return Settings(
                n_start=15,
                rounds=(10,),
                seeds=(0, 1),
                models=("logistic",),
                n_test=200,
                n_dimensions=40,
                n_labels=80,
            )
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each seed."""
        return [{"seed": seed} for seed in settings.seeds]

    def measure(self, data: Callable[[int], Labelled], settings: Settings, unit: Record) -> Record:
        """Return locus and errors after each round, chosen actively and at random."""
        labelled = data(unit["seed"])
        space, candidates = labelled.space, list(labelled.trainable.keys)
        start = sample_observed(labelled.trainable, settings.n_start, seed=unit["seed"])
        methods: tuple[Any, ...] = ("active", "uniform")
        picks = {
            method: select_classes(
                space, start, max(settings.rounds), candidates=candidates, method=method, seed=unit["seed"]
            ).keys
            for method in methods
        }
        out: dict[str, Any] = {}
        checked = 0
        for method, chosen in picks.items():
            for n in settings.rounds:
                observed = (*start, *chosen[:n])
                entry: dict[str, Any] = {"locus": len(locus(space, observed))}
                for model in settings.models:
                    found = rule_errors(space, fit_predict(labelled, observed, model)[0])
                    checked += found["checked_rows"]
                    entry[model] = {rule: found["rules"][rule]["squared"] for rule in ("loki", "argmax")}
                out[f"{method} {n}"] = entry
        return {**out, "checked_rows": checked}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the errors of Loki, and of argmax, for each model and round."""
        found = [result for _, result in results]

        def compared(rule: str) -> list[Contrast]:
            return [
                Contrast(
                    f"{model}, {n} more",
                    tuple(f[f"uniform {n}"][model][rule] for f in found),
                    tuple(f[f"active {n}"][model][rule] for f in found),
                )
                for model in settings.models
                for n in settings.rounds
            ]

        rows = [
            (
                model,
                n,
                *(mean([f[f"{m} {n}"]["locus"] for f in found]) for m in ("active", "uniform")),
                *(
                    mean([f[f"{m} {n}"][model][rule] for f in found])
                    for rule in ("loki", "argmax")
                    for m in ("active", "uniform")
                ),
            )
            for model in settings.models
            for n in settings.rounds
        ]
        heads = [f"{w}, {m}" for w in ("locus", "Loki", "argmax") for m in ("active", "random")]
        panels = tuple(
            Panel(
                model,
                "labels added",
                "E[d²] of Loki",
                tuple(
                    band(shown, {n: [f[f"{m} {n}"][model]["loki"] for f in found] for n in settings.rounds})
                    for m, shown in (("active", "active"), ("uniform", "random"))
                ),
            )
            for model in settings.models
        )
        names: dict[str, Any] = {"before": "random", "after": "active"}
        return Summary(
            findings=(
                judge(self.claim, compared("loki"), **names),
                judge("The same for argmax", compared("argmax"), **names),
            ),
            tables=(
                Table(
                    "E[d²] and labels in the locus, mean over seeds.", ("model", "added", *heads), tuple(rows)
                ),
            ),
            panels=panels,
            notes=(
                "The locus that drives the choice is that of the space of answers; with inner labels among "
                "them it is the tree's, and picks are restricted to labels that have samples.",
            ),
        )


EXPERIMENT = ActiveError()

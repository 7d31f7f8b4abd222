"""Compare active with random selection by the error of a model trained on the selected classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labelgrove.datasets.glosses import glosses
from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Contrast, judge, mean
from labelgrove.experiments.experiment import Claim, Panel, Record, Summary, Table, band
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.onglosses import LABELED_FILES, ON_ALL_GLOSSES, OnGlosses
from labelgrove.ontology.geometry import locus, sample_observed, select_classes
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "ActiveError", "Settings"]

_GIVEN = "your own"
"""The name under which results show features that a user gave as files."""


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `n_start` labels are observed at the start. Each number in `rounds` is a number of labels that are then
    added; a model is trained for each of these numbers.
    """

    n_start: int = 50
    rounds: tuple[int, ...] = (10, 25, 50)
    seeds: tuple[int, ...] = tuple(range(8))
    models: tuple[str, ...] = ("logistic", "5-nn")
    n_test: int = 3000
    n_dimensions: int = 300
    n_labels: int = 0


class ActiveError(OnGlosses[Settings, "Mapping[str, Callable[[int], Labeled]]"]):
    """Begin with the same observed labels, add labels chosen actively or at random, and train a model.

    The model is trained on the samples of the observed and the added labels. `prepare` returns a dictionary
    with an entry for each type of features: "masked" and "named" glosses, or the user's own. The value is a
    function that takes a seed and returns the samples of this seed.
    """

    claim = Claim(
        name="active-error",
        sentence="Classes chosen actively make the error of the Fréchet mean smaller than classes chosen "
        "at random",
        source="ImageNet, 500 random classes and 50 more, 10 trials",
        inputs="WordNet glosses of 1,575 synsets, tree of 2,268; masked, without the words that name "
        f"synsets, and named, with them. {ON_ALL_GLOSSES}",
        own_files=LABELED_FILES,
        command="grove experiment active-error --hierarchy imagenet-wordnet.txt --answers leaves \\\n"
        "  --embeddings simclr-train.npy --labels train.txt \\\n"
        "  --test-embeddings simclr-val.npy --test-labels val.txt \\\n"
        "  --set n_start=500 --set seeds=0,1,2,3,4,5,6,7,8,9 --set models=one-vs-rest",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
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

    def prepare(self, settings: Settings, files: Files | None) -> Mapping[str, Callable[[int], Labeled]]:
        """Read and embed the glosses, or open the user's files.

        Glosses are of two types: masked, without the words that name synsets, and named, with these words.
        """
        if files is not None:
            space = files.space()
            return {_GIVEN: lambda seed: files.labeled(space, seed)}

        def samples(named: bool) -> Callable[[int], Labeled]:
            source = glosses(settings.n_dimensions, settings.n_labels, named=named)
            return lambda seed: source.labeled(seed, n_test=settings.n_test)

        return {"masked": samples(False), "named": samples(True)}

    def measure(
        self, data: Mapping[str, Callable[[int], Labeled]], settings: Settings, unit: Record
    ) -> Record:
        """Return the locus size and the errors for each type of features, method and number of labels."""
        found = {
            name: self._measured(samples(unit["seed"]), settings, unit) for name, samples in data.items()
        }
        return {**found, "checked_rows": sum(f["checked_rows"] for f in found.values())}

    def _measured(self, labeled: Labeled, settings: Settings, unit: Record) -> dict[str, Any]:
        space, candidates = labeled.space, list(labeled.trainable.keys)
        start = sample_observed(labeled.trainable, settings.n_start, seed=unit["seed"])
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
                    found = rule_errors(space, fit_predict(labeled, observed, model)[0])
                    checked += found["checked_rows"]
                    entry[model] = {
                        rule: found["rules"][rule]["squared"] for rule in ("frechet_mean", "argmax")
                    }
                out[f"{method} {n}"] = entry
        return {**out, "checked_rows": checked}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare active with random selection by the errors of the Fréchet mean, and by those of argmax.

        The two are compared separately for each combination of a type of features, a model and a number of
        added labels.
        """
        by_features = {
            name: [result[name] for _, result in results] for name in results[0][1] if name != "checked_rows"
        }
        cases = [
            (name, model, n, found)
            for name, found in by_features.items()
            for model in settings.models
            for n in settings.rounds
        ]

        def compared(rule: str) -> list[Contrast]:
            return [
                Contrast(
                    f"{'' if name == _GIVEN else f'{name}, '}{model}, {n} more",
                    tuple(f[f"uniform {n}"][model][rule] for f in found),
                    tuple(f[f"active {n}"][model][rule] for f in found),
                )
                for name, model, n, found in cases
            ]

        rows = [
            (
                name,
                model,
                n,
                *(mean([f[f"{m} {n}"]["locus"] for f in found]) for m in ("active", "uniform")),
                *(
                    mean([f[f"{m} {n}"][model][rule] for f in found])
                    for rule in ("frechet_mean", "argmax")
                    for m in ("active", "uniform")
                ),
            )
            for name, model, n, found in cases
        ]
        heads = [f"{w}, {m}" for w in ("locus", "Fréchet mean", "argmax") for m in ("active", "random")]
        panels = tuple(
            Panel(
                model if name == _GIVEN else f"{model}, {name} glosses",
                "labels added",
                "E[d²] of the Fréchet mean",
                tuple(
                    band(
                        shown,
                        {n: [f[f"{m} {n}"][model]["frechet_mean"] for f in found] for n in settings.rounds},
                    )
                    for m, shown in (("active", "active"), ("uniform", "random"))
                ),
            )
            for name, found in by_features.items()
            for model in settings.models
        )
        names: dict[str, Any] = {"before": "random", "after": "active"}
        found = judge(self.claim.sentence, compared("frechet_mean"), **names)
        here = "" if _GIVEN in by_features else ", TF-IDF vectors here"
        return Summary(
            findings=(
                replace(found, because=f"{found.because}; it depends on the features{here}"),
                judge("The same for argmax", compared("argmax"), **names),
            ),
            tables=(
                Table(
                    "E[d²] and labels in the locus, mean over seeds.",
                    ("features", "model", "added", *heads),
                    tuple(rows),
                ),
            ),
            panels=panels,
            notes=(
                "It depends on the features and on the model: read the settings one by one. Others, such as "
                "those of a sentence-embedding model, may decide otherwise; give yours with --embeddings.",
                "The locus that drives the choice is that of the space of answers; with inner labels among "
                "them it is the tree's, and picks are restricted to labels that have samples.",
            ),
        )


EXPERIMENT = ActiveError()

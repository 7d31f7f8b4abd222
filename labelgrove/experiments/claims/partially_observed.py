"""Test partially observed label spaces: a model that knows only K labels answers with any label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelgrove.datasets.glosses import glosses
from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.ownfiles import Files
from labelgrove.datasets.predicted import Predicted
from labelgrove.experiments.experiment import Claim, Record, Summary
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.onglosses import LABELED_FILES, ON_ALL_GLOSSES, OnGlosses
from labelgrove.experiments.ruletables import grouped, rule_findings, rule_panel, rule_table
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace, sample_observed
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "PartiallyObserved", "Settings", "of_all_classes"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `sizes` are the numbers K of observed labels, `theta` is the concentration of the Gibbs samples.
    """

    samplings: tuple[str, ...] = ("uniform", "gibbs")
    sizes: tuple[int, ...] = (25, 100, 250, 500)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    models: tuple[str, ...] = ("logistic", "5-nn")
    theta: float = 0.5
    n_test: int = 3000
    n_dimensions: int = 300
    n_labels: int = 0


@dataclass(frozen=True)
class Data:
    """The data that all units share: samples, or the outputs of a model that was trained on all classes.

    If units train models, `samples` is a function that takes a seed and returns the samples of this seed, and
    the other fields are None. Otherwise, `samples` is None, and `predicted` contains the outputs. The allowed
    labels of `space` may be answers; those of `trainable` are the columns of the outputs.
    """

    samples: Callable[[int], Labeled] | None
    predicted: Predicted | None = None
    space: MetricSpace | None = None
    trainable: MetricSpace | None = None


class PartiallyObserved(OnGlosses[Settings, Data]):
    """Draw K observed labels, uniformly or as a Gibbs sample near the center, for every K and seed."""

    claim = Claim(
        name="partially-observed",
        sentence="Where a model knows K of the labels, the Fréchet mean is nearer to the truth than "
        "argmax, for every K, under uniform and under Gibbs sampling",
        source="ImageNet with SimCLR features, one-vs-rest, WordNet tree; K from 10 to 1,000",
        inputs=f"WordNet glosses of 1,575 synsets, tree of 2,268. {ON_ALL_GLOSSES}",
        own_files=(
            *LABELED_FILES,
            ("hierarchy", "probs", "columns", "truth"),
        ),
        command="grove experiment partially-observed --hierarchy imagenet-wordnet.txt --answers leaves \\\n"
        "  --embeddings simclr-train.npy --labels train.txt \\\n"
        "  --test-embeddings simclr-val.npy --test-labels val.txt \\\n"
        "  --set sizes=10,25,50,100,250,500,750,1000 --set models=one-vs-rest",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(sizes=(10, 40), seeds=(0, 1), n_test=300, n_dimensions=40, n_labels=80)
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each way of sampling, each K in `sizes` and each seed."""
        return [
            {"sampling": sampling, "K": k, "seed": seed}
            for sampling in settings.samplings
            for k in settings.sizes
            for seed in settings.seeds
        ]

    def prepare(self, settings: Settings, files: Files | None) -> Data:
        """Read and embed the glosses, or open the user's files."""
        if files is None:
            source = glosses(settings.n_dimensions, settings.n_labels)
            return Data(lambda seed: source.labeled(seed, n_test=settings.n_test))
        space = files.space()
        if files.embeddings is not None:
            return Data(lambda seed: files.labeled(space, seed))
        predicted = files.predicted(space)
        return Data(None, predicted, space, files.space(predicted.columns))

    def measure(self, data: Data, settings: Settings, unit: Record) -> Record:
        """Draw the observed labels, and train each model on their samples.

        Then measure the errors of every decision rule. If `data` contains the outputs of a model, nothing is
        trained; only the columns of the observed labels are used.
        """
        if data.samples is None:
            return self._columns_taken(data, settings, unit)
        labeled = data.samples(unit["seed"])
        observed = self._observed(labeled.trainable, settings, unit)
        found = {
            model: rule_errors(labeled.space, fit_predict(labeled, observed, model)[0])
            for model in settings.models
        }
        return {**found, "checked_rows": sum(f["checked_rows"] for f in found.values())}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the decision rules for each model, each K and each way of sampling."""
        models = [name for name in results[0][1] if name != "checked_rows"]
        heads = ("sampling", "model", "K")
        trials = {
            (sampling, model, k): found
            for model in models
            for (sampling, k), found in grouped(results, ("sampling", "K"), model).items()
        }
        trials = dict(sorted(trials.items(), key=lambda item: settings.samplings.index(item[0][0])))
        panels = tuple(
            rule_panel(
                f"{model}, {sampling} sampling",
                "observed labels K",
                {k: found for (s, m, k), found in trials.items() if (s, m) == (sampling, model)},
            )
            for sampling in settings.samplings
            for model in models
        )
        return Summary(
            findings=rule_findings(self.claim.sentence, ("", "", "K ="), trials),
            tables=(rule_table("E[d²] of every rule, mean over seeds.", heads, trials),),
            panels=panels,
            notes=(
                "Against argmax even one constant answer does well here: compare with it, not with argmax "
                "alone. Exact accuracy is the price of a smaller distance.",
            ),
        )

    def _observed(self, trainable: MetricSpace, settings: Settings, unit: Record) -> tuple[str, ...]:
        if unit["K"] > trainable.n_labels:
            raise InputError(
                f"sizes: K = {unit['K']}, but only {trainable.n_labels} labels have samples; give "
                "smaller sizes with --set sizes=..."
            )
        return sample_observed(
            trainable, unit["K"], method=unit["sampling"], theta=settings.theta, seed=unit["seed"]
        )

    def _columns_taken(self, data: Data, settings: Settings, unit: Record) -> Record:
        if data.predicted is None or data.space is None or data.trainable is None:
            raise InputError(
                "--probs: missing; give --embeddings and --labels, or --probs, --columns and --truth"
            )
        observed = self._observed(data.trainable, settings, unit)
        found = rule_errors(data.space, of_all_classes(data.predicted, observed))
        return {"columns of all classes": found, "checked_rows": found["checked_rows"]}


def of_all_classes(predicted: Predicted, observed: tuple[str, ...]) -> Predicted:
    """Keep only the columns of `observed` in the outputs of a model that was trained on all classes.

    The source paper's code does this, although what the model learned about the other classes leaks into
    these columns. A row that is zero in all these columns becomes uniform.
    """
    column = {key: i for i, key in enumerate(predicted.columns)}
    taken = np.asarray(predicted.probabilities[:, [column[key] for key in observed]], dtype=np.float64)
    taken[~(taken.sum(axis=1) > 0)] = 1.0
    keys = set(observed)
    training = tuple(key for key in predicted.train_labels if key in keys)
    return replace(predicted, columns=observed, probabilities=taken, train_labels=training or observed)


EXPERIMENT = PartiallyObserved()

"""Repeat the protocol of the paper's PubMed experiment: class distances come from vectors of class texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labelgrove.datasets.glosses import glosses
from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.experiment import Claim, Record, Summary
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.onglosses import ON_ALL_GLOSSES, OnGlosses, with_test_files
from labelgrove.experiments.ruletables import grouped, rule_findings, rule_panel, rule_table
from labelgrove.ontology.geometry import sample_observed
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "ClassEmbeddings", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment; `sizes` are the numbers K of observed classes."""

    sizes: tuple[int, ...] = (100, 250, 500)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    model: str = "5-nn"
    n_test: int = 3000
    n_dimensions: int = 300
    n_labels: int = 0


class ClassEmbeddings(OnGlosses[Settings, "Callable[[int], Labeled]"]):
    """Measure distances between the vectors of the classes' texts; predict by 5-NN on document vectors."""

    claim = Claim(
        name="class-embeddings",
        sentence="With a metric made from class vectors alone, the Fréchet mean improves on 5-NN for every "
        "K, tested on documents of all classes",
        source="PubMed, 9,419 classes, SimCSE class vectors, K = 100, 250, 500",
        inputs="WordNet glosses; 1,575 synsets by the vectors of their own words and gloss. "
        f"{ON_ALL_GLOSSES}",
        own_files=with_test_files("class-embeddings", "classes", "embeddings", "labels"),
        command="grove experiment class-embeddings --class-embeddings simcse-classes.npy --classes "
        "classes.txt \\\n"
        "  --embeddings documents.npy --labels labels.txt",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(sizes=(20, 40), seeds=(0, 1, 2), n_test=300, n_dimensions=40, n_labels=80)
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each K in `sizes` and each seed."""
        return [{"K": k, "seed": seed} for k in settings.sizes for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> Callable[[int], Labeled]:
        """Read and embed glosses and classes, or open the user's files."""
        if files is not None:
            space = files.class_space()
            return lambda seed: files.labeled(space, seed)
        source = glosses(settings.n_dimensions, settings.n_labels)
        return lambda seed: source.labeled(
            seed, metric="internal", answers=source.labels, n_test=settings.n_test
        )

    def measure(self, data: Callable[[int], Labeled], settings: Settings, unit: Record) -> Record:
        """Draw observed classes uniformly, and train on their documents.

        Then measure the errors of every decision rule.
        """
        labeled = data(unit["seed"])
        observed = sample_observed(labeled.trainable, unit["K"], seed=unit["seed"])
        return rule_errors(labeled.space, fit_predict(labeled, observed, settings.model)[0])

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the Fréchet mean with the other decision rules for each K."""
        trials = grouped(results, ("K",))
        curves = {k: found for (k,), found in trials.items()}
        return Summary(
            findings=rule_findings(self.claim.sentence, ("K =",), trials),
            tables=(rule_table("E[d²], squared Euclidean distance, mean over seeds.", ("K",), trials),),
            panels=(rule_panel("Distances between class vectors", "observed classes K", curves),),
            notes=(
                "The paper's code tests on documents of observed classes only and takes the most frequent "
                "classes; here classes are drawn and all documents are tested.",
            ),
        )


EXPERIMENT = ClassEmbeddings()

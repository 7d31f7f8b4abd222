"""Repeat the protocol of the paper's LSHTC experiment on a huge category graph.

The graph is merged into supernodes, and 5-NN predicts the supernodes of documents. The categories of a
document vote for its supernode.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove.datasets.category import Categories, categories, categories_of_files
from labelgrove.datasets.labeled import Labeled, spread
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import mean
from labelgrove.experiments.experiment import Claim, Experiment, Record, Summary, Table
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.ruletables import grouped, rule_findings, rule_panel, rule_table
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import (
    DegenerateSummaryWarning,
    metric_space,
    push,
    sample_observed,
    summarize,
)
from labelgrove.training import fit_predict

__all__ = ["EXPERIMENT", "Settings", "Supernodes"]

_METHODS = {
    "neighbourhood": "whole neighborhoods (the paper's text)",
    "node": "up to the target (the paper's code)",
    "capped": "capped (ours)",
}
_STREAM = 29


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `target` is the largest number of supernodes. `sizes` are the numbers K of observed supernodes. `n_test`
    is the number of test documents, or 0 for all.
    """

    methods: tuple[str, ...] = tuple(_METHODS)
    sizes: tuple[int, ...] = (50, 100, 200, 300)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    target: int = 600
    n_test: int = 3000
    n_labels: int = 20_000
    n_documents: int = 12_000


class Supernodes(Experiment[Settings, Categories]):
    """Train on half of the documents of the observed supernodes, and test on other documents."""

    claim = Claim(
        name="supernodes",
        sentence="On a huge category graph summarized to supernodes, the Fréchet mean improves on 5-NN for "
        "every K",
        source="LSHTC, 325,056 classes to 10,000 supernodes, K = 50 to 300; 1.65 to 0.40",
        inputs="generated in the shape of LSHTC: 20,000 categories with hubs, 12,000 documents. All seeds "
        "share this one corpus",
        own_files=(("hierarchy", "embeddings", "labels"),),
        command="grove experiment supernodes --hierarchy hierarchy.txt --embeddings documents.npz \\\n"
        "  --labels labels.txt --set target=10000 --set n_test=0 --set sizes=50,100,150,200,250,300",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(
                sizes=(10, 30), seeds=(0, 1), target=60, n_test=200, n_labels=600, n_documents=800
            )
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each method, each K in `sizes` and each seed."""
        return [
            {"method": method, "K": k, "seed": seed}
            for method in settings.methods
            for k in settings.sizes
            for seed in settings.seeds
        ]

    def prepare(self, settings: Settings, files: Files | None) -> Categories:
        """Generate graph and documents, or open the user's files."""
        if files is not None:
            return categories_of_files(files)
        return categories(settings.n_labels, settings.n_documents, 0)

    def measure(self, data: Categories, settings: Settings, unit: Record) -> Record:
        """Summarize the graph, draw K supernodes with documents, and train 5-NN on them.

        Then measure the errors of every decision rule.
        """
        method: Any = unit["method"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateSummaryWarning)  # its share is in the table
            summary = summarize(data.graph, settings.target, method=method, seed=unit["seed"])
        keys = np.array(summary.keys)
        labels = keys[push(summary, data.votes)]
        graph = summary.graph()
        space = metric_space(graph, "graph")
        used, counts = np.unique(labels, return_counts=True)
        trainable = metric_space(graph, "graph", used[counts > 1].tolist())
        k = min(unit["K"], trainable.n_labels)
        observed = sample_observed(trainable, k, seed=unit["seed"])
        rng = np.random.default_rng((unit["seed"], _STREAM))
        seen = rng.permutation(np.flatnonzero(np.isin(labels, np.array(observed))))
        train, rest = np.sort(seen[: len(seen) // 2]), seen[len(seen) // 2 :]
        shape = {"supernodes": summary.n_supernodes, "largest_share": summary.largest_share, "drawn": k}
        if len(np.unique(labels[train])) < 2:
            return {**shape, "collapsed": True, "checked_rows": 0}
        test = np.concatenate([rest, np.flatnonzero(~np.isin(labels, np.array(observed)))])
        test = np.sort(test[spread(len(test), settings.n_test or len(test), rng)])
        labeled = Labeled(
            space, trainable, data.features[train], labels[train], data.features[test], labels[test]
        )
        found = rule_errors(space, fit_predict(labeled, observed, "5-nn")[0])
        return {**found, **shape, "collapsed": False}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the Fréchet mean with 5-NN for each method and K.

        Show the share of labels in the largest supernode too.
        """
        standing = [(unit, result) for unit, result in results if not result["collapsed"]]
        if not standing:
            raise InputError(
                f"target: {settings.target} given, but in every summary, fewer than two supernodes have "
                "training documents; give a larger target with --set target=..."
            )
        trials = {
            (_METHODS[method], k): found for (method, k), found in grouped(standing, ("method", "K")).items()
        }
        shapes = [
            (
                _METHODS[method],
                mean([f["supernodes"] for f in found]),
                mean([f["largest_share"] for f in found]),
                min(f["drawn"] for f in found),
                sum(f["collapsed"] for f in found),
            )
            for (method,), found in grouped(results, ("method",)).items()
        ]
        panels = tuple(
            rule_panel(
                title, "observed supernodes K", {k: f for (shown, k), f in trials.items() if shown == title}
            )
            for title in dict.fromkeys(
                shown for shown, _ in trials
            )  # a summary may leave nothing to train on
        )
        return Summary(
            findings=rule_findings(self.claim.sentence, ("", "K ="), trials),
            tables=(
                rule_table("E[d²] between supernodes, mean over seeds.", ("summary", "K"), trials),
                Table(
                    "The summaries: if one supernode is giant, every error is small for this reason alone.",
                    ("summary", "supernodes", "largest share", "fewest observed", "nothing to train on"),
                    tuple(shapes),
                ),
            ),
            panels=panels,
            notes=(
                "Where a summary has fewer supernodes with documents than K, all of them are observed; where "
                "fewer than two have training documents, there is no model (last column). "
                "Distances of different summaries do not compare.",
            ),
        )


EXPERIMENT = Supernodes()

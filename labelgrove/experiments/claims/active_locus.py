"""Compare active with random selection by the number of labels in the locus after each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove.datasets.glosses import noun_tree
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Contrast, judge, mean
from labelgrove.experiments.experiment import Claim, Panel, Record, Summary, Table, band
from labelgrove.experiments.onglosses import OnGlosses
from labelgrove.experiments.ruletables import grouped
from labelgrove.ontology.geometry import MetricSpace, metric_space, sample_observed, select_classes

__all__ = ["EXPERIMENT", "ActiveLocus", "Settings"]

_METHODS = {
    "active": "active",
    "uniform": "random, among the rest",
    "outside": "random, outside the locus",
}
_POINTS = 20


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `n_start` is the number of labels observed at the start. For each of `seeds`, a random tree of `n_labels`
    labels is drawn, and `rounds` labels are picked on it. For each of `large_seeds`, `large_rounds` labels
    are picked on the large tree.
    """

    n_labels: int = 100
    n_start: int = 3
    rounds: int = 27
    seeds: tuple[int, ...] = tuple(range(10))
    large_rounds: int = 200
    large_seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


class ActiveLocus(OnGlosses[Settings, "MetricSpace | None"]):
    """Select labels on random trees of 100 labels, and on the tree of all nouns of WordNet."""

    claim = Claim(
        name="active-locus",
        sentence="Choosing the next class actively makes a larger locus than choosing it at random",
        source="synthetic trees, N = 100, K = 3, 10 trials",
        inputs="random trees of 100 labels; the tree of WordNet's 82,115 nouns, one for all seeds",
        own_files=(("hierarchy",),),
    )

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(rounds=10, seeds=(0, 1, 2), large_rounds=20, large_seeds=(0, 1))
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each seed of the random trees, and one for each seed of the large tree."""
        return [
            *({"tree": "random", "seed": seed} for seed in settings.seeds),
            *({"tree": "large", "seed": seed} for seed in settings.large_seeds),
        ]

    def prepare(self, settings: Settings, files: Files | None) -> MetricSpace | None:
        """Load the large tree: WordNet's or the user's."""
        return noun_tree() if files is None else files.space()

    def measure(self, data: MetricSpace | None, settings: Settings, unit: Record) -> Record:
        """Return the size of the locus before the first round and after each round, for each method."""
        from labelgrove.datasets.randomgraphs import random_tree

        if unit["tree"] == "random" or data is None:
            space = metric_space(random_tree(settings.n_labels, seed=unit["seed"]))
            rounds = settings.rounds
        else:
            space, rounds = data, min(settings.large_rounds, data.n_labels - settings.n_start)
        start = sample_observed(space, settings.n_start, seed=unit["seed"])
        sizes = {}
        for name in _METHODS:
            method: Any = name
            found = select_classes(space, start, rounds, method=method, seed=unit["seed"])
            sizes[name] = [int(found.size_before), *(int(s) for s in found.sizes)]
        return {"sizes": sizes, "n_labels": space.n_labels, "checked_rows": 0}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare active with random selection by the number of labels outside the locus.

        These labels are counted after a third of the rounds, and at the end.
        """
        rows, panels = [], []
        against: dict[str, list[Contrast]] = {"uniform": [], "outside": []}
        for (tree,), found in grouped(results, ("tree",)).items():
            n_rounds = len(found[0]["sizes"]["active"]) - 1
            for at in sorted({max(1, n_rounds // 3), n_rounds}):
                setting = f"{tree} tree, {at} more"
                left = {
                    name: tuple(float(f["n_labels"] - f["sizes"][name][at]) for f in found)
                    for name in _METHODS
                }
                for name, chosen in against.items():
                    chosen.append(Contrast(setting, left[name], left["active"]))
                rows.append((tree, at, *(mean([f["sizes"][name][at] for f in found]) for name in _METHODS)))
            shown = np.unique(np.linspace(0, n_rounds, _POINTS).round().astype(int)).tolist()
            panels.append(
                Panel(
                    f"{tree} tree, {found[0]['n_labels']:,} labels".capitalize(),
                    "labels picked",
                    "labels in the locus",
                    tuple(
                        band(title, {i: [f["sizes"][name][i] for f in found] for i in shown})
                        for name, title in _METHODS.items()
                    ),
                )
            )
        names: dict[str, Any] = {"before": "labels that random leaves out", "after": "that active leaves out"}
        return Summary(
            findings=(
                judge(self.claim.sentence, against["uniform"], **names),
                judge(
                    "The same against the stronger baseline, which draws outside the locus",
                    against["outside"],
                    **names,
                ),
            ),
            tables=(
                Table(
                    "Labels in the locus by the number of labels picked after the start, mean over seeds.",
                    ("tree", "picked", *_METHODS.values()),
                    tuple(rows),
                ),
            ),
            panels=tuple(panels),
            notes=("The paper's text draws among the rest; its code draws outside the locus.",),
        )


EXPERIMENT = ActiveLocus()

"""Compare metrics by how well they fit a model: E[d²] of the Fréchet mean divided by squared diameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labelgrove.datasets.glosses import Glosses
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Contrast, judge, mean, standard_error
from labelgrove.experiments.experiment import Claim, Record, Summary, Table
from labelgrove.experiments.measuring import rule_errors, tempered
from labelgrove.experiments.onglosses import (
    FEW_CLASSES,
    ZERO_SHOT_FILES,
    ZERO_SHOT_GLOSSES,
    OnZeroShotGlosses,
)

__all__ = ["EXPERIMENT", "MetricComparison", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment; the same `temperature` is used in all spaces."""

    seeds: tuple[int, ...] = tuple(range(10))
    temperature: float = 0.1
    n_classes: int = 100
    n_test: int = 2000
    n_dimensions: int = 300
    n_labels: int = 0


class MetricComparison(OnZeroShotGlosses[Settings]):
    """Answer the same zero-shot probabilities in every space, and measure the errors of the answers."""

    claim = Claim(
        name="metric-comparison",
        sentence="Divided by the squared diameter, the error of the Fréchet mean tells which metric fits "
        "the model: the WordNet tree has a smaller one than the complete graph and than the model's own "
        "vectors",
        source="CLIP on CIFAR-100: complete 0.5941, default tree 0.4493, WordNet 0.1157, CLIP 0.2686",
        inputs=ZERO_SHOT_GLOSSES,
        own_files=ZERO_SHOT_FILES,
        command="grove experiment metric-comparison --probs clip-cifar100.npy --columns classes.txt \\\n"
        "  --truth truth.txt --class-embeddings clip-text.npy --classes classes.txt \\\n"
        "  --hierarchy cifar100.txt --answers leaves --set temperature=1",
    )

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(seeds=(0, 1, 2), **FEW_CLASSES)
        return Settings()

    def measure(self, data: Glosses | Files, settings: Settings, unit: Record) -> Record:
        """Return for every space its diameter, and E[d²] of the Fréchet mean and of one constant answer."""
        found = self.trial(data, settings, unit["seed"])
        probabilities = tempered(found.predicted.probabilities, settings.temperature)
        predicted = replace(found.predicted, probabilities=probabilities)
        spaces, checked = {}, 0
        for name, space in found.spaces.items():
            measured = rule_errors(space, predicted)
            checked += measured["checked_rows"]
            spaces[name] = {
                "diameter": measured["diameter"],
                "squared": measured["rules"]["frechet_mean"]["squared"],
                "constant": measured["rules"]["constant"]["squared"],
            }
        return {"spaces": spaces, "checked_rows": checked}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Rank the spaces by E[d²] divided by squared diameter, smallest first.

        Compare the tree with the complete graph and with the space of class vectors.
        """
        spaces = {name: [result["spaces"][name] for _, result in results] for name in results[0][1]["spaces"]}
        relative = {
            name: tuple(m["squared"] / m["diameter"] ** 2 for m in found) for name, found in spaces.items()
        }
        rows = []
        for name in sorted(relative, key=lambda name: mean(relative[name])):
            constant = mean([m["constant"] / m["diameter"] ** 2 for m in spaces[name]])
            diameter = mean([m["diameter"] for m in spaces[name]])
            error = standard_error(relative[name])
            rows.append((name, diameter, mean(relative[name]), error, constant))
        hierarchy = "tree" if "tree" in relative else "graph" if "graph" in relative else "internal"
        findings = judge(
            self.claim.sentence,
            [
                Contrast(f"{hierarchy} against {name}", relative[name], relative[hierarchy])
                for name in relative
                if name in ("complete", "internal") and name != hierarchy
            ],
            before="there",
            after=hierarchy,
        )
        return Summary(
            findings=(findings,),
            tables=(
                Table(
                    "E[d²]/diam² of the Fréchet mean, and of one constant answer in the same space.",
                    ("space", "diameter", "E[d²]/diam²", "standard error", "constant"),
                    tuple(rows),
                ),
            ),
            notes=(
                "The diameter rewards spaces with a few far labels whatever the model does: the column of "
                "the constant shows how much of a small figure any answer would have.",
            ),
        )


EXPERIMENT = MetricComparison()

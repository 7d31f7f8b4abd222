"""Test zero-shot classification with all classes observed, in the internal metric and in hierarchies.

The internal metric is the distance between the vectors of the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labelgrove.datasets.glosses import Glosses
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import judge
from labelgrove.experiments.experiment import Claim, Record, Summary
from labelgrove.experiments.measuring import rule_errors, tempered
from labelgrove.experiments.onglosses import (
    FEW_CLASSES,
    ZERO_SHOT_FILES,
    ZERO_SHOT_GLOSSES,
    OnZeroShotGlosses,
)
from labelgrove.experiments.ruletables import contrasts, rule_table

__all__ = ["EXPERIMENT", "Settings", "ZeroShotClaim"]


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `temperatures` divide the logits: the cosines, or the logarithms of the probabilities in files.
    """

    seeds: tuple[int, ...] = tuple(range(20))
    temperatures: tuple[float, ...] = (0.05, 0.1)
    n_classes: int = 100
    n_test: int = 2000
    n_dimensions: int = 300
    n_labels: int = 0


class ZeroShotClaim(OnZeroShotGlosses[Settings]):
    """Take cosines between texts as logits, and compute the Fréchet mean in each available metric."""

    claim = Claim(
        name="zero-shot",
        sentence="With all classes observed and no metric but the model's own class vectors, the Fréchet "
        "mean is nearer to the truth than argmax",
        source="CLIP and ALIGN on CIFAR-100, zero-shot; 24.30 to 19.55 on the WordNet tree",
        inputs=ZERO_SHOT_GLOSSES,
        own_files=ZERO_SHOT_FILES,
        command="grove experiment zero-shot --probs clip-cifar100.npy --columns classes.txt --truth "
        "truth.txt \\\n"
        "  --class-embeddings clip-text.npy --classes classes.txt --hierarchy cifar100.txt \\\n"
        "  --answers leaves --set temperatures=1",
    )
    version = 3

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(seeds=(0, 1, 2), **FEW_CLASSES)
        return Settings()

    def measure(self, data: Glosses | Files, settings: Settings, unit: Record) -> Record:
        """At each temperature, measure the errors of every decision rule in every space."""
        found = self.trial(data, settings, unit["seed"])
        measured = {
            f"{name}, T = {t:g}": rule_errors(
                space, replace(found.predicted, probabilities=tempered(found.predicted.probabilities, t))
            )
            for name, space in found.spaces.items()
            for t in settings.temperatures
        }
        return {**measured, "checked_rows": sum(m["checked_rows"] for m in measured.values())}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Judge the claim separately in the internal metric and in the hierarchies."""
        names = [name for name in results[0][1] if name != "checked_rows"]
        trials = {(name,): [result[name] for _, result in results] for name in names}
        internal = {key: found for key, found in trials.items() if key[0].startswith("internal")}
        external = {key: found for key, found in trials.items() if key[0][:4] in ("tree", "grap")}
        findings = [
            judge(claim, contrasts([""], chosen, before), before=before, after="Fréchet mean")
            for claim, chosen, before in (
                (self.claim.sentence, internal, "argmax"),
                ("The same with an external hierarchy", external, "argmax"),
                (
                    "There the Fréchet mean has a smaller error than one constant answer too",
                    external,
                    "constant",
                ),
            )
            if chosen
        ]
        table = rule_table("E[d²] in each space, mean over seeds.", ("space",), trials)
        return Summary(findings=tuple(findings), tables=(table,))


EXPERIMENT = ZeroShotClaim()

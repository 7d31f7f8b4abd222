"""Compare the decision rules on pretrained models that know only some of their classes.

The trials of a contrast are the true labels, not the seeds: the samples of one label are alike, and seeds
only draw again from the same samples. So an interval tells what other labels would give. The error of a label
is the mean over its test samples and over the seeds. Every label has as many test samples, but for samples to
which the model has no answer: they are left out, which spares argmax an arbitrary one.

The outputs of a model are used as they are, and at two temperatures fitted on a third of the samples:

``likelihood``   the temperature with the greatest likelihood of the true labels, on samples of known labels
``distance``     the temperature with the least E[d²], on samples of all labels, unknown ones among them
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.scorer import Adapter
from labelgrove.datasets.ownfiles import Files
from labelgrove.datasets.predicted import Predicted
from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.experiments.contrast import Contrast, Finding, judge, mean
from labelgrove.experiments.experiment import Experiment, Record, Summary, Table
from labelgrove.experiments.measuring import class_errors, rule_errors
from labelgrove.experiments.ruletables import Trials, rule_panel, rule_table
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["OnPretrainedModels", "Settings"]

_FITTED: Mapping[str, Literal["nll", "squared_distance"]] = {
    "likelihood": "nll",
    "distance": "squared_distance",
}
_OUTPUTS = ("as is", *_FITTED)

_TEMPERATURES = {
    "likelihood": "The temperature with the greatest likelihood of known labels makes the Fréchet mean "
    "nearer to the truth",
    "distance": "The temperature with the least E[d²] on samples of all labels makes it nearer to the truth",
}


@dataclass(frozen=True)
class Settings:
    """Settings of an experiment on pretrained models.

    `models` are names of models, and `withheld` are shares of their classes that they are made not to know.
    """

    models: tuple[str, ...]
    withheld: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


class OnPretrainedModels(Experiment[Settings, Mapping[str, PretrainedModel]]):
    """An experiment on pretrained models, of which a share of the classes is withheld, drawn by the seed.

    Attributes
    ----------
    kind : str
        The plural name of a true label, such as ``"languages"``.
    model : str
        The name of the model that is tested by default.
    """

    kind: ClassVar[str]
    model: ClassVar[str]

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        return Settings((self.model,), (0.0, 0.5), (0, 1)) if quick else Settings((self.model,))

    @abstractmethod
    def outputs(self, settings: Settings) -> Mapping[str, PretrainedModel]:
        """Return the outputs of each model in the settings, by its name."""

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each model, each share of withheld classes and each seed."""
        return [
            {"model": model, "withheld": share, "seed": seed}
            for model in settings.models
            for share in settings.withheld
            for seed in settings.seeds
        ]

    def prepare(self, settings: Settings, files: Files | None) -> Mapping[str, PretrainedModel]:
        """Run each model once on all samples."""
        return self.outputs(settings)

    def measure(self, data: Mapping[str, PretrainedModel], settings: Settings, unit: Record) -> Record:
        """Withhold classes, fit two temperatures, and measure the errors of each rule on the test samples."""
        model = data[unit["model"]]
        columns = model.known(unit["withheld"], unit["seed"])
        keys = [model.columns[i] for i in columns.tolist()]
        fitting, answers = model.calibration(unit["seed"]), model.answers(columns)
        tested, fitting = answers & ~fitting, answers & fitting
        labels = np.unique(model.truth[tested])
        out: dict[str, Any] = {
            "n_known": len(columns),
            "labels": labels.tolist(),
            "known": np.isin(labels, keys).tolist(),
            "answered": float(answers.mean()),
        }
        adapter = Adapter(build_bundle(model.space, keys), outputs="logits")
        logits, truth = model.kept(columns, fitting), model.truth[fitting].tolist()
        for name in _OUTPUTS:
            temperature = 1.0
            if name in _FITTED:
                fit = fit_temperature(logits, truth, by=_FITTED[name], adapter=adapter, space=model.space)
                temperature = fit.temperature
            errors = _errors(model.space, model.predicted(columns, tested, temperature))
            out[name] = {"temperature": temperature, **errors}
        return {**out, "checked_rows": sum(out[name]["checked_rows"] for name in _OUTPUTS)}

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Compare the Fréchet mean with argmax and with a constant, and at each temperature with that at 1.

        Beside all samples, compare it with a constant on samples of labels that the model does not know.
        """
        trials = {
            (model, name, share): [
                {**result, **result[name]}
                for unit, result in results
                if (unit["model"], unit["withheld"]) == (model, share)
            ]
            for model in settings.models
            for name in _OUTPUTS
            for share in settings.withheld
        }
        return Summary(
            findings=tuple(self._findings(settings, trials)),
            tables=(
                rule_table(
                    "E[d²] in squared steps, mean over seeds, ± its standard error over seeds.",
                    ("model", "outputs", "withheld"),
                    {(m, name, _percent(share)): found for (m, name, share), found in trials.items()},
                ),
                _price(trials),
            ),
            panels=tuple(
                rule_panel(
                    f"{model}, {name}",
                    "share of the model's classes withheld",
                    {share: trials[model, name, share] for share in settings.withheld},
                )
                for model in settings.models
                for name in _OUTPUTS
            ),
            notes=(
                "Outputs are used as they are, at the temperature with the greatest likelihood of known "
                "labels, and at that with the least E[d²] on samples of all labels. For the last, a user has "
                "to label some samples of classes that the model does not know.",
                f"The trials behind an interval are the true {self.kind}, because samples of one are alike; "
                "the error of each is its mean over test samples and seeds, and all of them count alike.",
                "The constant is the Fréchet mean of the true labels that are tested, which no user knows, "
                "so it looks better than it is. Where it wins, always answering with this one label is "
                "better than asking the model.",
                "Samples to which the model has no answer are left out; the column answered shows the share "
                "of the others.",
                "Withheld classes are columns left out of a model that was trained on them, so what it "
                "learned about them stays in the others.",
                "Exact accuracy on known labels is the price of a smaller distance.",
            ),
        )

    def _findings(self, settings: Settings, trials: Trials) -> Iterator[Finding]:
        strange = {key: found for key, found in trials.items() if _meets_unknown(found)}
        constant = "The Fréchet mean has a smaller error than one constant answer"
        yield self._judged(self.claim.sentence, trials, "argmax")
        yield self._judged(constant, trials, "constant")
        if strange:
            alone = f"{constant}, on the {self.kind} alone that the model does not know"
            yield self._judged(alone, strange, "constant", unknown=True)
        for name, sentence in _TEMPERATURES.items():
            fitted = [
                Contrast(
                    f"{model}, {_percent(share)} withheld",
                    _by_label(trials[model, "as is", share], "frechet_mean"),
                    _by_label(trials[model, name, share], "frechet_mean"),
                    trial=self.kind,
                )
                for model in settings.models
                for share in settings.withheld
            ]
            yield judge(sentence, fitted, before="as is", after=name)

    def _judged(self, sentence: str, trials: Trials, before: str, *, unknown: bool = False) -> Finding:
        """Judge whether the Fréchet mean beats a rule; if `unknown` is set, on unknown labels alone."""
        contrasts = [
            Contrast(
                f"{model}, {name}, {_percent(share)} withheld",
                _by_label(found, before, unknown=unknown),
                _by_label(found, "frechet_mean", unknown=unknown),
                testable=not all(one["one_answer"] for one in found),
                trial=self.kind,
            )
            for (model, name, share), found in trials.items()
        ]
        return judge(sentence, contrasts, before=before, after="Fréchet mean")


def _errors(space: MetricSpace, predicted: Predicted) -> dict[str, Any]:
    by_label = class_errors(space, predicted)
    found = rule_errors(space, predicted)
    known = np.isin(predicted.truth, predicted.columns)
    part = Predicted(
        predicted.columns,
        predicted.probabilities[known],
        tuple(np.array(predicted.truth)[known].tolist()),
        predicted.train_labels,
    )
    exact = rule_errors(space, part)["rules"]
    accuracy = {rule: exact[rule]["accuracy"] for rule in ("argmax", "frechet_mean")}
    return {**found, "by_label": by_label, "accuracy_known": accuracy}


def _by_label(found: Sequence[Record], rule: str, *, unknown: bool = False) -> tuple[float, ...]:
    """Return the mean error of each true label over the trials, in the order of the labels.

    If `unknown` is set, only the trials in which the model does not know the label count, and labels that it
    knows in all trials are left out.
    """
    errors: dict[str, list[float]] = {}
    for one in found:
        for label, known, error in zip(one["labels"], one["known"], one["by_label"][rule], strict=True):
            if not (unknown and known):
                errors.setdefault(label, []).append(error)
    return tuple(mean(errors[label]) for label in sorted(errors))


def _meets_unknown(found: Sequence[Record]) -> bool:
    """Return whether every trial has a label that the model does not know."""
    return not any(all(one["known"]) for one in found)


def _price(trials: Trials) -> Table:
    """Return the table of what the Fréchet mean costs on known labels, and saves on unknown ones."""
    rows = []
    for (model, name, share), found in trials.items():
        unknown = [
            mean([one["rules"][rule]["unobserved"] for one in found]) if _meets_unknown(found) else None
            for rule in ("argmax", "frechet_mean", "constant")
        ]
        rows.append(
            (
                model,
                name,
                _percent(share),
                found[0]["n_known"],
                mean([1 - mean(one["known"]) for one in found]),
                mean([one["answered"] for one in found]),
                mean([one["temperature"] for one in found]),
                *(
                    mean([one["accuracy_known"][rule] for one in found])
                    for rule in ("argmax", "frechet_mean")
                ),
                *unknown,
            )
        )
    columns = (
        *("model", "outputs", "withheld", "classes", "unknown labels", "answered", "temperature"),
        *("accuracy argmax, known", "accuracy Fréchet mean, known"),
        *("argmax, unknown", "Fréchet mean, unknown", "constant, unknown"),
    )
    return Table(
        "Exact accuracy on known labels, and E[d²] on unknown labels; mean over seeds.", columns, tuple(rows)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"

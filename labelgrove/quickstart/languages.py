"""Languages: a pretrained identifier, used as it is, answers with any of 5,910 languages and families.

Nothing is trained. The identifier py3langid is far too sure of itself, so its outputs are calibrated: the
temperature is the one with the greatest likelihood of the true labels, on a third of the texts in languages
that it knows. Texts in other languages fit nothing, as in a deployment where nobody labels them.
"""

from __future__ import annotations

import functools
import importlib.util
from collections import Counter

import numpy as np

from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.scorer import Adapter
from labelgrove.datasets.predicted import Predicted
from labelgrove.datasets.pretrained.languages import language_graph
from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.quickstart.result import Unknown

__all__ = ["MODEL", "UNKNOWN", "answers_to", "calibrated", "installed", "named"]

MODEL = "py3langid"

UNKNOWN = ("sc", "tn", "ti")
"""Languages that the model does not know: in the third, it takes its wrong answer for certain."""


def installed() -> bool:
    """Return whether the package of the model is installed."""
    return importlib.util.find_spec(MODEL) is not None


def named(key: str) -> str:
    """Return the English name of a language or family."""
    return _names()[key]


@functools.cache
def _names() -> dict[str, str]:
    graph = language_graph()
    return dict(zip(graph.keys, graph.names, strict=True))


def calibrated(model: PretrainedModel, seed: int) -> tuple[Predicted, float]:
    """Fit the temperature on a third of the texts, and return the predictions for the others, and it.

    Parameters
    ----------
    model : PretrainedModel
        The outputs of the model for all texts.
    seed : int
        Decides which third of the texts of each language fits the temperature.
    """
    columns = np.arange(len(model.columns))
    held = model.calibration(seed)
    fitting = held & np.isin(model.truth, model.columns)
    fit = fit_temperature(model.kept(columns, fitting), model.truth[fitting].tolist(), columns=model.columns)
    return model.predicted(columns, ~held, fit.temperature), fit.temperature


def answers_to(label: str, model: PretrainedModel, adapter: Adapter, temperature: float) -> Unknown:
    """Count the most frequent answer of argmax, and that of the Fréchet mean, to the texts of one label."""
    predicted = model.predicted(np.arange(len(model.columns)), model.truth == label, temperature)
    largest = predicted.probabilities.argmax(axis=1)
    (argmax, n_argmax), *_ = Counter(predicted.columns[i] for i in largest.tolist()).most_common()
    (mean, n_mean), *_ = Counter(adapter.predict(predicted.probabilities)).most_common()
    return Unknown(named(label), len(largest), (named(argmax), n_argmax), (named(mean), n_mean))

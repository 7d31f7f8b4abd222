"""Language identifiers: models that others trained to tell in which language a text is written.

The labels are the 5,910 languages and families of CLDR, and the samples are short texts in 116 languages.
Both come with labelgrove (`datasets.pretrained.extract` says what they are). An identifier knows some of
these languages. To a text in another one, argmax cannot be the right answer.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.geometry import MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import read

__all__ = [
    "FAMILIES",
    "IDENTIFIERS",
    "TEXTS",
    "identified",
    "language_graph",
    "language_space",
    "language_texts",
]

FAMILIES = Path(__file__).with_name("languages.csv.gz")
TEXTS = Path(__file__).with_name("texts.csv.gz")

IDENTIFIERS: Mapping[str, str] = {"py3langid": "py3langid", "lingua": "lingua-language-detector"}
"""A dictionary from the name of each identifier to the package that contains it."""

_SAME = {"tl": "fil", "gom": "kok", "kik": "ki", "bcl": "bik", "gug": "gn", "nb": "no"}
"""Codes for which CLDR uses another code of the same language, or the code of its macrolanguage."""


def language_graph() -> LabelGraph:
    """Return the tree of languages and families, with their English names."""
    graph = read(FAMILIES).graph
    if graph is None:
        raise NotFoundError(f"{FAMILIES}: contains no hierarchy; install labelgrove again")
    return graph


def language_space() -> MetricSpace:
    """Return the tree of languages and families with its distances."""
    return metric_space(language_graph(), "tree")


def language_texts() -> tuple[list[str], list[str]]:
    """Return the language of each text, and the texts; all languages have the same number of texts."""
    with gzip.open(TEXTS, "rt", encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return [language for language, _ in rows], [text for _, text in rows]


def identified(name: str, space: MetricSpace) -> PretrainedModel:
    """Return the outputs of the identifier `name` for all texts.

    Columns that stand for no label of `space`, such as "no linguistic content", are left out.

    Raises
    ------
    InputError
        For the name of an unknown identifier.
    """
    if name not in _READERS:
        raise InputError(f"models: {name!r} is not known; choose among {', '.join(_READERS)}")
    truth, texts = language_texts()
    codes, outputs = _READERS[name](texts)
    return PretrainedModel.of_columns(space, [_SAME.get(code, code) for code in codes], outputs, truth)


def _py3langid(texts: Sequence[str]) -> tuple[list[str], NDArray[np.float64]]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    codes = sorted(set(model.nb_classes))
    column = {code: i for i, code in enumerate(codes)}
    outputs = np.full((len(texts), len(codes)), -np.inf)
    for row, text in zip(outputs, texts, strict=True):
        for code, logarithm in model.rank(text):  # a code may have several entries
            row[column[code]] = max(row[column[code]], logarithm)
    return codes, outputs


def _lingua(texts: Sequence[str]) -> tuple[list[str], NDArray[np.float64]]:
    from lingua import Language, LanguageDetectorBuilder

    languages = sorted(Language.all(), key=lambda language: language.name)
    column = {language: i for i, language in enumerate(languages)}
    model = LanguageDetectorBuilder.from_all_languages().build()
    outputs = np.zeros((len(texts), len(languages)))
    answers = model.compute_language_confidence_values_in_parallel(list(texts))
    for row, answer in zip(outputs, answers, strict=True):
        for confidence in answer:
            row[column[confidence.language]] = confidence.value
    codes = [language.iso_code_639_1.name.lower() for language in languages]
    with np.errstate(divide="ignore"):  # zero: the alphabet or single letters exclude the language
        return codes, np.log(outputs)


_READERS: Mapping[str, Callable[[Sequence[str]], tuple[list[str], NDArray[np.float64]]]] = {
    "py3langid": _py3langid,
    "lingua": _lingua,
}

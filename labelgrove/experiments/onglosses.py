"""Provide the data for the experiments on several claims.

By default the data are glosses of WordNet; a user can give files instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from labelgrove.datasets.glosses import Glosses, glosses, wordnet_digest
from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.ownfiles import Files
from labelgrove.datasets.zeroshot import ZeroShot, zero_shot
from labelgrove.experiments.experiment import Experiment, Record

__all__ = [
    "FEW_CLASSES",
    "LABELED_FILES",
    "LABELED_GLOSSES",
    "ON_ALL_GLOSSES",
    "ZERO_SHOT_FILES",
    "ZERO_SHOT_GLOSSES",
    "OnGlosses",
    "OnLabeledGlosses",
    "OnZeroShotGlosses",
    "with_test_files",
]

ON_ALL_GLOSSES = (
    "TF-IDF on 300 singular vectors; vocabulary and vectors are fitted on all glosses, those of test "
    "documents among them. All seeds share this one corpus"
)
"""A sentence in the description of the data of every claim that is tested on glosses."""

FEW_CLASSES: Mapping[str, Any] = {"n_classes": 20, "n_test": 200, "n_dimensions": 40, "n_labels": 80}
"""The quick settings of every claim about zero-shot probabilities."""


def with_test_files(*needed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two sets of options for files: `needed`, and `needed` with the options for test samples."""
    return needed, (*needed, "test-embeddings", "test-labels")


LABELED_GLOSSES = f"WordNet glosses of 1,575 synsets, tree of 2,268. {ON_ALL_GLOSSES}"
"""The description of the data of claims about models trained on samples of observed labels."""

LABELED_FILES = with_test_files("hierarchy", "embeddings", "labels")
"""Sets of options for a user's samples, labeled with labels of a hierarchy."""

ZERO_SHOT_GLOSSES = f"100 WordNet synsets a seed, glosses against class texts. {ON_ALL_GLOSSES}"
"""The description of the data of claims about zero-shot probabilities."""

ZERO_SHOT_FILES = (
    ("probs", "columns", "truth", "hierarchy"),
    ("probs", "columns", "truth", "class-embeddings", "classes"),
    ("probs", "columns", "truth", "hierarchy", "class-embeddings", "classes"),
)
"""Sets of options for a user's probabilities, judged by a hierarchy, by class embeddings, or by both."""


class _GlossSettings(Protocol):
    @property
    def seeds(self) -> tuple[int, ...]: ...

    @property
    def n_test(self) -> int: ...

    @property
    def n_dimensions(self) -> int: ...

    @property
    def n_labels(self) -> int: ...


class _ZeroShotSettings(_GlossSettings, Protocol):
    @property
    def n_classes(self) -> int: ...


S = TypeVar("S")
D = TypeVar("D")
G = TypeVar("G", bound=_GlossSettings)
Z = TypeVar("Z", bound=_ZeroShotSettings)


class OnGlosses(Experiment[S, D]):
    """An experiment that uses WordNet if the user gives no files."""

    def installed_data(self, files: Files | None) -> Mapping[str, str]:
        """Return the result of `wordnet_digest`, or an empty dictionary if the user gives files instead."""
        return wordnet_digest() if files is None else {}


class OnZeroShotGlosses(OnGlosses[Z, "Glosses | Files"]):
    """An experiment that tests a claim about zero-shot probabilities, seed by seed."""

    def units(self, settings: Z) -> Sequence[Record]:
        """Return one unit for each seed."""
        return [{"seed": seed} for seed in settings.seeds]

    def prepare(self, settings: Z, files: Files | None) -> Glosses | Files:
        """Read and embed the glosses, or take the user's files."""
        return glosses(settings.n_dimensions, settings.n_labels) if files is None else files

    def trial(self, data: Glosses | Files, settings: Z, seed: int) -> ZeroShot:
        """Return the predictions of a seed, and the metric spaces in which they can be judged."""
        return zero_shot(
            data, seed, seeds=settings.seeds, n_classes=settings.n_classes, n_test=settings.n_test
        )


class OnLabeledGlosses(OnGlosses[G, "Callable[[int], Labeled]"]):
    """An experiment that tests a claim about models trained on samples of observed labels.

    `prepare` returns a function that takes a seed and returns the samples of this seed.
    """

    def prepare(self, settings: G, files: Files | None) -> Callable[[int], Labeled]:
        """Read and embed the glosses, or open the user's files."""
        if files is not None:
            space = files.space()
            return lambda seed: files.labeled(space, seed)
        source = glosses(settings.n_dimensions, settings.n_labels)
        return lambda seed: source.labeled(seed, n_test=settings.n_test)

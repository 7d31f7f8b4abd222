"""Read a user's own files: probabilities, features, labels, hierarchies.

docs/experiments.md describes the layouts of these files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.gate import refuse_faults
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.sparsefiles import read_scipy
from labelgrove.adapter.outputs.truthfile import read_truth
from labelgrove.adapter.plainfile import plain_text
from labelgrove.datasets.filepaths import FilePaths
from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import InputError, UnknownLabelError, first_few
from labelgrove.ontology.geometry import EuclideanSpace, MetricSpace, metric_space
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import read
from labelgrove.ontology.store.filedigest import sha256_of

__all__ = ["Files", "read_features", "read_texts", "read_votes"]

_SPLIT_STREAM = 13
_ROWS_CHECKED = 4096  # together, so that a file larger than memory can be checked


@dataclass(frozen=True)
class Files(FilePaths):
    """A user's inputs, read from their paths; the fields are those of `FilePaths`."""

    # ---- spaces --------------------------------------------------------------------------------------

    def space(self, labels: Iterable[str] | None = None) -> MetricSpace:
        """Return the space of the hierarchy, or of the class embeddings if there is no hierarchy.

        Parameters
        ----------
        labels : iterable of str, optional
            The labels that may be answers; by default those that the field `answers` names.
        """
        if self.hierarchy is None:
            return self.class_space(labels)
        return metric_space(self.graph(), self.metric, self.answers if labels is None else list(labels))

    def graph(self, *, largest: bool = False) -> LabelGraph:
        """Return the hierarchy; with `largest`, only its largest connected component.

        If there are several components and `largest` is not set, most formats raise an error. The format
        ``superclass`` (docs/formats.md) adds a root above the components instead.
        """
        path = _needed("hierarchy", self.hierarchy)
        return _hierarchy(path, largest, sha256_of(path))

    def class_space(self, labels: Iterable[str] | None = None) -> EuclideanSpace:
        """Return the Euclidean space of the class embeddings, with labels in the byte order of their keys."""
        path = _needed("class-embeddings", self.class_embeddings)
        vectors = OutputFile(path).read()
        keys = read_truth(_needed("classes", self.classes))
        if len(keys) != len(vectors):
            raise InputError(
                f"--class-embeddings {path}: {len(vectors)} rows for {len(keys)} keys in --classes; give one "
                "key for each row"
            )
        order = sorted(range(len(keys)), key=lambda i: keys[i].encode())
        ordered = Keys.from_strings(keys[i] for i in order)
        allowed = None if labels is None else ordered.indices(labels)
        return EuclideanSpace(np.asarray(vectors)[order], ordered, allowed)

    # ---- samples -------------------------------------------------------------------------------------

    def predicted(self, space: MetricSpace) -> Predicted:
        """Return the probabilities with their columns and true labels; the rows are not loaded into memory.

        Raises
        ------
        InputError
            If the number of column keys or of true labels does not match the probabilities.
        UnknownLabelError
            For columns or true labels that are not labels of `space`; the message names the first ones.
        WeightError
            For a row that is not valid as probabilities; the message names the row and the column.
        """
        path = _needed("probs", self.probs)
        file = OutputFile(path)
        values, header = file.read(), None if file.columns is None else list(file.columns)
        if header is not None and self.columns is None:
            columns = header
        else:
            columns = read_truth(_needed("columns", self.columns))
            if header is not None and header != columns:
                raise InputError(
                    f"--columns {self.columns}: its keys or their order differ from the header of --probs "
                    f"{path}; leave --columns out, because the header names the columns"
                )
        truth = read_truth(_needed("truth", self.truth))
        for name, keys, n in (("columns", columns, values.shape[1]), ("truth", truth, values.shape[0])):
            if len(keys) != n:
                raise InputError(
                    f"--{name}: {len(keys)} keys given, but --probs {path} needs {n}; give --columns a key "
                    "for each column, and --truth a key for each row"
                )
            _refuse_unknown(name, keys, space)
        for first in range(0, len(values), _ROWS_CHECKED):
            rows = values[first : first + _ROWS_CHECKED]
            refuse_faults("probabilities", rows, name=f"--probs {path}", first=first, columns=tuple(columns))
        return Predicted(tuple(columns), values, tuple(truth), tuple(truth))

    def labeled(self, space: MetricSpace, seed: int) -> Labeled:
        """Return samples for training and testing; without test files, half of the samples are for testing.

        Raises
        ------
        InputError
            If the numbers of samples and of labels differ, or if a sample has several labels.
        UnknownLabelError
            For labels that are not in `space`; the message names the first ones.
        """
        features, labels = self._samples("embeddings", "labels", space)
        if self.test_embeddings is not None:
            test_features, test_labels = self._samples("test-embeddings", "test-labels", space)
        else:
            shuffled = np.random.default_rng((seed, _SPLIT_STREAM)).permutation(len(labels))
            train, test = np.sort(shuffled[: len(labels) // 2]), np.sort(shuffled[len(labels) // 2 :])
            test_features, test_labels = features[test], labels[test]
            features, labels = features[train], labels[train]
        trainable = self.space(np.unique(labels).tolist())
        return Labeled(space, trainable, features, labels, test_features, test_labels)

    def _samples(self, name: str, labels: str, space: MetricSpace) -> tuple[Any, NDArray[np.str_]]:
        path = _needed(name, getattr(self, name.replace("-", "_")))
        features = read_features(path)
        keys = read_truth(_needed(labels, getattr(self, labels.replace("-", "_"))))
        if len(keys) != features.shape[0]:
            raise InputError(
                f"--{labels}: {len(keys)} keys for {features.shape[0]} rows of --{name} {path}; give one key "
                "for each row"
            )
        _refuse_unknown(labels, keys, space)
        return features, np.array(keys)


def read_features(path: Path) -> Any:
    """Return a row of numbers for each sample: ``.npy`` as a memory map, ``.npz`` as a sparse matrix."""
    if path.suffix != ".npz":
        return OutputFile(path).read()
    from scipy.sparse import csr_matrix

    return csr_matrix(read_scipy(path))


def read_texts(path: Path) -> list[str]:
    """Return the text of each sample: one for each line of a file, where a blank line is an empty text.

    The file may end with a line end, which adds no text.
    """
    lines = plain_text(path).split("\n")
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]


def read_votes(path: Path) -> list[list[str]]:
    """Return the label keys in each line of a file; they are separated by commas or white space."""
    rows = [line.replace(",", " ").split() for line in read_truth(path)]
    if not rows:
        raise InputError(f"{path}: names no label; give the keys of one sample on each line")
    return rows


@lru_cache(maxsize=2)
def _hierarchy(path: Path, largest: bool, _sha256: str) -> LabelGraph:
    """Read a hierarchy once for all units; read it again if the file or folder at `path` changes."""
    graph = read(path, policies={"roots": "largest"} if largest else {}).graph
    if graph is None:
        raise InputError(f"--hierarchy {path}: contains no hierarchy")
    return graph


def _needed(name: str, path: Path | None) -> Path:
    if path is None:
        raise InputError(f"--{name}: missing; give it, because the other files cannot be used without it")
    return path


def _refuse_unknown(name: str, keys: list[str], space: MetricSpace) -> None:
    known = {key: space.keys.find(key) >= 0 for key in set(keys)}
    rows = [i for i, key in enumerate(keys) if not known[key]]
    if rows:
        shown = first_few([f"line {i + 1} {keys[i]!r}" for i in rows])
        raise UnknownLabelError(
            f"--{name}: {len(rows)} of {len(keys)} keys are not allowed labels: {shown}; name labels as the "
            "hierarchy does, or allow more with --answers all"
        )

"""Convert the annotations of a version to columns of the tables of a graph store, and compare such tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import NAME_KINDS, Annotations
from labelgrove.ontology.graph.labeltables import fold, uid
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["FOLDED_CHARACTERS", "NO_ANNOTATIONS", "ShownAnnotations"]

FOLDED_CHARACTERS = 1_000
"""Length in characters of the longest folded text of a name; the index of a server accepts no long texts."""

NO_ANNOTATIONS = ""
"""What a version in the graph records in place of the sha256 of its annotations if it shows none."""


@dataclass(frozen=True)
class ShownAnnotations:
    """What the graph shows of the annotations of a version: names, definitions and deprecated labels.

    Annotations of retired keys are not shown, because retired keys are not labels.

    Attributes
    ----------
    graph : LabelGraph
        The version.
    annotations : Annotations or None
        None if the version has no annotations; the graph then shows no names and no definitions.
    sha256 : str
        The artifact of the annotations; `NO_ANNOTATIONS` if there are none.
    """

    graph: LabelGraph
    annotations: Annotations | None
    sha256: str

    @property
    def n_names(self) -> int:
        """Number of names of labels; they are the first rows of the names in the annotations."""
        return len(self.names_of(0, self.graph.n_labels))

    def described(self) -> NDArray[np.int64]:
        """Return the indices of the labels that have a definition or are deprecated, ascending."""
        if self.annotations is None:
            return np.zeros(0, dtype=np.int64)
        n = self.graph.n_labels
        defined = np.diff(self.annotations.definitions.offsets[: n + 1]) > 0
        return np.flatnonzero(defined | (self.annotations.deprecated[:n] != 0))

    def names_of(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the rows of the names of the labels from index `start` to `stop` (exclusive)."""
        if self.annotations is None:
            return np.zeros(0, dtype=np.int64)
        ends = np.array([start, stop], dtype=np.int32)  # of another dtype, all subjects would be converted
        return np.arange(*np.searchsorted(self.annotations.name_subject, ends))

    def name_columns(self, rows: NDArray[np.int64]) -> dict[str, list[Any]]:
        """Return the properties of the names in some rows, one list for each property.

        ``label`` is the uid of the label that the name belongs to. The ``uid`` of a name is a digest of the
        label's key and of the kind, language and text of the name, after the beginning of the version's
        digest. Equal names of one label therefore have equal uids, whatever other names there are.
        """
        if self.annotations is None or not len(rows):
            return {name: [] for name in _NAME_COLUMNS}
        held, digest = self.annotations, self.graph.digest
        keys, texts = self.graph.keys.take(held.name_subject[rows]), held.name_texts.take(rows)
        kinds = [NAME_KINDS[i] for i in held.name_kind[rows].tolist()]
        languages = list(held.languages.take(held.name_language[rows]))
        names = zip(keys, kinds, languages, texts, strict=True)
        return {
            "uid": [_name_uid(digest, *name) for name in names],
            "version": [digest] * len(rows),
            "text": list(texts),
            "folded": [fold(text)[:FOLDED_CHARACTERS] for text in texts],
            "language": languages,
            "kind": kinds,
            "label": [uid(digest, key) for key in keys],
        }

    def description_columns(self, labels: NDArray[np.int64]) -> dict[str, list[Any]]:
        """Return ``uid``, ``definition`` and ``deprecated`` of some labels, given by index.

        The definition of a label without one is None.
        """
        uids = [uid(self.graph.digest, key) for key in self.graph.keys.take(labels)]
        if self.annotations is None:
            return {"uid": uids, "definition": [None] * len(uids), "deprecated": [False] * len(uids)}
        return {
            "uid": uids,
            "definition": [text or None for text in self.annotations.definitions.take(labels)],
            "deprecated": self.annotations.deprecated[labels].astype(bool).tolist(),
        }

    def differences(self, start: int, stop: int, names: Any, labels: Any) -> Iterator[str]:
        """Yield in words how tables of a graph store differ from these annotations, for some labels.

        Parameters
        ----------
        start, stop : int
            The labels are those from index `start` to `stop` (exclusive).
        names : pyarrow.Table
            The columns of `name_columns`, with rows in any order.
        labels : pyarrow.Table
            The columns of `description_columns`, with rows in any order.
        """
        wanted = self.name_columns(self.names_of(start, stop))
        if _rows(names.to_pydict(), _NAME_COLUMNS) != _rows(wanted, _NAME_COLUMNS):
            yield f"the names of labels {start:,} to {stop - 1:,} differ"
        described = self.description_columns(np.arange(start, stop))
        if _rows(labels.to_pydict(), _LABEL_COLUMNS) != _rows(described, _LABEL_COLUMNS):
            yield f"the definitions or deprecated flags of labels {start:,} to {stop - 1:,} differ"


_NAME_COLUMNS = ("uid", "version", "text", "folded", "language", "kind", "label")
_LABEL_COLUMNS = ("uid", "definition", "deprecated")


def _name_uid(digest: str, *parts: str) -> str:
    told = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode()
        told.update(len(encoded).to_bytes(8, "little"))
        told.update(encoded)
    return uid(digest, told.hexdigest())


def _rows(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(columns[name] for name in names), strict=True))

"""All names of all labels as rows: keys, names of the graph, names of the annotations, and former keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import NAME_KINDS, Annotations
from labelgrove.ontology.browse.names.replaced import notes_of_kind, replaced_by
from labelgrove.ontology.browse.names.texttables import equal_entries, joined_tables
from labelgrove.ontology.browse.structure.ranges import joined_ranges
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["KINDS", "NameRows"]

KINDS = ("key", *NAME_KINDS, "former")
"""Kinds of names, from the most telling to the least. Former names of a label are its alternative ids, the
retired keys that it replaces, and the names of these."""

_KEY, _PREFERRED, _FORMER = (KINDS.index(kind) for kind in ("key", "preferred", "former"))


class NameRows:
    """The columns of all rows, in a fixed order.

    Parameters
    ----------
    graph : LabelGraph
    annotations : Annotations, optional
        Those of the same version.

    Attributes
    ----------
    texts : Texts, length n_rows
    label, kind, language, use : ndarray of shape (n_rows,)
        Label (int32), index in `KINDS` (uint8), index in `languages` (uint16), and number of uses (int32).
    text : ndarray of shape (n_rows,), dtype=int32
        Index in `stored` of each text; -1 for keys and for names of the graph.
    stored, languages : Texts

    Notes
    -----
    A preferred name that equals the name of the label in the graph is not a row of its own: it gives its
    language and its uses to that row. If it is preferred in several languages, the others remain rows.

    Examples
    --------
    >>> from labelgrove.ontology.annotations import Description, Name
    >>> graph = LabelGraph.from_edges([("k1", "k0")], names={"k1": "oak"})
    >>> rows = NameRows(graph, Annotations.of(graph, {"k1": Description((Name("Eiche", language="de"),))}))
    >>> list(rows.texts), [KINDS[kind] for kind in rows.kind]
    (['k0', 'k1', 'k0', 'oak', 'Eiche'], ['key', 'key', 'preferred', 'preferred', 'exact'])
    """

    def __init__(self, graph: LabelGraph, annotations: Annotations | None = None) -> None:
        n = graph.n_labels
        everyone = np.arange(n, dtype=np.int32)
        language, use = np.zeros(n, dtype=np.uint16), np.zeros(n, dtype=np.int32)
        parts = []
        self.languages = Texts.from_strings([""])
        if annotations is not None:
            language, use, others = _named(graph, annotations)
            parts = [others, _formers(graph, annotations)]
            self.languages = annotations.languages
        self.stored = joined_tables(*(part.texts for part in parts))
        if graph.names == graph.keys:
            own = [_Rows(graph.keys, everyone, _KEY, language, use)]
        else:
            own = [
                _Rows(graph.keys, everyone, _KEY),
                _Rows(graph.names, everyone, _PREFERRED, language, use),
            ]
        rows = [*own, *parts]
        self.texts = joined_tables(*(part.texts for part in rows))
        self.label = np.concatenate([part.label for part in rows])
        self.kind = np.concatenate([part.kind for part in rows])
        self.language = np.concatenate([part.language for part in rows])
        self.use = np.concatenate([part.use for part in rows])
        self.text = np.arange(len(self.texts), dtype=np.int32) - np.int32(len(own) * n)
        self.text[: len(own) * n] = -1


class _Rows:
    """Some of the rows; those of unknown language and use have zeros there."""

    def __init__(
        self,
        texts: Texts,
        label: NDArray[np.integer],
        kind: int | NDArray[np.uint8],
        language: int | NDArray[np.uint16] = 0,
        use: int | NDArray[np.int32] = 0,
    ) -> None:
        n = len(texts)
        self.texts, self.label = texts, label.astype(np.int32)
        self.kind = np.broadcast_to(np.asarray(kind, dtype=np.uint8), n)
        self.language = np.broadcast_to(np.asarray(language, dtype=np.uint16), n)
        self.use = np.broadcast_to(np.asarray(use, dtype=np.int32), n)


def _named(
    graph: LabelGraph, annotations: Annotations
) -> tuple[NDArray[np.uint16], NDArray[np.int32], _Rows]:
    """Return language and uses of the name of each label, and the other names of labels."""
    n = graph.n_labels
    held = int(np.searchsorted(annotations.name_subject, np.int32(n)))
    label, kind = annotations.name_subject[:held], annotations.name_kind[:held]
    language, use = annotations.name_language[:held], annotations.name_use[:held]
    preferred = np.flatnonzero(kind == NAME_KINDS.index("preferred"))
    same = preferred[equal_entries(annotations.name_texts, preferred, graph.names, label[preferred])]
    same = same[np.lexsort((same, language[same] == 0, label[same]))]  # names of a known language first
    same = same[np.append(True, np.diff(label[same]) != 0)[: len(same)]]
    its_language, its_use = np.zeros(n, dtype=np.uint16), np.zeros(n, dtype=np.int32)
    its_language[label[same]], its_use[label[same]] = language[same], use[same]
    apart = np.ones(held, dtype=bool)
    apart[same] = False
    others = np.flatnonzero(apart)
    table, kinds = annotations.name_texts.subset(others), kind[others] + np.uint8(_PREFERRED)
    return its_language, its_use, _Rows(table, label[others], kinds, language[others], use[others])


def _formers(graph: LabelGraph, annotations: Annotations) -> _Rows:
    """Return the former ids of labels, and keys, ids and names of the retired keys that labels replace."""
    n = graph.n_labels
    ids = notes_of_kind(annotations, "alternative_id")
    of_id = annotations.note_subject[ids].astype(np.int64)
    retired, label = replaced_by(graph, annotations)
    tables = [annotations.note_texts.subset(ids[of_id < n]), Texts.subset(annotations.retired, retired)]
    labels = [of_id[of_id < n], label]
    for subjects, table in (
        (annotations.name_subject, annotations.name_texts),
        (of_id, annotations.note_texts.subset(ids)),
    ):
        bounds = np.searchsorted(subjects, np.arange(n, n + len(annotations.retired) + 1))
        tables.append(table.subset(joined_ranges(bounds, retired)))
        labels.append(np.repeat(label, np.diff(bounds)[retired]))
    return _Rows(joined_tables(*tables), np.concatenate(labels), _FORMER)

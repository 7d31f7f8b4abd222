"""Which labels replace the keys that a source retired."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import NOTE_KINDS, Annotations
from labelgrove.ontology.browse.structure.ranges import joined_ranges
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["MOST_REPLACEMENTS", "MOST_STEPS", "notes_of_kind", "replaced_by"]

MOST_STEPS = 16
"""Most retired keys that are followed from one to the next."""

MOST_REPLACEMENTS = 8
"""Most labels that replace one retired key; the first in canonical order are kept."""


def replaced_by(graph: LabelGraph, annotations: Annotations) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which labels replace retired keys, as pairs.

    A retired key is replaced by the keys in its notes ``replaced_by``. Such a key is a label, a former id of
    a label (``alternative_id``), or another retired key, which is followed in turn.

    Returns
    -------
    retired, label : ndarray of shape (n_pairs,), dtype=int64
        Index among the retired keys, and label; sorted by both.

    Notes
    -----
    Chains are followed over at most `MOST_STEPS` retired keys, so that cycles end, and at most
    `MOST_REPLACEMENTS` labels are kept for one key.

    Examples
    --------
    >>> from labelgrove.ontology.annotations import Description
    >>> graph = LabelGraph.from_edges([("oak", "tree")])
    >>> gone = {"o1": Description(replaced_by=("o2",)), "o2": Description(replaced_by=("oak",))}
    >>> retired, label = replaced_by(graph, Annotations.of(graph, gone))
    >>> retired.tolist(), graph.keys.take(label)
    ([0, 1], ('oak', 'oak'))
    """
    n = graph.n_labels
    rows = notes_of_kind(annotations, "replaced_by")
    rows = rows[annotations.note_subject[rows] >= n]
    source = annotations.note_subject[rows].astype(np.int64) - n
    texts = annotations.note_texts.subset(rows)
    target = graph.keys.places(texts)
    absent = np.flatnonzero(target < 0)
    target[absent] = _former_ids(graph, annotations, absent, texts.take(absent))
    follows = np.flatnonzero(target < 0)
    after = annotations.retired.places(texts.subset(follows))
    step = np.unique(np.column_stack([source[follows[after >= 0]], after[after >= 0]]), axis=0)
    found = target >= 0
    pairs = _first_of_each(source[found], target[found], n)
    for _ in range(MOST_STEPS):
        offsets = np.searchsorted(pairs // n, np.arange(len(annotations.retired) + 1))
        reached = joined_ranges(offsets, step[:, 1])
        of = np.repeat(step[:, 0], np.diff(offsets)[step[:, 1]])
        more = _first_of_each(
            np.concatenate([pairs // n, of]), np.concatenate([pairs % n, pairs[reached] % n]), n
        )
        if np.array_equal(more, pairs):
            break
        pairs = more
    return pairs // n, pairs % n


def notes_of_kind(annotations: Annotations, kind: str) -> NDArray[np.int64]:
    """Return the rows of all notes of one of the `NOTE_KINDS`, ascending."""
    return np.flatnonzero(annotations.note_kind == NOTE_KINDS.index(kind))


def _former_ids(
    graph: LabelGraph, annotations: Annotations, absent: NDArray[np.int64], texts: tuple[str, ...]
) -> NDArray[np.int64]:
    """Return the label that each text is a former id of, -1 if there is none; the first one if several."""
    if not len(absent):
        return absent
    rows = notes_of_kind(annotations, "alternative_id")
    rows = rows[annotations.note_subject[rows] < graph.n_labels][::-1]  # so that the first label stays
    label = dict(zip(annotations.note_texts.take(rows), annotations.note_subject[rows].tolist(), strict=True))
    return np.array([label.get(text, -1) for text in texts], dtype=np.int64)


def _first_of_each(retired: NDArray[np.int64], label: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return distinct pairs as ``retired * n + label``, ascending; the first labels of each retired key."""
    pairs = np.unique(retired * n + label)
    place = np.arange(len(pairs)) - np.searchsorted(pairs // n, pairs // n)
    return pairs[place < MOST_REPLACEMENTS]

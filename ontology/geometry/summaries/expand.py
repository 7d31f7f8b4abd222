"""Go from labels to supernodes and back: push labels or votes to supernodes, or expand a supernode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, UnknownLabelError
from labelgrove.ontology.geometry.arguments import index_array, listed, refuse_other_than
from labelgrove.ontology.geometry.summaries.summary import Summary

__all__ = ["expand", "push", "push_index"]


def push(summary: Summary, labels: Iterable[str] | Iterable[Iterable[str]]) -> NDArray[np.int64]:
    """Return the supernode of each label, or for each row of labels the supernode with the most votes.

    Parameters
    ----------
    summary : Summary
    labels : iterable of str, or of iterables of str
        Keys of labels of the source; or, for multi-label data, one non-empty row of keys for each sample, in
        which every key is a vote.

    Returns
    -------
    supernodes : ndarray of shape (n_samples,), dtype=int64
        The supernode with the most votes for each sample; ties go to the lowest number.

    Raises
    ------
    InputError
        If a row is empty, or keys and rows are mixed.
    UnknownLabelError
        If a key is not a label of the source.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.summaries.summary import summarize
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> summary = summarize(graph, 2, method="subtree")
    >>> push(summary, ["elm", "plant"]).tolist(), push(summary, [["plant", "elm", "oak"]]).tolist()
    ([1, 0], [1])
    """
    refuse_other_than(Summary, "summary", summary, "call summarize")
    samples: Sequence[str | Iterable[str]] = listed("labels", labels)  # type: ignore[arg-type]
    keys = [sample for sample in samples if isinstance(sample, str)]
    rows = [listed("labels", sample) for sample in samples if not isinstance(sample, str)]
    if keys and rows:
        raise InputError("labels: keys and rows of keys are mixed; give every sample as a row")
    try:
        votes = summary.source.keys.indices(keys or [key for row in rows for key in row])
    except UnknownLabelError as error:
        raise UnknownLabelError(f"labels: {error}") from None
    if not rows:
        return push_index(summary, votes)
    return push_index(summary, votes, np.concatenate([[0], np.cumsum([len(row) for row in rows])]))


def push_index(summary: Summary, index: ArrayLike, offsets: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the supernodes of labels given as arrays.

    Parameters
    ----------
    summary : Summary
    index : array_like of int, shape (n_votes,)
        Indices of labels of the source.
    offsets : array_like of int, shape (n_samples + 1,), optional
        Sample ``i`` has the votes ``index[offsets[i]:offsets[i + 1]]``, at least one. By default each label
        is a separate sample.

    Returns
    -------
    supernodes : ndarray of shape (n_samples,), dtype=int64
        As for `push`.

    Raises
    ------
    InputError
        For an index outside the source, or offsets that do not rise strictly from 0 to n_votes.

    Notes
    -----
    This takes O(n_votes log n_votes) time.
    """
    votes = index_array("index", index, len(summary.assignment))
    supernode = summary.assignment[votes].astype(np.int64)
    if offsets is None:
        return supernode
    begin = index_array("offsets", offsets, len(votes) + 1)
    if len(begin) == 0 or begin[0] != 0 or begin[-1] != len(votes):
        raise InputError(f"offsets: must start with 0 and end with the number of votes ({len(votes)})")
    per_row = np.diff(begin)
    empty = np.flatnonzero(per_row <= 0)
    if len(empty):
        raise InputError(f"row {empty[0]} has no label; a majority needs at least one vote")
    row = np.repeat(np.arange(len(per_row)), per_row)
    code, count = np.unique(row * np.int64(summary.n_supernodes) + supernode, return_counts=True)
    row, candidate = np.divmod(code, summary.n_supernodes)
    order = np.lexsort((candidate, -count, row))
    return np.asarray(candidate[order[np.searchsorted(row[order], np.arange(len(per_row)))]])


def expand(summary: Summary, supernode: int | str) -> tuple[str, ...]:
    """Return the keys of the labels of a supernode, in canonical order.

    Parameters
    ----------
    summary : Summary
    supernode : int or str
        The number of the supernode, or its key (`Summary.keys`).

    Raises
    ------
    InputError
        If there is no such supernode.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.summaries.summary import summarize
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> summary = summarize(graph, 2, method="subtree")
    >>> expand(summary, "tree")
    ('tree', 'elm', 'oak')
    """
    refuse_other_than(Summary, "summary", summary, "call summarize")
    if isinstance(supernode, str):
        lowest = int(summary.source.keys.index(supernode))
        number = int(summary.assignment[lowest])
        if summary.representatives[number] != lowest:
            raise InputError(
                f"supernode: {supernode!r} is a label of the supernode {summary.keys[number]!r}, not its "
                "key; give the key of the supernode"
            )
        return summary.source.keys.take(summary.members(number))
    return summary.source.keys.take(summary.members(supernode))

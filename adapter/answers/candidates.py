"""Candidates for an answer: all labels, a rule, a subtree, a given set, or a set for each row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.columns.labelnames import LabelNames
from labelgrove.ontology.errors import InputError, UnknownLabelError, counted
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.keys import Keys, is_name_of

__all__ = [
    "Candidates",
    "Chosen",
    "LeastRecentlyUsed",
    "OneSet",
    "Subtree",
    "chosen_labels",
    "read_candidates",
    "read_set",
]

_RULES = ("leaves", "locus", "observed")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Subtree:
    """A label of a tree and all labels below it; `key` need not be an allowed label."""

    key: str


OneSet = Literal["leaves", "locus", "observed"] | Subtree | Iterable[str]
"""The forms in which to give one set of candidates."""

Candidates = OneSet | Sequence[OneSet | None]
"""One set for all rows, or a list with one for each row (None: every label)."""

Chosen = str | Subtree | tuple[str, ...]
"""One set of candidates in hashable form: the name of a rule, a subtree, or keys."""


class LeastRecentlyUsed(Generic[Value]):
    """A cache of at most `size` values, found by their keys; the value used least recently is dropped first.

    Threads may share the cache. No thread waits while another makes a value, because that can take a long
    time. If two threads miss the same key, both make its value, and one of the two values is kept.

    >>> kept = LeastRecentlyUsed[int](2)
    >>> [kept.get(key, lambda: made) for key, made in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)]]
    [1, 2, 1, 4, 5]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`; if it is missing, call `make` and keep the result."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._values)


def read_set(candidates: OneSet) -> Chosen:
    """Return one set of candidates, which is a rule, a `Subtree` or keys, in hashable form.

    Raise `InputError` if `candidates` is none of these, or if it contains no key.

    >>> read_set(["oak", "elm"])
    ('oak', 'elm')
    """
    return _one(candidates, "candidates")


def read_candidates(candidates: Candidates, n_rows: int) -> Chosen | list[Chosen | None]:
    """Return one set of candidates, or a list with a set for each row, in hashable form.

    A list of strings is one set of keys. Any other list must have an entry for each row, so an empty list is
    valid only if there are no rows.

    Raises
    ------
    InputError
        For a string that is not the name of a rule, for an empty set, and for a list of sets whose length is
        not the number of rows.

    Examples
    --------
    >>> read_candidates([["oak"], None], 2)
    [('oak',), None]
    """
    if isinstance(candidates, str | Subtree) or not isinstance(candidates, Iterable):
        return _one(candidates, "candidates")
    listed = list(candidates)
    if (listed or n_rows) and all(isinstance(entry, str) for entry in listed):
        return _one(listed, "candidates")
    if len(listed) != n_rows:
        raise InputError(
            f"candidates: {counted(len(listed), 'set')} for {counted(n_rows, 'row')}; give one set "
            "for each row, or None for a row that may get any label"
        )
    for row, entry in enumerate(listed):
        if isinstance(entry, str):
            raise InputError(
                f"candidates: row {row} is the single string {entry!r}; give a list of keys: [{entry!r}]"
            )
    names = (f"candidates of row {row}" for row in range(n_rows))
    return [None if entry is None else _one(entry, name) for entry, name in zip(listed, names, strict=True)]


def _one(given: object, name: str) -> Chosen:
    if isinstance(given, str):
        if given not in _RULES:
            raise InputError(
                f"{name}: {given!r} is a single string and not a rule; give {', '.join(map(repr, _RULES))}, "
                f"or a list of keys: [{given!r}]"
            )
        return given
    if isinstance(given, Subtree) and isinstance(given.key, str):
        return given
    keys = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(key, str) for key in keys):
        raise InputError(
            f"{name}: {given!r} given; give {', '.join(map(repr, _RULES))}, a Subtree of one key, or a "
            "list of keys"
        )
    if not keys:
        raise InputError(f"{name}: no label given; name at least one")
    return keys


def chosen_labels(
    chosen: Chosen,
    bundle: Bundle,
    keys: Keys,
    hierarchy: Callable[[str], TreeSpace],
    locus: Callable[[], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the indices of the allowed labels in a set of candidates.

    Labels given by keys stay in the given order; labels from a rule or a subtree are in ascending order.

    Parameters
    ----------
    chosen : Chosen
        A set from `read_candidates`.
    bundle, keys
        The label space, and the keys of its allowed labels.
    hierarchy : callable
        Function that returns the tree with the parents of the labels. Its only argument is a text that names
        what needs the tree. If there is no such tree, the function raises `SpaceError`; the message of the
        error begins with this text.
    locus : callable
        Function that returns the locus of the observed labels.

    Raises
    ------
    UnknownLabelError
        If a listed key is not the key of an allowed label, or if the tree has no label with the key of the
        `Subtree`.
    InputError
        If the set contains no allowed label.
    SpaceError
        If a rule or a subtree needs the tree with the parents of the labels, and there is none.
    """
    if isinstance(chosen, tuple):
        return keys.indices(chosen, (lambda: bundle.names) if len(keys) == bundle.n_points else None)
    if isinstance(chosen, Subtree):
        labels = _below(chosen, bundle, hierarchy(f"candidates: the subtree of {chosen.key!r}"))
        if not len(labels):
            raise InputError(f"candidates: no allowed label at or below {chosen.key!r}; name another label")
        return labels
    if chosen == "locus":
        return locus()
    if chosen == "observed":
        labels = np.flatnonzero(np.isin(bundle.allowed, bundle.observed))
    elif bundle.labels == "leaves":
        return np.arange(bundle.n_labels)
    else:
        has_child = np.zeros(bundle.n_points, dtype=bool)
        parent = hierarchy("candidates: 'leaves'").parent
        has_child[parent[parent >= 0]] = True
        labels = np.flatnonzero(~has_child[bundle.allowed])
    if not len(labels):
        raise InputError(
            f"candidates: the rule {chosen!r} gives no allowed label; allow more labels when building the "
            "bundle"
        )
    return labels


def _below(chosen: Subtree, bundle: Bundle, space: TreeSpace) -> NDArray[np.int64]:
    point = space.points.find(chosen.key)
    if point < 0:
        known = LabelNames(bundle.points, bundle.names, "auto")
        named = [bundle.points[i] for i in known.meant(chosen.key)]
        advice = f"it {is_name_of(named)}" if named else known.fault(chosen.key).partition("; ")[2]
        raise UnknownLabelError(
            f"candidates: subtree of {chosen.key!r}: no label of the tree has this key"
            + (advice and f"; {advice}")
        )
    tree = space.tree
    first = tree.positions(point)
    at = tree.positions(bundle.allowed)
    return np.flatnonzero((at >= first) & (at < tree.end[first]))

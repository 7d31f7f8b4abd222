"""Several labels for a row: active observed labels that are near one another share one answer.

A model of several labels emits independent probabilities (a sigmoid for each class), whose Fréchet mean as a
whole would lie between things that are both there. So a row is taken apart first: observed labels with a
probability of at least `threshold` are active; active labels at a distance of at most `within` are linked,
and each group that hangs together over links is answered by the Fréchet mean of its own probabilities. This
is a rule of thumb, not an estimate of the most probable set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.state import CandidateSet, State
from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import TreeSpace

__all__ = ["label_sets"]

_MOST_ACTIVE = 4096
_ENTRIES_AT_ONCE = 1 << 21


def label_sets(
    state: State, among: CandidateSet, weights: NDArray[np.float64], threshold: float, within: float
) -> list[tuple[int, ...]]:
    """Return the answers to each row of independent probabilities: allowed labels, ascending, each once."""
    rows, groups = [], []
    for start, part in _parts(weights, weights >= threshold):
        active = np.flatnonzero(part.any(axis=0))
        near = _between(state, active) <= within if len(active) else np.empty((0, 0), dtype=bool)
        for i, line in enumerate(part[:, active]):
            for group in _linked(near, np.flatnonzero(line)):
                rows.append(start + i)
                groups.append(active[group])
    answers: list[set[int]] = [set() for _ in weights]
    step = max(1, _ENTRIES_AT_ONCE // weights.shape[1])
    for first in range(0, len(rows), step):
        some = groups[first : first + step]
        alone = np.zeros((len(some), weights.shape[1]))
        for line, row, group in zip(alone, rows[first : first + step], some, strict=True):
            line[group] = weights[row, group]
        found = among.score(alone, 1).index[:, 0].tolist()
        for row, label in zip(rows[first : first + step], found, strict=True):
            answers[row].add(label)
    return [tuple(sorted(labels)) for labels in answers]


def _parts(
    weights: NDArray[np.float64], active: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the first row and the active labels of runs of rows that have few enough of them together."""
    start, stop = 0, len(weights)
    while start < len(weights):
        n_active = int(np.count_nonzero(active[start:stop].any(axis=0)))
        if n_active <= _MOST_ACTIVE:
            yield start, active[start:stop]
            start, stop = stop, len(weights)
        elif stop - start > 1:
            stop = (start + stop) // 2
        else:
            raise InputError(
                f"threshold: a row has {n_active} active labels, more than {_MOST_ACTIVE}; raise it"
            )


def _between(state: State, columns: NDArray[np.int64]) -> NDArray[Any]:
    """Return the distances between some observed labels."""
    bundle, space = state.bundle, state.space
    points = bundle.observed[columns]
    if isinstance(space, TreeSpace):
        at = space.tree.positions(points)
        return space.tree.distances(at, at)
    if space is not None:
        return np.not_equal.outer(points, points).astype(np.uint8)
    labels = np.searchsorted(bundle.allowed, points)
    labels[labels == bundle.n_labels] = 0
    absent = np.flatnonzero(bundle.allowed[labels] != points)
    if len(absent):
        raise SpaceError(
            f"predict_sets: {len(absent)} active observed labels are not allowed labels, "
            f"{bundle.points[int(points[absent[0]])]!r} among them, and a block bundle has no distances from "
            "these; build it with labels that include the observed ones, or with metric='tree'"
        )
    return state.distances[labels][:, columns]


def _linked(near: NDArray[np.bool_], members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the groups of `members` that hang together over links."""
    groups = []
    while len(members):
        group = members[:1]
        rest = members[1:]
        while len(rest):
            linked = near[np.ix_(rest, group)].any(axis=1)
            if not linked.any():
                break
            group, rest = np.concatenate([group, rest[linked]]), rest[~linked]
        groups.append(np.sort(group))
        members = rest
    return groups

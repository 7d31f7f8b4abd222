"""Answer a row with several labels: one for each group of probable observed labels close to each other.

A model that gives a sample several labels has independent probabilities as outputs (a sigmoid for each
class). The Fréchet mean of the whole row would lie between labels that are both present, so the row is split
first. In this module, an observed label is called active in a row if its probability in the row is at least
`threshold`. Active labels at a distance of at most `within` are linked. The answer for each connected group
of them is the Fréchet mean under the probabilities of the group. This is a rule of thumb, not an estimate of
the most probable set.
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
    """Return the set of answers to each row of independent probabilities.

    Each set is a tuple of indices of allowed labels, in ascending order.
    """
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
    """Cut the rows of `active` into consecutive parts, so that few columns of a part contain True.

    Each row of `active` belongs to a sample and each column to an observed label; a cell is True if the
    probability of this label is at least the threshold. For each part, yield the index of its first row, and
    its rows. At most `_MOST_ACTIVE` columns of a part contain True; if one row alone has more,
    `InputError` is raised.
    """
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
                f"threshold: {n_active} probabilities of one row reach it, but at most {_MOST_ACTIVE} may; "
                "raise the threshold"
            )


def _between(state: State, columns: NDArray[np.int64]) -> NDArray[Any]:
    """Return the matrix of distances between the observed labels in `columns`."""
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
            f"predict_sets: {len(absent)} observed labels above the threshold are not allowed labels, "
            f"such as {bundle.points[int(points[absent[0]])]!r}; a block bundle has no distances from "
            "labels that are not allowed; build it with labels that include the observed ones, or with "
            "metric='tree' (grove: --metric tree)"
        )
    return state.distances[labels][:, columns]


def _linked(near: NDArray[np.bool_], members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the connected groups of `members`, which are indices of rows and columns of `near`.

    Two members a and b are linked if ``near[a, b]`` is True.
    """
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

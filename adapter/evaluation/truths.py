"""The truth of each sample as a label of an adapter, and what measures how far an answer is from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adapter.bundle import build_bundle
from adapter.evaluation.ancestry import Ancestry
from adapter.pairdistances import pair_distances
from adapter.scorer import Adapter
from ontology.errors import InputError, SpaceError, UnknownLabelError, first_few
from ontology.geometry import MatrixSpace, MetricSpace, TreeSpace
from ontology.keys import Keys

__all__ = ["LabelDistances", "listed_keys", "resolved", "truth_indices", "wrong_length"]


class LabelDistances:
    """Distances between allowed labels of an adapter, pair by pair.

    Parameters
    ----------
    adapter : Adapter
        Whose labels they are.
    space : MetricSpace
        What measures them.
    tree : Ancestry, optional
        That of `space`, where it is at hand.
    """

    def __init__(self, adapter: Adapter, space: MetricSpace, tree: Ancestry | None = None) -> None:
        self._space, self._allowed = space, adapter.bundle.allowed
        self._tree: Ancestry | None = None
        if isinstance(space, TreeSpace):
            own = tree is not None and tree.space is space
            self._tree = tree if own else Ancestry(space, adapter.bundle.points)

    def __call__(self, truths: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far each answer is from its truth, both indices of allowed labels."""
        if self._tree is None:
            return pair_distances(self._space, truths, _point_indices(self._space, answers))
        a, b = (self._tree.position[self._allowed[labels]] for labels in (truths, answers))
        return self._tree.distance(a, b, self._tree.meet(a, b))


def resolved(
    source: Adapter | MetricSpace, observed: Iterable[str] | None, space: MetricSpace | None
) -> tuple[Adapter, MetricSpace]:
    """Return the adapter of what was given, and the space between all of its labels."""
    for name, given in (("source", source), ("space", space)):
        if given is not None and not isinstance(given, Adapter | MetricSpace):
            raise InputError(f"{name}: {type(given).__name__} given; give what metric_space(graph) returns")
    if isinstance(source, MetricSpace):
        if observed is None or space is not None:
            raise InputError("a space is evaluated with observed=[...] and without space=")
        return Adapter(build_bundle(source, observed)), source
    if observed is not None:
        raise InputError("observed: the adapter has its observed labels; leave it out")
    if space is None:
        if source.space is None:
            rule = source.bundle.labels
            labels = "list(adapter.keys)" if rule == "listed" else repr(rule)
            built = f"metric={source.bundle.metric!r}, labels={labels}"
            raise SpaceError(
                f"{source!r}: a block bundle cannot measure between its labels; pass the space it was built "
                f"from: space=metric_space(graph, {built})"
            )
        return source, source.space
    if space.kind != source.bundle.metric or space.keys != source.keys:
        raise SpaceError(
            f"space: {space!r} of kind {space.kind!r} does not hold the labels of {source!r}, "
            f"built with metric={source.bundle.metric!r} and labels={source.bundle.labels!r}"
        )
    return source, space


def listed_keys(name: str, keys: Iterable[Any]) -> list[str]:
    """Return keys as a list of text; `name` is what messages call them."""
    if isinstance(keys, str):
        raise InputError(f"{name}: {keys!r} is one text; give one key for each sample")
    if not isinstance(keys, Iterable):
        raise InputError(f"{name}: {keys!r} given; give the key of each sample's label")
    listed = list(keys)
    for i, key in enumerate(listed):
        if not isinstance(key, str):
            raise InputError(
                f"{name}: row {i} is {key!r} of type {type(key).__name__}; labels are named by key"
            )
    return [str(key) for key in listed]


def truth_indices(adapter: Adapter, points: Keys, truth: list[str]) -> NDArray[np.int64]:
    """Return the allowed label of each sample; errors tell labels that are unknown from other `points`."""
    index = {key: adapter.keys.find(key) for key in set(truth)}
    outside = [i for i, key in enumerate(truth) if index[key] < 0]
    if outside:
        shown = [
            f"row {i} {truth[i]!r}{' (known, but no allowed answer)' if truth[i] in points else ''}"
            for i in outside
        ]
        raise UnknownLabelError(
            f"truth: {len(outside)} of {len(truth)} rows are outside the {adapter.n_labels} allowed labels: "
            f"{first_few(shown)}; name labels by key, leave these samples out, or allow their labels"
        )
    return np.array([index[key] for key in truth], dtype=np.int64)


def wrong_length(n_truth: int, rows: str) -> InputError:
    """Return the error of a truth that is not as long as the outputs."""
    return InputError(f"truth: {n_truth} labels for {rows}; give one for each, and at least one")


def _point_indices(space: MetricSpace, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    if isinstance(space, MatrixSpace):
        try:
            return space.point_index(space.keys.take(labels))
        except UnknownLabelError as error:
            raise SpaceError(
                f"space: this matrix has no column for some answers or truths ({error})"
            ) from None
    return labels if space.allowed is None else space.allowed[labels]

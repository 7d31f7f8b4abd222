"""Find the truth of each sample among an adapter's labels, and its distance to an answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.columns.labelnames import (
    CLASS_INDICES,
    LabelNames,
    describe_names,
    listed_faults,
    look_like_numbers,
)
from labelgrove.adapter.evaluation.measures.ancestry import Ancestry
from labelgrove.adapter.evaluation.measures.pairdistances import pair_distances
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, counted, first_few
from labelgrove.ontology.geometry import MatrixSpace, MetricSpace, TreeSpace
from labelgrove.ontology.keys import Keys

__all__ = ["LabelDistances", "listed_keys", "resolved", "truth_indices"]


class LabelDistances:
    """Measures distances between allowed labels of an adapter, for many pairs at once.

    Parameters
    ----------
    adapter : Adapter
        Adapter with the labels.
    space : MetricSpace
        Measures the distances.
    tree : Ancestry, optional
        Ancestry of `space`, if the caller has made it already.
    """

    def __init__(self, adapter: Adapter, space: MetricSpace, tree: Ancestry | None = None) -> None:
        self._space, self._allowed, self._points = space, adapter.bundle.allowed, adapter.bundle.points
        self._adapter, self.n_labels = adapter, adapter.n_labels
        self._column = np.full(adapter.bundle.n_points, -1)
        self._column[adapter.bundle.observed] = np.arange(adapter.n_observed)
        self._tree: Ancestry | None = None
        if isinstance(space, TreeSpace):
            own = tree is not None and tree.space is space
            self._tree = tree if own else Ancestry(space, adapter.bundle.points)

    def __call__(self, truths: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance from each answer to its truth, both given as indices of allowed labels."""
        if self._tree is None:
            return pair_distances(self._space, truths, _point_indices(self._space, answers))
        return self._in_tree(self._tree, self._allowed[truths], self._allowed[answers])

    def is_allowed(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each of `points`, whether it is an allowed label; if not, it is only observed."""
        return np.isin(points, self._allowed)

    def from_points(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from all allowed labels to some points of the bundle.

        The result has the shape (n_labels, len(points)).
        """
        found = self._space.distances(None, self._space.point_index(self._points.take(points)))
        return np.asarray(found, dtype=np.float64)

    def to_points(self, allowed: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance from ``allowed[i]`` to ``points[i]`` for every i.

        Both arrays contain indices of points of the bundle. Those in `allowed` must be allowed labels; those
        in `points` may also be observed labels that are not allowed.
        """
        if self._tree is not None:
            return self._in_tree(self._tree, allowed, points)
        labels, column = np.searchsorted(self._allowed, allowed), self._column[points]
        observed = column >= 0
        out = np.empty(len(labels))
        distinct, at = np.unique(labels[observed], return_inverse=True)
        out[observed] = self._adapter.distances(distinct)[at, column[observed]]
        if not observed.all():
            answers = np.searchsorted(self._allowed, points[~observed])
            out[~observed] = self(labels[~observed], answers)
        return out

    @staticmethod
    def _in_tree(tree: Ancestry, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
        a, b = tree.position[a], tree.position[b]
        return tree.distance(a, b, tree.meet(a, b))


def resolved(
    source: Adapter | MetricSpace, observed: Iterable[str] | None, space: MetricSpace | None
) -> tuple[Adapter, MetricSpace]:
    """Return a pair: an adapter, and the metric space that contains all distances between its labels.

    If `source` is an adapter, it is returned with `space`, or by default with its own space. If `source` is a
    space, it is returned with an adapter that is built from it and the observed labels `observed`.
    """
    for name, given in (("source", source), ("space", space)):
        if given is not None and not isinstance(given, Adapter | MetricSpace):
            raise InputError(
                f"{name}: {type(given).__name__} given; give a MetricSpace, such as metric_space(graph)"
            )
    if isinstance(source, MetricSpace):
        if observed is None or space is not None:
            raise InputError("source: a space is given; give observed=[...] with it, and leave out space=")
        return Adapter(build_bundle(source, observed)), source
    if observed is not None:
        raise InputError("observed: the adapter has its own observed labels; leave out observed")
    if space is None:
        space = source.whole_space()
        if space is None:
            rule = source.bundle.labels
            labels = "list(adapter.keys)" if rule == "listed" else repr(rule)
            built = f"metric={source.bundle.metric!r}, labels={labels}"
            raise SpaceError(
                f"{source!r}: a block bundle has only distances to its observed labels; give the space that "
                f"it was built from: space=metric_space(graph, {built})"
            )
        return source, space
    if space.kind != source.bundle.metric or space.keys != source.keys:
        raise SpaceError(
            f"space: {space!r} of kind {space.kind!r} does not have the labels of {source!r}, "
            f"built with metric={source.bundle.metric!r} and labels={source.bundle.labels!r}; give the space "
            "that the bundle was built from"
        )
    return source, space


def listed_keys(name: str, keys: Iterable[Any]) -> list[str]:
    """Return keys as a list of strings; error messages begin with the text `name`."""
    if isinstance(keys, str):
        raise InputError(f"{name}: {keys!r} is a single string; give one key for each sample")
    if not isinstance(keys, Iterable):
        raise InputError(f"{name}: {keys!r} given; give the key of each sample's label")
    listed = list(keys)
    for i, key in enumerate(listed):
        if not isinstance(key, str):
            raise InputError(
                f"{name}: row {i} is {key!r} of type {type(key).__name__}; keys are text: "
                + CLASS_INDICES.format(name=name, keys=f"[str(key) for key in {name}]")
            )
    return [str(key) for key in listed]


def truth_indices(adapter: Adapter, points: Keys, truth: list[str]) -> NDArray[np.int64]:
    """Return the index of each sample's true label among the allowed labels.

    `points` contains the keys of all known labels. If a truth is not one of these keys, the error says that
    the truth is unknown. If it is one of them but not an allowed label, the error says so.
    """
    index = {key: adapter.keys.find(key) for key in set(truth)}
    outside = [i for i, key in enumerate(truth) if index[key] < 0]
    unknown: dict[str, int] = {}
    for i in outside:
        if truth[i] not in points:
            unknown.setdefault(truth[i], i)
    if unknown:
        raise UnknownLabelError(_not_found(adapter, points, unknown, index.keys()))
    if outside:
        shown = [f"row {i} {truth[i]!r}" for i in outside]
        raise UnknownLabelError(
            f"truth: {len(outside)} of {counted(len(truth), 'row')} {'has' if len(outside) == 1 else 'have'} "
            f"a known label that is not among the {counted(adapter.n_labels, 'allowed label')}: "
            f"{first_few(shown)}; leave these samples out, or allow their labels"
        )
    return np.array([index[key] for key in truth], dtype=np.int64)


def _not_found(adapter: Adapter, points: Keys, unknown: dict[str, int], given: Iterable[str]) -> str:
    """Return the error message for truths that are not keys of labels.

    `unknown` maps each of these truths to the first row that has it. `given` contains all different truths,
    known and unknown.
    """
    known = LabelNames(points, None, "key", elsewhere=describe_names(adapter.keys, adapter.names))
    said = listed_faults("truth", known, "key", [(f"row {i}", text) for text, i in unknown.items()])
    if look_like_numbers(given, adapter.n_observed):
        return f"{said}\n{CLASS_INDICES.format(name='truth', keys='write them as in the ontology')}"
    return f"{said}\nname labels by key, or leave these samples out"


def _point_indices(space: MetricSpace, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    if isinstance(space, MatrixSpace):
        try:
            return space.point_index(space.keys.take(labels))
        except UnknownLabelError as error:
            raise SpaceError(
                f"space: the given matrix has no column for some answers or truths ({error}); give a space "
                "that has a column for each of them"
            ) from None
    return labels if space.allowed is None else space.allowed[labels]

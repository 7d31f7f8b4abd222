"""Match the classes of a classifier with labels, and turn its outputs into labels; needs only numpy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
from labelgrove.adapter.columns.binding import find_labels
from labelgrove.adapter.columns.bindingfile import By
from labelgrove.adapter.columns.labelnames import (
    Describe,
    Elsewhere,
    describe_graph,
    describe_observed,
    describe_unobserved,
)
from labelgrove.adapter.loading.source import open_bundle
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import (
    BindingError,
    BundleError,
    InputError,
    NotFoundError,
    UnknownLabelError,
    counted,
    first_few,
)
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["ClassAnswers", "ClassBinding", "Source", "measuring_space", "opened_source"]

Address = str | os.PathLike[str]
Source = Address | Bundle | LabelGraph | MetricSpace
"""A source of labels and their distances: an address, a bundle, a graph or a space."""


def opened_source(source: Source, artifacts_url: str | None = None) -> Bundle | LabelGraph | MetricSpace:
    """Open the bundle if `source` is its address; return a bundle, a graph or a space unchanged."""
    if isinstance(source, str | os.PathLike):
        return open_bundle(source, artifacts_url=artifacts_url)
    if not isinstance(source, Bundle | LabelGraph | MetricSpace):
        remedy = "give adapter.bundle" if isinstance(source, Adapter) else "see adapter.open_bundle"
        raise InputError(
            f"bundle: a value of type {type(source).__name__}; give an address, a Bundle, a LabelGraph or a "
            f"MetricSpace; {remedy}"
        )
    return source


def measuring_space(given: Bundle | LabelGraph | MetricSpace) -> MetricSpace:
    """Return a space that measures distances between the labels of a bundle, a graph or a space.

    If `given` is a block bundle, the space has only the distances to observed labels.
    """
    if isinstance(given, Bundle):
        return given.space()
    return metric_space(given) if isinstance(given, LabelGraph) else given


class ClassBinding:
    """Matches the classes of a classifier with labels, by key or by name.

    Parameters
    ----------
    source : str, path, Bundle, LabelGraph, MetricSpace or None
        The labels. None: the classes are the labels, all at the same distance from each other.
    columns : mapping of class to str, optional
        For each class, the key or the name of its label. By default each class is the key of its label.
    artifacts_url : str, optional
        The artifact store in which an address is looked up.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> binding = ClassBinding(graph, {0: "oak", 1: "elm"})
    >>> bundle, feeds = binding.bundle(np.array([0, 1]))
    >>> bundle.observed_keys, feeds.tolist()
    (('oak', 'elm'), [0, 1])
    """

    def __init__(
        self,
        source: Source | None,
        columns: Mapping[Any, str] | None = None,
        artifacts_url: str | None = None,
    ) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise InputError(
                f"columns: a value of type {type(columns).__name__}; give a mapping of each class to its "
                "label, such as dict(zip(model.classes_, keys))"
            )
        if source is None and columns is not None:
            raise InputError("columns: given without a bundle; there are no labels to bind classes to")
        self._columns = columns
        self._given = None if source is None else opened_source(source, artifacts_url)
        self.space: MetricSpace | None = None
        """The space that measures between any two labels; None for a bundle."""
        if self._given is not None and not isinstance(self._given, Bundle):
            self.space = measuring_space(self._given)

    def labels(self, classes: NDArray[Any]) -> NDArray[np.int64]:
        """Return an array with the index of each class's label.

        These are indices into the observed labels if the source is a bundle, and indices into all labels if
        the source is a graph or a space.

        Raises
        ------
        BindingError
            For classes that are unknown, ambiguous or repeated; the message lists all of them.
        """
        keys, names = self._known()
        spelled = self._spelled(classes)
        odd = [one for one in spelled if not isinstance(one, str)]
        if odd:
            advice = "say which label each class is: columns={class: key, ...}"
            if self._columns is not None:
                advice = "give the key or the name of the label of each class"
            elif set(map(str, spelled)) <= set(keys):
                advice = (
                    "as text they are keys: fit on y.astype(str), or say columns={c: str(c) for c in set(y)}"
                )
            raise BindingError(
                f"classes: {odd[0]!r} is of type {type(odd[0]).__name__}, but keys of labels must be text; "
                f"{advice}"
            )
        try:
            by: By = "key" if self._columns is None else "auto"
            return find_labels(
                spelled, keys, names, by=by, describe=self._describe(), elsewhere=self._elsewhere(by)
            )
        except BindingError as error:
            raise BindingError(
                f"classes: {error}\na class must be the key of an observed label; otherwise say which label "
                "each class is: columns={class: key or name, ...}"
            ) from None

    def bundle(self, classes: NDArray[Any]) -> tuple[Bundle, NDArray[np.int64]]:
        """Return the bundle and, for each class, the index of its label among the observed labels.

        The errors are those of `labels`.
        """
        every = np.arange(len(classes))
        if self._given is None:
            keys = [f"{i:09d}" for i in every]  # so that canonical order is the order of the classes
            return build_bundle(CompleteSpace(keys), keys), every
        found = self.labels(classes)
        if isinstance(self._given, Bundle):
            return self._given, found
        known, _ = self._known()
        return build_bundle(self._given, [known[i] for i in found]), every

    def _known(self) -> tuple[Sequence[str], Sequence[str] | None]:
        """Return a pair: the keys and the names of the labels with which a class may be matched.

        In place of the names it contains None if the labels have no names.
        """
        given = self._given
        if isinstance(given, Bundle):
            return given.observed_keys, given.observed_names
        if isinstance(given, LabelGraph):
            return given.keys, given.names
        return () if given is None else given.points, None

    def _describe(self) -> Describe | None:
        if isinstance(self._given, Bundle):
            return describe_observed(self._given)
        return describe_graph(self._given) if isinstance(self._given, LabelGraph) else None

    def _elsewhere(self, by: By) -> Elsewhere | None:
        return describe_unobserved(self._given, by) if isinstance(self._given, Bundle) else None

    def _spelled(self, classes: NDArray[Any]) -> list[Any]:
        listed: list[Any] = classes.tolist()
        if self._columns is None:
            return listed
        absent = [repr(one) for one in listed if one not in self._columns]
        if absent:
            raise BindingError(
                f"columns: no label for {len(absent)} of {len(listed)} classes: {first_few(absent)}; "
                "name a label for each class"
            )
        return [self._columns[one] for one in listed]


class ClassAnswers:
    """Turns the outputs of a fitted classifier into answers, which are labels of a bundle.

    Each class of the classifier is matched with an observed label of the bundle. `classes` lists the labels
    that may be answers.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    feeds : ndarray of shape (n_classes,), dtype=int64
        For each class of the classifier, the index of the observed label that it is matched with.
    reading : dict
        Keyword arguments for the adapter.
    address : tuple of address and artifacts_url, optional
        Where the bundle was opened. A pickle then contains the address and the digest, and the bundle is
        opened again when it is first needed; without an address, a pickle contains the bundle.
    space : MetricSpace, optional
        Measures distances between labels; by default the space of the bundle.
    own : ndarray of shape (n_labels,), optional
        The classes of the classifier, if they themselves serve as the labels of the bundle, in the canonical
        order of these labels. The attribute `classes` is then this array; by default it contains the keys of
        the allowed labels.
    """

    def __init__(
        self,
        bundle: Bundle,
        feeds: NDArray[np.int64],
        reading: dict[str, Any],
        *,
        address: tuple[Address, str | None] | None = None,
        space: MetricSpace | None = None,
        own: NDArray[Any] | None = None,
    ) -> None:
        self._feeds, self._reading, self._space, self._own = feeds, reading, space, own
        self._source = bundle if address is None else _Reference(*address, bundle.digest)
        self.adapter = Adapter(bundle, **reading)

    @cached_property
    def adapter(self) -> Adapter:
        """The adapter that answers; its columns are the observed labels of the bundle."""
        bundle = self._source if isinstance(self._source, Bundle) else self._source.open()
        return Adapter(bundle, **self._reading)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels that may be answers, in scikit-learn's order of classes."""
        if self._own is not None:
            return self._own
        keys = self.adapter.keys
        return np.array(keys.take(keys.order), dtype=object)

    @property
    def space(self) -> MetricSpace | None:
        """The space that measures distances between labels; None if the classes are the labels."""
        return None if self._own is not None else self._space or self.adapter.bundle.space()

    def learned_all(self, truth: NDArray[Any]) -> bool:
        """Return whether every truth is the label of a class although some allowed label has no class.

        Such truths say nothing about answers with labels that the classifier did not learn.
        """
        bundle = self.adapter.bundle
        if np.isin(bundle.allowed, bundle.observed[self._feeds]).all():
            return False
        keys = bundle.observed_keys
        return {keys[i] for i in self._feeds.tolist()}.issuperset(truth.tolist())

    def outputs(self, given: NDArray[Any]) -> NDArray[Any]:
        """Return the input of the adapter, made from outputs with one column for each class.

        Observed labels that no class is matched with get probability 0.
        """
        kind: OutputKind = self.adapter.outputs
        if kind == "log_probabilities":
            with np.errstate(divide="ignore", invalid="ignore"):
                given = np.log(given)
        n_observed = self.adapter.n_observed
        if len(self._feeds) == n_observed and (self._feeds == np.arange(n_observed)).all():
            return given
        absent = 0 if kind == "probabilities" else -np.inf
        spread = np.full((len(given), n_observed), absent, dtype=given.dtype)
        spread[:, self._feeds] = given
        return spread

    def predict(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return the answer to each row, an element of `classes`."""
        if self._own is not None:
            return np.asarray(self._own[self.adapter.predict_indices(outputs)])
        return np.array(self.adapter.predict(outputs), dtype=object)

    def sorted(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `values` with its columns in the order of `classes`.

        `values` has one column for each allowed label, in canonical order.
        """
        order = self.adapter.keys.order
        return values if (order[1:] > order[:-1]).all() else values.take(order, axis=1)

    def refuse_unknown(self, truth: Any) -> None:
        """Raise `UnknownLabelError` for truths that are not keys of labels in the bundle."""
        if self._own is None:
            points = self.adapter.bundle.points
            absent = {one for one in np.ravel(np.asarray(truth, dtype=object)).tolist() if one not in points}
            if absent:
                advice = "name labels by key, or leave these samples out"
                if any(not isinstance(one, str) and str(one) in points for one in absent):
                    advice = "keys are text: give them as text, y.astype(str)"
                raise UnknownLabelError(
                    f"y: {counted(len(absent), 'label')} not among the {len(points)} labels of the bundle: "
                    f"{first_few(sorted(map(repr, absent)))}; {advice}"
                )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("adapter", "classes")}


@dataclass(frozen=True)
class _Reference:
    """The digest of a bundle, and the address where it was when the classifier was fitted."""

    uri: Address
    artifacts_url: str | None
    digest: str

    def open(self) -> Bundle:
        """Open the bundle at its address; if it is no longer there, open it from the artifact store.

        Raises
        ------
        BundleError
            If the bundle is at neither place.
        """
        try:
            found = open_bundle(self.uri, artifacts_url=self.artifacts_url)
            if found.digest == self.digest:
                return found
            now = f"holds {found.digest[:12]} now"
        except NotFoundError as error:
            now = f"is not found ({error})"
        try:
            return open_bundle(self.digest, artifacts_url=self.artifacts_url)
        except NotFoundError:
            raise BundleError(
                f"bundle {os.fspath(self.uri)!r}: {now}, but this classifier was pickled with {self.digest}; "
                "restore that bundle at this address or in the artifact store, or fit the classifier again"
            ) from None

"""Adapter: the probabilities of K observed labels in, answers among all N allowed labels out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adapter.binding import By, bind
from adapter.bundle import Bundle, build_bundle
from adapter.source import open_bundle
from ontology.errors import InputError, WeightError
from ontology.geometry import (
    DenseScorer,
    FrechetResult,
    GraphScorer,
    MetricSpace,
    Scorer,
    check_weights,
    make_scorer,
)
from ontology.geometry.scoring.densescorer import Rows, RowsOnDemand
from ontology.keys import Keys, Texts
from ontology.labelgraph import LabelGraph

__all__ = ["MAX_VALUES", "Adapter", "Ranking"]

MAX_VALUES = 1 << 27
"""Most numbers that `Adapter.decision_function` returns in one call: 1 GiB of float64."""

_CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Ranking:
    """The best labels of each sample, best first.

    Attributes
    ----------
    keys : tuple of n_samples tuples of k keys
    indices : ndarray of shape (n_samples, k), dtype=int64
        The same labels as indices into `Adapter.keys`.
    values : ndarray of shape (n_samples, k), dtype=float64
        Fréchet variance at each, in squared edge-weight units times the sum of the row: for rows that sum to
        one, the expected squared distance.
    n_tied : ndarray of shape (n_samples,), dtype=int64
        Number of labels tied with the best, itself included.
    """

    keys: tuple[tuple[str, ...], ...]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    n_tied: NDArray[np.int64]


class Adapter:
    """Lets a classifier of n_observed classes answer with any of n_labels labels.

    The answer to a row p of probabilities is the Fréchet mean: the allowed label y with the smallest
    ``sum_i p_i d(y, l_i)^2``. Sums are taken in float64 from `p` as given; labels within a relative 1e-12 of
    the smallest are tied and the first of them in canonical order wins.

    An adapter is immutable once made; threads may share it.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    columns : iterable of str, length n_observed, optional
        What the model calls its columns, bound to the observed labels by `bind`. By default the columns are
        the bundle's observed labels, in the order in which it was built.
    by : {"auto", "key", "name", "position"}, default="auto"
        How `columns` are read.

    Raises
    ------
    BindingError
        For columns that are unknown, ambiguous, repeated or missing, all listed.

    Examples
    --------
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"])
    >>> adapter.predict([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]])
    ['tree', 'moss']
    >>> adapter.top_k([0.5, 0.5, 0.0], 2).values
    array([[1., 2.]])
    """

    def __init__(self, bundle: Bundle, columns: Iterable[str] | None = None, *, by: By = "auto") -> None:
        self.bundle = bundle
        self._order: NDArray[np.int64] | None = None
        self.observed: tuple[str, ...] = bundle.observed_keys
        if columns is not None:
            order = bind(columns, bundle.observed_keys, bundle.observed_names, by=by)
            if (order != np.arange(len(order))).any():
                self._order = order
                self.observed = tuple(bundle.observed_keys[i] for i in np.argsort(order))
        self._space: MetricSpace | None = None
        if bundle.distances is not None:
            self._distances: Rows = bundle.distances
            self._scorer: Scorer = GraphScorer(bundle.distances)
        else:
            self._space = bundle.space()
            self._distances = RowsOnDemand(self._space, bundle.observed)
            self._scorer = make_scorer(self._space, bundle.observed_keys)

    @classmethod
    def load(
        cls,
        uri: str | os.PathLike[str],
        columns: Iterable[str] | None = None,
        *,
        by: By = "auto",
        artifacts_url: str | None = None,
    ) -> Adapter:
        """Open the bundle at `uri` (see `open_bundle`) and bind the columns of a model to it."""
        return cls(open_bundle(uri, artifacts_url=artifacts_url), columns, by=by)

    @classmethod
    def from_graph(
        cls,
        graph: LabelGraph,
        observed: Iterable[str],
        *,
        metric: Literal["auto", "tree", "graph"] = "auto",
        labels: str | Iterable[str] = "all",
    ) -> Adapter:
        """Build the bundle of `graph` in memory (see `build_bundle`); columns are `observed`, in order."""
        return cls(build_bundle(graph, observed, metric=metric, labels=labels))

    # ---- what it holds -----------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Keys:
        """Keys of the allowed labels, in canonical order; every index refers to it."""
        if self._space is not None:
            return self._space.keys
        bundle = self.bundle
        whole = bundle.n_labels == bundle.n_points
        return bundle.points if whole else Keys.from_strings(bundle.points.take(bundle.allowed))

    @cached_property
    def names(self) -> Texts:
        """Names of the allowed labels, in the same order."""
        bundle = self.bundle
        whole = bundle.n_labels == bundle.n_points
        return bundle.names if whole else Texts.from_strings(bundle.names.take(bundle.allowed))

    @property
    def space(self) -> MetricSpace | None:
        """The metric space of a tree or complete bundle; None for a block, which holds no other distances."""
        return self._space

    @property
    def n_labels(self) -> int:
        """Number of labels that may be answered."""
        return self.bundle.n_labels

    @property
    def n_observed(self) -> int:
        """Number of observed labels: the columns of P."""
        return self.bundle.n_observed

    @property
    def digest(self) -> str:
        """Digest of the bundle."""
        return self.bundle.digest

    # ---- what evaluation builds on -----------------------------------------------------------------

    def distances(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances of allowed labels to the observed ones, columns in the order of the bundle."""
        return self._distances[indices]

    def rows(self, P: ArrayLike) -> NDArray[Any]:
        """Return P as an array of shape (n_samples, n_observed) whose values are not yet checked."""
        try:
            given = np.atleast_2d(np.asarray(P))
        except ValueError as error:
            raise WeightError(
                f"P: rows of different lengths ({error}); give {self.n_observed} numbers each"
            ) from None
        if given.ndim != 2 or given.shape[1] != self.n_observed:
            raise WeightError(
                f"P: shape {np.shape(P)} given, expected (n_samples, {self.n_observed}); one column for each "
                f"observed label, in the order of adapter.observed: {', '.join(self.observed[:3])}, ..."
            )
        return given

    def chunks(self, P: ArrayLike) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the first row and the checked weights of each chunk of P, columns in the order of the bundle.

        Raises
        ------
        WeightError
            As for `predict`; rows are counted over the whole of P.
        """
        given = self.rows(P)
        for start in range(0, len(given), _CHUNK_ROWS):
            chunk = given[start : start + _CHUNK_ROWS]
            try:
                checked = check_weights(chunk, self.n_observed)
            except WeightError:
                self._refuse(given)
                raise
            yield start, checked if self._order is None else checked[:, self._order]

    def score(self, weights: NDArray[np.float64], k: int = 1) -> FrechetResult:
        """Score weights that `chunks` gave; index and value have shape (n_samples, k) for every k."""
        found = self._scorer.score(weights, top=k)
        return FrechetResult(found.index.reshape(-1, k), found.value.reshape(-1, k), found.n_tied)

    # ---- answers -----------------------------------------------------------------------------------

    def predict(self, P: ArrayLike) -> list[str]:
        """Return the key of the Fréchet mean of each sample.

        Parameters
        ----------
        P : array_like of shape (n_samples, n_observed) or (n_observed,)
            Probabilities, votes or other non-negative numbers, columns as in `observed`; any real dtype and
            memory order. Rows need not sum to one.

        Raises
        ------
        WeightError
            For a wrong number of columns, and for rows with NaN, infinity, a negative value or zeros alone;
            the rows are named.

        Notes
        -----
        Trees: O(n_samples * n_observed) time. Blocks: O(n_samples * n_observed * n_labels). Rows are taken in
        chunks, so memory beyond P stays at a few hundred megabytes at most.
        """
        return self._decoded(self.predict_indices(P))

    def predict_indices(self, P: ArrayLike) -> NDArray[np.int64]:
        """Return what `predict` does as indices into `keys`; shape (n_samples,), dtype=int64."""
        return self._scored(P, 1).index[:, 0]

    def top_k(self, P: ArrayLike, k: int) -> Ranking:
        """Return the `k` best labels of each sample.

        Parameters
        ----------
        P
            As for `predict`.
        k : int
            Between 1 and `n_labels`.

        Raises
        ------
        WeightError, InputError
            As for `predict`, and for a `k` out of range.
        """
        found = self._scored(P, k)
        flat = self._decoded(found.index.ravel())
        keys = tuple(tuple(flat[i : i + k]) for i in range(0, len(flat), k))
        return Ranking(keys, found.index, found.value, found.n_tied)

    def decision_function(
        self, P: ArrayLike, *, candidates: Iterable[str] | None = None
    ) -> NDArray[np.float64]:
        """Return the negative Fréchet variance of every label: the larger, the better.

        Parameters
        ----------
        P
            As for `predict`.
        candidates : iterable of str, optional
            Keys of the labels to score, in the order of the columns to return; all labels by default.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_labels) or (n_samples, n_candidates), dtype=float64

        Raises
        ------
        InputError
            For more than `MAX_VALUES` numbers; take fewer rows at a time, or name candidates.
        WeightError, UnknownLabelError
            As for `predict`; for a candidate that is not allowed.
        """
        P = self.rows(P)
        chosen = None if candidates is None else self._candidates(candidates)
        width = self.n_labels if chosen is None else len(chosen)
        if len(P) * width > MAX_VALUES:
            raise InputError(
                f"decision_function: {len(P)} rows x {width} labels exceed {MAX_VALUES} numbers; pass at "
                f"most {max(1, MAX_VALUES // width)} rows at a time, or name the labels: candidates=[...]"
            )
        scorer = self._scorer if chosen is None else DenseScorer(self._distances[chosen])
        out = np.empty((len(P), width))
        for start, chunk in self.chunks(P):
            out[start : start + len(chunk)] = scorer.variance(chunk)
        return np.subtract(0.0, out, out=out)  # 0 - x has no negative zero

    # ---- shared ------------------------------------------------------------------------------------

    def _scored(self, P: ArrayLike, k: int) -> FrechetResult:
        """Score in chunks; index and value have shape (n_samples, k) for every k."""
        P = self.rows(P)
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= self.n_labels:
            raise InputError(
                f"k: {k!r} given, expected a whole number from 1 to {self.n_labels}, the number of labels"
            )
        index = np.empty((len(P), k), dtype=np.int64)
        value = np.empty((len(P), k))
        n_tied = np.empty(len(P), dtype=np.int64)
        for start, chunk in self.chunks(P):
            rows = slice(start, start + len(chunk))
            found = self.score(chunk, int(k))
            index[rows], value[rows], n_tied[rows] = found.index, found.value, found.n_tied
        return FrechetResult(index, value, n_tied)

    def _refuse(self, P: NDArray[Any]) -> None:
        """Raise for the whole of P, so that all its bad rows are counted."""
        try:
            check_weights(P, self.n_observed)
        except WeightError as error:
            hint = ""
            if P.dtype.kind in "if" and (P < 0).any():
                hint = "; if these are logits, apply the softmax to each row first"
            raise WeightError(f"P: {error}{hint}") from None

    def _candidates(self, candidates: Iterable[str]) -> NDArray[np.int64]:
        if isinstance(candidates, str):
            raise InputError(f"candidates: {candidates!r} is one text; give a sequence of keys")
        chosen = self.keys.indices(candidates)
        if not len(chosen):
            raise InputError("candidates: no label given; name at least one")
        return chosen

    def _decoded(self, indices: NDArray[np.int64]) -> list[str]:
        """Return the keys at `indices`, each distinct one decoded once."""
        distinct, inverse = np.unique(indices, return_inverse=True)
        keys = np.array(self.keys.take(distinct), dtype=object)
        return list(keys[inverse])

    def __repr__(self) -> str:
        return f"Adapter(n_labels={self.n_labels}, n_observed={self.n_observed}, digest={self.digest[:12]})"

"""The state of an adapter: one bundle, matched with the columns of one model, and scorers for its labels.

A state never changes: a refresh of the adapter makes a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.candidates import Chosen, LeastRecentlyUsed, chosen_labels
from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.columns.binding import By, Columns, bind
from labelgrove.adapter.columns.bindingfile import Binding
from labelgrove.adapter.columns.labelnames import describe_observed, describe_unobserved
from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import FrechetResult, MetricSpace, Scorer, TreeSpace
from labelgrove.ontology.geometry.frechet import point_scorer
from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, Rows, RowsOnDemand
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups
from labelgrove.ontology.geometry.scoring.tree.everywhere import Everywhere
from labelgrove.ontology.geometry.ties import check_beta
from labelgrove.ontology.keys import Keys, Texts

__all__ = ["CandidateSet", "State"]

_SETS_KEPT = 16
_SMALL_ENTRIES = 1 << 17  # up to here measuring all distances is faster than searching a tree
_COPIED_ENTRIES = 1 << 24
_FEW_KEYS = 16  # so many are decoded in less time than their distinct ones are found


class _Picked:
    """The rows of `rows` at the indices `labels`; a row is read only when it is requested."""

    def __init__(self, rows: Rows, labels: NDArray[np.int64]) -> None:
        self._rows, self._labels = rows, labels
        self.shape = (len(labels), rows.shape[1])

    def __getitem__(self, rows: slice | NDArray[np.int64], /) -> NDArray[Any]:
        return self._rows[self._labels[rows]]


@dataclass(eq=False)
class CandidateSet:
    """The candidates: the labels from which an answer is chosen, with a scorer for them.

    Attributes
    ----------
    n_labels : int
    scorer : Scorer
    labels : ndarray of shape (n_labels,), dtype=int64, or None
        Indices of the candidates among the allowed labels, ascending; None if all allowed labels are
        candidates.
    """

    n_labels: int
    scorer: Scorer
    labels: NDArray[np.int64] | None = None
    _decision: Decision | None = field(default=None, init=False)

    def decision(self, order: NDArray[np.int64] | None) -> Decision | None:
        """Return the compiled search that decides rows, or None.

        None is returned if the scorer has no compiled search, or if its search is not loaded yet (see
        `ontology.geometry.scoring.compilation`).

        The search takes rows with columns in the order of the model, and finds indices among the candidates.
        `order` is the attribute `order` of the state that this set belongs to.
        """
        if self._decision is None:
            self._decision = self.scorer.decision(order)
        return self._decision

    def score(self, weights: NDArray[np.float64], k: int) -> FrechetResult:
        """Return the `k` best candidates of each row, as indices among the allowed labels.

        The arrays `index` and `value` in the result have shape (n_samples, k).
        """
        found = self.scorer.score(weights, top=k)
        index = found.index if self.labels is None else self.labels[found.index]
        return FrechetResult(index.reshape(-1, k), found.value.reshape(-1, k), found.n_tied)


class State:
    """The bundle, columns and scorers from which an adapter answers.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    columns : iterable of str or None
        Names of the model's columns; None means the bundle's observed labels.
    by : {"auto", "key", "name", "position"}
        How to read the columns.
    beta : float
        Exponent of the distances.

    Attributes
    ----------
    order : ndarray of shape (n_observed,), dtype=int64, or None
        Column of the model for each observed label of the bundle; None if both are in the same order.
    observed : tuple of str
        Keys of the observed labels in the order of the model's columns.
    space : MetricSpace or None
        The metric space of the bundle; None for a block, which has only distances to observed labels.
    distances : Rows
        Distances from each allowed label (row) to each observed label (column).
    scorer : Scorer
        Scores all allowed labels.
    """

    def __init__(self, bundle: Bundle, columns: Columns | None, by: By, beta: float) -> None:
        self.bundle, self.beta = bundle, check_beta(beta)
        self.order: NDArray[np.int64] | None = None
        self.observed = keys = bundle.observed_keys
        if columns is not None:
            order = bind(
                columns,
                keys,
                bundle.observed_names,
                by=by,
                describe=describe_observed(bundle),
                elsewhere=describe_unobserved(bundle, "key" if isinstance(columns, Binding) else by),
            )
            if (order != np.arange(len(order))).any():
                self.order = order
                self.observed = tuple(keys[i] for i in np.argsort(order))
        self.space: MetricSpace | None = None
        if bundle.distances is not None:
            self.distances: Rows = bundle.distances
            self.scorer: Scorer = self._of_rows(bundle.distances, bundle.groups)
        else:
            self.space = bundle.space()
            self.distances = RowsOnDemand(self.space, bundle.observed)
            self.scorer = point_scorer(self.space, bundle.observed, beta=beta)
        self._sets = LeastRecentlyUsed[CandidateSet](_SETS_KEPT)

    @cached_property
    def keys(self) -> Keys:
        """Keys of the allowed labels."""
        if self.space is not None:
            return self.space.keys
        bundle = self.bundle
        whole = bundle.n_labels == bundle.n_points
        return bundle.points if whole else bundle.points.subset(bundle.allowed)

    @cached_property
    def names(self) -> Texts:
        """Names of the allowed labels."""
        bundle = self.bundle
        whole = bundle.n_labels == bundle.n_points
        return bundle.names if whole else bundle.names.subset(bundle.allowed)

    @property
    def tree(self) -> TreeSpace | None:
        """The space if the bundle is a tree, otherwise None."""
        return self.space if isinstance(self.space, TreeSpace) else None

    def hierarchy(self, what: str) -> TreeSpace:
        """Return the tree with the parents of the labels; raise `SpaceError` if the bundle has no such tree.

        `what` names the operation that needs the parents; the message begins with it.
        """
        if self.tree is None:
            raise SpaceError(
                f"{what} needs the parents of labels, which a {self.bundle.kind} bundle does not contain; "
                "build a tree bundle with metric='tree' (grove: --metric tree), or list the keys of the "
                "candidates"
            )
        if not self.tree.is_hierarchy:
            raise SpaceError(
                f"{what} needs the parents of labels, but this tree has undirected edges or several roots; "
                "list the keys of the candidates, or ingest with the policy roots=virtual"
            )
        return self.tree

    @cached_property
    def every(self) -> CandidateSet:
        """All allowed labels as a set of candidates."""
        return CandidateSet(self.bundle.n_labels, self.scorer)

    @cached_property
    def pairs_scorer(self) -> DenseScorer:
        """The scorer for single pairs of a row of weights and an allowed label."""
        return DenseScorer(self.distances, beta=self.beta)

    @cached_property
    def everywhere(self) -> Everywhere | None:
        """Computes the variances of all labels of a tree at once; None unless beta is 2."""
        if self.tree is None or self.beta != 2:
            return None
        return Everywhere(self.tree.tree, self.tree.tree.positions(self.bundle.observed))

    def candidates(self, chosen: Chosen) -> CandidateSet:
        """Return the candidates that `chosen` describes, with a scorer for them.

        The `CandidateSet` is kept for later calls.
        """
        return self._sets.get(chosen, lambda: self._prepared(np.unique(self.labels(chosen))))

    def labels(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return the labels that `chosen` describes, as indices among the allowed labels.

        If `chosen` consists of keys, the indices are in the order of the keys; otherwise they are ascending.
        """
        return chosen_labels(chosen, self.bundle, self.keys, self.hierarchy, self._locus)

    def rows_scorer(self, labels: NDArray[np.int64]) -> DenseScorer:
        """Return a scorer whose labels are `labels`, in the given order.

        If there are many labels, the scorer gets their distances only when it needs them.
        """
        few = len(labels) * self.bundle.n_observed <= _COPIED_ENTRIES
        rows = self.distances[labels] if few else _Picked(self.distances, labels)
        return DenseScorer(rows, beta=self.beta)

    def decoded(self, indices: NDArray[np.int64]) -> list[str]:
        """Return the keys at `indices`; of many, decode each distinct key only once."""
        if len(indices) <= _FEW_KEYS:
            return [self.keys[i] for i in indices.tolist()]
        distinct, inverse = np.unique(indices, return_inverse=True)
        keys = np.array(self.keys.take(distinct), dtype=object)
        return list(keys[inverse])

    def _prepared(self, labels: NDArray[np.int64]) -> CandidateSet:
        entries = len(labels) * self.bundle.n_observed
        if len(labels) == self.bundle.n_labels:
            return self.every
        if entries <= _SMALL_ENTRIES:
            return CandidateSet(len(labels), DenseScorer(self.distances[labels], beta=self.beta), labels)
        if self.tree is not None and self.beta == 2:
            within = TreeSpace(self.tree.points, self.tree.tree, self.bundle.allowed[labels])
            return CandidateSet(len(labels), RestrictedTreeScorer(within, self.bundle.observed), labels)
        if entries <= _COPIED_ENTRIES:
            return CandidateSet(len(labels), self._of_rows(self.distances[labels]), labels)
        return CandidateSet(len(labels), self.rows_scorer(labels), labels)

    def _of_rows(self, rows: NDArray[Any], groups: RowGroups | None = None) -> Scorer:
        return GraphScorer(rows, groups=groups) if self.beta == 2 else DenseScorer(rows, beta=self.beta)

    def _locus(self) -> NDArray[np.int64]:
        if self.beta != 2:
            raise InputError(
                f"candidates: 'locus' needs beta 2, but this adapter has beta {self.beta:g}; list the keys "
                "of the candidates"
            )
        from labelgrove.ontology.geometry.loci.exactlocus import locus_index

        if self.space is not None:
            return locus_index(self.space, self.bundle.observed).index
        space = self.bundle.space()
        return locus_index(space, np.arange(self.bundle.n_observed)).index

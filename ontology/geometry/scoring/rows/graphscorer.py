"""GraphScorer: exact Fréchet means (beta = 2) from rows of distances, most of which are never read.

On a graph with far more labels than observed labels, many rows are equal, and similar rows can be ruled out
together: a `RowTree` finds the few rows that may be best. The plain sum decides among them, so the answers
equal those of every other scorer to the last bit, including ties and their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.scoring.background import Background
from labelgrove.ontology.geometry.scoring.compilation import Compilation
from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer
from labelgrove.ontology.geometry.scoring.ranking import (
    Finalists,
    gathered,
    in_halves,
    ranked_groups,
    spans,
)
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups, group_rows
from labelgrove.ontology.geometry.scoring.rows.rowtree import RowTree
from labelgrove.ontology.geometry.ties import FrechetResult, refuse_bad_rows, tied

__all__ = ["GraphScorer"]

_BATCH = 1024
_WORTH_REDUCING = 256


class GraphScorer(Scorer):
    """Scores the allowed labels of any space by their rows of distances; equal rows are scored once.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_observed)
        Distances from each allowed label, in canonical order, to each observed label, in the order of the
        columns of the weights.
    groups : RowGroups, optional
        The groups of these rows, if they were made before; see `rowgroups.group_rows`.
    compiled : bool, optional
        Whether to search with numba; the answers are the same without it. By default, the scorer
        uses numba, if it is installed, as soon as the process has loaded the compiled search, which happens
        in the background once it is worth it (see `Compilation`).

    Notes
    -----
    Without `groups`, a `DenseScorer` scores the rows of weights at first. After a few hundred, the rows of
    distances are grouped, which takes a few passes over `distances`: in the background, unless `compiled` is
    given. The groups need memory for a seventh of the distinct rows. Without numba, a request for several
    labels (`top`) skips a row of distances only if it equals another row. A request with candidates reads the
    distances of every candidate.

    Examples
    --------
    >>> GraphScorer(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8)).score([[1.0, 1.0]]).index
    array([1])
    """

    def __init__(
        self, distances: NDArray[Any], *, groups: RowGroups | None = None, compiled: bool | None = None
    ) -> None:
        self._distances, self._groups = distances, groups
        self._dense = DenseScorer(distances)
        self.n_observed, self.n_labels = self._dense.n_observed, self._dense.n_labels
        self._compilation = Compilation(
            "labelgrove.ontology.geometry.scoring.rows.compiledrows",
            f"row_search:{distances.dtype.name}",
            compiled,
        )
        self._groups_in_background = compiled is None
        self._grouping = Background(self.group, "group rows of distances")
        self._n_rows = 0

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights."""
        self._count_rows(len(given))
        if candidates is not None or self._groups is None:
            return self._dense.score_rows(given, top, candidates)
        first, label = self._tree.groups.first, self._tree.groups.label
        with self._timed():
            batches = self._decided(given, top)
            results = ((of, ranked_groups(first, label, finalists, top)) for of, finalists in batches)
            return gathered(len(given), top, results)

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        self._count_rows(1)
        if self._groups is None:
            return self._dense.tied_row(given)
        with self._timed():
            ((_, (_, row, total)),) = self._decided(given, 1)
        among, groups = row[tied(total)], self._tree.groups
        first = groups.first
        label = groups.label[spans(first[among], first[among + 1] - first[among])]
        return np.sort(label.astype(np.int64))

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label; shape (n_samples, n_labels), dtype=float64."""
        return self._dense.variance(weights)

    def group(self) -> RowGroups:
        """Return the groups of the rows, and use them from now on; they are made now if they are missing."""
        if self._groups is None:
            self._groups = group_rows(np.ascontiguousarray(self._distances))
        return self._groups

    def warm(self, top: int = 1) -> None:
        """Prepare all that requests for `top` labels need; see `Scorer.warm`."""
        self.group()
        if self._tree.fits:
            self._compilation.warm()
        super().warm(top)

    def decision(self, order: NDArray[np.int64] | None = None) -> Decision | None:
        """Return the compiled search, or None if it is not used yet; see `Scorer.decision`."""
        if self._groups is None or not self._tree.fits:
            return None
        compiled = self._compilation.module()
        return None if compiled is None else compiled.RowDecision(self._tree, order)

    def _count_rows(self, n_rows: int) -> None:
        """Count rows of weights, and begin to group the rows of distances once that is worthwhile."""
        self._n_rows += n_rows
        if self._groups is None and self._n_rows >= _WORTH_REDUCING:
            if self._groups_in_background:
                self._grouping.start()
            else:
                self.group()

    def _timed(self) -> AbstractContextManager[object]:
        """Return a context whose work the compiled search would do faster, if it can be used at all."""
        return self._compilation.timed() if self._tree.fits else nullcontext()

    @cached_property
    def _tree(self) -> RowTree:
        return RowTree(np.ascontiguousarray(self._distances), self.group())

    @cached_property
    def _distinct(self) -> DenseScorer:
        """A scorer of the distinct rows."""
        return DenseScorer(self._tree)

    def _decided(self, given: NDArray[Any], top: int) -> Iterator[tuple[slice, Finalists]]:
        """Yield the samples (a slice) of each batch and its finalists, which are classes of equal rows."""
        tree, distinct = self._tree, self._distinct
        compiled = self._compilation.module() if tree.fits else None
        wanted = min(top, distinct.n_labels)

        def find(of: slice) -> Finalists | None:
            rows = given[of]
            if compiled is None or rows.dtype not in (np.float32, np.float64):
                rows = rows.astype(np.float64)
            # the types for which the loops are compiled
            rows = np.require(rows, requirements=["C", "A", "W"])
            with np.errstate(over="ignore", invalid="ignore"):
                total = rows.sum(axis=1, dtype=np.float64)
            refuse_bad_rows(given[of], total, of.start)
            pairs = None
            if compiled is not None:
                pairs = compiled.find(tree, tree.shares(rows, total), wanted)
            elif tree.fits and wanted == 1:
                pairs = tree.find(tree.shares(rows, total))
            if pairs is None:
                pairs = distinct.sifted(rows.astype(np.float64, copy=False), None, wanted)
            if pairs is None:
                return None
            if compiled is None:
                return (*pairs, distinct.totals(rows, *pairs))
            return (*pairs, compiled.totals(tree, rows, *pairs))

        return in_halves(len(given), _BATCH, find)

"""GraphScorer: exact Fréchet means (beta = 2) from rows of distances, most of which are never read.

On a graph with far more labels than observed labels, many rows are equal, and similar rows can be ruled out
together: a `RowTree` finds the few rows that may be best. The plain sum decides among them, so the answers
equal those of every other scorer to the last bit, including ties and their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.scoring.compilation import Compilation
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer
from labelgrove.ontology.geometry.scoring.ranking import (
    Finalists,
    gathered,
    in_halves,
    ranked_groups,
    spans,
)
from labelgrove.ontology.geometry.scoring.rows.rowclasses import Classes
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
    compiled : bool, optional
        Whether to search with numba; the answers are the same without it. By default, the scorer
        uses numba, if it is installed, as soon as the process has loaded numba or the scorer has done enough
        work to make loading numba worthwhile.

    Notes
    -----
    A `DenseScorer` scores the first few hundred rows of weights. After that, the rows of distances are
    grouped once. Grouping takes a few passes over `distances`. It needs memory for a copy of the distinct
    rows, and up to a third of that memory in addition. Without numba, a request for several labels (`top`)
    skips a row of distances only if it equals another row. A request with candidates reads the distances of
    every candidate.

    Examples
    --------
    >>> GraphScorer(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8)).score([[1.0, 1.0]]).index
    array([1])
    """

    def __init__(self, distances: NDArray[Any], *, compiled: bool | None = None) -> None:
        self._distances = distances
        self._dense = DenseScorer(distances)
        self.n_observed, self.n_labels = self._dense.n_observed, self._dense.n_labels
        self._compilation = Compilation(
            "labelgrove.ontology.geometry.scoring.rows.compiledrows", compiled, self.n_observed
        )
        self._n_rows = 0

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights."""
        self._n_rows += len(given)
        if candidates is not None or self._n_rows < _WORTH_REDUCING:
            return self._dense.score_rows(given, top, candidates)
        first, label = self._classes.first, self._classes.label
        batches = self._decided(given, top)
        return gathered(
            len(given), top, ((of, ranked_groups(first, label, finalists, top)) for of, finalists in batches)
        )

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        self._n_rows += 1
        if self._n_rows < _WORTH_REDUCING:
            return self._dense.tied_row(given)
        ((_, (_, row, total)),) = self._decided(given, 1)
        among, first = row[tied(total)], self._classes.first
        return np.sort(self._classes.label[spans(first[among], first[among + 1] - first[among])])

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label; shape (n_samples, n_labels), dtype=float64."""
        return self._dense.variance(weights)

    def reduce(self) -> tuple[int, int, int]:
        """Group the rows now; return how many rows, distinct rows and groups of distinct rows there are."""
        self._n_rows += _WORTH_REDUCING
        tree = self._prepared[1]
        return len(self._distances), len(self._classes.row), 0 if tree is None else tree.n_groups

    @property
    def _classes(self) -> Classes:
        return self._prepared[0]

    @cached_property
    def _prepared(self) -> tuple[Classes, RowTree | None, DenseScorer]:
        """The classes of equal rows, a `RowTree` of the distinct rows, and a scorer of the distinct rows.

        The tree is None if float32 sums over the distances would be too inexact (`RowTree.fits`).
        """
        classes = Classes.of(self._distances)
        rows = self._distances[classes.row]
        if not RowTree.fits(rows):
            return classes, None, DenseScorer(rows)
        tree = RowTree(rows)
        return classes.taken(tree.order), tree, DenseScorer(tree.rows)

    def _decided(self, given: NDArray[Any], top: int) -> Iterator[tuple[slice, Finalists]]:
        """Yield the samples (a slice) of each batch and its finalists, which are classes of equal rows."""
        _, tree, distinct = self._prepared
        compiled = None if tree is None else self._compilation.module(len(given))
        wanted = min(top, distinct.n_labels)

        def find(of: slice) -> Finalists | None:
            rows = given[of]
            if compiled is None or rows.dtype not in (np.float32, np.float64):
                rows = rows.astype(np.float64)
            rows = np.ascontiguousarray(rows)
            with np.errstate(over="ignore", invalid="ignore"):
                total = rows.sum(axis=1, dtype=np.float64)
            refuse_bad_rows(given[of], total, of.start)
            pairs = None
            if tree is not None and compiled is not None:
                pairs = compiled.find(tree, tree.shares(rows, total), wanted)
            elif tree is not None and wanted == 1:
                pairs = tree.find(tree.shares(rows, total))
            if pairs is None:
                pairs = distinct.sifted(rows.astype(np.float64, copy=False), None, wanted)
            if pairs is None:
                return None
            if compiled is None:
                return (*pairs, distinct.totals(rows, *pairs))
            return (*pairs, compiled.totals(tree, rows, *pairs))

        return in_halves(len(given), _BATCH, find)

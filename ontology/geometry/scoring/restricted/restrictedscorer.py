"""RestrictedTreeScorer: exact Fréchet means (beta = 2) on a tree with any subset of labels allowed.

`ontology.geometry.scoring.restricted.numpysearch` explains the search, which returns finalists. The plain sum
decides among them here (see `ontology.geometry.ties`), so the answers equal those of every other scorer to
the last bit.

An observed label without weight adds nothing to a sum, so labels that differ only in their distances to such
observed labels tie. With a hundred thousand observed labels, tens of thousands of labels may tie. So if only
few observed labels have weight in a batch, and if preparing a scorer for these few takes less time than it
saves, the batch is scored as if no other labels were observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.scoring.observedtree.treebase import OnTree
from labelgrove.ontology.geometry.scoring.ranking import (
    Finalists,
    Ranked,
    gathered,
    in_halves,
    ranked_groups,
    spans,
)
from labelgrove.ontology.geometry.scoring.restricted.hanging import Hanging
from labelgrove.ontology.geometry.scoring.restricted.numpysearch import Batch, NumpyBatch
from labelgrove.ontology.geometry.ties import FrechetResult, tied

__all__ = ["RestrictedTreeScorer"]

_BATCH_ENTRIES = 1 << 20
_FEW = 8  # at most one column in this many has weight
# scoring this many entries for each point of the tree takes as long as preparing for other observed labels
_ENTRIES_SEARCHED = 8
_ENTRIES_SUMMED = 128

_Found = tuple[Hanging, Finalists]
"""A `Hanging`, and finalists that are groups of this object."""


class RestrictedTreeScorer(OnTree):
    """Scores the allowed labels of a tree in O(n_observed) for each sample, plus a short search.

    The parameters are those of `OnTree`.

    Notes
    -----
    Preparation takes O(n_points + n_labels log n_labels) time. It needs 4 bytes of memory for each label, 40
    for each group of labels that hang on one vertex at one height, and 300 for each vertex of the hull. The
    search for a sample usually visits a few vertices. If the values of thousands of vertices are too close
    for float64 to tell apart, the search visits all of them and is still exact. If many labels are observed,
    an observed label without weight in a whole batch costs only one comparison for each sample.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import TreeSpace
    >>> from labelgrove.ontology.keys import Keys
    >>> star = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0], allowed=[1, 2, 3])
    >>> result = RestrictedTreeScorer(star, [1, 2]).score([[1, 1], [2, 1]], top=2)
    >>> result.index.tolist(), result.n_tied.tolist()
    ([[0, 1], [0, 1]], [2, 1])
    """

    compiled_module = "labelgrove.ontology.geometry.scoring.restricted.compiledsearch"
    rehearsal = "restricted_search"

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights.

        If `candidates` is given, the call first groups these labels (see `Hanging`), in O(n_points) time.
        """
        with self._compilation.timed():
            batches = self._decided(given, candidates, top)
            return gathered(len(given), top, ((of, self._ranked(*found, top)) for of, found in batches))

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        with self._compilation.timed():
            ((_, (hanging, (_, group, total))),) = self._decided(given, None, 1)
        among = group[tied(total)]
        return np.sort(hanging.label[spans(hanging.first[among], hanging.count[among])]).astype(np.int64)

    def _decision(self, module: Any, order: NDArray[np.int64] | None) -> Decision:
        decision: Decision = module.SearchDecision(self._observed, self._hanging, order)
        return decision

    @cached_property
    def _hanging(self) -> Hanging:
        return self._hang(np.arange(self._space.n_labels))

    def _hang(self, labels: NDArray[np.int64]) -> Hanging:
        space = self._space
        allowed = space.allowed
        points = labels if allowed is None else allowed[labels]
        return Hanging.of(space.tree, self._observed.hull, space.tree.positions(points), labels)

    def _decided(
        self, given: NDArray[Any], labels: NDArray[np.int64] | None, top: int
    ) -> Iterator[tuple[slice, _Found]]:
        """Yield the samples (a slice) of each batch, and its finalists among `labels` (None: all labels)."""
        if given.size >= _ENTRIES_SEARCHED * self._space.n_points:
            narrowed = self._narrowed(given)
            if narrowed is not None:
                scorer, columns = narrowed
                return scorer._decided(columns, labels, top)  # noqa: SLF001  (this class)
        hanging = self._hanging if labels is None else self._hang(labels)
        step = max(1, _BATCH_ENTRIES // self.n_observed)
        return in_halves(len(given), step, lambda of: self._find_finalists(given[of], of.start, hanging, top))

    def _find_finalists(self, rows: NDArray[Any], first: int, hanging: Hanging, top: int) -> _Found | None:
        """Return the finalists of a batch, or None if there are too many for memory.

        Error messages number the rows from `first`.
        """
        batch = self._batch(rows, first)
        pairs = batch.finalists(hanging, top)
        if pairs is None:
            return None
        if len(pairs[0]) * self.n_observed >= _ENTRIES_SUMMED * self._space.n_points:
            narrowed = self._narrowed(rows)
            if narrowed is not None:
                scorer, columns = narrowed
                hanging = scorer._hang(hanging.label.astype(np.int64))  # noqa: SLF001  (this class)
                return scorer._find_finalists(columns, first, hanging, top)  # noqa: SLF001  (this class)
        return hanging, (*pairs, batch.sums(hanging, *pairs))

    def _narrowed(self, rows: NDArray[Any]) -> tuple[RestrictedTreeScorer, NDArray[Any]] | None:
        """Return a pair: a scorer for some of the observed labels, and their columns of `rows`.

        The scorer keeps only the observed labels that have weight in some row. Returns None if more than an
        eighth of the observed labels have weight in some row, or if none has.
        """
        if _FEW * np.count_nonzero(rows[0]) > self.n_observed:  # the usual case, and one row shows it
            return None
        listed = np.flatnonzero(rows.any(axis=0))
        if not 0 < _FEW * len(listed) <= self.n_observed:
            return None
        scorer = RestrictedTreeScorer(self._space, self._points[listed], compiled=self._compiled)
        return scorer, rows[:, listed]

    def _ranked(self, hanging: Hanging, finalists: Finalists, top: int) -> Ranked:
        compiled = self._compilation.module()
        if compiled is None:
            return ranked_groups(hanging.first, hanging.label, finalists, top)
        ranked: Ranked = compiled.ranked(hanging, finalists, top)
        return ranked

    def _batch(self, given: NDArray[Any], first: int) -> Batch:
        compiled = self._compilation.module()
        if compiled is None:
            return NumpyBatch(self._observed, given, first)
        batch: Batch = compiled.CompiledBatch(self._observed, given, first)
        return batch

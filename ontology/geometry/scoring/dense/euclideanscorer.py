"""EuclideanScorer: exact Fréchet means (beta = 2) of labels that are vectors, without a matrix of distances.

Let y be the vector of an allowed label, l_1, ..., l_K the observed vectors, w_i their weights and W the sum
of the weights. The weighted sum of squared distances from y to the observed vectors expands to
``W |y|^2 - 2 <y, sum_i w_i l_i> + const``, so one inner product for each label finds the Fréchet mean.
Expanded sums lose digits by cancellation. So they serve only as a filter with a proven error bound, and the
plain sum decides among the finalists, as in every scorer (`ontology.geometry.ties`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.arguments import index_array, refuse_other_than
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["EuclideanScorer"]

_BLOCK_ENTRIES = 1 << 21
_MOST_PAIRS = 1 << 22


class EuclideanScorer(DenseScorer):
    """Finds exact Fréchet means (beta = 2) of vectors in O(n_labels * n_dimensions) time for each sample.

    Answers, values and numbers of ties equal those of `DenseScorer` with the same distances, to the last bit.
    Only the method of finding the finalists differs.

    Parameters
    ----------
    space : EuclideanSpace
        The space, whose allowed labels are scored.
    observed : array_like of shape (n_observed,), dtype=int
        Point indices of the observed labels, in the order of the columns of the weights.

    Notes
    -----
    Let l_1, ..., l_K be the observed vectors, w their weights and W the sum of the weights. Let a be the mean
    of the observed vectors, x' = x - a for any vector x, p = w / W, m = sum_i p_i l_i', r the largest |l_i'|,
    and ``g(y) = |y'|^2 - 2 <y', m>``: the Fréchet variance divided by W, minus a constant. Let u be the
    rounding unit and d the number of dimensions. The rounding of x', of p and m, and of the products in g
    changes g by at most ``4 (d + K + 16) u (|y'| + r)^2``. The plain sum, divided by W, is at most
    ``(|y'| + r)^2`` and has a relative error of at most ``(d + K + 16) u``. Let z be the label with the
    smallest g. Therefore ``g(y) <= g(z) + E(y) + E(z)`` for any label y that may be tied with the best label,
    where ``E(y) = (8 (d + K + 16) u + 2 TIE_RELATIVE) (|y'| + r)^2``.

    Examples
    --------
    >>> space = EuclideanSpace(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "c"])
    >>> EuclideanScorer(space, [0, 2]).score([[1.0, 1.0], [9.0, 1.0]]).index
    array([1, 0])
    """

    def __init__(self, space: EuclideanSpace, observed: ArrayLike) -> None:
        refuse_other_than(EuclideanSpace, "space", space, "or let make_scorer pick the scorer")
        points = index_array("observed", observed, space.n_points)
        super().__init__(RowsOnDemand(space, points), beta=2)
        self._space = space
        vectors = space.embeddings[points].astype(np.float64)
        self._origin = vectors.mean(axis=0)
        self._observed = vectors - self._origin
        radius = np.sqrt(np.einsum("ij,ij->i", self._observed, self._observed).max())
        self._square = np.empty(self.n_labels)
        step = max(1, _BLOCK_ENTRIES // vectors.shape[1])
        for start in range(0, self.n_labels, step):
            block = self._vectors(np.arange(start, min(start + step, self.n_labels)))
            self._square[start : start + step] = np.einsum("ij,ij->i", block, block)
        relative = 8 * (vectors.shape[1] + len(points) + 16) * 2.0**-53 + 2 * TIE_RELATIVE
        self._slack = relative * (np.sqrt(self._square) + radius) ** 2

    def _vectors(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vectors of the allowed labels `labels`, minus the mean of the observed vectors."""
        at = labels if self._space.allowed is None else self._space.allowed[labels]
        moved: NDArray[np.float64] = self._space.embeddings[at].astype(np.float64)
        moved -= self._origin
        return moved

    def sifted(
        self, weights: NDArray[np.float64], rows: NDArray[np.int64] | None, top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the finalists as sorted (sample, row) pairs, or None if there are too many for memory.

        The finalists include the `top` best rows of each sample, and all rows tied with them.
        """
        labels = np.arange(self.n_labels) if rows is None else rows
        mean = -2 * ((weights / weights.sum(axis=1, keepdims=True)) @ self._observed).T
        best = np.full((top, len(weights)), np.inf)  # upper bounds of the smallest values
        kept: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        n_pairs = 0
        step = max(1, _BLOCK_ENTRIES // max(len(mean), len(weights)))
        for start in range(0, len(labels), step):
            block = labels[start : start + step]
            value = self._vectors(block) @ mean
            value += self._square[block, None]
            slack = self._slack[block, None]
            best = np.concatenate([best, value + slack])
            best = np.partition(best, top - 1, axis=0)[:top] if top > 1 else best.min(axis=0, keepdims=True)
            value -= slack
            at, sample = np.nonzero(value <= best.max(axis=0))
            kept.append((sample, block[at], value[at, sample]))
            n_pairs += len(at)
            if n_pairs > _MOST_PAIRS and len(weights) > 1:
                return None
        sample, row, least = (np.concatenate(column) for column in zip(*kept, strict=True))
        fair = least <= best.max(axis=0)[sample]
        by = np.lexsort((row[fair], sample[fair]))
        return sample[fair][by], row[fair][by]

"""Scores of each rule, computed from sums over blocks of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.evaluation.measures.ancestry import Ancestry

__all__ = ["RuleSums", "Scores", "Severity", "TruthAndAnswer"]

_BINS = 20
_MOST_BINS = 1000


@dataclass(frozen=True)
class Scores:
    """Means of error measures over some samples.

    A measure is None if there are no samples, or if the data that it needs are missing.

    Attributes
    ----------
    n : int
        Number of samples.
    mean_squared_distance : float or None
        E[d^2], in squared edge-weight units.
    mean_distance : float or None
        E[d], in edge-weight units.
    normalized : float or None
        E[d^2] / diameter^2; None also if the diameter is 0.
    accuracy : float or None
        Share of answers that are the truth.
    top_k_accuracy : float or None
        Share of samples whose truth is among the first k answers; None for rules without a ranking.
    lca_height : float or None
        Mean height of the lowest common ancestor of answer and truth: the number of edges from it down to the
        deepest label below it. This and the following fields need a tree.
    hierarchical_precision, hierarchical_recall, hierarchical_f : float or None
        Compare the sets of ancestors of answer and truth, each including the label and excluding the root.
        All sizes are summed over the samples. Precision is the size of the intersections divided by the size
        of the answers' sets. Recall is the size of the intersections divided by the size of the truths' sets.
        F is twice the size of the intersections, divided by the sum of the sizes of the answers' sets and of
        the truths' sets. None if the divisor is 0.
    """

    n: int
    mean_squared_distance: float | None
    mean_distance: float | None
    normalized: float | None
    accuracy: float | None
    top_k_accuracy: float | None = None
    lca_height: float | None = None
    hierarchical_precision: float | None = None
    hierarchical_recall: float | None = None
    hierarchical_f: float | None = None


@dataclass(frozen=True)
class TruthAndAnswer:
    """One rule's answers to a block of samples, with their distances to the truth.

    Attributes
    ----------
    points : ndarray of shape (m,), dtype=int64
        Answers, as indices of points of the bundle.
    distance : ndarray of shape (m,), dtype=float64
    correct : ndarray of shape (m,), dtype=bool
    within : ndarray of shape (m,), dtype=bool, or None
        Whether the truth is among the first k answers.
    positions : tuple of two ndarrays of shape (m,), or None
        Positions of truth and answer in the tree.
    meet : ndarray of shape (m,), or None
        Position in the tree of the lowest common ancestor of truth and answer.
    """

    points: NDArray[np.int64]
    distance: NDArray[np.float64]
    correct: NDArray[np.bool_]
    within: NDArray[np.bool_] | None = None
    positions: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    meet: NDArray[np.int64] | None = None


class RuleSums:
    """Sums of one rule's measures over each group of samples.

    A group consists, for example, of the samples whose truth is in one branch and is observed.
    The memory does not grow with the number of samples.
    """

    def __init__(self, n_groups: int, diameter: float, tree: Ancestry | None) -> None:
        self._diameter, self._tree = diameter, tree
        self._n = np.zeros(n_groups)
        self._sums: dict[str, NDArray[np.float64]] = {}

    def add(self, group: NDArray[np.int64], block: TruthAndAnswer) -> None:
        """Add a block of samples; `group` contains, for each sample, the index of its group."""
        terms = {
            "squared": block.distance * block.distance,
            "distance": block.distance,
            "correct": block.correct,
        }
        if block.within is not None:
            terms["within"] = block.within
        if self._tree is not None and block.positions is not None and block.meet is not None:
            truth, answer = block.positions
            level = self._tree.level
            terms |= {"shared": level[block.meet], "of_truth": level[truth], "of_answer": level[answer]}
            terms["height"] = self._tree.height[block.meet]
        n_groups = len(self._n)
        self._n += np.bincount(group, minlength=n_groups)
        for name, values in terms.items():
            held = self._sums.setdefault(name, np.zeros(n_groups))
            held += np.bincount(group, values, minlength=n_groups)

    def scores(self, groups: NDArray[np.int64] | slice = slice(None)) -> Scores:
        """Return the scores over the samples of some groups, by default of all."""
        n = int(self._n[groups].sum())
        if not n:
            return Scores(0, None, None, None, None)
        sums = {name: float(values[groups].sum()) for name, values in self._sums.items()}
        squared = sums["squared"] / n
        scores = Scores(
            n=n,
            mean_squared_distance=squared,
            mean_distance=sums["distance"] / n,
            normalized=squared / self._diameter**2 if self._diameter > 0 else None,
            accuracy=sums["correct"] / n,
            top_k_accuracy=sums["within"] / n if "within" in sums else None,
        )
        if "shared" not in sums:
            return scores
        shared, of_truth, of_answer = sums["shared"], sums["of_truth"], sums["of_answer"]
        return Scores(
            **vars(scores)
            | {
                "lca_height": sums["height"] / n,
                "hierarchical_precision": shared / of_answer if of_answer else None,
                "hierarchical_recall": shared / of_truth if of_truth else None,
                "hierarchical_f": 2 * shared / (of_truth + of_answer) if of_truth + of_answer else None,
            }
        )


class Severity:
    """Histograms of the distances from answers to the truth, one for each rule, all with the same bins.

    Parameters
    ----------
    diameter : float
        Largest distance between two allowed labels.
    whole : bool
        Whether all distances are whole numbers. In this case bins have width 1, unless there would be too
        many.
    """

    def __init__(self, diameter: float, whole: bool) -> None:
        self._whole = whole and diameter <= _MOST_BINS
        bins = np.arange(np.ceil(diameter) + 2) if self._whole else np.linspace(0.0, diameter, _BINS + 1)
        self._edges = bins if self._whole or diameter > 0 else np.zeros(1)
        self._largest = 0.0
        self._counts: dict[str, NDArray[np.int64]] = {}

    def add(self, rule: str, distance: NDArray[np.float64]) -> None:
        """Add a block of distances to the histogram of a rule."""
        self._largest = max(self._largest, float(distance.max()))
        edges = self._edges
        bin_of = np.searchsorted(edges, distance, side="right") - 1
        if not self._whole:  # the last bin is closed; distances beyond the diameter come after it
            bin_of -= distance == edges[-1]
            bin_of = np.maximum(bin_of, 0)
        elif self._largest >= len(edges) - 1:
            bin_of = distance.astype(np.int64)
        found = np.bincount(bin_of)
        held = self._counts.get(rule, np.zeros(0, dtype=np.int64))
        total = np.zeros(max(len(found), len(held)), dtype=np.int64)
        total[: len(found)] += found
        total[: len(held)] += held
        self._counts[rule] = total

    def edges(self) -> tuple[float, ...]:
        """Return the edges of the bins; they reach at least to the largest distance added."""
        if self._whole:
            return tuple(np.arange(max(len(self._edges), int(self._largest) + 2), dtype=np.float64).tolist())
        if self._largest > self._edges[-1]:
            return (*self._edges.tolist(), self._largest)
        return tuple(self._edges.tolist()) if len(self._edges) > 1 else (0.0, 0.0)

    def counts(self, rule: str) -> tuple[int, ...]:
        """Return the number of samples in each bin of the histogram of a rule."""
        held = self._counts[rule]
        out = np.zeros(len(self.edges()) - 1, dtype=np.int64)
        out[: len(held)] = held
        return tuple(out.tolist())

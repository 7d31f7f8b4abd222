"""Upper bounds on the gain of a label on any space, by comparing labels outside the locus with rivals.

Let y be a label outside the locus. In this module, a rival of y is an allowed label z that is at least as
near as y to every observed label. Suppose that a label c is observed next. If z is nearer to c than y is, y
stays outside the locus: with weight on c, y is worse than z; without weight on c, nothing has changed. So
observing c can bring y into the locus only if y is at least as near to c as z is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points

__all__ = ["DominanceBounds"]

_MOST_RIVALS = 64
_BLOCK_ENTRIES = 1 << 22
_CLOSER = 1 - 1e-9


class DominanceBounds:
    """Upper bounds on the gains of the candidates in one round of a selection.

    Parameters
    ----------
    space : MetricSpace
        Any space.
    points, index, pool : ndarray of int64
        `points`: point indices of the observed labels. `index`: their locus, as indices among the allowed
        labels. `pool`: point indices of the candidates.

    Attributes
    ----------
    values : ndarray of shape (n_pool,), dtype=int64
        Upper bound of the gain of each candidate.

    Notes
    -----
    Up to 64 members of the locus are tried as rivals of each label outside it. Among the members that are at
    least as near as the label to every observed label, the one nearest to the label becomes its rival. This
    takes O(n_labels * n_observed) time, and then O(n_labels) for each candidate.
    """

    def __init__(
        self,
        space: MetricSpace,
        points: NDArray[np.int64],
        index: NDArray[np.int64],
        pool: NDArray[np.int64],
    ) -> None:
        outside = np.setdiff1d(np.arange(space.n_labels), index, assume_unique=True)
        self.values = np.full(len(pool), len(outside), dtype=np.int64)
        if isinstance(space, CompleteSpace):
            self.values[np.isin(pool, allowed_points(space))] = 1  # others stay at distance 1 from all
            return
        rival = _rivals(space, points, index)[outside]
        beaten, rival = outside[rival >= 0], rival[rival >= 0]
        step = max(1, _BLOCK_ENTRIES // space.n_labels)
        for start in range(0, len(pool) if len(beaten) else 0, step):
            distance = space.distances(cols=pool[start : start + step])
            self.values[start : start + step] -= _closer(distance[rival], distance[beaten]).sum(axis=0)

    def refine(self, i: int) -> bool:
        """Return False, because there is no sharper bound for candidate `i`."""
        return False

    def settle(self, i: int, gain: int) -> None:
        """Record the measured gain of candidate `i`."""
        self.values[i] = gain


def _rivals(space: MetricSpace, points: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each allowed label y, the nearest member that is no farther than y from any observed label.

    Up to 64 members of the locus `index` are tried. Each entry of the result is the index of a member among
    the allowed labels, or -1 if no tried member qualifies.
    """
    spread = np.linspace(0, len(index) - 1, min(len(index), _MOST_RIVALS)).astype(np.int64)
    members = index[spread]
    to_observed = space.distances(cols=points)
    to_members = space.distances(cols=allowed_points(space)[members])
    rival = np.full(space.n_labels, -1, dtype=np.int64)
    nearest = np.full(len(rival), np.inf)
    for column, member in enumerate(members.tolist()):
        beats = _not_farther(to_observed[member], to_observed).all(axis=1)
        beats &= to_members[:, column] < nearest
        rival[beats] = member
        nearest[beats] = to_members[beats, column]
    return rival


def _closer(a: NDArray[np.number], b: NDArray[np.number]) -> NDArray[np.bool_]:
    """Compare `a` and `b` entry by entry: return where the distance in `a` is smaller.

    If the distances are floats, the one in `a` has to be smaller by a margin, which covers rounding.
    """
    return np.asarray(a < b if a.dtype.kind == "u" else a < b * _CLOSER)


def _not_farther(a: NDArray[np.number], b: NDArray[np.number]) -> NDArray[np.bool_]:
    """Compare `a` and `b` entry by entry: return where the distance in `a` is not larger.

    If the distances are floats, the one in `a` has to be smaller by a margin, because the tie rule may treat
    labels at nearly equal distances as tied.
    """
    return np.asarray(a <= b if a.dtype.kind == "u" else _closer(a, b))

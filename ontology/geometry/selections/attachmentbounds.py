"""Upper bounds on the gain of a label on a tree on which only some labels are allowed, such as its leaves.

A newly observed label c joins the hull of the observed labels by a path that leaves the hull at some vertex
and ends at c. A label that is not in the locus yet and may enter it hangs at the path or at the hull, and no
allowed label is nearer to the vertex at which it hangs (`ontology.geometry.loci.restrictedtree`).

*At the path.* Let y hang at v, and let another allowed label z be as near to v. If z is on the side of c, it
is as far as y from all observed labels and nearer to c. So z is better than y where c has weight, and nothing
has changed where c has none. If z is on the side of the hull, it is nearer to all observed labels, and y can
be best only with all weight on c. Hence a vertex of the path counts the labels that hang at it if no label on
either side is as near, and c itself counts the labels nearest to it: O(n_points) for all candidates.

*At the hull.* Labels that hang at the hull vertex f and are nearest to it form a class: their distances to
the observed labels are equal. As before, a class gains nothing from labels in those branches of f that hold
an allowed label as near as its own labels: these branches are closed to it. Since the class is not in the
locus, some mixture of allowed labels has smaller squared distances to all observed labels in open branches; a
linear program finds one. Where the mixture is also smaller at c, the class stays outside the locus when c is
observed. That is one comparison for each candidate. A candidate whose bound matters gets a separate mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.loci.proofs.marginprogram import MarginProgram
from labelgrove.ontology.geometry.loci.restrictedtree import nearest_at_hull
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.selections.trees import hung_from
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["AttachmentBounds", "HungTree"]

_BLOCK_ENTRIES = 1 << 22
_CLEARLY = 1 - 1e-9  # rounding of a sum of squares never makes such a difference


class HungTree:
    """A tree rooted at a label that stays observed, shared by the `AttachmentBounds` of all rounds.

    Parameters
    ----------
    space : TreeSpace
        A tree with whole lengths; any labels may be allowed.
    first : int
        Point index of the label.

    Attributes
    ----------
    tree : RootedTree
        The same tree with that label as the root; the other attributes are indexed by its positions.
    allowed : ndarray of shape (n_points,), dtype=bool
        Whether each position is an allowed label.
    twin : ndarray of shape (n_points,), dtype=int64
        A number that is equal for vertices without children that hang at the same vertex, have edges of equal
        length, and are all allowed or all not. Exchanging two of them changes no distance.
    """

    def __init__(self, space: TreeSpace, first: int) -> None:
        given = space.tree
        above, towards = given.parent, hung_from(given, given.positions(first))
        length = np.where(towards == above, given.length, given.length[towards])
        parent_of, length_of = np.empty(len(given), dtype=np.int64), np.empty(len(given))
        order = given.points(np.arange(len(given)))
        parent_of[order], length_of[order] = order[towards], length
        parent_of[first] = -1
        self.space = space
        self.tree = tree = RootedTree(parent_of, length_of)
        self.allowed = np.zeros(len(tree), dtype=bool)
        self.allowed[tree.positions(allowed_points(space))] = True
        kind = np.column_stack([tree.parent, tree.length, self.allowed, np.zeros(len(tree))])
        inner = tree.end - np.arange(len(tree)) > 1
        kind[inner, 3] = np.flatnonzero(inner) + 1.0
        self.twin = np.unique(kind, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class _Class:
    """Allowed labels outside the locus with equal distances to all observed labels.

    There are `size` of them. They hang at position `foot`, and are farther by `near` from the observed labels
    than `foot` is. `face` marks the observed labels in open branches.
    """

    foot: int
    near: float
    size: int
    face: NDArray[np.bool_]


class AttachmentBounds:
    """Bounds on the gains of candidates in one round.

    Parameters
    ----------
    hung : HungTree
        The tree.
    points, members, pool : ndarray of int64
        Point indices of the observed labels (including the root of `hung`), of their locus, and of the
        candidates.

    Attributes
    ----------
    values : ndarray of shape (n_pool,), dtype=int64
        Upper bound of the gain of each candidate.

    Notes
    -----
    O(n_points). Then each class at the hull takes a small linear program, and each candidate at worst
    O(n_observed).
    """

    def __init__(
        self,
        hung: HungTree,
        points: NDArray[np.int64],
        members: NDArray[np.int64],
        pool: NDArray[np.int64],
    ) -> None:
        self._hung, self._tree = hung, hung.tree
        self._at, self._observed = self._tree.positions(pool), self._tree.positions(points)
        kept = self._tree.positions(allowed_points(hung.space)[nearest_at_hull(hung.space, points)])
        rows, which = np.unique(self._tree.distances(kept, self._observed), axis=0, return_index=True)
        self._rivals, self._rows = kept[which], np.square(rows, dtype=np.float64)
        self._refined = np.zeros(len(pool), dtype=bool)
        self._classes: list[_Class] = []
        self._counts = np.zeros((0, len(pool)), dtype=bool)
        self.values = self._counted(members)
        program = MarginProgram(self._rows / self._scale)
        for number, one in enumerate(self._classes):
            self._strike_out(number, program, self._rows, self._observed, one.face)

    def _counted(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Collect the classes at the hull.

        Returns, for each candidate, the number of labels at its path and in the classes open to it.
        """
        kernels, tree = _kernels(), self._tree
        parent, length, end = tree.parent, tree.length, tree.end
        missing = self._hung.allowed.copy()
        missing[tree.positions(members)] = False
        inside = np.zeros(len(tree), dtype=bool)
        inside[hull(tree, self._observed)] = True
        down, up, n_down, n_up = kernels.nearest_by_side(parent, length, self._hung.allowed, missing)
        values = kernels.counts_along_ways(parent, length, inside, down, up, n_down, n_up)[self._at]
        near = np.minimum(down, up)
        child = np.arange(1, len(tree))
        foot = parent[child]
        as_near = inside[foot] & (down[child] + length[child] == near[foot])
        child, foot = child[as_near], foot[as_near]
        size = np.bincount(foot, n_down[child] * ~inside[child], minlength=len(tree)).astype(np.int64)
        by_foot = np.argsort(foot, kind="stable")
        child, foot = child[by_foot], foot[by_foot]
        counts = []
        for f in np.flatnonzero(size).tolist():
            is_open = np.ones(len(tree), dtype=bool)
            if up[f] == near[f]:
                is_open[:f], is_open[end[f] :] = False, False
            first, last = np.searchsorted(foot, [f, f + 1])
            for branch in child[first:last].tolist():
                is_open[branch : end[branch]] = False
            face = is_open[self._observed]
            if face.any():  # otherwise only with all weight on the next observed label, which `values` counts
                self._classes.append(_Class(f, float(near[f]), int(size[f]), face))
                counts.append(is_open[self._at])
                values += size[f] * counts[-1]
        self._counts = np.array(counts, dtype=bool).reshape(len(counts), len(self._at))
        return np.asarray(values)

    @property
    def _scale(self) -> float:
        return float(self._rows.max()) or 1.0

    def refine(self, i: int) -> bool:
        """Lower the bound of candidate `i`, and possibly of others; return whether it fell."""
        if self._refined[i]:
            return False
        self._refined[i] = True
        before = self.values[i]
        classes = np.flatnonzero(self._counts[:, i]).tolist()
        if classes:
            columns = np.append(self._observed, self._at[i])
            new = np.square(self._tree.distances(self._rivals, self._at[[i]]), dtype=np.float64)
            rows = np.hstack([self._rows, new])
            program = MarginProgram(rows / self._scale)
            for number in classes:
                face = np.append(self._classes[number].face, True)
                self._strike_out(number, program, rows, columns, face)
        return bool(self.values[i] < before)

    def settle(self, i: int, gain: int) -> None:
        """Record the gain of candidate `i`, which is also the gain of its twins."""
        twins = self._hung.twin[self._at] == self._hung.twin[self._at[i]]
        self.values[twins] = np.minimum(self.values[twins], gain)

    def _strike_out(
        self,
        number: int,
        program: MarginProgram,
        rows: NDArray[np.float64],
        columns: NDArray[np.int64],
        face: NDArray[np.bool_],
    ) -> None:
        """Find a mixture below a class on the columns of its face.

        The class is then no longer counted at the positions where the mixture is below it.
        """
        one = self._classes[number]
        own = self._squares_of(one, columns)
        alike = (rows[:, face] == own[face]).all(axis=1)
        if alike.all():
            return
        margin = program.solve(own / self._scale, face, alike)
        if not self._is_below(margin.rivals, margin.multipliers, one, columns[face]).all():
            return
        some = np.flatnonzero(self._counts[number])
        out = some[self._is_below(margin.rivals, margin.multipliers, one, self._at[some])]
        self._counts[number, out] = False
        self.values[out] -= one.size

    def _is_below(
        self, rivals: NDArray[np.int64], multipliers: NDArray[np.float64], one: _Class, at: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether, at each position, the mixture of rivals has a smaller square than the class."""
        below = np.zeros(len(at), dtype=bool)
        step = max(1, _BLOCK_ENTRIES // max(1, len(rivals)))
        for start in range(0, len(at), step):
            block = at[start : start + step]
            squares = np.square(self._tree.distances(self._rivals[rivals], block), dtype=np.float64)
            own = self._squares_of(one, block) * multipliers.sum()
            below[start : start + step] = multipliers @ squares < own * _CLEARLY
        return below

    def _squares_of(self, one: _Class, at: NDArray[np.int64]) -> NDArray[np.float64]:
        distances = self._tree.distances(np.array([one.foot]), at)[0].astype(np.float64)
        return np.asarray(np.square(distances + one.near))


def _kernels() -> Any:
    try:
        from labelgrove.ontology.geometry.kernels.trees import attaching
    except ImportError:
        raise MissingExtraError.of("numba", "science", "selecting classes on a tree") from None
    return attaching

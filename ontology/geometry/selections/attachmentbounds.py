"""Upper bounds on the gain of a label on a tree on which only some labels are allowed, such as its leaves.

If a label c is observed next, the hull of the observed labels grows by the path from the hull to c. Let y be
an allowed label that is not in the locus yet, and let v be the vertex of the grown hull through which all
paths from y to the observed labels and to c pass. Then y can enter the locus only if no allowed label is
nearer to v than y is (`ontology.geometry.loci.restrictedtree`). There are two cases: v is a new vertex on the
path to c, or v was in the hull before.

*v on the new path.* Suppose that another allowed label z is as near to v as y is. First, let z be in the
direction of c. Then y and z have the same distance to each label observed before, and z is nearer to c. So z
beats y if c has weight; if c has no weight, y is still outside the locus. Second, let z be in the direction
of the old hull. Then z is nearer to every label observed before, and y can be best only if c has all the
weight. So the bound of c is the number of labels nearest to c, plus, for each inner vertex of the path, the
number of labels that hang at this vertex and are nearest to it. But if an allowed label in the direction of c
or of the old hull is as near to the inner vertex as these labels are, the vertex adds nothing to the bound.
Computing the bounds takes O(n_points) for all candidates together.

*v in the old hull.* The allowed labels nearest to v that hang at v form a class: their distances to the
observed labels are equal. The branches of v are the parts into which the tree falls when v is removed. A
branch is *open* to the class if all allowed labels in it are farther from v than the class is. By the same
argument as above, weight on a label in a branch that is not open cannot bring the class into the locus. The
class is outside the locus, because y is one of its labels. So there is a *mixture* of allowed labels that has
smaller squared distances than the class to all observed labels in open branches; a linear program finds one.
The squared distance of a mixture is the mean of the squared distances of its labels, with fixed multipliers
as weights. If the mixture also has a smaller squared distance to c, the class stays outside when c is
observed. This takes one comparison for each class and candidate. To sharpen the bound of one candidate,
`AttachmentBounds.refine` looks for mixtures with smaller squared distances to this candidate too.
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
    """A tree rooted at an observed label; the `AttachmentBounds` of all rounds share it.

    Parameters
    ----------
    space : TreeSpace
        A tree with whole lengths; any labels may be allowed.
    first : int
        Point index of the observed label that becomes the root.

    Attributes
    ----------
    tree : RootedTree
        The same tree with the label `first` as the root. The other attributes are indexed by the positions of
        this tree.
    allowed : ndarray of shape (n_points,), dtype=bool
        Whether each position is an allowed label.
    twin : ndarray of shape (n_points,), dtype=int64
        A number for each vertex. Two leaves have the same number if they have the same parent, if their edges
        have the same length, and if both or neither of them are allowed: exchanging such leaves changes no
        distance. Otherwise the numbers of two vertices are different.
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

    `size` is the number of these labels. They hang at the hull vertex at position `foot`, at the distance
    `near` from it. `face` marks the observed labels in open branches: the branches of `foot` in which every
    allowed label is farther from `foot` than `near` (see the explanation at the top of this module).
    """

    foot: int
    near: float
    size: int
    face: NDArray[np.bool_]


class AttachmentBounds:
    """Upper bounds on the gains of the candidates in one round of a selection.

    Parameters
    ----------
    hung : HungTree
        The tree.
    points, members, pool : ndarray of int64
        Point indices of the observed labels (including the root of `hung`), of the labels in their locus, and
        of the candidates.

    Attributes
    ----------
    values : ndarray of shape (n_pool,), dtype=int64
        Upper bound of the gain of each candidate.

    Notes
    -----
    Building this object takes O(n_points) time. In addition, for each class of labels that hangs at the hull
    (see the explanation at the top of this module), a small linear program is solved and the class is
    compared with each candidate; a comparison takes O(n_observed) at worst.
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
        """Collect the classes that hang at the hull, and return the first bound of each candidate.

        The bound is the sum of two numbers, which the text at the top of this module explains: the number of
        labels that may enter the locus at the path from the hull to the candidate; and the total size of the
        classes at the hull for which the candidate is in an open branch.
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
        """Try to lower the bound of candidate `i`; return whether it fell. Other bounds may fall too."""
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
        """Record the measured gain of candidate `i`, and of all candidates with the same `HungTree.twin`."""
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
        """Lower the bounds of candidates that cannot bring the class with the index `number` into the locus.

        The rivals are the allowed labels that mixtures may contain (see the explanation at the top of this
        module). `columns` contains the positions in the tree of the observed labels and, if `refine` is the
        caller, the position of the candidate to refine. `rows` contains the squared distances from each rival
        to these labels. This function looks for a mixture of rivals with smaller squared distances than the
        class to all `columns` that `face` marks. If it does not find such a mixture, nothing changes. If it
        finds one, it compares the mixture with the class for each candidate whose bound includes the class.
        If the squared distance from the mixture to a candidate is smaller than that from the class, the bound
        of the candidate falls by the size of the class.
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
        """Return, for each position in `at`, whether a mixture of rivals is nearer to it than `one`, a class.

        `rivals` contains indices in the list of all rivals. The squared distance of the mixture is the mean
        of the squared distances of these rivals, weighted by `multipliers`. It is compared with the squared
        distance of the labels of the class.
        """
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

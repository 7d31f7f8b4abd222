"""Metric spaces over labels: who is a point, who may be an answer, and how far apart they are.

The *points* of a space are all its labels; any of them may be observed. The *allowed* labels are the ones an
answer may name: all points, or a subset such as the leaves. Rows of a distance matrix are allowed labels,
columns are points, both in canonical order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry.arguments import (
    given_array,
    index_array,
    key_table,
    listed,
    refuse_other_than,
)
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree, kept
from labelgrove.ontology.geometry.paths.shortestpaths import ShortestPaths, exact_diameter
from labelgrove.ontology.geometry.paths.wholenumbers import is_short
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["CompleteSpace", "GraphSpace", "MatrixSpace", "MetricSpace", "TreeSpace", "refuse_parts"]

_BLOCK_COLUMNS = 512
_SMALLEST, _LARGEST = 1e-75, 1e150  # between them squares and their sums are sound


class MetricSpace(ABC):
    """A finite metric space over labels.

    Parameters
    ----------
    points : Keys
        All labels in canonical order.
    allowed : array_like of int or bool, optional
        Indices of the labels that may be an answer, each once, or one boolean for each point; all by default.

    Attributes
    ----------
    kind : str
        ``"tree"``, ``"graph"``, ``"complete"``, ``"matrix"`` or ``"euclidean"``.
    points : Keys
        All labels in canonical order.
    is_allowed : ndarray of shape (n_points,), dtype=bool, or None
        Which points are allowed labels; None where all are. What was given as booleans is kept as it is.
    n_labels : int
        Number of allowed labels.
    """

    kind: ClassVar[str]

    def __init__(self, points: Keys, allowed: ArrayLike | None = None) -> None:
        self.points = points
        self.is_allowed: NDArray[np.bool_] | None = None
        self.n_labels = len(points)
        if allowed is not None:
            marked = _marked(points, allowed)
            self.n_labels = int(np.count_nonzero(marked))
            if not self.n_labels:
                raise SpaceError("labels: none is allowed; a space needs one to answer with")
            if self.n_labels < len(points):
                self.is_allowed = marked

    @property
    def allowed(self) -> NDArray[np.int64] | None:
        """Ascending indices of the allowed labels, made when they are asked for; None where all are."""
        return None if self.is_allowed is None else np.flatnonzero(self.is_allowed)

    @cached_property
    def keys(self) -> Keys:
        """The allowed labels in canonical order."""
        allowed = self.allowed
        return self.points if allowed is None else self.points.subset(allowed)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points)

    def index(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of `keys` among the allowed labels; unknown ones raise `UnknownLabelError`."""
        return self.keys.indices(listed("keys", keys))

    def point_index(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of `keys` among all points; unknown ones raise `UnknownLabelError`."""
        return self.points.indices(listed("keys", keys))

    def distances(
        self,
        rows: ArrayLike | None = None,
        cols: ArrayLike | None = None,
        *,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the distances from allowed labels to points.

        Parameters
        ----------
        rows : array_like of int, optional
            Indices among the allowed labels; all by default.
        cols : array_like of int, optional
            Indices among the points; all by default.
        out : ndarray of shape (n_rows, n_cols), dtype `distance_dtype`, optional
            Where to write them, a memory map for instance; a new array by default.

        Returns
        -------
        distances : ndarray of shape (n_rows, n_cols)
            In edge-length units. dtype `distance_dtype`: the smallest of uint8, uint16, float32 and float64
            that holds every distance of the space exactly; float64 where lengths are not whole numbers.
        """
        row = np.arange(self.n_labels) if rows is None else index_array("rows", rows, self.n_labels)
        col = np.arange(self.n_points) if cols is None else index_array("cols", cols, self.n_points)
        allowed = self.allowed
        row = row if allowed is None else allowed[row]
        if out is None:
            return self._distances(row, col)
        refuse_other_than(np.ndarray, "out", out, "leave it out for a new one")
        if not out.flags.writeable:
            raise InputError("out: a read-only array given; give one that can be written")
        if out.shape != (len(row), len(col)) or out.dtype != self.distance_dtype:
            raise InputError(
                f"out: {out.dtype} of shape {out.shape} given for {len(row)} rows and {len(col)} columns of "
                f"{self.distance_dtype}; give an array of that shape and dtype"
            )
        self._fill(row, col, out)
        return out

    @property
    @abstractmethod
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""

    @property
    def is_short(self) -> bool | None:
        """Whether distances are short numbers (`ontology.geometry.paths.wholenumbers`), free of rounding.

        Their ties are real ones, while others tie by the tie rule wherever loci are decided. None: not known
        for all of them, and then each matrix of distances says for itself.
        """
        return None

    @abstractmethod
    def diameter(self) -> float:
        """Return the largest distance between two allowed labels, exactly."""

    @abstractmethod
    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances between two lists of points."""

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the distances between two lists of points, one block of columns at a time."""
        for first in range(0, len(cols), _BLOCK_COLUMNS):
            block = slice(first, first + _BLOCK_COLUMNS)
            out[:, block] = self._distances(rows, cols[block])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_labels={self.n_labels}, n_points={self.n_points})"


class TreeSpace(MetricSpace):
    """Path lengths on a tree, in O(n_points) memory: exact sums of edge lengths, rounded once.

    Build one with `ontology.geometry.metric_space` or, from stored arrays, with `from_arrays`.

    Parameters
    ----------
    points : Keys
        All labels in canonical order.
    tree : RootedTree
        The tree over them.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default.
    is_hierarchy : bool, default=True
        Whether the parents say what is above what. False where a tree of undirected edges, or of several
        roots, was hung from its first label to be measured.

    Examples
    --------
    >>> space = TreeSpace.from_arrays(Keys.from_strings(["root", "a", "b"]), [-1, 0, 0])
    >>> space.distances().tolist(), space.diameter()
    ([[0, 1, 1], [1, 0, 2], [1, 2, 0]], 2.0)
    """

    kind = "tree"

    def __init__(
        self,
        points: Keys,
        tree: RootedTree,
        allowed: ArrayLike | None = None,
        *,
        is_hierarchy: bool = True,
    ) -> None:
        super().__init__(key_table("points", points), allowed)
        refuse_other_than(RootedTree, "tree", tree, "or call TreeSpace.from_arrays")
        if len(tree) != len(self.points):
            raise SpaceError(f"parent: {len(tree)} entries for {len(self.points)} labels; give one for each")
        self.tree = tree
        self.is_hierarchy = is_hierarchy

    @classmethod
    def from_arrays(
        cls,
        keys: Keys,
        parent: ArrayLike,
        length: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        *,
        is_hierarchy: bool = True,
    ) -> TreeSpace:
        """Build a space from canonical arrays.

        Parameters
        ----------
        keys : Keys, length n_points
            All labels.
        parent : array_like of int, shape (n_points,)
            Index of each label's parent, -1 for the one root.
        length : array_like of float, shape (n_points,), optional
            Length of the edge to the parent; 1 by default. The root's entry is ignored.
        allowed : array_like of int or bool, optional
            Labels that may be an answer, as for `MetricSpace`; all by default.
        is_hierarchy : bool, default=True
            As for `TreeSpace`.

        Raises
        ------
        SpaceError
            Unless the arrays describe one tree over all labels with positive lengths.
        """
        lengths = None if length is None else given_array("length", length)
        tree = RootedTree(given_array("parent", parent), lengths)
        return cls(keys, tree, allowed, is_hierarchy=is_hierarchy)

    @property
    def parent(self) -> NDArray[np.int32]:
        """Canonical index of each point's parent, -1 for the root; what `from_arrays` takes. Read-only."""
        return self.tree.by_point()[0]

    @property
    def length(self) -> NDArray[np.float64] | None:
        """Length of the edge to each point's parent (0 for the root); None where every edge is 1 long."""
        return self.tree.by_point()[1]

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""
        return self.tree.dtype

    @property
    def is_short(self) -> bool:
        """Whether distances are short numbers, free of rounding."""
        return self.tree.is_short

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels, exactly; O(n_points)."""
        allowed = self.allowed
        return self.tree.diameter(None if allowed is None else self.tree.positions(allowed))

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return self.tree.distances(self.tree.positions(rows), self.tree.positions(cols))

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        self.tree.fill(self.tree.positions(rows), self.tree.positions(cols), out)


class GraphSpace(MetricSpace):
    """Shortest paths on a connected graph, edges taken both ways.

    Needs numba or scipy where every edge is 1 long (numba is the faster, the numbers are the same), and scipy
    where floats hold every sum of lengths, whole numbers above all. Elsewhere numba makes it fast. The dtype
    is float64 where lengths are not whole numbers; store them as float32 where that is enough. A distance is
    the exact sum of lengths rounded once, and so the same both ways.

    Parameters
    ----------
    graph : LabelGraph
        A connected graph.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default. Paths may run over the others.

    Attributes
    ----------
    paths : ShortestPaths
        What measures, between points.

    Raises
    ------
    SpaceError
        If the graph falls into parts.

    Examples
    --------
    >>> space = GraphSpace(LabelGraph.grid((3, 3)))
    >>> space.distances(rows=[0], cols=[4, 8]).tolist(), space.diameter()
    ([[2, 4]], 4.0)
    """

    kind = "graph"

    def __init__(self, graph: LabelGraph, allowed: ArrayLike | None = None) -> None:
        refuse_other_than(LabelGraph, "graph", graph, "of LabelGraph.from_edges, or read(path).graph")
        super().__init__(graph.keys, allowed)
        refuse_parts(graph)
        self.paths = ShortestPaths(graph.n_labels, graph.edge_child, graph.edge_parent, graph.edge_weight)

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""
        return self.paths.dtype

    @property
    def is_short(self) -> bool:
        """Whether distances are short numbers, free of rounding."""
        return self.paths.is_short

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels, exactly (see `exact_diameter`)."""
        allowed = self.allowed
        among = np.arange(self.n_points) if allowed is None else allowed
        return exact_diameter(self.paths.from_point, among)

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return self.paths.distances(rows, cols)

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        self.paths.fill(rows, cols, out)


class CompleteSpace(MetricSpace):
    """Every label at distance 1 from every other: the space of flat classification.

    Parameters
    ----------
    keys : Keys or iterable of str
        All labels in canonical order.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default.

    Examples
    --------
    >>> CompleteSpace(["a", "b", "c"]).distances(rows=[1]).tolist()
    [[1, 0, 1]]
    """

    kind = "complete"

    def __init__(self, keys: Iterable[str], allowed: ArrayLike | None = None) -> None:
        points = key_table("keys", keys)
        if not len(points):
            raise SpaceError("keys: empty; a space needs at least one label")
        super().__init__(points, allowed)

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""
        return np.dtype(np.uint8)

    @property
    def is_short(self) -> bool:
        """Distances are short numbers, free of rounding."""
        return True

    def diameter(self) -> float:
        """Return 1, or 0 for a single allowed label."""
        return float(self.n_labels > 1)

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return np.not_equal.outer(rows, cols).astype(np.uint8)


class MatrixSpace(MetricSpace):
    """Distances given as a matrix.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_points)
        Zero, or within 1e-75..1e150, where squares keep their bits; kept as they are (memory maps included),
        in uint8, uint16, float32 or float64. A label that is also a point is at distance 0 from itself, and
        where two labels are points their distances agree. The triangle inequality is not checked: that is
        cubic in the number of labels.
    keys : Keys or iterable of str, length n_labels
        The allowed labels, one for each row.
    points : Keys or iterable of str, length n_points, optional
        The labels of the columns; the same as `keys` by default.

    Raises
    ------
    SpaceError
        For a matrix that breaks a rule; the first offending entry is named.

    Examples
    --------
    >>> MatrixSpace(np.array([[0.0, 2.5], [2.5, 0.0]]), ["a", "b"]).diameter()
    2.5
    """

    kind = "matrix"

    def __init__(
        self, distances: NDArray[Any], keys: Iterable[str], points: Iterable[str] | None = None
    ) -> None:
        rows = key_table("keys", keys)
        columns = rows if points is None else key_table("points", points)
        super().__init__(columns)
        self.__dict__["keys"] = rows
        self.n_labels = len(rows)
        self._matrix = given_array("distances", distances, SpaceError)
        if self._matrix.dtype not in (np.uint8, np.uint16, np.float32, np.float64):
            raise SpaceError(f"distances: dtype {self._matrix.dtype}; give uint8, uint16, float32 or float64")
        if self._matrix.shape != (len(rows), len(columns)) or not self._matrix.size:
            raise SpaceError(
                f"distances: shape {self._matrix.shape} for {len(rows)} keys and {len(columns)} points; "
                "give one row for each key and one column for each point, at least one of each"
            )
        self._column = np.full(len(rows), -1, dtype=np.int64)
        for column, key in enumerate(columns):  # mostly a few, of many rows
            row = rows.find(key)
            if row >= 0:
                self._column[row] = column
        self._refuse_faults()

    def _refuse_faults(self) -> None:
        matrix = self._matrix
        bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
        if not len(bad):
            shared = np.flatnonzero(self._column >= 0)
            square = matrix[np.ix_(shared, self._column[shared])]
            bad = np.argwhere((square != square.T) | ((square != 0) & np.eye(len(shared), dtype=bool)))
            bad = np.column_stack([shared[bad[:, 0]], self._column[shared[bad[:, 1]]]])
        if len(bad):
            r, c = map(int, bad[0])
            raise SpaceError(
                f"distances: {matrix[r, c]} from {self.keys[r]!r} to {self.points[c]!r}; distances are "
                "finite, non-negative, 0 from a label to itself and the same both ways"
            )
        if matrix.dtype == np.float64:
            bad = np.argwhere((matrix > _LARGEST) | ((matrix < _SMALLEST) & (matrix > 0)))
            if len(bad):
                r, c = map(int, bad[0])
                raise SpaceError(
                    f"distances: {matrix[r, c]} from {self.keys[r]!r} to {self.points[c]!r} is outside "
                    f"{_SMALLEST:g}..{_LARGEST:g}; choose another unit"
                )

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""
        return self._matrix.dtype

    @cached_property
    def is_short(self) -> bool:
        """Whether distances are short numbers, free of rounding."""
        return is_short(self._matrix)

    def diameter(self) -> float:
        """Return the largest distance between two labels; every label must be a point (`SpaceError`)."""
        absent = np.flatnonzero(self._column < 0)
        if len(absent):
            raise SpaceError(
                f"diameter: {len(absent)} labels have no column, {self.keys[int(absent[0])]!r} among them; "
                "give a matrix whose points include every label"
            )
        return float(self._matrix[:, self._column].max())

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self._matrix[np.ix_(rows, cols)])


def _marked(points: Keys, allowed: ArrayLike) -> NDArray[np.bool_]:
    """Return whether each point is allowed."""
    given = given_array("allowed", allowed)
    if given.dtype == np.bool_:
        if given.shape != (len(points),):
            raise InputError(
                f"allowed: booleans of shape {given.shape} for {len(points)} points; give one for each point"
            )
        return kept(given, np.bool_)
    index = index_array("allowed", given, len(points))
    count = np.bincount(index, minlength=len(points))
    if len(index) and count.max() > 1:
        raise InputError(f"labels: {points[int(count.argmax())]!r} stands twice; name each label once")
    marked = count > 0
    marked.flags.writeable = False
    return marked


def refuse_parts(graph: LabelGraph) -> None:
    """Raise `SpaceError` where `graph` is not connected."""
    n = graph.n_components
    if n > 1:
        raise SpaceError(
            f"the graph falls into {n} parts and a distance needs a path; join them "
            "(ingest with the policy roots=virtual), keep the largest (roots=largest) or take a subgraph"
        )

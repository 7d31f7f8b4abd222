"""Rehearsals: call compiled kernels on tiny inputs, with every type of argument that they get in earnest.

After a rehearsal, its kernels are loaded in this process, and their code is kept for the next one. Tests hold
that no other type of argument occurs.

As a program, ``python -m labelgrove.ontology.geometry.rehearsals NAME...`` runs the rehearsals of these names
in this order, or all of them if no name is given.

What only some rehearsals need is imported there: a model server that loads the kernels of a scorer has no
use for the modules of loci, selections and summaries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np

from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["REHEARSALS", "rehearse"]

_PARENT = [-1, 0, 1, 1, 0, 4]
_OBSERVED = [2, 3, 5]
_INEXACT = [0.0, 0.1, 1e9, 0.3, 1e-9, 0.7]  # lengths whose sums are not floats
_LARGE = 2_100  # a matrix of distances between so many labels of a tree is computed row by row
_LENGTH = {
    "uint8": 1.0,
    "uint16": 100.0,
    "float32": 1e5,
    "float64": 0.1,
}  # of edges, for distances of a dtype


def tree_search() -> None:
    """Call the kernels of a `TreeScorer`, and those for outputs of any type."""
    _outputs()
    for length in (None, _INEXACT):
        _score(TreeScorer(_tree(length), _OBSERVED, compiled=True), top=1)


def restricted_search() -> None:
    """Call the kernels of a `RestrictedTreeScorer`, and those for outputs of any type."""
    _outputs()
    for length in (None, _INEXACT):
        scorer = RestrictedTreeScorer(_tree(length, [0, 2, 3, 5]), _OBSERVED, compiled=True)
        _score(scorer, top=1)
        _score(scorer, top=3)


def row_search(dtype: str) -> None:
    """Call the kernels of a `GraphScorer` of distances of one dtype, and those for outputs of any type."""
    _outputs()
    distances = np.abs(np.subtract.outer(np.arange(40), [3, 17, 30])).astype(dtype)
    scorer = GraphScorer(distances, compiled=True)
    scorer.group()
    _score(scorer, top=1)
    _score(scorer, top=3)


def block_distances() -> None:
    """Call the kernels that write blocks of distances, in graphs from few labels and from many."""
    from labelgrove.ontology.geometry.spaces.choosing import metric_space

    for dtype, length in _LENGTH.items():
        space = metric_space(_graph(dtype), "graph")
        for n_columns in (2, 40):
            space.distances(cols=np.arange(n_columns))
        tree = RootedTree((np.arange(_LARGE) - 1) // 3, np.full(_LARGE, length))
        tree.distances(np.arange(_LARGE), np.arange(_LARGE))


def loci(dtype: str) -> None:
    """Call the kernels of loci on graphs with distances of one dtype, and on the leaves of a tree."""
    from labelgrove.ontology.geometry.loci.locusmethods import locus
    from labelgrove.ontology.geometry.spaces.choosing import metric_space

    for space in (metric_space(_graph(dtype), "graph"), metric_space(_hierarchy(dtype), "tree", "leaves")):
        observed = [space.points[i] for i in (2, 7, 20)]
        locus(space, observed)
        locus(space, observed, method="pairs")


def selections(dtype: str) -> None:
    """Call the kernels of selections on graphs with distances of one dtype, and on trees."""
    from labelgrove.ontology.geometry.selections.selection import select_classes
    from labelgrove.ontology.geometry.spaces.choosing import metric_space

    tree = metric_space(_hierarchy(dtype), "tree")
    for space in (
        metric_space(_graph(dtype), "graph"),
        metric_space(_hierarchy(dtype), "tree", "leaves"),
        tree,
    ):
        select_classes(space, [space.points[i] for i in (2, 7, 20)], 2)
    select_classes(tree, [], 2)
    select_classes(tree, tree.points[:1], costs={tree.points[5]: 2}, budget=4)


def summaries() -> None:
    """Call the kernels that summarize graphs, by each method."""
    from labelgrove.ontology.geometry.summaries.distortion import supernode_diameters
    from labelgrove.ontology.geometry.summaries.summary import Method, summarize

    graph = _hierarchy("uint8")
    for method in get_args(Method):
        summarize(graph, 20, method=method)
    far_apart = np.arange(graph.n_labels, dtype=np.int32) // (graph.n_labels - 1)
    far_apart[0] = 1
    supernode_diameters(graph, far_apart, np.bincount(far_apart))


REHEARSALS = (
    "tree_search",
    "block_distances",
    "loci:uint8",
    "summaries",
    "selections:uint8",
    "restricted_search",
    *(f"row_search:{dtype}" for dtype in ("uint8", "uint16", "float32")),
    *(f"{of}:{dtype}" for of in ("loci", "selections") for dtype in ("uint16", "float32", "float64")),
)
"""All rehearsals; those whose kernels are needed most often come first."""

_FUNCTIONS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (tree_search, block_distances, loci, summaries, selections, restricted_search, row_search)
}


def rehearse(name: str) -> None:
    """Run one rehearsal; its name may end with a dtype, as in ``row_search:uint8``."""
    of, *dtypes = name.split(":")
    _FUNCTIONS[of](*dtypes)


def _hierarchy(dtype: str, more: Sequence[tuple[str, str]] = ()) -> LabelGraph:
    """Return a tree of 64 labels whose distances have this dtype, with `more` edges."""
    pairs = [(f"n{child:02d}", f"n{(child - 1) // 3:02d}") for child in range(1, 64)]
    pairs += more
    return LabelGraph.from_edges(pairs, weights=[_LENGTH[dtype]] * len(pairs))


def _graph(dtype: str) -> LabelGraph:
    return _hierarchy(dtype, [("n63", "n01"), ("n40", "n03")])


def _tree(length: list[float] | None, allowed: list[int] | None = None) -> TreeSpace:
    keys = Keys.from_strings([f"n{i}" for i in range(len(_PARENT))])
    return TreeSpace.from_arrays(keys, _PARENT, length, allowed)


def _score(scorer: TreeScorer | RestrictedTreeScorer | GraphScorer, top: int) -> None:
    for dtype in (np.float32, np.float64):
        rows = np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]], dtype=dtype)
        scorer.score(rows, top=top)
        scorer.tied(rows[:1])
        for order in (None, np.array([2, 0, 1])):
            decision = scorer.decision(order)
            if decision is not None:
                decision.find(rows, 0.0)


def _outputs() -> None:
    from labelgrove.ontology.geometry.kernels.outputs.contiguous import copy_rows
    from labelgrove.ontology.geometry.kernels.outputs.exponentials import write_exponentials
    from labelgrove.ontology.geometry.kernels.outputs.halves import widen

    widen(np.zeros(2, dtype=np.uint16), np.empty(2, dtype=np.float32))
    for dtype in (np.float32, np.float64):
        write_exponentials(np.zeros((2, 2), dtype=dtype), np.float32(1), 1.0, np.empty((2, 2), np.float32))
    for char in "Hfd":
        for rows in (np.zeros((2, 2), char, order="F"), np.zeros((2, 4), char)[:, ::2]):
            for writeable in (True, False):
                rows.flags.writeable = writeable
                copy_rows(rows, np.empty((2, 2), char))


if __name__ == "__main__":
    for name in sys.argv[1:] or REHEARSALS:
        rehearse(name)

"""Rehearsals: call compiled kernels on tiny inputs, with every type of argument that they get in earnest.

After a rehearsal, its kernels are loaded in this process, and their code is kept for the next one. Tests hold
that no other type of argument occurs.

As a program, ``python -m labelgrove.ontology.geometry.rehearsals NAME...`` runs the rehearsals of these names
in this order, or all of them if no name is given.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from labelgrove.ontology.geometry.loci.locusmethods import locus
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.selections.selection import select_classes
from labelgrove.ontology.geometry.spaces.choosing import metric_space
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.summaries.summary import summarize
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["REHEARSALS", "rehearse"]

_PARENT = [-1, 0, 1, 1, 0, 4]
_OBSERVED = [2, 3, 5]
_INEXACT = [0.0, 0.1, 1e9, 0.3, 1e-9, 0.7]  # lengths whose sums are not floats


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
    """Call the kernels that write blocks of distances in graphs."""
    for length in (None, _INEXACT[1:]):
        space = metric_space(_graph(length), "graph")
        space.distances(np.arange(3), np.arange(4))


def loci() -> None:
    """Call the kernels of loci on trees, on leaves and on graphs."""
    for labels in ("all", "leaves"):
        for metric in ("tree", "graph"):
            space = metric_space(
                _graph() if metric == "graph" else LabelGraph.from_edges(_edges()), metric, labels
            )
            locus(space, ["n2", "n3", "n5"])


def selections() -> None:
    """Call the kernels of selections on trees."""
    select_classes(metric_space(LabelGraph.from_edges(_edges()), "tree"), ["n2"], 2)


def summaries() -> None:
    """Call the kernels that summarize graphs."""
    summarize(_graph(), 3)


REHEARSALS = (
    "tree_search",
    "block_distances",
    "loci",
    "summaries",
    "selections",
    "restricted_search",
    *(f"row_search:{dtype}" for dtype in ("uint8", "uint16", "float32")),
)
"""All rehearsals; those whose kernels are needed most often come first."""

_FUNCTIONS = {
    function.__name__: function
    for function in (tree_search, block_distances, loci, summaries, selections, restricted_search)
}


def rehearse(name: str) -> None:
    """Run one rehearsal; the name of any dtype may follow ``row_search:``."""
    of, _, dtype = name.partition(":")
    if of == "row_search":
        row_search(dtype)
    else:
        _FUNCTIONS[name]()


def _edges() -> list[tuple[str, str]]:
    return [(f"n{child}", f"n{parent}") for child, parent in enumerate(_PARENT) if parent >= 0]


def _graph(length: Sequence[float] | None = None) -> LabelGraph:
    weights = None if length is None else [*length, 0.2]
    return LabelGraph.from_edges([*_edges(), ("n5", "n1")], weights=weights)


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

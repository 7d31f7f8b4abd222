"""Windows of drawn trees: every row and position equals that of a recursion that draws the whole tree."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.structure.walk import Walk
from labelgrove.ontology.browse.structure.window import LARGEST_WINDOW, DrawnTree, TreeRow
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.browse.browse_cases import hierarchies


class Drawing(NamedTuple):
    """A hierarchy, and the labels of it that are opened, or closed if `inverted` is set."""

    graph: LabelGraph
    walk: Walk
    given: set[int]
    inverted: bool

    @property
    def tree(self) -> DrawnTree:
        return DrawnTree(self.walk, self.given, inverted=self.inverted)

    def opens(self, label: int) -> bool:
        return (label in self.given) != self.inverted


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    graph = draw(hierarchies())
    given_ = draw(st.sets(st.integers(0, len(graph) - 1)))
    return Drawing(graph, LabelIndex.of(graph).walk, given_, draw(st.booleans()))


def drawn(case: Drawing) -> list[TreeRow]:
    """Return all rows, drawn one below the other."""

    def below(labels: list[int], above: int, level: int) -> Iterator[TreeRow]:
        for label in labels:
            children = case.walk.children(label).tolist()
            reference = int(case.walk.order.parent[label]) != above
            opened = bool(children) and not reference and case.opens(label)
            yield TreeRow(label, level, reference, opened)
            if opened:
                yield from below(children, label, level + 1)

    return list(below(case.walk.roots.tolist(), -1, 0))


@given(drawings(), st.sampled_from([1, 2, 3, LARGEST_WINDOW]))
def test_a_window_from_any_position_has_the_rows_of_the_whole_tree(case, n):
    tree, rows = case.tree, drawn(case)
    assert len(tree) == len(rows)
    for at in range(len(rows) + 2):
        assert tree.rows(at, n) == rows[at : at + n]


@given(drawings())
def test_the_position_of_a_label_is_its_row_or_that_of_the_topmost_closed_label_above_it(case):
    tree, rows = case.tree, drawn(case)
    for label in range(len(case.graph)):
        down = case.walk.order.chain(label)[::-1]
        seen = next(one for one in down if one == label or not case.opens(one))
        position = tree.position(label)
        assert (rows[position].label, rows[position].reference) == (seen, False)


@given(drawings())
def test_closed_labels_are_the_complement_of_opened_ones(case):
    others = set(range(len(case.graph))) - case.given
    opposite = DrawnTree(case.walk, others, inverted=not case.inverted)
    assert opposite.rows(0, LARGEST_WINDOW) == case.tree.rows(0, LARGEST_WINDOW)


def test_all_closed_shows_the_roots_and_all_opened_shows_each_edge_once():
    graph = LabelGraph.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")])
    walk = LabelIndex.of(graph).walk
    assert len(DrawnTree(walk, [])) == 1
    everything = DrawnTree(walk, [], inverted=True)
    assert len(everything) == 1 + 4
    shown = [(graph.keys[row.label], row.reference) for row in everything.rows(0, 10)]
    assert sorted(shown) == [("a", False), ("b", False), ("c", False), ("d", False), ("d", True)]


def test_a_chain_of_ten_thousand_opened_labels_has_windows_everywhere():
    n = 10_000
    walk = LabelIndex.of(LabelGraph.from_edges([(f"{i:05}", f"{i - 1:05}") for i in range(1, n)])).walk
    tree = DrawnTree(walk, [], inverted=True)
    for at in (0, n // 2, n - 1, n):
        rows = tree.rows(at, LARGEST_WINDOW)
        assert [(row.label, row.level) for row in rows] == [
            (i, i) for i in range(at, min(at + LARGEST_WINDOW, n))
        ]


@pytest.mark.parametrize(("at", "n"), [(-1, 1), (0, 0), (0, -1), (0, LARGEST_WINDOW + 1)])
def test_a_window_is_bounded(at, n):
    tree = DrawnTree(LabelIndex.of(LabelGraph.from_edges([("b", "a")])).walk, [])
    with pytest.raises(InputError, match=rf"rows: {n} from {at} requested; give 1 to 1,000"):
        tree.rows(at, n)


@pytest.mark.parametrize(("opened", "told"), [([2], 2), ([0, 7], 7), ([-1], -1), ([-1, 0], -1)])
def test_an_index_that_is_not_a_label_is_told(opened, told):
    walk = LabelIndex.of(LabelGraph.from_edges([("b", "a")])).walk
    with pytest.raises(InputError, match=rf"opened: {told} is not the index of a label; give 0 to 1"):
        DrawnTree(walk, opened)


def test_an_undirected_graph_has_no_tree():
    graph = LabelGraph.from_edges([("b", "a")], directed=False)
    with pytest.raises(InputError, match="undirected"):
        DrawnTree(LabelIndex.of(graph).walk, [])

"""Drawn trees: nothing is missing, nothing is opened twice, and every pointer leads to what is drawn."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.browse.browse_cases import hierarchies

OUTSIDE = LabelGraph.from_edges([("c", "a"), ("c", "z"), ("d", "c")])  # c is opened below a, outside of z
DEEPER = LabelGraph.from_edges(  # with two levels, the primary parent of c shows no children
    [("b", "r"), ("a", "b"), ("c", "a"), ("c", "r"), ("d", "c")], ranks=[0, 0, 0, 1, 0]
)


def nodes(trees):
    """Yield every label of drawn trees as (parent, document); the parent of a top is None."""
    waiting = [(None, tree) for tree in trees]
    while waiting:
        parent, node = waiting.pop()
        yield parent, node
        waiting += [(node["idx"], child) for child in node["children"]]


def checked(graph, tops, levels, most):
    """Draw trees, compare them with the laws, and return all that is drawn as (parent, document)."""
    index = LabelIndex.of(graph)
    drawn = list(nodes(Answers(index).trees(tops, levels=levels, most=most)))
    opened = Counter(node["idx"] for _, node in drawn if "below" not in node)
    assert set(opened) == {node["idx"] for _, node in drawn}
    assert set(opened.values()) == {1}
    lines = {(parent, node["idx"]) for parent, node in drawn}
    shows = {(parent, node["idx"]) for parent, node in drawn if "below" not in node}
    for parent, node in drawn:
        label, hidden = node["idx"], node["n_children"] - len(node["children"]) - node["more"]
        children = index.walk.children(label).tolist()
        assert node["n_children"] == len(children)
        assert [child["idx"] for child in node["children"]] in ([], children[:most])
        assert hidden in (0, len(children))
        assert node["more"] in (0, max(0, len(children) - most))
        if "below" in node:
            assert node["below"]["idx"] != parent
            assert (node["below"]["idx"], label) in shows
        above = [p for p in index.walk.parents(label).tolist() if (p, label) in lines]
        assert label in tops or (above[0], label) in shows
    return drawn


@given(hierarchies(), st.data())
def test_a_tree_without_limits_draws_every_label_below_its_top(graph, data):
    top = data.draw(st.integers(0, graph.n_labels - 1))
    drawn = checked(graph, [top], 99, 99)
    index = LabelIndex.of(graph)
    assert {node["idx"] for _, node in drawn} == {top, *index.walk.descendants(top).tolist()}
    assert all(len(node["children"]) == node["n_children"] for _, node in drawn if "below" not in node)
    roots = index.walk.roots.tolist()
    assert {node["idx"] for _, node in checked(graph, roots, 99, 99)} == set(range(graph.n_labels))


@given(hierarchies(), st.integers(0, 4), st.integers(1, 3))
@example(OUTSIDE, 3, 3)
@example(DEEPER, 2, 3)
def test_limits_leave_out_only_what_they_say(graph, levels, most):
    for top in range(graph.n_labels):
        checked(graph, [top], levels, most)
    checked(graph, LabelIndex.of(graph).walk.roots.tolist()[:most], levels, most)


def test_a_label_is_opened_where_its_branch_is_drawn():
    key = OUTSIDE.keys.index
    (tree,) = Answers(LabelIndex.of(OUTSIDE)).trees([key("z")], levels=3, most=9)
    (child,) = tree["children"]
    assert "below" not in child
    assert [node["key"] for node in child["children"]] == ["d"]
    first, second = Answers(LabelIndex.of(OUTSIDE)).trees([key("a"), key("z")], levels=3, most=9)
    assert [node["key"] for node in first["children"][0]["children"]] == ["d"]
    assert second["children"][0]["below"]["key"] == "a"


def test_many_ways_to_a_label_do_not_make_a_tree_large():
    edges = [(f"{i + 1:02d}{c}", f"{i:02d}{p}") for i in range(40) for c in "ab" for p in "ab"]
    edges += [("00a", "top"), ("00b", "top")] + [(f"{i:02d}{c}", "out") for i in range(41) for c in "ab"]
    graph = LabelGraph.from_edges(edges, ranks=[0 if parent == "out" else 1 for _, parent in edges])
    drawn = list(nodes(Answers(LabelIndex.of(graph)).trees([graph.keys.index("top")], levels=99, most=99)))
    assert len(drawn) == 1 + len(edges) - 82


def test_an_undirected_graph_has_no_trees():
    for levels in (0, 1):
        with pytest.raises(InputError, match="undirected"):
            Answers(LabelIndex.of(LabelGraph.grid((2, 2)))).trees([0], levels=levels, most=9)

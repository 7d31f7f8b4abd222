"""Ways through a hierarchy, compared with networkx on random hierarchies of one and of several parents."""

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given

from labelgrove.ontology.browse.structure.adjacency import Adjacency
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.browse.structure.shortest import shortest_path
from labelgrove.ontology.browse.structure.walk import Walk
from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.browse.browse_cases import hierarchies


def walk_of(graph: LabelGraph) -> Walk:
    return Walk(Order.of(graph), Adjacency.of(graph))


def upward(graph: LabelGraph) -> networkx.DiGraph:
    """The hierarchy with an arc from each child to its parent; nodes are indices."""
    arcs = networkx.DiGraph()
    arcs.add_nodes_from(range(graph.n_labels))
    for c, p, w in zip(graph.edge_child.tolist(), graph.edge_parent.tolist(), graph.edge_weight, strict=True):
        arcs.add_edge(c, p, weight=float(w))
    return arcs


@given(hierarchies())
def test_the_order_is_that_of_the_branches(graph):
    order = Order.of(graph)
    tree = networkx.DiGraph()
    tree.add_nodes_from(range(graph.n_labels))
    tree.add_edges_from((p, c) for c, p in enumerate(graph.primary_parent.tolist()) if p >= 0)
    for i in range(graph.n_labels):
        branch = {i, *networkx.descendants(tree, i)}
        assert branch == set(range(i, order.end[i]))
        assert order.size[i] == len(branch)
        chain = order.chain(i)
        assert len(chain) == order.depth[i] + 1
        assert all(tree.has_edge(p, c) for c, p in itertools.pairwise(chain))


@given(hierarchies())
def test_every_way_is_that_of_networkx(graph):
    arcs, walk = upward(graph), walk_of(graph)
    roots = {i for i in arcs if not arcs.out_degree(i)}
    for i in range(graph.n_labels):
        parents = set(arcs.successors(i))
        assert walk.children(i).tolist() == sorted(arcs.predecessors(i))
        assert set(walk.parents(i).tolist()) == parents
        assert walk.parents(i).tolist()[:1] == [p for p in [int(graph.primary_parent[i])] if p >= 0]
        near = {c for p in parents for c in arcs.predecessors(p)} if parents else roots
        assert walk.siblings(i).tolist() == sorted(near - {i})
        above, hops = walk.ancestors(i)
        assert above.tolist() == sorted(networkx.descendants(arcs, i))
        lengths = networkx.single_source_shortest_path_length(arcs, i)
        assert hops.tolist() == [lengths[j] for j in above.tolist()]
        assert walk.descendants(i).tolist() == sorted(networkx.ancestors(arcs, i))


@given(hierarchies())
def test_lowest_common_ancestors_are_the_common_ones_that_have_no_common_one_below(graph):
    arcs, walk = upward(graph), walk_of(graph)
    up = {i: {i, *networkx.descendants(arcs, i)} for i in arcs}
    for a, b in itertools.product(arcs, arcs):
        common = up[a] & up[b]
        lowest = [i for i in common if not any(i in up[j] for j in common - {i})]
        assert walk.lowest_common_ancestors(a, b) == sorted(lowest)


@given(hierarchies())
def test_a_path_is_the_shortest_one_that_takes_the_first_label_at_each_step(graph):
    arcs, walk = upward(graph), walk_of(graph)
    plain = arcs.to_undirected()
    for a, b in itertools.product(arcs, arcs):
        for steps in (walk.path(a, b), shortest_path(walk.adjacency, a, b)):
            if not networkx.has_path(plain, a, b):
                assert steps == []
                continue
            paths = [list(p) for p in networkx.all_shortest_paths(plain, a, b, weight="weight")]
            assert [label for label, _ in steps] == min(paths)
            along = [plain[u][v]["weight"] for u, v in itertools.pairwise(min(paths))]
            assert [d for _, d in steps] == [0.0, *itertools.accumulate(along)]


def test_a_path_in_an_undirected_graph_and_nothing_else():
    grid = LabelGraph.grid((4, 5))
    walk = walk_of(grid)
    plain = networkx.Graph(zip(grid.edge_child.tolist(), grid.edge_parent.tolist(), strict=True))
    for a, b in itertools.product(range(20), range(20)):
        assert [i for i, _ in walk.path(a, b)] == min(networkx.all_shortest_paths(plain, a, b))
    for ask in (walk.children, walk.parents, walk.siblings, walk.ancestors, walk.descendants):
        with pytest.raises(InputError, match="undirected"):
            ask(0)
    with pytest.raises(InputError, match="undirected"):
        walk.lowest_common_ancestors(0, 1)
    assert walk.order.end.tolist() == list(range(1, 21))


def test_lengths_that_vanish_in_the_sum_do_not_lead_in_circles():
    edges = [("b", "a"), ("c", "b"), ("d", "b"), ("d", "c"), ("e", "d")]
    graph = LabelGraph.from_edges(edges, weights=[1e12, 1e-17, 1e-17, 1e-17, 1e-17])
    found = [graph.keys[i] for i, _ in walk_of(graph).path(graph.keys.index("e"), graph.keys.index("a"))]
    assert found[0] == "e"
    assert found[-2:] == ["b", "a"]
    assert len(set(found)) == len(found)


def test_large_graphs_are_searched_level_by_level_with_the_same_answers():
    draw = np.random.default_rng(3)
    child = np.arange(1, 2000).repeat(2)
    parent = (child * draw.random(len(child)) ** 3).astype(int)
    keys = [f"{i:04d}" for i in range(2000)]
    graph = LabelGraph.from_edges([(keys[c], keys[p]) for c, p in zip(child, parent, strict=True)])
    walk, plain = walk_of(graph), upward(graph).to_undirected()
    for a, b in draw.integers(0, 2000, (60, 2)).tolist():
        wanted = min(networkx.all_shortest_paths(plain, a, b))
        assert [label for label, _ in walk.path(a, b)] == wanted


def test_a_chain_of_a_hundred_thousand_labels():
    n = 100_000
    graph = LabelGraph.from_edges([(f"{i:06d}", f"{i - 1:06d}") for i in range(1, n)])
    walk = walk_of(graph)
    assert walk.path(0, n - 1)[-1] == (n - 1, float(n - 1))
    assert walk.lowest_common_ancestors(n - 1, 7) == [7]
    assert len(walk.ancestors(n - 1)[0]) == len(walk.descendants(0)) == n - 1


def test_labels_out_of_canonical_order_are_refused():
    graph = LabelGraph.from_edges([("oak", "tree"), ("tree", "plant"), ("moss", "plant")])
    swapped = np.array([0, 2, 1, 3], dtype=np.int32)  # the branch of tree is no longer one range
    moved = LabelGraph(
        graph.keys,
        graph.keys,
        *(swapped[ends] for ends in (graph.edge_child, graph.edge_parent)),
        graph.edge_weight,
        graph.edge_rank,
        directed=True,
        layout="hierarchy",
    )
    with pytest.raises(ArtifactError, match="not a preorder"):
        Order.of(moved)

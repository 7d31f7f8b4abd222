"""LabelGraph: canonical order, digest, validation and snapshot, as laws."""

import random
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError, InputError, UnknownLabelError

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@st.composite
def hierarchies(draw):
    keys = draw(st.lists(TEXT, min_size=2, max_size=12, unique=True))
    n_edges = draw(st.integers(1, 20))
    index = st.integers(0, len(keys) - 1)
    pairs = {}
    for _ in range(n_edges):
        a, b = draw(index), draw(index)
        if a != b:
            pairs[keys[max(a, b)], keys[min(a, b)]] = (
                draw(st.integers(0, 3)),
                draw(st.sampled_from([1.0, 2.5])),
            )
    return keys, pairs


def build(keys, pairs, *, shuffle=None, repeat=1):
    listed = [(pair, *value) for pair, value in pairs.items()] * repeat
    labels = list(keys)
    if shuffle is not None:
        rng = random.Random(shuffle)
        rng.shuffle(listed)
        rng.shuffle(labels)
    return LabelGraph.from_edges(
        [p for p, _, _ in listed],
        ranks=[r for _, r, _ in listed],
        weights=[w for _, _, w in listed],
        labels=labels,
        names={k: k.upper() for k in keys},
    )


@given(hierarchies(), st.integers(0, 99), st.integers(1, 3))
def test_order_and_repetition_of_the_input_change_nothing(hierarchy, seed, repeat):
    first, second = build(*hierarchy), build(*hierarchy, shuffle=seed, repeat=repeat)
    assert first == second
    assert list(first.keys) == list(second.keys)
    assert np.array_equal(first.edge_child, second.edge_child)


@given(hierarchies())
def test_canonical_order_is_the_recursive_preorder(hierarchy):
    keys, pairs = hierarchy
    graph = build(keys, pairs)
    parents = {k: [] for k in keys}
    for (child, parent), (rank, _) in pairs.items():
        parents[child].append((rank, parent.encode(), parent))
    primary = {k: min(found)[2] if found else None for k, found in parents.items()}
    order = []

    def visit(key):
        order.append(key)
        for child in sorted((c for c in keys if primary[c] == key), key=str.encode):
            visit(child)

    for root in sorted((k for k in keys if primary[k] is None), key=str.encode):
        visit(root)
    assert list(graph.keys) == order
    found = [None if p < 0 else graph.keys[p] for p in graph.primary_parent.tolist()]
    assert found == [primary[k] for k in order]
    assert graph.roots == tuple(k for k in order if not parents[k])
    childless = set(keys) - {p for _, p in pairs}
    assert graph.leaves == tuple(k for k in order if k in childless)


@given(hierarchies())
def test_a_snapshot_opens_as_the_same_graph(hierarchy):
    graph = build(*hierarchy)
    arrays, metadata = graph.to_arrays()
    opened = LabelGraph.from_arrays(arrays, metadata)
    del opened.__dict__["digest"]  # computed again from what the arrays hold
    assert opened == graph
    assert list(opened.edges()) == list(graph.edges())


@given(hierarchies())
def test_networkx_carries_the_graph_over(hierarchy):
    keys, pairs = hierarchy
    other = nx.DiGraph()
    other.add_nodes_from((k, {"name": k.upper()}) for k in keys)
    other.add_edges_from((c, p, {"rank": r, "weight": w}) for (c, p), (r, w) in pairs.items())
    assert LabelGraph.from_networkx(other) == build(keys, pairs)


@pytest.mark.parametrize(
    "change",
    [
        dict(weights=[1.0, 2.0]),
        dict(ranks=[0, 1]),
        dict(names={"a": "A"}),
        dict(directed=False),
        dict(labels=["z"]),
    ],
)
def test_everything_in_the_identity_changes_the_digest(change):
    pairs = [("a", "r"), ("b", "r")]
    assert LabelGraph.from_edges(pairs, **change).digest != LabelGraph.from_edges(pairs).digest


def test_golden_digests():
    """A changed figure means a changed identity rule: raise FORMAT_TAG with it."""
    pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant")]
    found = {
        "hierarchy": LabelGraph.from_edges(pairs).digest[:16],
        "undirected": LabelGraph.from_edges(pairs, directed=False).digest[:16],
        "grid": LabelGraph.grid((2, 3)).digest[:16],
        "complete": LabelGraph.complete(4).digest[:16],
    }
    assert found == {
        "hierarchy": "63f649eac91c913b",
        "undirected": "baf25350a6ac74c2",
        "grid": "a8f1cee61006a38e",
        "complete": "86f8c7f84c4c1209",
    }


def test_primary_parent_is_by_rank_then_key():
    graph = LabelGraph.from_edges([("x", "b"), ("x", "a"), ("y", "b"), ("y", "a")], ranks=[0, 1, 0, 0])
    parent = dict(zip(graph.keys, graph.primary_parent.tolist(), strict=True))
    assert graph.keys[parent["x"]] == "b"
    assert graph.keys[parent["y"]] == "a"


def test_keys_compare_as_bytes():
    graph = LabelGraph.from_edges([("é", "r"), ("z", "r"), ("Z", "r"), ("😀", "r"), ("\uffff", "r")])
    assert list(graph.keys) == ["r", "Z", "z", "é", "\uffff", "😀"]


def test_undirected_order_is_breadth_first_from_the_smallest_key():
    graph = LabelGraph.from_edges([("a", "d"), ("a", "b"), ("b", "c"), ("y", "x")], directed=False)
    assert list(graph.keys) == ["a", "b", "d", "c", "x", "y"]
    assert (graph.edge_child < graph.edge_parent).all()
    assert graph.n_components == 2
    assert graph.leaves == ("d", "c", "x", "y")


def test_grid_is_row_major_and_leaves_are_childless_not_degree_one():
    grid = LabelGraph.grid((3, 4))
    assert list(grid.keys)[:5] == ["0,0", "0,1", "0,2", "0,3", "1,0"]
    assert (grid.n_labels, grid.n_edges, grid.shape) == (12, 17, (3, 4))
    stem = LabelGraph.from_edges([("a", "root"), ("b", "a"), ("c", "a")])
    assert stem.leaves == ("b", "c")  # the root has degree one and a child


def test_is_tree():
    assert LabelGraph.from_edges([("a", "r"), ("b", "r")]).is_tree
    assert not LabelGraph.from_edges([("a", "r"), ("b", "s")]).is_tree
    assert not LabelGraph.from_edges([("a", "r"), ("b", "a"), ("b", "r")]).is_tree
    assert LabelGraph.from_edges([], labels=["one"]).is_tree
    assert LabelGraph.complete(2).is_tree
    assert not LabelGraph.complete(3).is_tree


@given(st.integers(1, 40), st.integers(0, 60), st.integers(0, 10_000))
def test_components_match_networkx(n, m, seed):
    other = nx.gnm_random_graph(n, m, seed=seed)
    other = nx.relabel_nodes(other, str)
    graph = LabelGraph.from_networkx(other)
    assert graph.n_components == nx.number_connected_components(other)
    for component in nx.connected_components(other):
        assert len({int(graph.components[graph.keys.index(k)]) for k in component}) == 1


def test_descendants_and_subgraph():
    graph = LabelGraph.from_edges(
        [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")], weights=[1, 2, 3, 4], names={"d": "dee"}
    )
    assert graph.descendants("b") == ("b", "d")
    part = graph.subgraph(["a", "c", "d"])
    assert list(part.edges()) == [("c", "a", 2.0, 0), ("d", "c", 4.0, 0)]
    assert part.names[part.keys.index("d")] == "dee"


def test_arrays_cannot_be_written():
    graph = LabelGraph.grid((2, 2))
    with pytest.raises(ValueError, match="read-only"):
        graph.edge_weight[0] = 5.0


def test_a_long_chain_needs_no_recursion():
    pairs = [(f"{i + 1:06d}", f"{i:06d}") for i in range(30_000)]
    graph = LabelGraph.from_edges(pairs)
    assert int(graph.depth[-1]) == 30_000
    loop = [*pairs, ("000000", "030000")]
    with pytest.raises(InputError, match="30001 labels in a loop"):
        LabelGraph.from_edges(loop)


@given(hierarchies(), st.integers(2, 12))
def test_every_cycle_is_refused_and_a_true_loop_is_named(hierarchy, length):
    keys, pairs = hierarchy
    loop = [f"loop{i}" for i in range(length)]
    edges = list(pairs) + list(pairwise([*loop, loop[0]])) + [(keys[0], loop[0])]
    with pytest.raises(InputError, match="a hierarchy has no loop") as caught:
        LabelGraph.from_edges(edges)
    named = str(caught.value).rsplit(": ", 1)[1].split(" -> ")
    if length > 8:
        assert named.pop() == "..."
    assert len(named) == min(length + 1, 9 if length <= 8 else 8)
    assert all((a, b) in edges for a, b in pairwise(named))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(pairs=[]), "at least one label"),
        (dict(pairs=[("a", "a")]), "'a' is its own parent"),
        (dict(pairs=[("a", "b", "c")]), "has 3 entries"),
        (dict(pairs=[1]), "must be a \\(child, parent\\) pair"),
        (dict(pairs=[("a", 1)]), "label 1 is of type int"),
        (dict(pairs=[("a", "")]), "at least one character"),
        (dict(pairs=[("a", "b\0")]), "no NUL"),
        (dict(pairs=[("a", "\ud800")]), "surrogate"),
        (dict(pairs=[("a", "b")], weights=[0.0]), "weights: 0.0 at pair 0"),
        (dict(pairs=[("a", "b")], weights=[-1.0]), "positive and finite"),
        (dict(pairs=[("a", "b")], weights=[float("nan")]), "positive and finite"),
        (dict(pairs=[("a", "b")], weights=[float("inf")]), "positive and finite"),
        (dict(pairs=[("a", "b")], weights=[1e76]), "weights: 1e\\+76 at pair 0 .* within 1e-75..1e75"),
        (dict(pairs=[("a", "b")], weights=[9e-76]), "weights: 9e-76 at pair 0 .* within 1e-75..1e75"),
        (dict(pairs=[(f"{i}", "r") for i in range(1001)], weights=[1e75] * 1001), "add up to at most 1e78"),
        (dict(pairs=[("a", "b")], weights=["heavy"]), "weights: must be numbers"),
        (dict(pairs=[("a", "b")], weights=[1, 2]), "weights: values of shape \\(2,\\) for 1 pairs"),
        (dict(pairs=[("a", "b"), ("a", "b")], weights=[1, 2]), "has the lengths 1.0 and 2.0"),
        (dict(pairs=[("a", "b")], ranks=[2**40]), "ranks"),
        (dict(pairs=[("a", "b")], names={"z": "Z"}), "names: \\['z'\\]"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        LabelGraph.from_edges(**arguments)


def test_other_constructors_refuse_bad_input():
    with pytest.raises(InputError, match="shape"):
        LabelGraph.grid((3, 0))
    with pytest.raises(InputError, match="CompleteSpace"):
        LabelGraph.complete(5000)
    with pytest.raises(InputError, match="node 0"):
        LabelGraph.from_networkx(nx.path_graph(3))
    with pytest.raises(InputError, match="no parents"):
        _ = LabelGraph.grid((2, 2)).primary_edge
    with pytest.raises(UnknownLabelError, match="'q'"):
        LabelGraph.grid((2, 2)).subgraph(["q"])


def test_a_snapshot_of_another_format_is_refused_with_the_remedy():
    arrays, metadata = LabelGraph.grid((2, 2)).to_arrays()
    with pytest.raises(ArtifactError, match="ingest the source again"):
        LabelGraph.from_arrays(arrays, metadata | {"format": "labelgrove/labelgraph/99"})


@given(
    st.sets(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3), min_size=2
    ),
    st.booleans(),
    st.data(),
)
def test_numbered_edges_give_the_graph_of_their_pairs(labels, directed, data):
    keys = sorted(labels)
    ends = st.tuples(st.integers(1, len(keys) - 1), st.integers(0, len(keys) - 2)).filter(
        lambda e: e[0] > e[1]
    )
    edges = data.draw(st.lists(ends, unique=True))
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(edges), max_size=len(edges)))
    child, parent = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    found = LabelGraph.from_numbered(
        keys, child, parent, ranks=ranks, names={keys[0]: "first"}, directed=directed
    )
    pairs = [(keys[c], keys[p]) for c, p in edges]
    wanted = LabelGraph.from_edges(
        pairs, ranks=ranks, names={keys[0]: "first"}, directed=directed, labels=keys
    )
    assert found.digest == wanted.digest


@pytest.mark.parametrize(
    ("keys", "child", "parent", "message"),
    [
        ([], [], [], "keys is empty"),
        (["b", "a"], [0], [1], "keys: 'a' after 'b'; give each key once, in ascending order"),
        (["a", "a"], [0], [1], "keys: 'a' after 'a'"),
        (["", "a"], [0], [1], "label key ''"),
        (["a", "b"], [2], [1], r"child: 2 at pair 0 is outside 0\.\.1"),
        (["a", "b"], [0, 1], [1, -1], r"parent: -1 at pair 1 is outside 0\.\.1"),
        (["a", "b"], [0], [1, 1], "parent: 2 entries for 1 children"),
        (["a", "b"], [1], [1], "'b' is its own parent"),
    ],
)
def test_numbered_edges_that_are_no_graph_are_refused(keys, child, parent, message):
    with pytest.raises(InputError, match=message):
        LabelGraph.from_numbered(keys, np.array(child, dtype=np.int64), np.array(parent, dtype=np.int64))

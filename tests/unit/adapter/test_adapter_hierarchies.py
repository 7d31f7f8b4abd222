"""Questions of what is above what are answered by the ontology's own edges, or refused."""

import numpy as np
import pytest

from labelgrove.adapter import Adapter, Subtree, build_bundle, open_bundle
from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.evaluation import evaluate
from labelgrove.ontology.errors import BundleError, SpaceError
from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TWO_ROOTS = LabelGraph.from_edges(
    [("apple", "fruit"), ("apple", "company"), ("pear", "fruit"), ("ibm", "company")]
)
UNDIRECTED = LabelGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], directed=False)
ONE_ROOT = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])


def random_tree(rng: np.random.Generator) -> LabelGraph:
    """Return a tree of edges whose directions are those of a hierarchy, turned at random, or none."""
    n = int(rng.integers(3, 9))
    pairs = [(f"v{i}", f"v{int(rng.integers(0, i))}") for i in range(1, n)]
    how = rng.integers(0, 3)
    if how == 0:
        pairs = [pair if rng.random() < 0.6 else pair[::-1] for pair in pairs]
    return LabelGraph.from_edges(pairs, directed=how != 1)


def below(graph: LabelGraph, key: str) -> set[str]:
    """Return a label and what the edges say is below it, by following them."""
    keys = list(graph.keys)
    found, before = {key}, set()
    while found != before:
        before = set(found)
        found |= {
            keys[c] for c, p in zip(graph.edge_child, graph.edge_parent, strict=True) if keys[p] in before
        }
    return found


def test_leaves_and_subtrees_are_those_of_the_edges_or_refused():
    rng = np.random.default_rng(5)
    answered = refused = 0
    for _ in range(400):
        graph = random_tree(rng)
        keys = list(graph.keys)
        observed = [str(k) for k in rng.choice(keys, size=2, replace=False)]
        adapter = Adapter.from_graph(graph, observed)
        P = rng.integers(1, 5, (3, 2))
        top = str(rng.choice(keys))
        for asked, wanted in (("leaves", set(graph.leaves)), (Subtree(top), below(graph, top))):
            if not graph.directed or len(graph.roots) > 1:
                with pytest.raises(SpaceError, match="needs the parents of labels, but this tree"):
                    adapter.top_k(P, 1, candidates=asked)
                refused += 1
                continue
            found = adapter.top_k(P, 1, candidates=asked)
            listed = adapter.top_k(P, 1, candidates=sorted(wanted))
            assert found.keys == listed.keys
            assert found.values.tolist() == listed.values.tolist()
            answered += 1
    assert answered > 200
    assert refused > 200


@pytest.mark.parametrize("graph", [TWO_ROOTS, UNDIRECTED])
def test_a_tree_that_was_hung_to_be_measured_is_no_hierarchy(graph, tmp_path):
    bundle = build_bundle(graph, graph.keys[:2] if graph is TWO_ROOTS else ["a", "d"])
    assert bundle.to_arrays()[1]["hierarchy"] == "none"
    assert bundle.save(tmp_path / "x.safetensors") == open_bundle(tmp_path / "x.safetensors").digest
    adapter = Adapter(open_bundle(tmp_path / "x.safetensors"))
    with pytest.raises(SpaceError, match="back_off needs the parents of labels"):
        adapter.back_off([[1, 0]], 1.0)
    with pytest.raises(SpaceError, match="candidates: 'leaves' needs the parents of labels"):
        adapter.predict([[1, 0]], candidates="leaves")
    found = evaluate(adapter, [[1, 0], [0, 1]] * 20, list(bundle.observed_keys) * 20)
    assert found.branch_level is None
    assert adapter.predict([[1, 0]]) == [bundle.observed_keys[0]]
    hung = metric_space(graph, "tree")
    with pytest.raises(SpaceError, match="labels have no known parents"):
        evaluate(adapter, [[1, 0]], [bundle.observed_keys[0]], hierarchy=hung)


def test_leaves_that_were_chosen_when_the_bundle_was_built_need_no_hierarchy():
    adapter = Adapter.from_graph(TWO_ROOTS, ["pear", "ibm"], labels="leaves")
    assert adapter.predict([[0.5, 0.5]], candidates="leaves") == ["apple"]


def test_a_hierarchy_with_one_root_keeps_its_bytes():
    arrays, metadata = build_bundle(ONE_ROOT, ["oak", "elm"]).to_arrays()
    assert "hierarchy" not in metadata
    again = Bundle.from_arrays(arrays, metadata)
    assert again.is_hierarchy
    assert Adapter(again).predict([[1, 1]], candidates="leaves") == ["elm"]
    space = metric_space(ONE_ROOT)
    assert isinstance(space, TreeSpace)
    assert space.is_hierarchy


@pytest.mark.parametrize(("kind", "value"), [("tree", "some"), ("tree", ""), ("block", "none")])
def test_a_foreign_word_for_it_is_refused(kind, value):
    arrays, metadata = build_bundle(ONE_ROOT, ["oak", "elm"], form=kind).to_arrays()
    with pytest.raises(BundleError, match="only a tree bundle has the field"):
        Bundle.from_arrays(arrays, metadata | {"hierarchy": value})

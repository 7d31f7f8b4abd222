"""A tree is held as a tree, or as a block when asked: the same answers either way."""

import numpy as np
import pytest

from labelgrove.adapter import Adapter, open_bundle
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph


def random_tree(n, *, weighted=False):
    rng = np.random.default_rng(n)
    pairs = [(f"v{i}", f"v{int(rng.integers(0, i))}") for i in range(1, n)]
    return LabelGraph.from_edges(pairs, weights=rng.integers(1, 9, n - 1) / 4 if weighted else None)


@pytest.mark.parametrize("labels", ["all", "leaves"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_of_a_tree_answers_as_the_tree(labels, weighted, tmp_path):
    graph = random_tree(120, weighted=weighted)
    observed = [graph.keys[i] for i in (3, 50, 77, 110)]
    tree, block = (build_bundle(graph, observed, labels=labels, form=form) for form in ("tree", "block"))
    assert tree.digest == build_bundle(graph, observed, labels=labels).digest
    assert (tree.kind, block.kind, block.metric, block.diameter) == ("tree", "block", "tree", tree.diameter)
    assert block.distances.shape == (tree.n_labels, 4)
    block.save(tmp_path / "b.safetensors")
    assert open_bundle(tmp_path / "b.safetensors").digest == block.digest
    P = np.random.default_rng(0).integers(0, 4, (300, 4)) + np.eye(4)[np.arange(300) % 4]
    first, second = Adapter(tree), Adapter.load(tmp_path / "b.safetensors")
    assert first.predict(P) == second.predict(P)
    np.testing.assert_array_equal(first.top_k(P, 5).indices, second.top_k(P, 5).indices)


def test_a_complete_space_may_be_a_block_and_is_no_tree():
    graph = LabelGraph.complete(5)
    assert build_bundle(graph, ["1", "3"]).kind == "complete"
    block = build_bundle(graph, ["1", "3"], form="block")
    assert (block.kind, block.distances.tolist()) == ("block", [[1, 1], [0, 1], [1, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("graph", [LabelGraph.grid((2, 2)), LabelGraph.complete(3)])
def test_what_is_no_tree_is_refused_as_one(graph):
    with pytest.raises(SpaceError, match="form: 'tree' given for a space of kind"):
        build_bundle(metric_space(graph), [graph.keys[0]], form="tree")
    with pytest.raises(InputError, match="form: 'matrix' given; choose 'auto'"):
        build_bundle(graph, [graph.keys[0]], form="matrix")

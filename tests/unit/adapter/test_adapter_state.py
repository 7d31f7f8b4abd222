"""What an adapter holds for each label: little, and no more after every feature was asked for something."""

import numpy as np
import pytest

from labelgrove.adapter import Adapter, Subtree, build_bundle, open_bundle
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.bench_scoring_curves import held

pytestmark = pytest.mark.usefixtures("compiled_scoring")

N, K = 20_000, 20
KEYS = [f"{i:05d}" for i in range(N)]


def graph_of(weighted: bool) -> LabelGraph:
    rng = np.random.default_rng(0)
    above = (np.arange(1, N) * rng.random(N - 1)).astype(int)
    pairs = [(KEYS[child], KEYS[parent]) for child, parent in enumerate(above, start=1)]
    return LabelGraph.from_edges(pairs, weights=rng.uniform(0.5, 2, N - 1) if weighted else None)


def bytes_per_label(adapter: Adapter) -> float:
    arrays = {(a.__array_interface__["data"][0], a.nbytes) for a in held(adapter, set())}
    return sum(size for _, size in arrays) / N


@pytest.mark.parametrize(
    ("weighted", "labels", "most", "ranked"),
    # ends 4, parents 4, two depths of 1 or 8, lengths 8; where only leaves are allowed, or several answers
    # are wanted, labels by where they hang, 4 for each and 44 for each distinct height there
    [(False, "all", 10, 8), (False, "leaves", 16, 1), (True, "all", 32, 50), (True, "leaves", 62, 1)],
)
def test_a_tree_is_held_in_few_bytes_a_label_whether_opened_or_made(tmp_path, weighted, labels, most, ranked):
    rng = np.random.default_rng(1)
    observed = [KEYS[i] for i in rng.choice(N, K, replace=False)]
    made = build_bundle(graph_of(weighted), observed, labels=labels)
    made.save(tmp_path / "tree.safetensors")
    opened = open_bundle(tmp_path / "tree.safetensors")
    P = rng.dirichlet(np.ones(K), 50)
    for bundle in (made, opened):
        adapter = Adapter(bundle)
        adapter.predict_indices(P)
        before = bytes_per_label(adapter)
        assert before <= most + 1  # and what goes with the observed labels
        adapter.explain(P[0])
        adapter.back_off(P, 0.1)
        adapter.predict_sets(P)
        adapter.decision_function(P[:2])
        adapter.predict(P, candidates=[list(adapter.keys[:2])] * len(P))
        asked = bytes_per_label(adapter)
        assert asked <= before + ranked
        adapter.predict(P, candidates=Subtree(KEYS[0]))
        assert bytes_per_label(adapter) <= asked + 1

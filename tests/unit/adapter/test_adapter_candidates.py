"""Answers among some of the labels equal the definition on these labels, on every kind of bundle."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.adapter import Adapter, Subtree
from labelgrove.adapter import state as state_module
from labelgrove.adapter.answers import batches as batches_module
from labelgrove.adapter.answers.candidates import LeastRecentlyUsed
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import locus, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def random_graph(seed, n, extra):
    draw = random.Random(seed)
    pairs = [(f"v{i}", f"v{draw.randrange(i)}") for i in range(1, n)]
    pairs += [tuple(f"v{i}" for i in sorted(draw.sample(range(n), 2), reverse=True)) for _ in range(extra)]
    return LabelGraph.from_edges(pairs)


def oracle(graph, metric, labels, observed, row, chosen, beta=2):
    """The chosen allowed labels, best first, by exact whole numbers; and how many are tied for best."""
    space = metric_space(graph, metric, labels)
    distances = space.distances(None, space.point_index(observed)).astype(object)
    totals = {
        label: sum(int(w) * int(d) ** beta for w, d in zip(row, distances[label], strict=True))
        for label in chosen
    }
    ranked = sorted(chosen, key=lambda label: (totals[label], label))
    return ranked, [totals[label] for label in ranked]


@st.composite
def problems(draw):
    n = draw(st.integers(2, 22))
    graph = random_graph(draw(st.integers(0, 10_000)), n, draw(st.integers(0, 3)))
    observed = draw(st.lists(st.sampled_from(list(graph.keys)), min_size=1, max_size=4, unique=True))
    row = st.lists(st.integers(0, 5), min_size=len(observed), max_size=len(observed)).filter(any)
    return graph, observed, draw(st.lists(row, min_size=1, max_size=5))


@given(
    problem=problems(),
    metric=st.sampled_from(["tree", "graph"]),
    leaves=st.booleans(),
    beta=st.sampled_from([1, 2, 3]),
    small=st.booleans(),
    data=st.data(),
)
def test_a_given_set_and_a_set_for_each_row_answer_by_the_definition(
    problem, metric, leaves, beta, small, data
):
    graph, observed, rows = problem
    labels = "leaves" if leaves else "all"
    adapter = Adapter.from_graph(graph, observed, metric=metric, labels=labels, beta=beta)
    some = st.lists(st.integers(0, adapter.n_labels - 1), min_size=1)
    sets = [data.draw(st.none() | some) for _ in rows]
    given_sets = [None if s is None else list(adapter.keys.take(s)) for s in sets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_module, "_SMALL_ENTRIES", 1 << 17 if small else 0)
        patch.setattr(state_module, "_COPIED_ENTRIES", 1 << 24 if small else data.draw(st.integers(0, 20)))
        patch.setattr(batches_module, "_FEW", data.draw(st.sampled_from([0, 3, 256])))
        each = adapter.top_k(rows, 1, candidates=given_sets)
        assert adapter.predict(rows, candidates=given_sets) == [keys[0] for keys in each.keys]
        for i, (row, chosen) in enumerate(zip(rows, sets, strict=True)):
            chosen = range(adapter.n_labels) if chosen is None else sorted(set(chosen))
            k = data.draw(st.integers(1, len(chosen)))
            wanted = None if given_sets[i] is None else given_sets[i]
            found = adapter.top_k(row, k, candidates=wanted)
            ranked, totals = oracle(graph, metric, labels, observed, row, chosen, beta)
            assert found.indices[0].tolist() == ranked[:k]
            assert found.values[0].tolist() == totals[:k]
            assert found.n_tied[0] == totals.count(totals[0])
            assert each.indices[i, 0] == ranked[0]
            assert each.n_tied[i] == totals.count(totals[0])
            assert each.values[i, 0] == totals[0]


@settings(max_examples=30)  # the locus of a tree of leaves takes a few linear programs
@given(problem=problems(), leaves=st.booleans(), data=st.data())
def test_rules_and_subtrees_mean_what_the_graph_says(problem, leaves, data):
    graph, observed, rows = problem
    adapter = Adapter.from_graph(graph, observed, metric="tree", labels="leaves" if leaves else "all")
    space = adapter.space
    parent = {graph.keys[v]: (None if p < 0 else graph.keys[p]) for v, p in enumerate(space.parent.tolist())}

    def above(key):
        while key is not None:
            yield key
            key = parent[key]

    root = data.draw(st.sampled_from(list(graph.keys)))
    meant = {
        "leaves": [key for key in adapter.keys if key not in parent.values()],
        "observed": [key for key in adapter.keys if key in observed],
        "locus": [key for key in adapter.keys if key in locus(space, observed).members],
        Subtree(root): [key for key in adapter.keys if root in above(key)],
    }
    for rule, keys in meant.items():
        if keys:
            expected, found = adapter.top_k(rows, 1, candidates=keys), adapter.top_k(rows, 1, candidates=rule)
            assert found.keys == expected.keys
            assert found.values.tobytes() == expected.values.tobytes()
            decision = adapter.decision_function(rows, candidates=rule)
            np.testing.assert_array_equal(decision, adapter.decision_function(rows, candidates=keys))
            if rule != Subtree(root):
                assert adapter.predict(rows, candidates=rule) == adapter.predict(rows, candidates=keys)
        else:
            with pytest.raises(InputError, match=r"no allowed label|leaves no"):
                adapter.predict(rows, candidates=rule)
    # a label outside the locus is never best
    assert adapter.predict(rows, candidates="locus") == adapter.predict(rows)


def test_the_locus_of_a_block_and_of_a_complete_graph():
    graph = LabelGraph.grid((3, 4))
    observed = [graph.keys[i] for i in (0, 3, 8)]
    adapter = Adapter.from_graph(graph, observed)
    P = np.random.default_rng(0).random((30, 3))
    assert adapter.predict(P, candidates="locus") == adapter.predict(P)
    complete = Adapter.from_graph(LabelGraph.complete(6), ["4", "1"])
    assert complete.predict(P[:, :2], candidates="locus") == complete.predict(P[:, :2])
    assert complete.predict(P[:, :2], candidates="observed") == complete.predict(P[:, :2])


def test_larger_trees_answer_alike_however_the_candidates_are_searched(monkeypatch):
    graph = random_graph(1, 3000, 0)
    rng = np.random.default_rng(1)
    observed = [graph.keys[i] for i in rng.permutation(3000)[:60]]
    adapter = Adapter.from_graph(graph, observed, metric="tree")
    P = np.where(rng.random((300, 60)) < 0.9, 0, rng.random((300, 60))) + 1e-3
    for candidates in ("leaves", Subtree(graph.keys[2]), list(graph.keys)[::7]):
        found = adapter.top_k(P, 3, candidates=candidates)
        monkeypatch.setattr(state_module, "_SMALL_ENTRIES", 1 << 30)
        other = Adapter(adapter.bundle).top_k(P, 3, candidates=candidates)
        monkeypatch.undo()
        assert found.indices.tolist() == other.indices.tolist()
        assert found.values.tobytes() == other.values.tobytes()
        assert found.n_tied.tolist() == other.n_tied.tolist()


def test_scorers_of_candidates_are_kept_and_dropped_in_turn():
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    state = adapter._state
    first = state.candidates(("oak",))
    assert state.candidates(("oak",)) is first
    for i in range(state_module._SETS_KEPT):
        adapter.predict([[1, 1]], candidates=["elm"] * (i + 1))
    assert len(state._sets) == state_module._SETS_KEPT
    assert state.candidates(("oak",)) is not first


def test_what_is_kept_never_exceeds_its_size_with_threads():
    kept = LeastRecentlyUsed(3)

    def use(i):
        assert kept.get(i % 7, lambda: i % 7) == i % 7
        return len(kept)

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(use, range(2000))) <= 3


@pytest.mark.parametrize(
    ("candidates", "error", "match"),
    [
        (
            "roots",
            InputError,
            "'roots' is a single string and not a rule; give 'leaves', 'locus', 'observed'",
        ),
        ([], InputError, "name at least one"),
        ([[], None], InputError, "candidates of row 0: no label given"),
        (["oak", "nowhere"], UnknownLabelError, "nowhere"),
        (["oak", 3], InputError, "row 0 is the single string 'oak'"),
        ([["oak"]], InputError, "1 set for 2 rows"),
        ([["oak"], ["nowhere"]], UnknownLabelError, "nowhere"),
        ([["oak"], [["elm"]]], InputError, "row 1: .* give .leaves"),
        ([["oak"], 5], InputError, "candidates of row 1: 5 given"),
        (5, InputError, "candidates: 5 given"),
        (Subtree("nowhere"), UnknownLabelError, "no label of the tree"),
        (Subtree(3), InputError, "a Subtree of one key"),
    ],
)
def test_candidates_that_break_a_rule_are_refused(candidates, error, match):
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    with pytest.raises(error, match=match):
        adapter.predict([[1, 0], [0, 1]], candidates=candidates)


def test_more_labels_than_candidates_are_refused():
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    with pytest.raises(InputError, match=r"from 1 to 2, the number of candidates$"):
        adapter.top_k([[1, 1]], 3, candidates=["oak", "elm", "oak"])
    with pytest.raises(InputError, match=r"from 1 to 1, the number of candidates of row 1$"):
        adapter.top_k([[1, 1], [1, 1]], 2, candidates=[["oak", "elm"], ["oak"]])
    with pytest.raises(InputError, match="from 1 to 5"):
        adapter.top_k([[1, 1]], True, candidates=[None])
    with pytest.raises(InputError, match="give 'leaves'"):
        adapter.decision_function([[1, 1]], candidates=[["oak"]])


def test_a_block_has_no_leaves_and_no_subtrees_but_its_own():
    grid = LabelGraph.grid((2, 3))
    adapter = Adapter.from_graph(grid, [grid.keys[0]])
    for candidates in ("leaves", Subtree(grid.keys[0])):
        with pytest.raises(SpaceError, match="which a block bundle does not contain"):
            adapter.predict([[1.0]], candidates=candidates)
    leaves = Adapter(build_bundle(TREE, ["oak", "moss"], metric="graph", labels="leaves"))
    assert leaves.bundle.kind == "block"
    assert leaves.predict([[1, 1]], candidates="leaves") == leaves.predict([[1, 1]])
    outside = Adapter(build_bundle(TREE, ["tree"], labels="leaves"))
    with pytest.raises(InputError, match="'observed' gives no allowed label"):
        outside.predict([[1]], candidates="observed")
    with pytest.raises(InputError, match="'locus' needs beta 2"):
        Adapter.from_graph(TREE, ["oak"], beta=1).predict([[1]], candidates="locus")


def test_a_subtree_that_is_named_by_a_name_is_told_the_key():
    edges = [("2", "1"), ("3", "1")]
    graph = LabelGraph.from_edges(edges, names={"1": "food", "2": "fruit", "3": "herb"})
    adapter = Adapter.from_graph(graph, ["2", "3"])
    for key, advice in {"fruit": "it is the name of '2': give keys", "friut": "close to it: 'fruit'"}.items():
        with pytest.raises(UnknownLabelError, match=f"^candidates: subtree of '{key}': .*; {advice}$"):
            adapter.predict([[1, 0]], candidates=Subtree(key))

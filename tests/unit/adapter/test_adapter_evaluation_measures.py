"""Measures of an evaluation against hand-computed cases, scikit-learn and other ways to the same number."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, top_k_accuracy_score

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.evaluation.measures.ancestry import Ancestry
from labelgrove.adapter.evaluation.measures.scores import Severity
from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import CompleteSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

#      r           level 0, height 3
#      a     b     level 1, height 2 and 0
#      c  d        level 2, height 1 and 0
#      e           level 3, height 0
TREE = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("d", "a"), ("e", "c")])


def cifar():
    """The default tree of CIFAR-100: a root, 20 superclasses, 5 classes each; the classes are the answers."""
    pairs = [(f"super{s:02d}", "root") for s in range(20)]
    pairs += [(f"class{c:02d}", f"super{c // 5:02d}") for c in range(100)]
    return metric_space(LabelGraph.from_edges(pairs), labels="leaves")


def drawn(space, n, k, seed, sharp=1.0):
    rng = np.random.default_rng(seed)
    observed = [space.keys[i] for i in sorted(rng.choice(space.n_labels, k, replace=False))]
    P = rng.dirichlet(np.full(k, sharp), n)
    truth = [space.keys[i] for i in rng.integers(0, space.n_labels, n)]
    return observed, P, truth


def test_hierarchical_measures_worked_out_by_hand():
    # All weight on one observed label. Answer -> truth: e -> a (meet a), b -> e (meet r), d -> d (meet d),
    # e -> c (meet c). Ancestors without the root: e 3, c 2, d 2, b 1, a 1.
    result = evaluate(
        metric_space(TREE),
        [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]],
        ["a", "e", "d", "c"],
        observed=["e", "d", "b"],
        branch_level=1,
    )
    scores = result["argmax"].all
    shared, of_answer, of_truth = 1 + 0 + 2 + 2, 3 + 1 + 2 + 3, 1 + 3 + 2 + 2
    assert scores.hierarchical_precision == shared / of_answer
    assert scores.hierarchical_recall == shared / of_truth
    assert scores.hierarchical_f == 2 * shared / (of_answer + of_truth)
    assert scores.lca_height == (2 + 3 + 0 + 1) / 4
    assert [(b.key, b.scores.n) for b in result["argmax"].branches] == [("a", 4)]


def test_an_answer_without_ancestors_has_no_precision():
    result = evaluate(metric_space(TREE), [[1, 1]], ["e"], observed=["a", "b"])
    assert result["frechet_mean"].all.mean_distance == 3  # it answers r
    assert result["frechet_mean"].all.hierarchical_precision is None
    assert result["frechet_mean"].all.hierarchical_recall == result["frechet_mean"].all.hierarchical_f == 0


def test_meetings_heights_and_branches_equal_their_definitions():
    rng = np.random.default_rng(3)
    parent = {f"v{i}": f"v{int(rng.integers(0, i))}" for i in range(1, 60)}
    space = metric_space(LabelGraph.from_edges(parent.items()))
    tree = Ancestry(space, space.keys)

    def ancestors(key):
        return [key, *(ancestors(parent[key]) if key in parent else [])]

    depth = {key: len(ancestors(key)) - 1 for key in space.keys}
    below = {key: [k for k in space.keys if key in ancestors(k)] for key in space.keys}
    a, b = (v.ravel() for v in np.meshgrid(np.arange(60), np.arange(60)))
    meet = tree.meet(tree.position[a], tree.position[b])
    for i, j, m in zip(a, b, meet, strict=True):
        shared = [k for k in ancestors(space.keys[i]) if k in ancestors(space.keys[j])]
        assert tree.key(int(m)) == shared[0]
        assert tree.level[m] == depth[shared[0]]
        assert tree.height[m] == max(depth[k] for k in below[shared[0]]) - depth[shared[0]]
    assert (tree.distance(tree.position[a], tree.position[b], meet) == space.distances()[a, b]).all()
    for level in range(max(depth.values()) + 1):
        branch = tree.branch(level)
        for key in space.keys:
            up = [k for k in ancestors(key) if depth[k] == level] or [key]
            assert tree.key(int(branch[tree.position[space.keys.index(key)]])) == up[0]


def test_accuracy_and_top_k_are_those_of_scikit_learn():
    space = CompleteSpace([f"k{i}" for i in range(7)])
    rng = np.random.default_rng(5)
    P, truth = rng.dirichlet(np.ones(7), 400), rng.integers(0, 7, 400)
    for k in (1, 2, 5):
        result = evaluate(space, P, space.keys.take(truth), observed=space.keys, top_k=k)
        for rule in ("frechet_mean", "argmax", "observed_only", "crm"):
            assert result[rule].all.accuracy == accuracy_score(truth, P.argmax(axis=1))
            expected = top_k_accuracy_score(truth, P, k=k, labels=np.arange(7))
            assert result[rule].all.top_k_accuracy == expected, rule
        assert result["constant"].all.top_k_accuracy is None


def test_top_k_of_argmax_takes_ties_in_canonical_order():
    space = CompleteSpace(["a", "b", "c", "d"])
    P = [[0.1, 0.3, 0.3, 0.3]] * 4  # columns d, c, b, a: a, b and c are tied, d is last
    for k, expected in ((1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)):
        result = evaluate(space, P, ["a", "b", "c", "d"], observed=["d", "c", "b", "a"], top_k=k)
        assert result["argmax"].all.top_k_accuracy == result["frechet_mean"].all.top_k_accuracy == expected


def test_squared_distance_is_the_confusion_matrix_times_squared_distances():
    space = cifar()
    observed, P, truth = drawn(space, 300, 30, 6)
    result = evaluate(space, P, truth, observed=observed)
    answers = [observed[i] for i in P.argmax(axis=1)]
    counts = confusion_matrix(truth, answers, labels=list(space.keys))
    squared = space.distances(None, space.point_index(space.keys)).astype(float) ** 2
    assert result["argmax"].all.mean_squared_distance == pytest.approx((counts * squared).sum() / 300)
    assert result["argmax"].all.accuracy == pytest.approx(np.trace(counts) / 300)


def test_the_default_tree_of_cifar_100_is_normalized_by_sixteen():
    space = cifar()
    observed, P, truth = drawn(space, 200, 100, 7)
    result = evaluate(space, P, truth, observed=observed)
    assert result.diameter**2 == 16
    for rule in result.rules:
        assert rule.all.normalized == rule.all.mean_squared_distance / 16
    assert len(result["frechet_mean"].branches) == 20
    assert sum(b.scores.n for b in result["frechet_mean"].branches) == 200


@pytest.mark.parametrize("decimals", [1, 3, None])
def test_on_a_complete_graph_every_row_is_answered_as_argmax_does(decimals):
    keys = [f"k{i:02d}" for i in range(12)]
    observed = keys[::-1]
    P = np.random.default_rng(8).dirichlet(np.full(12, 0.5), 2000)
    if decimals is not None:
        P = np.maximum(np.round(P, decimals), 1e-9)
    adapter = Adapter.from_graph(LabelGraph.complete(12), LabelGraph.complete(12).keys)
    space = CompleteSpace(keys)
    result = evaluate(space, P, keys * 166 + keys[:8], observed=observed)
    assert result["frechet_mean"].severity == result["argmax"].severity
    assert result["frechet_mean"].all == result["argmax"].all
    assert result["argmax"].difference.low == result["argmax"].difference.high == 0
    assert result.verdict.answer != "use it"
    flat = adapter.predict_indices(P)
    assert (flat == np.isclose(P, P.max(axis=1, keepdims=True), rtol=1e-12, atol=0).argmax(axis=1)).all()


def test_probabilities_that_differ_by_less_than_the_tie_rule_are_answered_alike():
    n = 200
    keys = [f"k{i:03d}" for i in range(n)]
    P = np.full((n, n), 1 / n)
    P[:, n // 2 :] *= 1 + 1e-10  # which makes a loss that is smaller by 5e-13 of it
    result = evaluate(CompleteSpace(keys), P, keys[:1] * n, observed=keys, top_k=1)
    for rule in ("frechet_mean", "argmax"):
        assert (result[rule].all.accuracy, result[rule].all.top_k_accuracy) == (1, 1), rule


def test_branches_add_up_to_the_whole():
    space = metric_space(LabelGraph.from_edges([(f"v{i}", f"v{(i - 1) // 3}") for i in range(1, 80)]))
    observed, P, truth = drawn(space, 500, 9, 9)
    for level in (0, 1, 2):
        result = evaluate(space, P, truth, observed=observed, branch_level=level)
        for rule in result.rules:
            n = sum(b.scores.n for b in rule.branches)
            total = sum(b.scores.n * b.scores.mean_squared_distance for b in rule.branches)
            assert (n, total / n) == (500, pytest.approx(rule.all.mean_squared_distance))
    assert [
        b.key for b in evaluate(space, P, truth, observed=observed, branch_level=0)["frechet_mean"].branches
    ] == ["v0"]


def test_branches_are_those_at_which_samples_part():
    """Two long stems: all samples are far up one of them, and part into leaves at level 5."""
    stem = [(f"a{i}", f"a{i - 1}") for i in range(1, 5)] + [("a0", "r"), ("b", "r")]
    space = metric_space(LabelGraph.from_edges(stem + [(f"leaf{i}", "a3") for i in range(6)]))
    truth = [f"leaf{i % 6}" for i in range(60)]
    P = np.random.default_rng(0).dirichlet(np.ones(2), 61)
    found = evaluate(space, P, [*truth, "b"], observed=["leaf0", "b"])
    assert found.branch_level == 5
    assert [(b.key, b.scores.n) for b in found["frechet_mean"].branches] == [
        *((f"leaf{i}", 10) for i in range(6)),
        ("b", 1),
    ]
    assert "by branch (level 5)" in found.render()
    assert evaluate(space, P, [*truth, "b"], observed=["leaf0", "b"], branch_level=1).branch_level == 1
    assert evaluate(space, P[:60], ["leaf1"] * 60, observed=["leaf0", "b"]).branch_level == 1
    half = evaluate(space, P[:60], ["leaf1"] * 30 + ["b"] * 30, observed=["leaf0", "b"])
    assert half.branch_level == 1
    most = evaluate(space, P[:60], ["leaf1"] * 40 + ["a2"] * 20, observed=["leaf0", "b"])
    assert most.branch_level == 4  # where a2 is a branch of its own


def test_a_graph_metric_takes_its_hierarchy_from_a_tree_beside_it():
    graph, tree = metric_space(TREE, metric="graph"), metric_space(TREE)
    observed, P, truth = drawn(tree, 60, 3, 10)
    plain = evaluate(graph, P, truth, observed=observed)
    assert plain["frechet_mean"].branches == ()
    assert plain["frechet_mean"].all.hierarchical_f is None
    with_tree = evaluate(graph, P, truth, observed=observed, hierarchy=tree)
    assert with_tree.rules == evaluate(tree, P, truth, observed=observed).rules
    other = metric_space(LabelGraph.from_edges([("a", "r"), ("b", "r")]))
    with pytest.raises(SpaceError, match="lacks labels of the bundle"):
        evaluate(graph, P, truth, observed=observed, hierarchy=other)
    with pytest.raises(InputError, match="levels 0 \\(the root\\) to 3"):
        evaluate(tree, P, truth, observed=observed, branch_level=4)


def test_bins_of_distances_beyond_the_diameter_and_of_one_label():
    whole = Severity(2.0, True)
    whole.add("a", np.array([0.0, 1.0, 5.0]))
    whole.add("b", np.array([2.0]))
    assert whole.edges() == (0, 1, 2, 3, 4, 5, 6)
    assert whole.counts("a") == (1, 1, 0, 0, 0, 1)
    assert whole.counts("b") == (0, 0, 1, 0, 0, 0)
    broken = Severity(1.0, False)
    broken.add("a", np.array([0.0, 0.05, 1.0, 1.5]))
    assert broken.edges()[-2:] == (1.0, 1.5)
    assert broken.counts("a") == (1, 1, *[0] * 17, 1, 1)
    one = Severity(0.0, False)
    one.add("a", np.array([0.0, 0.0]))
    assert one.counts("a") == (2,)


def test_the_report_as_text_and_as_json():
    space = cifar()
    observed, P, truth = drawn(space, 100, 20, 11)
    result = evaluate(space, P, truth, observed=observed)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["verdict"]["answer"] == result.verdict.answer
    assert (
        document["rules"]["argmax"]["difference"]["low"] < document["rules"]["argmax"]["difference"]["high"]
    )
    assert "(level 1)" in result.render()
    assert result.render().splitlines()[-1].startswith("verdict: ")

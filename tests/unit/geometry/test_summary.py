"""Summaries: the published process replayed literally, the other methods by their laws."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.geometry.kernels.graphs import unionfind
from labelgrove.ontology.geometry.summaries.distortion import supernode_diameters
from labelgrove.ontology.geometry.summaries.expand import expand
from labelgrove.ontology.geometry.summaries.summary import DegenerateSummaryWarning, summarize
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles

METHODS = ("neighbourhood", "node", "capped", "subtree")


def hierarchy(n: int, seed: int, extra: float = 0.3, weighted: bool = False) -> LabelGraph:
    """A random hierarchy in which a share `extra` of the labels has a second parent."""
    rng = np.random.default_rng(seed)
    pairs = {(c, int(rng.integers(c))) for c in range(1, n)}
    pairs |= {(c, int(rng.integers(c))) for c in range(2, n) if rng.random() < extra}
    listed = sorted(pairs)
    weights = rng.integers(1, 6, len(listed)).astype(float) if weighted else None
    return LabelGraph.from_edges([(f"{c:03d}", f"{p:03d}") for c, p in listed], weights=weights)


def cycle(n: int) -> LabelGraph:
    return LabelGraph.from_edges([(f"{i:02d}", f"{(i + 1) % n:02d}") for i in range(n)], directed=False)


def star(n: int) -> LabelGraph:
    return LabelGraph.from_edges([(f"leaf{i:03d}", "hub") for i in range(n)])


def quietly(graph: LabelGraph, target: int, **options: object):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateSummaryWarning)
        return summarize(graph, target, **options)


# ---- the published process, literally -----------------------------------------------------------------


class SplitMix64:
    """The generator by its definition, in Python's integers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        while (x := self.next()) < 2**64 % n:
            pass
        return x % n


def literal(
    graph: LabelGraph, target: int, seed: int, *, whole: bool
) -> tuple[list[frozenset[int]], list[int]]:
    """Draw a supernode among those that have neighbors, merge its neighbors into it, and so on.

    A supernode is a list of labels; its neighbors are looked up afresh, by reading every adjacency list of
    the labels that joined since it was last drawn. Returns the supernodes and the ones drawn.
    """
    random = SplitMix64(seed)
    around: list[list[int]] = [[] for _ in range(graph.n_labels)]
    for c, p in zip(graph.edge_child.tolist(), graph.edge_parent.tolist(), strict=True):
        around[c].append(p)
        around[p].append(c)
    inside = {v: {v} for v in range(graph.n_labels)}  # supernode -> its labels
    unread = {v: [v] for v in range(graph.n_labels)}
    drawable = list(range(graph.n_labels))
    picks = []

    def leave(r: int) -> None:
        if r in drawable:  # the last takes its place
            at = drawable.index(r)
            last = drawable.pop()
            if last != r:
                drawable[at] = last

    def merged(r: int) -> bool:
        """Merge the neighbors of `r` into it; False where the target stops it in the middle."""
        labels, unread[r] = unread[r], []
        for v in labels:
            for u in around[v]:
                if not whole and len(inside) == target:
                    return False
                x = next(s for s, members in inside.items() if u in members)
                if x != r:
                    inside[r] |= inside.pop(x)
                    unread[r] += unread.pop(x)
                    leave(x)
        return True

    while len(inside) > target and drawable:
        r = drawable[random.below(len(drawable))]
        if not unread[r]:
            leave(r)
            continue
        picks.append(r)
        merged(r)
    return sorted(map(frozenset, inside.values()), key=min), picks


@pytest.mark.parametrize("method", ["neighbourhood", "node"])
@pytest.mark.parametrize("seed", range(6))
def test_the_published_process_is_the_literal_one(method: str, seed: int):
    for graph in (hierarchy(70, seed), cycle(50), LabelGraph.grid((6, 7)), star(30)):
        for target in (1, 2, 9, 25):
            summary = quietly(graph, target, method=method, seed=seed)
            sets, picks = literal(graph, target, seed, whole=method == "neighbourhood")
            found = [frozenset(summary.members(s).tolist()) for s in range(summary.n_supernodes)]
            assert found == sets
            assert summary.picks.tolist() == picks


def test_the_two_published_forms_differ_where_they_stop():
    graph = hierarchy(200, 3)
    assert quietly(graph, 20, method="node").n_supernodes == 20
    assert quietly(graph, 20, method="neighbourhood").n_supernodes < 20


def test_the_generator_is_splitmix64():
    state = np.array([1234567], dtype=np.uint64)
    drawn = [unionfind.draw(state, 2**62) for _ in range(3)]
    known = (6457827717110365317, 3203168211198807973, 9817491932198370423)  # the reference's first outputs
    assert drawn == [x % 2**62 for x in known]


def test_draws_that_would_come_more_often_are_drawn_again():
    n = 3 * 2**61  # 2^64 is no multiple of it: a quarter of all numbers is rejected
    state, literally = np.array([9], dtype=np.uint64), SplitMix64(9)
    assert [unionfind.draw(state, n) for _ in range(60)] == [literally.below(n) for _ in range(60)]


def test_each_supernode_is_drawn_equally_often():
    # The first draw on a cycle is uniform over its labels: 3,000 seeds, 12 labels, 250 expected each.
    graph = cycle(12)
    first = Counter(int(summarize(graph, 10, method="node", seed=s).picks[0]) for s in range(3000))
    assert len(first) == 12
    assert sum((count - 250) ** 2 / 250 for count in first.values()) < 31.3  # chi-square, 11 degrees: 0.1 %


@pytest.mark.parametrize("method", ["neighbourhood", "node", "capped"])
def test_each_adjacency_entry_is_read_at_most_once(method: str):
    for seed in range(4):
        graph = hierarchy(300, seed)
        for target in (1, 30, 150):
            summary = quietly(graph, target, method=method, seed=seed)
            assert 0 < summary.entries_scanned <= 2 * graph.n_edges


def test_results_do_not_change_between_versions():
    """Pinned: whoever changes a draw or an order changes what a seed means."""
    summary = summarize(hierarchy(40, 0), 8, seed=5)
    assert summary.assignment.tolist() == PINNED


PINNED = [int(digit) for digit in "0011112222230034000444555544551156514407"]

# ---- laws of every method -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_supernodes_are_numbered_by_their_lowest_member(method: str):
    summary = quietly(hierarchy(120, 1), 15, method=method)
    first = np.unique(summary.assignment, return_index=True)[1]
    assert (np.diff(first) > 0).all()
    assert summary.representatives.tolist() == first.tolist()
    assert summary.sizes.tolist() == np.bincount(summary.assignment).tolist()
    assert summary.sizes.sum() == 120
    assert summary.n_supernodes <= 15
    assert summary.largest_share == summary.sizes.max() / 120
    assert summary.assignment.dtype == np.int32


@pytest.mark.parametrize("method", METHODS)
def test_the_quotient_has_least_weights_and_counts(method: str):
    graph = hierarchy(90, 2, weighted=True)
    summary = quietly(graph, 12, method=method)
    expected: dict[tuple[int, int], list[float]] = {}
    for child, parent, weight, _ in graph.edges():
        ends = sorted(int(summary.assignment[graph.keys.index(key)]) for key in (child, parent))
        if ends[0] != ends[1]:
            expected.setdefault((ends[0], ends[1]), []).append(weight)
    found = {
        (a, b): (weight, count)
        for (a, b), weight, count in zip(
            summary.edges.tolist(), summary.weights.tolist(), summary.counts.tolist(), strict=True
        )
    }
    assert found == {pair: (min(weights), len(weights)) for pair, weights in expected.items()}
    quotient = summary.graph()
    assert not quotient.directed
    assert set(quotient.keys) == set(summary.keys)
    assert {(frozenset((a, b)), w) for a, b, w, _ in quotient.edges()} == {
        (frozenset((summary.keys[a], summary.keys[b])), w) for (a, b), (w, _) in found.items()
    }


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_summary(method: str):
    graph = hierarchy(100, 4)
    first, second = (quietly(graph, 10, method=method, seed=7) for _ in range(2))
    assert first.assignment.tolist() == second.assignment.tolist()
    other = quietly(graph, 10, method=method, seed=8)
    assert (first.assignment.tolist() == other.assignment.tolist()) == (method == "subtree")


@pytest.mark.parametrize("method", METHODS)
def test_a_target_of_all_labels_or_more_merges_nothing(method: str):
    graph = hierarchy(20, 0)
    for target in (20, 1000):
        assert summarize(graph, target, method=method).assignment.tolist() == list(range(20))


@pytest.mark.parametrize("method", METHODS)
def test_one_label_is_one_supernode(method: str):
    graph = LabelGraph.from_edges([], labels=["only"])
    summary = summarize(graph, 1, method=method)
    assert summary.keys == ("only",)
    assert summary.counts.shape == summary.weights.shape == (0,)
    assert summary.edges.shape == (0, 2)
    assert summary.graph().n_edges == 0


# ---- the cap ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_default_cap_always_reaches_the_target(seed: int):
    for graph in (star(200), hierarchy(200, seed), cycle(90), LabelGraph.grid((9, 9)), path_of_stars(8, 24)):
        for target in (1, 2, 3, 7, 20, 60):
            summary = quietly(graph, target, seed=seed)
            assert summary.n_supernodes <= target
            assert summary.sizes.max() <= summary.cap <= max(4 * graph.n_labels / target + 1, 1)


def path_of_stars(n_hubs: int, n_leaves: int) -> LabelGraph:
    pairs = [(f"hub{h:02d}", f"hub{h - 1:02d}") for h in range(1, n_hubs)]
    pairs += [(f"leaf{h:02d}-{i:02d}", f"hub{h:02d}") for h in range(n_hubs) for i in range(n_leaves)]
    return LabelGraph.from_edges(pairs)


def test_siblings_under_a_hub_are_packed_together():
    # 100 leaves at one hub: only one supernode can hold the hub, so the others are runs of leaves.
    summary = summarize(star(100), 5, cap=25)
    assert summary.n_supernodes == 5
    assert sorted(summary.sizes.tolist())[-1] <= 25


def test_a_cap_is_a_number_or_a_share():
    graph = hierarchy(100, 0)
    assert summarize(graph, 20, cap=0.1).cap == summarize(graph, 20, cap=10).cap == 10
    assert summarize(graph, 20, cap=0.1).largest_share <= 0.1


@pytest.mark.parametrize(
    ("cap", "told"),
    [(0, "at least 1"), (4, "hold only 80 of 100"), (1.5, "share"), (0.01, "hold"), ("9", "str")],
)
def test_a_cap_that_cannot_be_is_refused(cap: object, told: str):
    with pytest.raises(InputError, match=f"cap: .*{told}"):
        summarize(hierarchy(100, 0), 20, cap=cap)


def test_a_cap_under_which_merging_ends_too_early_is_an_error_with_the_figure():
    # On a path of six, pairs 1-2 and 3-4 leave the two ends alone, without a neighbor in common.
    graph = LabelGraph.from_edges([(f"{i + 1}", f"{i}") for i in range(5)])
    told = []
    for seed in range(20):
        try:
            assert summarize(graph, 3, cap=2, seed=seed).sizes.tolist() == [2, 2, 2]
        except InputError as error:
            told.append(str(error))
    assert 0 < len(told) < 20
    assert {t[: t.index(";")] for t in told} == {
        "cap: with at most 2 labels in a supernode, merging ends at 4 supernodes, above the target of 3"
    }


# ---- subtrees -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_piece_is_a_subtree_less_its_cut_branches_or_a_run_of_siblings(seed: int):
    graph = hierarchy(150, seed)
    summary = quietly(graph, 18, method="subtree")
    parent = graph.primary_parent
    for s in range(summary.n_supernodes):
        members = set(summary.members(s).tolist())
        tops = [v for v in members if parent[v] not in members]
        assert len({int(parent[v]) for v in tops}) == 1  # one top, or siblings


def test_the_size_of_the_pieces_is_the_smallest_that_serves():
    graph = hierarchy(200, 1)
    summary = quietly(graph, 20, method="subtree")
    _, fewer = unionfind.contract_subtrees(graph.primary_parent, int(summary.sizes.max()) - 1)
    assert fewer > 20 >= summary.n_supernodes


def test_subtrees_of_different_roots_stay_apart():
    graph = LabelGraph.from_edges([("a1", "a"), ("a2", "a"), ("b1", "b")])
    summary = summarize(graph, 2, method="subtree")
    assert [expand(summary, s) for s in (0, 1)] == [("a", "a1", "a2"), ("b", "b1")]
    with pytest.raises(InputError, match="2 roots"):
        summarize(graph, 1, method="subtree")


def test_subtrees_need_a_hierarchy():
    with pytest.raises(InputError, match="undirected"):
        summarize(cycle(6), 2, method="subtree")


# ---- bad input and degenerate outcomes ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": 0}, "target: 0 given; it must be at least 1"),
        ({"target": -3}, "target: -3"),
        ({"target": 2.5}, "target: 2.5 of type float"),
        ({"target": True}, "target: True of type bool"),
        ({"target": 5, "seed": -1}, "seed: -1"),
        ({"target": 5, "seed": "x"}, "seed: 'x'"),
        ({"target": 5, "method": "random"}, "method: 'random'"),
        ({"target": 5, "method": "node", "cap": 3}, "cap: works only with method='capped'"),
    ],
)
def test_bad_arguments_are_named(options: dict, told: str):
    with pytest.raises(InputError, match=told):
        summarize(hierarchy(30, 0), **options)


@pytest.mark.parametrize("method", ["neighbourhood", "node", "capped"])
def test_parts_are_never_joined(method: str):
    graph = LabelGraph.from_edges(
        [(f"{i}{j}", f"{i}r") for i in range(3) for j in range(6)], labels=["alone"]
    )
    with pytest.raises(InputError, match="target: 3 supernodes requested for a graph with 4 parts"):
        summarize(graph, 3, method=method)
    summary = summarize(graph, 4, method=method)
    assert sorted(summary.sizes.tolist()) == [1, 7, 7, 7]
    assert np.array_equal(summary.assignment, graph.components)


def test_a_giant_supernode_is_a_warning_with_the_figure():
    with pytest.warns(DegenerateSummaryWarning, match=r"one supernode of 5 holds 96\.\d% of all 101 labels"):
        summarize(star(100), 5, method="node")


def test_two_supernodes_and_even_ones_raise_no_warning():
    assert summarize(star(100), 2, method="node").largest_share > 0.9
    assert summarize(star(100), 10).largest_share < 0.5


# ---- distortion ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_true_distances_lie_within_the_bounds(method: str, weighted: bool):
    for seed in range(4):
        graph = hierarchy(80, seed, weighted=weighted)
        space = metric_space(graph, "graph")
        true = space.distances().astype(float)
        summary = quietly(graph, 9, method=method, seed=seed)
        bounds = summary.distortion(np.arange(summary.n_supernodes))
        of = summary.assignment
        slack = 1e-9
        assert (bounds.lower[of][:, of] <= true + slack).all()
        assert (true <= bounds.upper[of][:, of] + slack).all()
        for s in range(summary.n_supernodes):
            members = summary.members(s)
            assert true[np.ix_(members, members)].max() <= summary.diameters[s] + slack


def test_diameters_of_stars_and_paths_are_exact():
    assert summarize(star(40), 1).diameters.tolist() == [2]
    path = LabelGraph.from_edges([(f"{i:02d}", f"{i + 1:02d}") for i in range(20)])
    assert summarize(path, 1).diameters.tolist() == [20]
    summary = summarize(star(40), 40)
    assert sorted(summary.diameters.tolist()) == [0] * 39 + [1]


def test_siblings_apart_are_measured_through_their_hub():
    summary = summarize(star(100), 5, cap=25)
    assert set(summary.diameters[summary.sizes > 1].tolist()) == {2}
    assert set(summary.diameters[summary.sizes == 1].tolist()) <= {0}


def test_members_are_joined_by_labels_next_to_two_of_them():
    # Every other label of a path: seen from the middle one, the ends are 2 + 2 apart; from an end, 4 + 2.
    graph = LabelGraph.from_edges([(f"{i + 1}", f"{i}") for i in range(4)])
    assignment = np.array([0, 1, 0, 1, 0], dtype=np.int32)
    assert supernode_diameters(graph, assignment, np.array([3, 2])).tolist() == [4, 2]


@pytest.mark.parametrize("seed", range(20))
def test_diameters_are_exact_where_the_edges_at_members_form_a_tree(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 12))
    shape = ("path", "star", "tree")[seed % 3]
    parents = [{"path": i - 1, "star": 0, "tree": int(draw.integers(i))}[shape] for i in range(1, n)]
    pairs = [(f"v{i:02d}", f"v{p:02d}") for i, p in enumerate(parents, start=1)]
    weights = [1.0, 2.0, 1.0] if seed == 0 else draw.integers(1, 9, n - 1).tolist()
    if seed == 0:  # from the middle of this path the ends are 3 and 1 away, and the others 2 at most
        n, pairs = 4, [("v01", "v00"), ("v02", "v01"), ("v03", "v02")]
    graph = LabelGraph.from_edges(pairs, weights=weights)
    whole = np.zeros(n, dtype=np.int32)
    diameter = max(map(max, oracles.graph_distances(graph)))
    assert supernode_diameters(graph, whole, np.array([n])).tolist() == [diameter]


def test_sets_that_hang_together_by_other_sets_are_measured_over_any_labels():
    # In the middle of a path three labels; each end joins the other through that set alone.
    graph = LabelGraph.from_edges([(f"{i + 1}", f"{i}") for i in range(4)])
    assignment = np.array([0, 1, 1, 1, 0], dtype=np.int32)
    assert supernode_diameters(graph, assignment, np.array([2, 3])).tolist() == [4, 2]


def test_labels_without_a_path_are_infinitely_far():
    graph = LabelGraph.from_edges([("a1", "a"), ("b1", "b")])
    bounds = summarize(graph, 2).distortion([0])
    assert bounds.lower.tolist() == [[0, np.inf]]
    assert bounds.upper.tolist() == [[1, np.inf]]


@pytest.mark.parametrize("bad", [[5], [-1], [0.5], 0])
def test_distortion_from_no_supernode_is_refused(bad: object):
    with pytest.raises(InputError, match="supernodes"):
        summarize(star(10), 5).distortion(bad)

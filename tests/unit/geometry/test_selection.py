"""Selection against exhaustive search: every prefix on trees, purchases, bounds, and greedy on any space."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, MetricSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.selections.attachmentbounds import AttachmentBounds
from labelgrove.ontology.geometry.selections.growing import Limits
from labelgrove.ontology.geometry.selections.growingmeasured import MOST_DRAWN, MOST_MEASURED, MeasuredLocus
from labelgrove.ontology.geometry.selections.purchases import most_purchases, purchase_bound
from labelgrove.ontology.geometry.selections.selection import Selection, select_classes, select_next
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.geometry.geometry_cases import random_case

SEED = 11


def name(i: int) -> str:
    return f"{i:04d}"


def random_tree(rng: np.random.Generator, n: int, *, weighted: bool = False) -> TreeSpace:
    """A tree whose canonical order is not its preorder, so that ties and positions are told apart."""
    parent = np.array([-1] + [int(rng.integers(max(0, i - 4), i)) for i in range(1, n)])
    shuffled = rng.permutation(n)
    moved = np.full(n, -1)
    moved[shuffled[1:]] = shuffled[parent[1:]]
    lengths = rng.integers(1, 9, n).astype(float) if weighted else None
    return TreeSpace.from_arrays(Keys.from_strings(map(name, range(n))), moved, lengths)


def hull_size(space: TreeSpace, points: list[int]) -> int:
    """Vertices on a path between two of `points`, by the definition: detours are longer."""
    distance = space.distances().astype(float)
    on = [
        any(distance[a, v] + distance[v, b] == distance[a, b] for a in points for b in points)
        for v in range(space.n_points)
    ]
    return sum(on)


def best_total(space: TreeSpace, observed: list[int], pool: list[int], m: int) -> int:
    return max(hull_size(space, [*observed, *chosen]) for chosen in combinations(pool, m))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_observed", [0, 1, 3])
def test_every_prefix_is_the_best_of_its_size(n_observed: int, weighted: bool) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(12):
        n = int(rng.integers(max(2, n_observed + 1), 11))
        space = random_tree(rng, n, weighted=weighted)
        observed = rng.permutation(n)[:n_observed].tolist()
        rest = [v for v in range(n) if v not in observed]
        pool = sorted(rng.permutation(rest)[: int(rng.integers(1, len(rest) + 1))].tolist())
        found = select_classes(space, map(name, observed), candidates=map(name, pool))
        assert found.status == "exact"
        assert found.size_before == (hull_size(space, observed) if observed else 0)
        assert found.sizes.tolist() == [
            hull_size(space, [*observed, *found.index[:m].tolist()]) for m in range(1, len(found) + 1)
        ]
        for m in range(1, min(4, len(found)) + 1):
            assert found.sizes[m - 1] == best_total(space, observed, pool, m)
        assert found.upper_bound == found.gains.sum()


@pytest.mark.parametrize("n_observed", [1, 4])
def test_of_equal_gains_the_lowest_index_is_picked_in_every_round(n_observed: int) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        n = int(rng.integers(n_observed + 1, 26))
        space = random_tree(rng, n)
        observed = rng.permutation(n)[:n_observed].tolist()
        found = select_classes(space, map(name, observed), n - n_observed)
        assert len(set(found.index.tolist())) == n - n_observed
        for pick, gain in zip(found.index.tolist(), found.gains.tolist(), strict=True):
            sizes = {v: hull_size(space, [*observed, v]) for v in range(n) if v not in observed}
            largest = max(sizes.values())
            assert pick == min(v for v, size in sizes.items() if size == largest)
            assert gain == largest - hull_size(space, observed)
            observed.append(pick)


def test_without_observed_labels_it_starts_at_the_lowest_end_of_a_longest_path() -> None:
    space = TreeSpace.from_arrays(Keys.from_strings("rabcde"), [-1, 0, 1, 0, 3, 0], [0, 1, 1, 1, 1, 50.0])
    found = select_classes(space, [], 3)
    assert found.keys == ("b", "d", "e")  # by labels: the long edge to e counts as one
    assert found.gains.tolist() == [1, 4, 1]
    assert (found.size_before, found.status) == (0, "exact")
    assert select_classes(space, [], candidates=["a", "c", "e"]).keys == ("a", "c", "e")


def test_new_labels_count_and_not_length() -> None:
    tree = TreeSpace.from_arrays(Keys.from_strings("0123"), [-1, 0, 0, 2], [0.0, 5.0, 1.0, 1.0])
    found = select_classes(tree, ["0"])
    assert (found.keys, found.gains.tolist()) == (("3", "1"), [2, 1])
    assert select_next(tree, ["0"]) == "3"


def test_labels_in_the_locus_come_last_by_index_and_gain_nothing() -> None:
    line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    assert select_classes(line, ["a", "e"]).keys == ()
    found = select_classes(line, ["a", "e"], 3)
    assert (found.keys, found.gains.tolist(), found.status) == (("b", "c", "d"), [0, 0, 0], "exact")


def test_the_picks_are_shown_first_and_no_more_than_five_of_them() -> None:
    space = metric_space(LabelGraph.grid((9,)))
    few = select_classes(space, [], 2)
    assert repr(few).startswith("Selection('0', '8'; gains 9 of at most 9 over 0, spent 2; exact")
    many = repr(select_classes(space, [], 7))
    assert many.count("'") == 10
    assert ", ...; gains" in many


def test_a_single_label() -> None:
    one = TreeSpace.from_arrays(Keys.from_strings(["only"]), [-1])
    assert select_next(one, []) == "only"
    assert select_classes(one, ["only"]).keys == ()


def test_the_order_of_the_arguments_changes_nothing() -> None:
    rng = np.random.default_rng(SEED)
    space = random_tree(rng, 60)
    keys = [name(i) for i in rng.permutation(60)[:20].tolist()]
    lists = {"observed": keys[:5], "required": keys[5:8], "forbidden": keys[8:12]}
    first = select_classes(space, n=20, **lists)
    assert (
        select_classes(space, n=20, **{which: some[::-1] for which, some in lists.items()}).keys == first.keys
    )
    assert set(first.keys[:3]) == set(lists["required"])
    assert not set(first.keys) & set(lists["forbidden"])


def test_required_labels_come_first_and_the_rest_is_the_best_beside_them() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(10):
        space = random_tree(rng, 10)
        must, never, observed = rng.permutation(10)[:3].tolist()
        found = select_classes(space, [name(observed)], 3, required=[name(must)], forbidden=[name(never)])
        assert found.index[0] == must
        pool = [v for v in range(10) if v not in (must, never, observed)]
        assert found.sizes[-1] == best_total(space, [observed, must], pool, 2)


def affordable(pool: list[int], cost: dict[str, float], budget: float) -> list[tuple[int, ...]]:
    return [
        chosen
        for m in range(len(pool) + 1)
        for chosen in combinations(pool, m)
        if sum(cost.get(name(v), 1.0) for v in chosen) <= budget
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_purchases_are_the_best_or_below_their_bound(whole: bool) -> None:
    rng = np.random.default_rng(SEED)
    gaps = 0
    for _ in range(25):
        n = int(rng.integers(2, 9))
        space = random_tree(rng, n)
        observed = rng.permutation(n)[: int(rng.integers(1, 3))].tolist()
        pool = [v for v in range(n) if v not in observed]
        cost = {name(v): float(rng.integers(0, 5)) if whole else float(rng.random()) for v in range(0, n, 2)}
        budget = float(rng.integers(1, 7)) if whole else 1.5
        found = select_classes(space, map(name, observed), costs=cost, budget=budget)
        before = hull_size(space, observed)
        best = max(hull_size(space, [*observed, *some]) for some in affordable(pool, cost, budget)) - before
        gained = int(found.gains.sum())
        assert found.sizes.tolist() == [
            hull_size(space, [*observed, *found.index[:m].tolist()]) for m in range(1, len(found) + 1)
        ]
        assert found.spent == pytest.approx(sum(cost.get(key, 1.0) for key in found.keys))
        assert found.spent <= budget
        assert found.upper_bound >= best
        assert (1 - 1 / np.e) / 2 * best <= gained <= best
        gaps += gained < best
        if whole:
            assert (gained, found.status) == (best, "exact")
        elif found.status == "exact":
            assert gained == best
    assert whole or gaps < 5


def test_a_number_of_picks_and_a_budget_bind_together() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(15):
        space = random_tree(rng, 9)
        cost = {name(v): float(rng.integers(1, 4)) for v in range(9)}
        found = select_classes(space, [name(0)], 2, costs=cost, budget=5)
        some = [chosen for chosen in affordable(list(range(1, 9)), cost, 5) if len(chosen) <= 2]
        best = max(hull_size(space, [0, *chosen]) for chosen in some) - 1
        assert len(found) <= 2
        assert found.spent <= 5
        assert int(found.gains.sum()) <= best <= found.upper_bound


def test_a_small_costly_start_does_not_fool_it() -> None:
    # by gain per cost the cheap neighbor comes first and leaves too little for the long branch
    line = TreeSpace.from_arrays(Keys.from_strings("a0123456"), [1, -1, 1, 2, 3, 4, 5, 6])
    cost = {"a": 0.1, "6": 10.0}
    found = select_classes(line, ["0"], costs=cost, budget=10, candidates=["a", "6"])
    assert (found.keys, found.status, found.upper_bound) == (("6",), "exact", 6)


def test_a_budget_without_costs_counts_labels() -> None:
    space = random_tree(np.random.default_rng(SEED), 30)
    bought = select_classes(space, [name(3)], budget=4)
    assert bought.gains.sum() == select_classes(space, [name(3)], 4).gains.sum()
    assert bought.spent == 4


def test_budgets_are_met_despite_rounding() -> None:
    star = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0])
    assert len(select_classes(star, ["r"], costs=dict.fromkeys("abc", 0.1), budget=0.3)) == 3


def test_bounds_of_purchases() -> None:
    cost = np.array([2.0, 2.0, 0.0])
    assert purchase_bound(np.array([4, 3, 1]), cost, Limits(None, None, 3.0)) == 6
    assert purchase_bound(np.array([4, 3, 1]), cost, Limits(1, None, 3.0)) == 4
    assert purchase_bound(np.array([4, 3, 1]), cost, Limits(None)) == 8
    assert most_purchases(cost, Limits(None, None, 3.0)) == 2
    assert most_purchases(cost, Limits(1, None, 3.0)) == 1


def test_a_complete_graph_gains_one_a_pick_and_buys_the_cheapest() -> None:
    space = CompleteSpace(list("abcde"))
    found = select_classes(space, ["b"])
    assert (found.keys, found.gains.tolist(), found.status) == (tuple("acde"), [1, 1, 1, 1], "exact")
    bought = select_classes(space, ["b"], costs={"a": 3.0, "e": 0.5}, budget=2.5)
    assert (bought.keys, bought.status) == (("e", "c", "d"), "exact")


@pytest.mark.parametrize("kind", ["tree", "weighted tree", "dag", "weighted graph", "grid", "matrix"])
def test_elsewhere_each_pick_is_the_best_of_all_candidates(kind: str) -> None:
    """Exhaustive greedy by exact loci: neither the bounds nor the order of evaluation may change a pick."""
    rng = np.random.default_rng(SEED)
    sharp = 0
    for _ in range(8):
        space = random_case("dag" if kind == "matrix" else kind, rng, 1).space
        if kind == "matrix":
            vectors = rng.standard_normal((8, 2))
            distances = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
            space = MatrixSpace(distances, [name(i) for i in range(8)])
        points = allowed_points(space)
        observed = rng.permutation(points)[:2].tolist()
        found = select_classes(space, space.points.take(observed))
        assert found.size_before == len(locus_index(space, np.array(observed)))
        for pick, gain in zip(found.index.tolist(), found.gains.tolist(), strict=True):
            growing = MeasuredLocus(space, np.array(observed))
            pool = np.setdiff1d(points, observed)
            after = [len(locus_index(space, np.array([*observed, v]))) for v in pool.tolist()]
            gains = np.array(after) - growing.size
            bounds = growing.bounds(pool).values
            assert (bounds >= gains).all()
            sharp += int((bounds < space.n_labels - growing.size).sum())
            assert (pick, gain) == (pool[np.argmax(gains)], gains.max())
            observed.append(pick)
        rest = np.setdiff1d(points, observed).tolist()
        assert {len(locus_index(space, np.array([*observed, v]))) for v in rest} <= {
            found.size_before + found.gains.sum()
        }
    assert sharp > 0


def restricted_tree(rng: np.random.Generator, n: int, *, weighted: bool, leaves: bool) -> TreeSpace:
    whole = random_tree(rng, n, weighted=weighted)
    some = np.setdiff1d(np.arange(n), whole.parent) if leaves else rng.permutation(n)[: n // 2 + 1]
    return TreeSpace(whole.points, whole.tree, np.sort(some))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_on_restricted_trees_no_gain_exceeds_its_bound(weighted: bool, leaves: bool) -> None:
    """Candidates are all points, allowed or not; bounds hold as made, when refined, and for twins."""
    rng = np.random.default_rng(SEED)
    total = slack = 0
    for _ in range(25):
        n = int(rng.integers(5, 22))
        space = restricted_tree(rng, n, weighted=weighted, leaves=leaves)
        observed = rng.permutation(n)[: int(rng.integers(1, 4))]
        pool = np.setdiff1d(np.arange(n), observed)
        growing = MeasuredLocus(space, observed)
        bounds = growing.bounds(pool)
        assert isinstance(bounds, AttachmentBounds)
        gains = [len(locus_index(space, np.append(observed, c))) - growing.size for c in pool.tolist()]
        assert [growing.gain(c) for c in pool.tolist()] == gains
        assert (bounds.values >= gains).all()
        for i in range(len(pool)):
            before = bounds.values[i]
            assert bounds.refine(i) == (bounds.values[i] < before)
        assert (bounds.values >= gains).all()
        total += sum(gains)
        slack += int(bounds.values.sum()) - sum(gains)
        for i, gain in enumerate(gains):
            bounds.settle(i, gain)
        assert bounds.values.tolist() == gains
    assert slack < total


def test_among_leaves_of_a_tree_few_are_measured() -> None:
    rng = np.random.default_rng(SEED)
    space = restricted_tree(rng, 500, weighted=False, leaves=True)
    points = allowed_points(space)
    observed = np.sort(rng.choice(points, 8, replace=False))
    growing = MeasuredLocus(space, observed)
    found = growing.pick(np.setdiff1d(points, observed), Limits(2))
    assert growing.n_measured < 0.2 * len(points)
    assert growing.size == len(locus_index(space, np.concatenate([observed, found.index])))


def test_large_graphs_draw_their_candidates_unless_they_are_named() -> None:
    space = metric_space(LabelGraph.grid((24, 24)))
    observed = [space.keys[0], space.keys[1]]
    points = space.point_index(observed)
    pool = np.setdiff1d(np.arange(space.n_points), points)
    assert len(pool) > MOST_DRAWN
    growing = MeasuredLocus(space, points)
    drawn = growing.pick(pool, Limits(2, draw=np.random.default_rng(3)))
    assert growing.n_measured <= 2 * MOST_MEASURED
    found = select_classes(space, observed, 2, seed=3)
    assert (found.index.tolist(), found.gains.tolist()) == (drawn.index.tolist(), drawn.gains.tolist())
    assert found.sizes[-1] == len(locus_index(space, np.append(points, found.index)))
    assert select_classes(space, [space.keys[300]], 1).status == "lower_bound"
    best = select_classes(space, observed, 1, candidates=[space.keys[i] for i in (5, 23, 500, 575)])
    assert (best.keys, best.status) == ((space.keys[575],), "exact")


def test_a_complete_graph_with_some_labels_allowed_measures_one_a_pick() -> None:
    space = CompleteSpace([name(i) for i in range(300)], range(0, 300, 2))
    growing = MeasuredLocus(space, np.array([0]))
    found = growing.pick(np.arange(1, 300), Limits(3))
    assert (found.index.tolist(), found.gains.tolist()) == ([1, 2, 3], [149, 0, 0])
    growing = MeasuredLocus(space, np.array([0]))
    assert growing.pick(np.arange(2, 300, 2), Limits(3)).gains.tolist() == [1, 1, 1]
    assert growing.n_measured == 3


def test_elsewhere_one_pick_is_exact_and_more_are_a_heuristic() -> None:
    space = metric_space(LabelGraph.grid((3, 4)))
    first, last = space.keys[0], space.keys[11]
    assert select_classes(space, [first], 1).keys == (last,)
    assert select_classes(space, [first], 1).status == "exact"
    both = select_classes(space, [first], 2, candidates=[space.keys[1], space.keys[4], space.keys[5]])
    assert (both.status, both.upper_bound) == ("lower_bound", 11)
    assert len(select_classes(space, [], 2)) == 2
    whole = select_classes(space, [first], candidates=[last])
    assert (whole.size_before, whole.gains.tolist(), whole.status) == (1, [11], "exact")


def test_elsewhere_budgets_hold() -> None:
    space = metric_space(LabelGraph.grid((3, 3)))
    found = select_classes(space, [space.keys[0]], costs={space.keys[8]: 2.0}, budget=1.5)
    assert found.spent <= 1.5
    assert space.keys[8] not in found.keys
    assert found.upper_bound >= found.gains.sum()


def first_draws(space: MetricSpace, method: Any, observed: list[str], n: int, times: int) -> list[Selection]:
    rng = np.random.default_rng(SEED)
    return [select_classes(space, observed, n, method=method, seed=rng) for _ in range(times)]


def chi_square(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def test_passive_draws_are_uniform() -> None:
    # observed a..c of the line a..e and two more branches at c: outside are d, e, f, g
    tree = TreeSpace.from_arrays(Keys.from_strings("abcdefg"), [-1, 0, 1, 2, 3, 2, 2])
    times = 3000
    for method, options in (("uniform", "bdefg"), ("outside", "defg")):
        picks = [found.keys[0] for found in first_draws(tree, method, ["a", "c"], 1, times)]
        counts = np.array([picks.count(key) for key in options])
        assert counts.sum() == times
        assert chi_square(counts, np.full(len(options), times / len(options))) < 30
    # the second draw outside, after e, which takes d along: f or g
    second = [
        found.keys[1] for found in first_draws(tree, "outside", ["a", "c"], 2, times) if found.keys[0] == "e"
    ]
    counts = np.array([second.count(key) for key in "fg"])
    assert counts.sum() == len(second)
    assert chi_square(counts, np.full(2, len(second) / 2)) < 20


@pytest.mark.parametrize("method", ["uniform", "outside"])
def test_passive_gains_are_what_the_locus_gains(method: Any) -> None:
    rng = np.random.default_rng(SEED)
    space = random_tree(rng, 40)
    for observed in ([], [name(4), name(9)]):
        found = select_classes(space, observed, 20, method=method, seed=5)
        start = [int(key) for key in observed]
        assert found.sizes.tolist() == [
            hull_size(space, [*start, *found.index[:m].tolist()]) for m in range(1, 21)
        ]
        again = select_classes(space, observed, 20, method=method, seed=5)
        assert again.keys == found.keys
    everything = select_classes(space, [name(1)], method=method)
    assert everything.sizes[-1] == 40
    assert len(everything) == 39 if method == "uniform" else (everything.gains > 0).all()


def test_passive_draws_go_on_inside_where_nothing_is_left_outside() -> None:
    line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    found = select_classes(line, ["a"], 4, method="outside", seed=0)
    assert sorted(found.keys) == list("bcde")
    assert (np.diff((found.gains > 0).astype(int)) <= 0).all()
    cheap = select_classes(line, ["a"], method="uniform", costs={"c": 9.0}, budget=3)
    assert sorted(cheap.keys) == list("bde")


def test_active_beats_random_on_trees_of_100_labels_from_3() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        parent = [-1] + [int(rng.integers(0, i)) for i in range(1, 100)]
        space = TreeSpace.from_arrays(Keys.from_strings(map(name, range(100))), parent)
        observed = [name(i) for i in rng.choice(100, 3, replace=False).tolist()]
        active = select_classes(space, observed, 30).sizes
        for method in ("uniform", "outside"):
            passive = select_classes(space, observed, 30, method=method, seed=rng).sizes  # type: ignore[arg-type]
            assert (active >= passive).all()
            assert active[14] > passive[14]


LINE = TreeSpace.from_arrays(Keys.from_strings("abcd"), [-1, 0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n": 0}, InputError, "n: 0 given; pick 1 to 3"),
        ({"n": 4}, InputError, "n: 4 given; pick 1 to 3"),
        ({"n": -1}, InputError, "n: -1"),
        ({"n": 1.5}, InputError, "n: 1.5"),
        ({"n": 1, "required": ["b", "c"]}, InputError, "pick 2 to 3"),
        ({"n": 1, "forbidden": ["b", "c", "d"]}, InputError, "nothing is left"),
        ({"observed": ["x"]}, UnknownLabelError, "'x'"),
        ({"observed": ["a", "a"]}, InputError, "observed: 'a' occurs twice"),
        ({"required": ["x"]}, UnknownLabelError, "'x'"),
        ({"forbidden": ["x"]}, UnknownLabelError, "'x'"),
        ({"candidates": ["x"]}, UnknownLabelError, "'x'"),
        ({"required": ["a"]}, InputError, "required: 'a' is already observed"),
        ({"required": ["b"], "forbidden": ["b"]}, InputError, "required: 'b' is forbidden"),
        ({"costs": {"b": -1.0}}, InputError, "costs: 'b': -1.0 given"),
        ({"costs": {"b": float("nan")}}, InputError, "costs: 'b': nan given"),
        ({"costs": {"x": 1.0}}, UnknownLabelError, "'x'"),
        ({"budget": -2.0}, InputError, "budget: -2.0"),
        ({"budget": float("inf")}, InputError, "budget: inf"),
        ({"budget": "3"}, InputError, "budget: '3'"),
        ({"budget": 1.0, "required": ["b", "c"]}, InputError, "required labels already cost 2"),
        ({"observed": [], "budget": 1.0}, InputError, "observed: empty"),
        ({"method": "greedy"}, InputError, "method: 'greedy'"),
        ({"seed": -1}, InputError, "seed: -1"),
    ],
)
def test_what_breaks_a_rule_is_named(arguments: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        select_classes(LINE, **({"observed": ["a"]} | arguments))


def test_labels_that_are_no_points_cannot_be_selected() -> None:
    space = MatrixSpace(np.array([[0.0], [1.0]]), ["a", "b"], ["a"])
    with pytest.raises(SpaceError, match="'b' among them"):
        select_next(space, ["a"])

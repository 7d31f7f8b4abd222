"""RestrictedTreeScorer: the exact answer on trees with restricted labels, compiled or not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from geometry_cases import Case, build_graph, make_case, random_case, random_votes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry import FrechetResult, TreeSpace, make_scorer
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.scoring.restricted import compiledsearch, numpysearch, restrictedscorer
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.tree import treescorer
from labelgrove.ontology.geometry.scoring.tree.hullscorer import HullScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.keys import Keys
from tests import oracles
from tests.decisions import answers_of

pytestmark = pytest.mark.long

SEED = 20_250_703
TREES = ("tree", "undirected tree", "weighted tree", "polytree", "primary tree")


def assert_same(a: FrechetResult, b: FrechetResult) -> None:
    np.testing.assert_array_equal(a.index, b.index)
    np.testing.assert_array_equal(a.value, b.value)
    np.testing.assert_array_equal(a.n_tied, b.n_tied)


def scorers(space: TreeSpace, observed: list[int] | NDArray[np.int64]) -> tuple[RestrictedTreeScorer, ...]:
    return tuple(RestrictedTreeScorer(space, observed, compiled=compiled) for compiled in (False, True))


def random_tree(
    rng: np.random.Generator, n: int, length: NDArray[np.float64] | None, deep: bool, n_allowed: int
) -> TreeSpace:
    parent = [-1] + [int(rng.integers(max(0, i - 3) if deep else 0, i)) for i in range(1, n)]
    allowed = rng.permutation(n)[:n_allowed]
    return TreeSpace.from_arrays(Keys.from_strings([f"{i:04d}" for i in range(n)]), parent, length, allowed)


def test_three_thousand_random_cases_equal_the_exact_answer() -> None:
    rng = np.random.default_rng(SEED)
    n_cases = 0
    for _ in range(62):
        for kind in TREES:
            case = random_case(kind, rng, n_samples=10)
            n_labels = case.space.n_labels
            top = int(rng.integers(1, n_labels + 1))
            candidates = np.unique(rng.permutation(n_labels)[: rng.integers(1, n_labels + 1)])
            some = int(rng.integers(1, len(candidates) + 1))
            for scorer in scorers(case.space, case.observed):
                best, ranked = scorer.score(case.weights), scorer.score(case.weights, top)
                chosen = scorer.score(case.weights, some, candidates)
                for sample in range(len(case.weights)):
                    values = case.variances(sample)
                    among = oracles.smallest(values)
                    assert best.index[sample] == among[0]
                    assert best.value[sample] == values[among[0]]
                    assert best.n_tied[sample] == len(among)
                    order = oracles.ranking(values, top)
                    assert ranked.index.reshape(-1, top)[sample].tolist() == order
                    assert ranked.value.reshape(-1, top)[sample].tolist() == [values[i] for i in order]
                    few = [values[i] for i in candidates]
                    order = candidates[oracles.ranking(few, some)].tolist()
                    assert chosen.index.reshape(-1, some)[sample].tolist() == order
                    assert chosen.n_tied[sample] == len(oracles.smallest(few))
                    if sample == 0:
                        assert scorer.tied(case.weights[0]).tolist() == among
            n_cases += len(case.weights)
    assert n_cases >= 3_000


@st.composite
def restricted_cases(draw: st.DrawFn) -> Case:
    """Draw a tree whose allowed labels are few, observed or not, and may hang anywhere."""
    n = draw(st.integers(1, 16))
    parents = [draw(st.integers(0, i)) for i in range(n - 1)]
    numbers = draw(st.lists(st.integers(0, 6), min_size=2 * n, max_size=2 * n))
    graph = build_graph(draw(st.sampled_from(TREES)), parents, [], numbers)
    points = st.lists(st.integers(0, n - 1), min_size=1, unique=True)
    observed = draw(points)
    weights = draw(st.lists(st.integers(0, 9), min_size=len(observed), max_size=len(observed)).filter(any))
    return make_case("weighted tree", graph, draw(points), observed, [weights])


@given(restricted_cases(), st.data())
def test_every_ranking_equals_the_exact_one(case: Case, data: st.DataObject) -> None:
    values = case.variances(0)
    top = data.draw(st.integers(1, len(values)))
    order = oracles.ranking(values, top)
    for scorer in scorers(case.space, case.observed):
        result = scorer.score(case.weights, top)
        assert result.index.reshape(top).tolist() == order
        assert result.value.reshape(top).tolist() == [values[i] for i in order]
        assert result.n_tied.tolist() == [len(oracles.smallest(values))]


LENGTHS = ("unit", "any", "tenths", "nine decades", "tiny and one", "all decades")


def drawn_lengths(kind: str, n: int, rng: np.random.Generator) -> NDArray[np.float64] | None:
    return {
        "unit": None,
        "any": rng.random(n) + 0.01,
        "tenths": rng.integers(1, 4, n) * 0.1,
        "nine decades": 10.0 ** rng.uniform(-9, 0, n),
        "tiny and one": np.where(rng.random(n) < 0.5, 1e-7, 1.0),
        "all decades": 10.0 ** rng.uniform(-75, 73, n),
    }[kind]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("weights", ["uniform", "peaked", "tenths", "float32", "float16", "zeros"])
def test_scorers_agree_to_the_last_bit(lengths: str, weights: str) -> None:
    rng = np.random.default_rng(SEED)
    for round_ in range(25):
        n = int(rng.integers(1, 40))
        space = random_tree(
            rng, n, drawn_lengths(lengths, n, rng), bool(round_ % 2), int(rng.integers(1, n + 1))
        )
        observed = rng.permutation(n)[: rng.integers(1, n + 1)]
        rows = rng.random((6, len(observed))) + 1e-3
        if weights == "peaked":
            rows = rows**12
        elif weights == "tenths":
            rows = 0.1 * (1 + rng.integers(0, 3, rows.shape))
        elif weights == "zeros":
            rows[:, 1:] *= rng.random((6, len(observed) - 1)) < 0.3
        elif weights != "uniform":
            rows = rows.astype(weights)
        dense = DenseScorer(space.distances(cols=observed))
        top = int(rng.integers(1, space.n_labels + 1))
        for scorer in scorers(space, observed):
            assert_same(scorer.score(rows), dense.score(rows))
            assert_same(scorer.score(rows, top), dense.score(rows, top))
            assert scorer.tied(rows[0]).tolist() == dense.tied(rows[0]).tolist()


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("weights", ["equal", "votes", "uniform", "peaked", "negative zeros"])
def test_of_many_children_the_best_are_found(lengths: str, weights: str) -> None:
    rng = np.random.default_rng(SEED)
    for round_ in range(6):
        n = int(rng.integers(60, 300))
        hubs = rng.permutation(n)[: rng.integers(1, 5)]  # most labels are children of these
        parent = [-1] + [
            int(h) if h < i and rng.random() < 0.9 else int(rng.integers(0, i))
            for i, h in enumerate(rng.choice(hubs, n - 1), start=1)
        ]
        allowed = None if round_ % 3 == 0 else rng.permutation(n)[: n // 2]
        keys = Keys.from_strings([f"{i:04d}" for i in range(n)])
        space = TreeSpace.from_arrays(keys, parent, drawn_lengths(lengths, n, rng), allowed)
        observed = np.arange(n) if round_ % 2 else rng.permutation(n)[: rng.integers(20, n)]
        rows = {
            "equal": np.ones((4, len(observed))),
            "votes": rng.integers(0, 3, (4, len(observed))) + 0.0,
            "uniform": rng.random((4, len(observed))),
            "peaked": rng.random((4, len(observed))) ** 30,
            "negative zeros": np.where(rng.random((4, len(observed))) < 0.5, -0.0, 1.0),
        }[weights]
        dense = DenseScorer(space.distances(cols=observed))
        for scorer in (RestrictedTreeScorer(space, observed, compiled=way) for way in (False, True)):
            for top in (1, 2, 5, 30):
                assert_same(scorer.score(rows, top), dense.score(rows, top))


@pytest.mark.parametrize("lengths", ["unit", "any", "tenths"])
@pytest.mark.parametrize("shape", ["shallow", "deep", "path"])
def test_more_observed_labels_than_one_block_in_any_order(lengths: str, shape: str) -> None:
    rng = np.random.default_rng(SEED)
    n = 1_300  # plain sums are added in blocks of 1,024 columns where the columns are in preorder
    least = {"shallow": np.zeros(n), "deep": np.arange(n) - 4, "path": np.arange(n) - 1}[shape]
    parent = [-1] + [int(rng.integers(max(0, int(least[i])), i)) for i in range(1, n)]
    keys = Keys.from_strings([f"{i:04d}" for i in range(n)])
    space = TreeSpace.from_arrays(keys, parent, drawn_lengths(lengths, n, rng))
    for observed in (np.argsort(space.tree.positions(np.arange(n))), rng.permutation(n)[:1_100]):
        rows = (rng.random((3, len(observed))) ** 4).astype(np.float32)
        dense = DenseScorer(space.distances(cols=observed))
        everything = TreeScorer(space, observed, compiled=True)
        assert_same(everything.score(rows), dense.score(rows))
        assert_same(everything.score(rows, 7), dense.score(rows, 7))


@pytest.mark.parametrize("rule", ["_ENTRIES_SEARCHED", "_ENTRIES_SUMMED"])
def test_samples_with_weight_in_few_columns_are_scored_by_those(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restrictedscorer, "_ENTRIES_SEARCHED", 1 << 40)
    monkeypatch.setattr(restrictedscorer, rule, 0)
    narrowed: list[int] = []
    narrow = RestrictedTreeScorer._narrowed

    def counted(
        self: RestrictedTreeScorer, rows: NDArray[Any]
    ) -> tuple[RestrictedTreeScorer, NDArray[Any]] | None:
        found = narrow(self, rows)
        if found is not None:
            narrowed.append(found[1].shape[1])
        return found

    monkeypatch.setattr(RestrictedTreeScorer, "_narrowed", counted)
    rng = np.random.default_rng(SEED)
    for lengths in LENGTHS:
        for round_ in range(6):
            space = random_tree(rng, 90, drawn_lengths(lengths, 90, rng), bool(round_ % 2), 70)
            observed = rng.permutation(90)[:64]
            rows = np.zeros((9, 64), dtype=np.float32 if round_ % 3 else np.float64)
            listed = rng.permutation(64)[: rng.integers(1, 9)]
            rows[:, listed] = rng.random((9, len(listed))) * (rng.random((9, len(listed))) < 0.7)
            rows[np.arange(9), listed[rng.integers(0, len(listed), 9)]] += 0.5
            candidates = np.unique(rng.permutation(space.n_labels)[:20])
            dense = DenseScorer(space.distances(cols=observed))
            for scorer in scorers(space, observed):
                assert_same(scorer.score(rows), dense.score(rows))
                assert_same(scorer.score(rows, 5), dense.score(rows, 5))
                assert_same(scorer.score(rows, 3, candidates), dense.score(rows, 3, candidates))
                assert scorer.tied(rows[0]).tolist() == dense.tied(rows[0]).tolist()
                assert len(narrowed) == 4
                assert max(narrowed) <= len(listed)
                narrowed.clear()
                scorer.score(np.ones((2, 64)))
                assert not narrowed
                rows[4, listed] = 0
                with pytest.raises(WeightError, match=r"row 4 sums to 0\.0"):
                    scorer.score(rows)
                rows[4, listed[0]] = 1
                narrowed.clear()


@pytest.mark.parametrize("length", [1e-75, 1e75])
def test_the_shortest_and_the_longest_edges(length: float) -> None:
    keys = Keys.from_strings("rabcd")
    space = TreeSpace.from_arrays(keys, [-1, 0, 0, 0, 0], np.full(5, length), allowed=[1, 2, 4])
    for scorer in scorers(space, [0]):
        result = scorer.score([[3.0]], top=3)
        assert result.index.tolist() == [[0, 1, 2]]
        assert result.n_tied.tolist() == [3]
        assert result.value.tolist() == [[3.0 * (length * length)] * 3]


def test_edges_lost_in_the_depth_are_ties() -> None:
    # 1e17 + 1 is 1e17 in float64, so a and b are one place to every distance
    length = np.array([0.0, 1e17, 1.0, 1e17])
    for allowed in ([1, 2, 3], [2, 3], None):
        space = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 1, 0], length, allowed)
        dense = DenseScorer(space.distances(cols=[1, 2]))
        both = [*scorers(space, [1, 2]), make_scorer(space, ["a", "b"])]
        for scorer in both:
            assert_same(scorer.score([[2.0, 1.0]]), dense.score([[2.0, 1.0]]))


def test_a_root_with_one_child_and_labels_above_the_hull() -> None:
    # a path r-s-t whose end t bears the observed labels; the answers hang above them
    space = TreeSpace.from_arrays(Keys.from_strings("rstxy"), [-1, 0, 1, 2, 2], allowed=[0, 1])
    for scorer in scorers(space, [3, 4]):
        result = scorer.score([[1, 1]], top=2)
        assert (result.index.tolist(), result.value.tolist()) == ([[1, 0]], [[8.0, 18.0]])


def test_one_allowed_label_is_the_answer() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        space = random_tree(rng, 30, None, deep=True, n_allowed=1)
        observed = rng.permutation(30)[:7]
        rows = rng.random((4, 7))
        for scorer in scorers(space, observed):
            assert_same(scorer.score(rows), DenseScorer(space.distances(cols=observed)).score(rows))


def test_equal_labels_are_scored_once() -> None:
    # 3,000 leaves hang on one vertex: all of them tie, and none needs a sum of its own
    n = 3_000
    space = TreeSpace.from_arrays(
        Keys.from_strings([f"{i:04d}" for i in range(n + 2)]), [-1, 0, *[0] * n], allowed=np.arange(2, n + 2)
    )
    for scorer in scorers(space, [0, 1]):
        result = scorer.score([[3.0, 1.0]], top=4)
        assert result.index.tolist() == [[0, 1, 2, 3]]
        assert result.n_tied.tolist() == [n]
        assert scorer.tied([3.0, 1.0]).tolist() == list(range(n))
        batch = scorer._batch(np.ones((1, 2)), 0)
        assert len(batch.finalists(scorer._hanging, 1)[0]) == 1


def test_all_labels_allowed_are_ranked_too() -> None:
    rng = np.random.default_rng(SEED)
    space = random_tree(rng, 300, None, deep=False, n_allowed=300)
    observed = rng.permutation(300)[:37]
    rows = random_votes(50, 37, rng)
    dense = DenseScorer(RowsOnDemand(space, observed))
    tree = TreeScorer(space, observed)
    candidates = rng.permutation(300)[:40]
    for scorer in (*scorers(space, observed), tree):
        for top in (1, 2, 17, 300):
            assert_same(scorer.score(rows, top), dense.score(rows, top))
        assert_same(scorer.score(rows, 3, candidates), dense.score(rows, 3, candidates))
        np.testing.assert_array_equal(scorer.variance(rows), dense.variance(rows))


def test_decisions_are_the_answers_of_scores_or_left_to_them() -> None:
    rng = np.random.default_rng(SEED)
    for length in (None, rng.integers(1, 5, 400).astype(float), 10.0 ** rng.uniform(-12, 0, 400)):
        space = random_tree(rng, 400, length, deep=False, n_allowed=230)
        scorer = RestrictedTreeScorer(space, rng.permutation(400)[:67], compiled=True)
        rows = random_votes(90, 67, rng).astype(np.float32)  # few votes: ties between groups
        rows[::2] = rng.dirichlet(np.full(67, 0.1), 45)
        expected = scorer.score(rows)
        moved = rng.permutation(67)  # the column of each observed label
        emitted = np.empty_like(rows)
        emitted[:, moved] = rows
        for decide, some in ((answers_of(scorer), rows), (answers_of(scorer, moved), emitted)):
            np.testing.assert_array_equal(decide(some), expected.index)
            np.testing.assert_array_equal([decide(row)[0] for row in some[:, None]], expected.index)
            for bad in (np.nan, np.inf, -0.5):
                broken = some.copy()
                broken[11, 3] = bad
                assert decide(broken) is None
            assert decide(np.zeros_like(some)) is None


@pytest.mark.usefixtures("small_batches")
def test_a_decision_leaves_floods_of_finalists_to_the_scores() -> None:
    rng = np.random.default_rng(SEED)
    length = 10.0 ** rng.uniform(-12, 0, 120)
    space = random_tree(rng, 120, length, deep=True, n_allowed=90)
    decide = answers_of(RestrictedTreeScorer(space, rng.permutation(120)[:9], compiled=True))
    assert decide(rng.random((70, 9))) is None


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(restrictedscorer, "_BATCH_ENTRIES", 100)
    monkeypatch.setattr(numpysearch, "MOST_PAIRS", 60)
    monkeypatch.setattr(compiledsearch, "MOST_PAIRS", 60)
    monkeypatch.setattr(compiledsearch, "_SPARE_PAIRS", 1)
    monkeypatch.setattr(numpysearch, "_BLOCK_ENTRIES", 50)
    return


@pytest.mark.usefixtures("small_batches")
def test_batches_and_floods_of_finalists_change_nothing() -> None:
    rng = np.random.default_rng(SEED)
    length = 10.0 ** rng.uniform(-12, 0, 120)  # most of the tree is one place to the search
    space = random_tree(rng, 120, length, deep=True, n_allowed=90)
    observed = rng.permutation(120)[:9]
    rows = rng.random((70, 9))
    dense = DenseScorer(space.distances(cols=observed))
    for scorer in scorers(space, observed):
        for top in (1, 5, 90):
            assert_same(scorer.score(rows, top), dense.score(rows, top))


def test_an_observed_label_that_stands_twice_counts_twice() -> None:
    space = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0], allowed=[1, 2, 3])
    for scorer in scorers(space, [1, 2, 1]):
        dense = DenseScorer(space.distances(cols=[1, 2, 1]))
        assert_same(scorer.score([[1, 3, 1], [2, 3, 1]], 2), dense.score([[1, 3, 1], [2, 3, 1]], 2))


BAD_ROWS = ([[np.nan, 1.0]], [[np.inf, 1.0]], [[-1.0, 3.0]], [[0.0, 0.0]], [[1e-200, 0.0]], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("rows", BAD_ROWS)
def test_bad_weights_are_refused(rows: list[list[float]]) -> None:
    space = TreeSpace.from_arrays(Keys.from_strings("rab"), [-1, 0, 0], allowed=[1, 2])
    for scorer in scorers(space, [1, 2]):
        with pytest.raises(WeightError):
            scorer.score(rows)
        with pytest.raises(WeightError):
            scorer.tied(rows)


def test_a_bad_row_is_named_by_its_number_in_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restrictedscorer, "_BATCH_ENTRIES", 4)
    space = TreeSpace.from_arrays(Keys.from_strings("rab"), [-1, 0, 0], allowed=[1, 2])
    rows = np.ones((9, 2))
    rows[7] = 0
    for scorer in scorers(space, [1, 2]):
        with pytest.raises(WeightError, match=r"row 7 sums to 0\.0"):
            scorer.score(rows)


@pytest.mark.parametrize(("top", "candidates"), [(0, None), (3, None), (2, [1]), (1, []), (1, [2])])
def test_a_choice_out_of_range_is_refused(top: int, candidates: list[int] | None) -> None:
    space = TreeSpace.from_arrays(Keys.from_strings("rab"), [-1, 0, 0], allowed=[1, 2])
    with pytest.raises(InputError, match=r"top|candidates"):
        RestrictedTreeScorer(space, [1]).score([1.0], top, candidates)


def test_threads_share_a_scorer() -> None:
    rng = np.random.default_rng(SEED)
    space = random_tree(rng, 200, None, deep=False, n_allowed=80)
    observed = rng.permutation(200)[:20]
    rows = [random_votes(30, 20, rng) for _ in range(8)]
    dense = DenseScorer(space.distances(cols=observed))
    for scorer in scorers(space, observed):
        found: dict[int, FrechetResult] = {}

        def work(turn: int, scorer: RestrictedTreeScorer = scorer, found: dict = found) -> None:
            found[turn] = scorer.score(rows[turn], top=3)

        threads = [threading.Thread(target=work, args=(turn,)) for turn in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for turn, result in found.items():
            assert_same(result, dense.score(rows[turn], top=3))
        assert len(found) == 8


def test_without_numba_the_same_scorer_answers() -> None:
    program = """
import sys
sys.modules["numba"] = None
import numpy as np
from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.keys import Keys
space = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0], allowed=[1, 2, 3])
print(RestrictedTreeScorer(space, [1, 2]).score(np.ones((20_000, 2))).n_tied.sum())
try:
    RestrictedTreeScorer(space, [1, 2], compiled=True).score([1, 1])
except MissingExtraError as error:
    print("[science]" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["40000", "True"]


def test_make_scorer_takes_it_for_restricted_trees() -> None:
    space = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0], allowed=[1, 2])
    assert type(make_scorer(space, ["a"])) is RestrictedTreeScorer
    assert type(make_scorer(space, ["a"], beta=1)) is HullScorer
    whole = TreeSpace.from_arrays(Keys.from_strings("rabc"), [-1, 0, 0, 0])
    assert type(make_scorer(whole, ["a"])) is treescorer.TreeScorer

"""Bad input to the geometry: a typed error that names argument, value and rule; and good input of odd form.

Nothing here may end in an error of numpy, numba or Python's own, in a wrong answer or in none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelgrove.datasets.randomgraphs import barabasi_albert, erdos_renyi, random_tree, watts_strogatz
from labelgrove.ontology import geometry
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import (
    CompleteSpace,
    EuclideanSpace,
    FrechetResult,
    GraphSpace,
    MatrixSpace,
    MetricSpace,
    Summary,
    TreeSpace,
    expand,
    frechet_mean,
    geodesic_interval,
    locus,
    locus_cover,
    make_scorer,
    metric_space,
    pairwise_distances,
    phylogenetic_cover,
    push,
    sample_observed,
    summarize,
)
from labelgrove.ontology.geometry.loci import general
from labelgrove.ontology.geometry.loci.general import general_locus
from labelgrove.ontology.geometry.sampling import uniform_center
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.dense.euclideanscorer import EuclideanScorer
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.ties import refuse_bad_rows
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles_locus import locus_of_rows, squared

HIERARCHY = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("d", "a"), ("e", "b")])
RING = LabelGraph.from_edges(["ab", "bc", "cd", "de", "ea"], directed=False)
ABC = Keys.from_strings("abc")
TREE = metric_space(HIERARCHY)
LEAVES = metric_space(HIERARCHY, labels="leaves")
GRAPH = GraphSpace(RING)
VECTORS = np.random.default_rng(0).normal(size=(5, 3))
EUCLIDEAN = EuclideanSpace(VECTORS, list("abcde"))
LINE = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], dtype=np.uint8)
SPACES = {
    "tree": TREE,
    "leaves": LEAVES,
    "graph": GRAPH,
    "complete": CompleteSpace(list("abcde")),
    "euclidean": EUCLIDEAN,
    "matrix": MatrixSpace(LINE, ABC),
}
OF_OBSERVED = (
    "locus",
    "is_pairwise_decomposable",
    "is_locus_cover",
    "is_identifying_cover",
    "is_nontrivial",
    "make_scorer",
    "select_classes",
)
OF_SPACE = (
    "minimum_locus_cover",
    "must_observe",
    "pairwise_distances",
    "phylogenetic_cover",
)
NO_WHOLE = (True, 2.0, float("nan"), "2", None, 1j, [2], np.array([2]))
NO_NUMBER = (True, -1, -0.5, float("nan"), float("inf"), 10**400, "2", 1j, [2], np.array([2.0]))


def refused(call: Callable[[], Any], error: type[Exception], *words: str) -> None:
    """Check that `call` raises exactly `error`, and that its message holds all `words`."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)


def read_only(array: Any) -> Any:
    view = np.array(array)
    view.setflags(write=False)
    return view


# ---- observed labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_OBSERVED)
@pytest.mark.parametrize(
    ("observed", "error", "words"),
    [
        (["a", "a"], InputError, ("observed: 'a' occurs twice",)),
        (["a", "zz"], UnknownLabelError, ("observed: 1 of 2", "'zz'")),
        ([b"a"], UnknownLabelError, ("observed: 1 of 1", "b'a'")),
        ([None], UnknownLabelError, ("observed: ", "None")),
        ([{}], UnknownLabelError, ("observed: ", "{}")),
        (["\ud800"], UnknownLabelError, ("observed: ",)),
        ("a", InputError, ("observed: the single string 'a'", "list of keys")),
        (b"a", InputError, ("observed: the single string b'a'",)),
        (None, InputError, ("observed: None", "list of keys")),
        (3, InputError, ("observed: 3", "list of keys")),
        (np.array("a"), InputError, ("observed: ", "list of keys")),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, type | tuple) else "",
)
def test_observed_labels_are_checked(
    name: str, observed: Any, error: type[Exception], words: tuple[str, ...]
) -> None:
    for space in (TREE, LEAVES, GRAPH):
        refused(lambda space=space: getattr(geometry, name)(space, observed), error, *words)


@pytest.mark.parametrize("name", [name for name in OF_OBSERVED if name != "select_classes"])
def test_no_observed_label_is_refused(name: str) -> None:
    refused(lambda: getattr(geometry, name)(TREE, []), InputError, "observed: empty")


@pytest.mark.parametrize("kind", SPACES)
def test_any_collection_of_keys_is_read(kind: str) -> None:
    space, wanted = SPACES[kind], locus(SPACES[kind], ["a", "b"]).members
    forms = (
        np.array(["a", "b"]),
        [np.str_("a"), np.str_("b")],
        (key for key in "ab"),
        {"a": 1, "b": 2},
        {"a", "b"},
    )
    for form in forms:
        assert locus(space, form).members == wanted


def test_columns_of_weights_need_an_order() -> None:
    refused(lambda: make_scorer(TREE, {"a", "b"}), InputError, "observed: a set", "order")
    refused(lambda: frechet_mean(TREE, frozenset("ab"), [1, 1]), InputError, "observed: a set")


# ---- spaces and graphs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_OBSERVED + OF_SPACE)
@pytest.mark.parametrize("given", [None, 3, "tree", [[0, 1], [1, 0]]], ids=repr)
def test_a_space_is_asked_for(name: str, given: Any) -> None:
    arguments = (given, ["a"]) if name in OF_OBSERVED else (given,)
    refused(
        lambda: getattr(geometry, name)(*arguments),
        InputError,
        "space: ",
        "MetricSpace",
        "metric_space(graph)",
    )


def test_a_graph_is_no_space() -> None:
    refused(lambda: locus(HIERARCHY, ["a"]), InputError, "space: LabelGraph", "metric_space(graph)")  # type: ignore[arg-type]
    refused(lambda: geodesic_interval(HIERARCHY, "a", "b"), InputError, "space: LabelGraph")  # type: ignore[arg-type]
    refused(lambda: sample_observed(HIERARCHY, 1, seed=0), InputError, "space: LabelGraph")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 3, "tree", [[0, 1], [1, 0]], TREE], ids=repr)
def test_a_graph_is_asked_for(given: Any) -> None:
    for call in (metric_space, GraphSpace, lambda graph: summarize(graph, 2)):
        refused(lambda call=call: call(given), InputError, "graph: ", "LabelGraph")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: GraphSpace(LabelGraph.from_edges([("a", "b"), ("c", "d")])), SpaceError, "2 parts"),
        (lambda: metric_space(HIERARCHY, labels=[]), SpaceError, "labels: no label is allowed"),
        (lambda: metric_space(HIERARCHY, labels=["a", "a"]), InputError, "'a' occurs twice"),
        (lambda: metric_space(HIERARCHY, labels=3), InputError, "labels: 3"),
        (lambda: metric_space(HIERARCHY, labels=b"all"), InputError, "labels: "),
        (lambda: metric_space(HIERARCHY, metric=["tree"]), InputError, "metric: ['tree']"),
        (lambda: metric_space(RING, labels="leaves"), SpaceError, "labels: no label is allowed"),
        (lambda: CompleteSpace(None), InputError, "keys: None"),
        (lambda: CompleteSpace("abc"), InputError, "keys: the single string 'abc'"),
        (lambda: CompleteSpace([]), SpaceError, "keys: empty"),
        (lambda: CompleteSpace({"a", "b"}), InputError, "keys: a set"),
        (lambda: CompleteSpace([1, 2]), InputError, "1"),
        (lambda: CompleteSpace(ABC, [3]), InputError, "allowed: index 3"),
        (lambda: CompleteSpace(ABC, [-1]), InputError, "allowed: index -1"),
        (lambda: CompleteSpace(ABC, [1.0]), InputError, "allowed: float64"),
        (lambda: CompleteSpace(ABC, [True, False]), InputError, "allowed: booleans of shape (2,) for 3"),
        (lambda: CompleteSpace(ABC, [False] * 3), SpaceError, "labels: no label is allowed"),
        (lambda: CompleteSpace(ABC, [[1], [1, 2]]), InputError, "allowed: rows of different lengths"),
        (lambda: CompleteSpace(ABC, [2**64]), InputError, "allowed: "),
        (lambda: MatrixSpace(LINE, {"a", "b", "c"}), InputError, "keys: a set"),
        (lambda: MatrixSpace(LINE, ABC, {"a", "b", "c"}), InputError, "points: a set"),
        (lambda: MatrixSpace([[0, 1], [1]], ["a", "b"]), SpaceError, "distances: rows of different lengths"),
        (
            lambda: MatrixSpace(np.ma.masked_array(LINE, LINE == 2), ABC),
            SpaceError,
            "distances: a masked array",
        ),
        (lambda: MatrixSpace(LINE.astype(int), ABC), SpaceError, "distances: dtype int64"),
        (lambda: MatrixSpace(LINE * 1e-300, ABC), SpaceError, "distances: 1e-300 from 'a' to 'b' is outside"),
        (lambda: MatrixSpace(LINE * 1e300, ABC), SpaceError, "distances: 1e+300 from 'a' to 'b' is outside"),
        (lambda: MatrixSpace(-1.0 * LINE, ABC), SpaceError, "distances: -1.0 from 'a' to 'b'"),
        (lambda: EuclideanSpace(VECTORS, set("abcde")), InputError, "keys: a set"),
        (lambda: EuclideanSpace(VECTORS, 5), InputError, "keys: 5"),
        (
            lambda: EuclideanSpace([[1], [1, 2], [3]], ABC),
            SpaceError,
            "embeddings: rows of different lengths",
        ),
        (
            lambda: EuclideanSpace(np.ma.masked_array(VECTORS, VECTORS > 1), list("abcde")),
            SpaceError,
            "masked",
        ),
        (lambda: EuclideanSpace(VECTORS * 1e300, list("abcde")), SpaceError, "1e-75..1e75"),
        (lambda: TreeSpace.from_arrays(ABC, None), SpaceError, "parent: object"),
        (lambda: TreeSpace.from_arrays(ABC, -1), SpaceError, "parent: int64 of shape ()"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0.5, 1]), SpaceError, "parent: float64"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, "b"]), SpaceError, "parent: <U"),
        (lambda: TreeSpace.from_arrays(ABC, [-5, 0, 1]), SpaceError, "parent: -5 is outside 0..2"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, 9]), SpaceError, "parent: 9 is outside 0..2"),
        (
            lambda: TreeSpace.from_arrays(ABC, np.array([2**64 - 1, 0, 1], np.uint64)),
            SpaceError,
            "parent: 1844",
        ),
        (
            lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], [1.0, 1.0]),
            SpaceError,
            "length: float64 of shape (2,)",
        ),
        (
            lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], [1.0] * 4),
            SpaceError,
            "length: float64 of shape (4,)",
        ),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], 2.0), SpaceError, "length: float64 of shape ()"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], [0, 1j, 1]), SpaceError, "length: complex128"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], [0, 0, 1]), SpaceError, "length: 0.0 at edge 0 of 2"),
        (lambda: TreeSpace.from_arrays(ABC, [-1, 0, 1], [0, 1e-300, 1]), SpaceError, "1e-300"),
        (lambda: TreeSpace.from_arrays([], []), SpaceError, "parent: 0 roots"),
        (lambda: TreeSpace(ABC, None), InputError, "tree: None of type NoneType; give a RootedTree"),
    ],
)
def test_what_makes_no_space_is_named(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    refused(call, error, words)


def test_a_list_of_keys_makes_a_tree() -> None:
    assert TreeSpace.from_arrays(list("abc"), [-1, 0, 1]).point_index(["c"]).tolist() == [2]  # type: ignore[arg-type]


# ---- indices and where to write --------------------------------------------------------------------------


@pytest.mark.parametrize("space", [TREE, GRAPH, SPACES["complete"]], ids=lambda space: space.kind)
def test_indices_and_outputs_are_checked(space: MetricSpace) -> None:
    n = space.n_points
    for bad, words in (
        ([0.5], "float64"),
        ([True] * n, "bool"),
        ([-1], "index -1 at position 0"),
        ([0, n], f"index {n} at position 1 is outside 0..{n - 1}"),
        ("a", "shape ()"),
        ([[0], [0, 1]], "rows of different lengths"),
        ([2**70], "object"),
    ):
        refused(lambda bad=bad: space.distances(bad), InputError, "rows: ", words)
        refused(lambda bad=bad: pairwise_distances(space, None, bad), InputError, "cols: ", words)
    refused(lambda: space.distances(out=3), InputError, "out: 3", "ndarray")  # type: ignore[arg-type]
    refused(
        lambda: space.distances(out=read_only(np.zeros((n, n), np.uint8))), InputError, "out: a read-only"
    )
    refused(lambda: space.distances(out=np.zeros((n, n))), InputError, "out: float64")
    assert space.distances([], []).shape == (0, 0)
    assert space.distances(np.array([], dtype="U1")).shape == (0, n)


# ---- weights, exponents and counts -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (None, "dtype object"),
        ([], "shape (0,)"),
        ([[1, 2, 3]], "shape (1, 3)"),
        ([[1], [1, 2]], "rows of different lengths"),
        ([["1", "2"]], "dtype <U1"),
        ([[1j, 1]], "complex"),
        (np.ma.masked_array([[1.0, 2.0]], [[0, 1]]), "masked"),
        ([[-1, 2]], "row 0, column 0 holds -1; a row must have no negative number"),
        ([[1, 2], [0, np.nan], [np.nan, 0]], "row 1, column 1 holds nan (and 1 more of rows 0 to 2); a row"),
        ([[np.inf, 1]], "row 0, column 0 holds inf; a row must have finite numbers"),
        ([[0, 0]], "row 0 sums to 0.0; each row must give at least one label a positive weight"),
        ([[1e300, 1e300]], "row 0 sums to 2e+300; the weights of a row must sum to at most 1e+150"),
        ([[1e-300, 0]], "row 0 sums to 1e-300; the weights of a row must sum to at least 1e-150"),
    ],
    ids=repr,
)
def test_weights_are_checked(kind: str, weights: Any, words: str) -> None:
    refused(lambda: frechet_mean(SPACES[kind], ["a", "b"], weights), WeightError, "weights: ", words)
    refused(lambda: frechet_mean(SPACES[kind], ["a", "b"], weights, beta=1), WeightError, "weights: ", words)


def test_the_exact_sum_of_a_row_decides_however_the_sum_was_rounded() -> None:
    above = float(np.nextafter(1e150, np.inf))
    refuse_bad_rows(np.array([[5e149, 5e149]]), np.array([above]))
    rows = np.array([[1.0, 1.0], [5e149, float(np.nextafter(5e149, np.inf)) + above - 1e150]])
    refused(
        lambda: refuse_bad_rows(rows, np.array([2.0, 1e150])), WeightError, "row 1 sums to 1.0", "+150; s"
    )


@pytest.mark.parametrize("bad", [*NO_WHOLE, 0, -1, 7, 10**30], ids=repr)
def test_top_is_a_whole_number_up_to_all_labels(bad: Any) -> None:
    for space in SPACES.values():
        refused(lambda space=space: frechet_mean(space, ["a", "b"], [1, 1], top=bad), InputError, "top: ")


@pytest.mark.parametrize("bad", [True, 0, -1, float("nan"), float("inf"), 10**400, "2", None, [2]], ids=repr)
def test_beta_is_a_positive_number(bad: Any) -> None:
    refused(lambda: make_scorer(TREE, ["a"], beta=bad), InputError, "beta: ")


@pytest.mark.parametrize("bad", [[1.5], ["a"], [[0]], [-1], [9], float("nan"), [2**70]], ids=repr)
def test_candidates_of_a_scorer_are_indices(bad: Any) -> None:
    for space in SPACES.values():
        scorer = make_scorer(space, ["a", "b"])
        refused(lambda scorer=scorer: scorer.score([1, 1], candidates=bad), InputError, "candidates: ")
    refused(lambda: general_locus(LINE, bad), InputError, "candidates: ")


def test_candidates_are_listed() -> None:
    refused(lambda: frechet_mean(TREE, ["a"], [1], candidates=3), InputError, "3", "list of keys")  # type: ignore[arg-type]
    refused(
        lambda: make_scorer(TREE, ["a"]).score([1], candidates=np.zeros(0, int)),
        InputError,
        "candidates: empty",
    )


# ---- scorers built by hand -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scorer", "space", "other"),
    [(TreeScorer, TREE, GRAPH), (RestrictedTreeScorer, LEAVES, GRAPH), (EuclideanScorer, EUCLIDEAN, TREE)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_scorers_take_indices_of_points(scorer: Any, space: MetricSpace, other: MetricSpace) -> None:
    for bad in ([-1], [9], [0.5], ["a"], None, [[0]]):
        refused(lambda bad=bad: scorer(space, bad), InputError, "observed: ")
    with pytest.raises(InputError, match=r"observed: empty|distances: shape"):
        scorer(space, [])
    refused(lambda: scorer(other, [0]), InputError, "space: ", "make_scorer")


@pytest.mark.parametrize("scorer", [DenseScorer, GraphScorer])
@pytest.mark.parametrize(
    ("distances", "words"),
    [
        (None, "shape ()"),
        ([[0, 1], [1, 0]], "shape ()"),
        (LINE[0], "shape (3,)"),
        (np.zeros((0, 3)), "shape (0, 3)"),
        (np.array([[0, np.nan], [1, 0]]), "NaN"),
        (np.array([[0, np.inf], [1, 0]]), "infinity"),
        (np.array([[0.0, -1.0], [1.0, 0.0]]), "negative"),
        (LINE.astype(np.int8), "int8"),
        (LINE.astype(np.uint32), "uint32"),
        (LINE.astype(np.float16), "float16"),
        (LINE.astype(object), "object"),
        (LINE.astype(complex), "complex128"),
        (np.ma.masked_array(LINE.astype(float), LINE == 2), "MaskedArray"),
    ],
    ids=repr,
)
def test_scorers_take_sound_distances(scorer: Any, distances: Any, words: str) -> None:
    refused(lambda: scorer(distances), SpaceError, "distances: ", words)


# ---- loci ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pair-grid", "grid"])
@pytest.mark.parametrize("bad", [*NO_NUMBER], ids=repr)
def test_grids_take_finite_numbers(method: Any, bad: Any) -> None:
    refused(lambda: locus(TREE, ["a", "b"], method=method, divisions=bad), InputError, "divisions: ")
    refused(lambda: locus(TREE, ["a", "b"], method=method, largest_cost=bad), InputError, "largest_cost: ")


def test_methods_are_named_and_take_what_is_theirs() -> None:
    wrong: Any = "small"
    refused(lambda: locus(TREE, ["a"], method=wrong), InputError, "method: 'small'", "'pair-grid'")
    refused(lambda: locus(TREE, ["a"], method=["exact"]), InputError, "method: ['exact']")  # type: ignore[arg-type]
    refused(lambda: locus(TREE, ["a"], method="pairs", divisions=3), InputError, "divisions: ", "'pairs'")
    refused(lambda: locus_cover(TREE, method="exact"), InputError, "method: 'exact'", "'minimum'")  # type: ignore[arg-type]
    for method in ("phylogenetic", "small"):
        refused(
            lambda m=method: locus_cover(TREE, method=m, identifying=True), InputError, f"with {method!r}"
        )


def test_no_division_and_too_many_are_refused() -> None:
    refused(lambda: locus(TREE, ["a", "b"], divisions=0, method="grid"), InputError, "divisions: 0")
    refused(
        lambda: locus(TREE, ["a", "b"], divisions=1e300, method="grid"), InputError, "largest_cost", "10^"
    )


@pytest.mark.parametrize("bad", [*NO_WHOLE, -1], ids=repr)
def test_seeds_are_whole_numbers(bad: Any) -> None:
    refused(lambda: general_locus(LINE, seed=bad), InputError, "seed: ")
    refused(lambda: sample_observed(TREE, 2, seed=bad), InputError, "seed: ")
    refused(lambda: summarize(HIERARCHY, 3, seed=bad), InputError, "seed: ")
    for draw in (random_tree, watts_strogatz, erdos_renyi, barabasi_albert):
        refused(lambda draw=draw: draw(8, seed=bad), InputError, "seed: ")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("distances", "words"),
    [
        (None, "object"),
        (3, "shape ()"),
        (LINE[0], "shape (3,)"),
        ([[0, 1], [1]], "rows of different lengths"),
        (LINE.astype(np.longdouble), "at most 64 bits"),
        (np.array([[0, np.nan], [1, 0]]), "nan in row 0, column 1"),
        (np.array([[0, np.inf], [1, 0]]), "inf in row 0, column 1"),
        (np.array([[0, 1e300], [1, 0]]), "1e+300 in row 0, column 1"),
        (np.array([[0, 1], [-1, 0]]), "-1 in row 1, column 0"),
        (np.ma.masked_array(LINE, LINE == 2), "masked"),
    ],
    ids=repr,
)
def test_matrices_of_the_general_locus_are_checked(distances: Any, words: str) -> None:
    refused(lambda: general_locus(distances), InputError, "distances: ", words)


def test_more_distances_than_are_compared_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "_MOST_ENTRIES", 5)
    refused(
        lambda: locus(GRAPH, ["a", "b"]),
        SpaceError,
        "observed: 5 labels and 2 observed labels have 10 distances",
    )
    refused(
        lambda: locus(LEAVES, ["c", "d", "e"]), SpaceError, "observed: 3 labels and 3 observed labels have"
    )


def test_a_star_of_very_many_leaves_is_refused_before_memory_is_taken() -> None:
    star = TreeSpace.from_arrays(
        Keys.from_strings(f"{i:06d}" for i in range(200_000)),
        np.arange(200_000).clip(0, 1) - 1,
        None,
        np.arange(1, 200_000),
    )
    refused(lambda: phylogenetic_cover(star), SpaceError, "observed: ", "at most 4294967296 can be compared")


# ---- samples, trees between labels, comparisons ----------------------------------------------------------


@pytest.mark.parametrize("bad", [*NO_WHOLE, 0, -1, 7, 10**30], ids=repr)
def test_no_more_is_drawn_than_there_is(bad: Any) -> None:
    refused(lambda: sample_observed(TREE, bad, seed=0), InputError, "n: ")


@pytest.mark.parametrize("bad", [*NO_NUMBER, None], ids=repr)
def test_theta_is_not_negative(bad: Any) -> None:
    refused(lambda: sample_observed(TREE, 2, method="gibbs", theta=bad, seed=0), InputError, "theta: ")


def test_theta_that_overflows_is_refused() -> None:
    far = TreeSpace.from_arrays(ABC, [-1, 0, 0], [0, 1e70, 1e60])
    refused(
        lambda: sample_observed(far, 2, method="gibbs", theta=1e300, seed=0),
        InputError,
        "theta: 1e+300",
        "1e+70",
    )


# ---- summaries -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarize(HIERARCHY, 3)


@pytest.mark.parametrize("bad", [*NO_WHOLE, 0, -1], ids=repr)
def test_targets_are_positive_whole_numbers(bad: Any) -> None:
    for method in ("capped", "node", "neighbourhood", "subtree"):
        refused(lambda method=method: summarize(HIERARCHY, bad, method=method), InputError, "target: ")


@pytest.mark.parametrize("method", ["capped", "node", "neighbourhood", "subtree"])
def test_a_target_beyond_all_labels_leaves_each_its_own(method: Any) -> None:
    assert summarize(HIERARCHY, 10**30, method=method).sizes.tolist() == [1] * 6


@pytest.mark.parametrize("bad", [True, 0, -1, 2.5, float("nan"), float("inf"), "2", 1j, [2], 1], ids=repr)
def test_caps_are_counts_or_shares(bad: Any) -> None:
    refused(lambda: summarize(HIERARCHY, 3, cap=bad), InputError, "cap: ")


def test_methods_are_words() -> None:
    refused(lambda: summarize(HIERARCHY, 3, method=["capped"]), InputError, "method: ['capped']")  # type: ignore[arg-type]
    refused(lambda: sample_observed(TREE, 1, method=["gibbs"], seed=0), InputError, "method: ['gibbs']")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [*(value for value in NO_WHOLE if value != "2"), -1, 3, 10**30], ids=repr)
def test_supernodes_are_numbered(summary: Summary, bad: Any) -> None:
    refused(lambda: expand(summary, bad), InputError, "supernode: ")
    refused(lambda: summary.members(bad), InputError, "supernode: ")
    if not isinstance(bad, list | np.ndarray):
        refused(lambda: summary.distortion([bad]), InputError, "supernodes: ")


def test_what_is_pushed_is_listed(summary: Summary) -> None:
    for bad in (None, 3, b"a", "a", [3], [["a"], 3], [b"a"]):
        refused(lambda bad=bad: push(summary, bad), InputError, "labels: ")
    refused(lambda: push(summary, ["a", "zz"]), UnknownLabelError, "labels: 1 of 2", "'zz'")
    refused(lambda: push(None, ["a"]), InputError, "summary: None")  # type: ignore[arg-type]
    refused(lambda: expand(3, 0), InputError, "summary: 3")  # type: ignore[arg-type]


# ---- random graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [*NO_WHOLE, 0, -1], ids=repr)
def test_sizes_of_random_graphs_are_whole_numbers(bad: Any) -> None:
    for draw in (random_tree, watts_strogatz, erdos_renyi, barabasi_albert):
        refused(lambda draw=draw: draw(bad), InputError, "n: ")  # type: ignore[operator]
    refused(lambda: watts_strogatz(20, k=bad), InputError, "k: ")
    refused(lambda: barabasi_albert(20, m=bad), InputError, "m: ")


@pytest.mark.parametrize("bad", [*NO_NUMBER, None, 1.5], ids=repr)
def test_probabilities_are_numbers(bad: Any) -> None:
    refused(lambda: watts_strogatz(20, p=bad), InputError, "p: ")
    refused(lambda: erdos_renyi(20, p=bad), InputError, "p: ")


def test_numbers_of_numpy_are_numbers() -> None:
    assert random_tree(np.int64(8), seed=np.int64(3)) == random_tree(8, seed=3)  # type: ignore[arg-type]
    assert sample_observed(TREE, np.int64(2), theta=np.float32(0.5), seed=np.uint8(1)) == sample_observed(
        TREE, 2, theta=0.5, seed=1
    )
    assert summarize(HIERARCHY, np.int8(3)).sizes.tolist() == summarize(HIERARCHY, 3).sizes.tolist()  # type: ignore[arg-type]


# ---- good input of odd form ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i1", "i8", "u4", "u8", "f2", "f4", "f8", ">f4", ">u2", ">i8"])
def test_the_general_locus_reads_every_dtype(dtype: str) -> None:
    rows = np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 1], [3, 2, 2]])
    wanted, found = locus_of_rows(squared(rows.tolist())), general_locus(rows.astype(dtype))
    assert (found.index.tolist(), found.unique_index.tolist()) == (list(wanted.members), list(wanted.unique))


@pytest.mark.parametrize("scale", [1e-300, 1e-75, 1e75, 1e149])
def test_the_general_locus_of_extreme_numbers(scale: float) -> None:
    rows = np.array([[0.0, 2.0, 2.0], [2.0, 0.0, 2.0], [2.0, 2.0, 0.0], [1.0, 1.0, 1.0], [3.0, 2.0, 2.0]])
    plain, scaled = general_locus(rows), general_locus(rows * scale)
    assert scaled.index.tolist() == plain.index.tolist()
    assert scaled.unique_index.tolist() == plain.unique_index.tolist()


def equal(found: FrechetResult, wanted: FrechetResult) -> bool:
    parts = ("index", "value", "n_tied")
    return all(np.array_equal(getattr(found, part), getattr(wanted, part)) for part in parts)


def layouts(array: Any, folder: Any) -> dict[str, Any]:
    mapped = np.memmap(folder / "array", dtype=array.dtype, mode="w+", shape=array.shape)
    mapped[:] = array
    mapped.flush()
    return {
        "fortran": np.asfortranarray(array),
        "read only": read_only(array),
        "strided": np.repeat(np.repeat(array, 2, 0), 2, 1)[::2, ::2],
        "reversed": array[::-1].copy()[::-1],
        "mapped": np.memmap(folder / "array", dtype=array.dtype, mode="r", shape=array.shape),
    }


def test_layouts_of_weights_and_distances_change_nothing(tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    half = rng.random((6, 6))
    matrix = np.triu(half, 1) + np.triu(half, 1).T
    weights, observed = rng.random((300, 6)), list("abcdef")
    plain = MatrixSpace(matrix, observed)
    wanted, reached = frechet_mean(plain, observed, weights), locus(plain, list("abcd"))
    for form in layouts(matrix, tmp_path).values():
        space = MatrixSpace(form, observed)
        assert equal(frechet_mean(space, observed, weights), wanted)
        found = locus(space, list("abcd"))
        assert found.index.tolist() == reached.index.tolist()
        assert found.unique_index.tolist() == reached.unique_index.tolist()
    for space in (plain, TREE, LEAVES):
        known = observed if space is plain else list("abcder")
        wanted = frechet_mean(space, known, weights)
        for form in layouts(weights, tmp_path).values():
            assert equal(frechet_mean(space, known, form), wanted)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "i2", "u8", "g"])
def test_dtypes_of_weights_are_read_as_they_are(dtype: str) -> None:
    given = (np.random.default_rng(2).random((50, 6)) * 100).astype(dtype)
    for space in (TREE, LEAVES):
        found = frechet_mean(space, list("abcder"), given)
        dense = DenseScorer(space.distances(cols=space.point_index(list("abcder"))))
        assert equal(found, dense.score(given.astype(np.float64)))


def test_a_graph_as_long_as_a_path_is_measured() -> None:
    """A diameter beyond 65,535 is held in float32."""
    n = 70_000
    graph = LabelGraph.from_edges([(f"{i:05d}", f"{i - 1:05d}") for i in range(1, n)])
    space = GraphSpace(graph)
    assert space.distance_dtype == np.float32
    assert space.distances([0, n - 1], [0, n // 2]).tolist() == [[0, n // 2], [n - 1, n - 1 - n // 2]]
    ends = ["00000", f"{n - 1:05d}"]
    assert frechet_mean(space, ends, [1, 1]).index == frechet_mean(metric_space(graph), ends, [1, 1]).index


def singles() -> dict[str, MetricSpace]:
    return {
        "tree": TreeSpace.from_arrays(Keys.from_strings(["x"]), [-1]),
        "graph": GraphSpace(LabelGraph.from_edges([], labels=["x"])),
        "complete": CompleteSpace(["x"]),
        "matrix": MatrixSpace(np.zeros((1, 1)), ["x"]),
        "euclidean": EuclideanSpace(np.ones((1, 2)), ["x"]),
        "leaf": metric_space(HIERARCHY, labels=["c"]),
        "vertex": GraphSpace(RING, [2]),
        "vector": EuclideanSpace(VECTORS, list("abcde"), [1]),
    }


@pytest.mark.parametrize("kind", singles())
def test_one_allowed_label_answers_everything(kind: str) -> None:
    space = singles()[kind]
    key = space.keys[0]
    assert locus(space, [key]).members == locus(space, [key], method="pairs").members == (key,)
    assert locus(space, list(space.points)[:3]).unique == (key,)
    for cover in ("locus_cover", "minimum_locus_cover", "phylogenetic_cover", "must_observe"):
        assert getattr(geometry, cover)(space).keys == (key,)
    assert uniform_center(space) == geometry.select_next(space, []) == key
    assert sample_observed(space, 1, method="gibbs", seed=0) == (key,)
    assert frechet_mean(space, [key], np.ones((300, 1))).index.max() == 0
    refused(lambda: geodesic_interval(space, key, key), InputError, "first, second: ", "occurs twice")


@pytest.mark.parametrize("kind", ["leaves", "graph", "complete", "euclidean"])
def test_observed_labels_outside_the_allowed_ones(kind: str) -> None:
    allowed = [0, 2]
    space = {
        "leaves": LEAVES,
        "graph": GraphSpace(RING, allowed),
        "complete": CompleteSpace(list("abcd"), allowed),
        "euclidean": EuclideanSpace(np.array([[0.0], [1.0], [3.0], [4.0]]), list("abcd"), allowed),
    }[kind]
    observed = ["r", "a"] if kind == "leaves" else ["b", "d"]
    wanted = locus_of_rows(squared(space.distances(cols=space.point_index(observed)).tolist()))
    found = locus(space, observed)
    assert (found.index.tolist(), found.unique_index.tolist()) == (list(wanted.members), list(wanted.unique))


def test_keys_of_any_script_and_line_breaks() -> None:
    keys = ["a\nb", "é", "日本", "\U0001f600", " ", "'\"", "a,b", "\u202e"]
    line = metric_space(LabelGraph.from_edges(list(zip(keys[1:], keys, strict=False))))
    assert set(locus(line, [keys[0], keys[-1]]).members) == set(keys)
    refused(lambda: locus(line, ["a\nc"]), UnknownLabelError, "observed: ", r"a\nc")


# ---- threads, processes, folders -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tree", "leaves", "graph"])
def test_threads_share_a_scorer_and_a_space(kind: str) -> None:
    rng = np.random.default_rng(3)
    pairs = [(f"{i:03d}", f"{rng.integers(0, i):03d}") for i in range(1, 120)]
    observed = [f"{i:03d}" for i in range(0, 120, 15)]
    weights = rng.random((1200, len(observed)))

    def space() -> MetricSpace:
        if kind == "graph":
            return GraphSpace(LabelGraph.from_edges([*pairs, ("100", "050"), ("110", "020")], directed=False))
        return metric_space(LabelGraph.from_edges(pairs), labels="all" if kind == "tree" else "leaves")

    wanted, reached = frechet_mean(space(), observed, weights), locus(space(), observed).index
    shared = space()
    scorer = make_scorer(shared, observed)
    wrong: list[Any] = []

    def work(first: int) -> None:
        try:
            for _ in range(3):
                found = scorer.score(weights[first : first + 300])
                np.testing.assert_equal(found.index, wanted.index[first : first + 300])
                np.testing.assert_equal(found.n_tied, wanted.n_tied[first : first + 300])
                np.testing.assert_equal(locus(shared, observed).index, reached)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(300 * (i % 4),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_process_without_a_folder_for_compiled_code_and_its_child() -> None:
    """Kernels compile where no cache can be written, and a forked child goes on with them."""
    script = """
import os
import numpy as np
from labelgrove.ontology.geometry import locus, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

star = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "r")])
space = metric_space(star, labels="leaves")
found = locus(space, ["a", "b"]).members
child = os.fork()
if child == 0:
    os._exit(0 if locus(space, ["a", "b"]).members == found else 3)
print(*found, os.waitpid(child, 0)[1])
"""
    nowhere = os.path.join(os.devnull, "nowhere")
    environment = os.environ | {"HOME": nowhere, "NUMBA_CACHE_DIR": nowhere}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["a", "b", "0"], done.stderr

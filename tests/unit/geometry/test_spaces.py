"""Spaces measure what the slow oracle measures, hold the metric axioms, and refuse what is no space."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from geometry_cases import KINDS, Case, cases, random_case
from hypothesis import given

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, GraphSpace, MatrixSpace, TreeSpace, metric_space
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

DIAMOND = LabelGraph.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")])


@given(cases())
def test_distances_and_diameter_equal_the_oracle(case: Case) -> None:
    table = [case.distances[y] for y in case.allowed]
    assert case.space.distances().tolist() == table
    assert case.space.diameter() == max(row[y] for row in table for y in case.allowed)
    assert case.space.distances(cols=case.observed).tolist() == [
        [row[o] for o in case.observed] for row in table
    ]
    rows = [*range(case.space.n_labels)][::-2]
    assert case.space.distances(rows, [0]).tolist() == [[table[r][0]] for r in rows]


@given(cases())
def test_a_space_that_has_measured_is_copied_and_pickled(case: Case) -> None:
    table = case.space.distances()
    case.space.diameter()
    for again in (copy.deepcopy(case.space), pickle.loads(pickle.dumps(case.space))):
        assert (again.distances() == table).all()


@given(cases())
def test_metric_axioms(case: Case) -> None:
    points = np.array(case.allowed)
    table = case.space.distances(cols=points).astype(np.int64)
    assert (table == table.T).all()
    assert ((table == 0) == np.eye(len(points), dtype=bool)).all()
    assert (table[:, :, None] + table[None] >= table[:, None, :]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_diameter_of_larger_graphs(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        case = random_case(kind, rng, 1)
        assert case.space.diameter() == max(case.distances[a][b] for a in case.allowed for b in case.allowed)


def test_diameter_of_a_wide_graph_equals_all_sources() -> None:
    rng = np.random.default_rng(5)
    pairs = [(f"{i:03d}", f"{int(rng.integers(0, i)):03d}") for i in range(1, 400) for _ in range(2)]
    for labels in ("all", "leaves"):
        space = metric_space(LabelGraph.from_edges(sorted(set(pairs))), "graph", labels)
        assert space.diameter() == space.distances(cols=space.point_index(space.keys)).max()


def test_auto_rule() -> None:
    assert isinstance(metric_space(LabelGraph.complete(4)), CompleteSpace)
    assert isinstance(metric_space(LabelGraph.grid((1, 5))), TreeSpace)
    assert isinstance(metric_space(LabelGraph.grid((2, 2))), GraphSpace)
    assert isinstance(metric_space(DIAMOND), GraphSpace)
    assert isinstance(metric_space(DIAMOND, "tree"), TreeSpace)
    assert isinstance(metric_space(LabelGraph.complete(2), "tree"), TreeSpace)
    assert (
        metric_space(LabelGraph.complete(4), "graph").distances().tolist()
        == (1 - np.eye(4, dtype=int)).tolist()
    )


def test_tree_of_primary_parents_leaves_other_edges_out() -> None:
    tree, graph = metric_space(DIAMOND, "tree"), metric_space(DIAMOND, "graph")
    d, c = tree.point_index(["d", "c"])
    assert (tree.distances([d], [c]), graph.distances([d], [c])) == (3, 1)


def test_several_roots_have_no_tree() -> None:
    graph = LabelGraph.from_edges([("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")])
    with pytest.raises(SpaceError, match=r"has 2; .*roots=virtual"):
        metric_space(graph, "tree")
    assert metric_space(graph).diameter() == 2


def test_parts_have_no_distance() -> None:
    for directed in (True, False):
        graph = LabelGraph.from_edges([("a", "r"), ("b", "s")], labels=["t"], directed=directed)
        for metric in ("auto", "graph"):
            with pytest.raises(SpaceError, match=r"3 parts.*roots=virtual"):
                metric_space(graph, metric)
        with pytest.raises(SpaceError):
            metric_space(graph, "tree")


def test_an_undirected_cycle_is_no_tree() -> None:
    with pytest.raises(SpaceError, match=r"cycle.*metric='graph'"):
        metric_space(LabelGraph.grid((2, 2)), "tree")


def test_labels_are_chosen_by_name() -> None:
    space = metric_space(DIAMOND, labels=["d", "b"])
    assert list(space.keys) == [key for key in DIAMOND.keys if key in "bd"]
    assert (space.n_labels, space.n_points) == (2, 4)
    assert space.index(["d"]).tolist() == [space.keys.index("d")]
    assert space.point_index(["d"]).tolist() == [DIAMOND.keys.index("d")]
    assert metric_space(DIAMOND, labels=list(DIAMOND.keys)).allowed is None


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"metric": "euclid"}, InputError, "euclid"),
        ({"labels": "some"}, InputError, "some"),
        ({"labels": []}, SpaceError, "no label is allowed"),
        ({"labels": ["b", "b"]}, InputError, "'b' occurs twice"),
        ({"labels": ["b", "z"]}, UnknownLabelError, "'z'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        metric_space(DIAMOND, **arguments)


@pytest.mark.parametrize("bad", [[-1], [4], [[0]], [0.5], ["a"]])
def test_indices_out_of_place_are_refused(bad: list) -> None:
    for space in (metric_space(DIAMOND), metric_space(DIAMOND, "tree"), CompleteSpace(list("abcd"))):
        with pytest.raises(InputError):
            space.distances(rows=bad)
        with pytest.raises(InputError):
            space.distances(cols=bad)
    assert metric_space(DIAMOND).distances(rows=[], cols=[0]).shape == (0, 1)
    assert metric_space(DIAMOND, "tree").distances(rows=[0], cols=[]).shape == (1, 0)


def test_a_string_is_not_a_list_of_keys() -> None:
    for call in (metric_space(DIAMOND).index, metric_space(DIAMOND).point_index):
        with pytest.raises(InputError, match="list of keys"):
            call("a")


# ---- dtypes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "length", "dtype"),
    [
        (256, 1, np.uint8),
        (257, 1, np.uint16),
        (3, 32_767, np.uint16),
        (3, 32_768, np.float32),
        (3, 2**23, np.float32),
        (3, 2**23 + 1, np.float64),
        (3, 0.5, np.float64),
    ],
)
def test_the_smallest_exact_dtype(n: int, length: float, dtype: type) -> None:
    keys = [f"{i:03d}" for i in range(n)]
    pairs = list(zip(keys[1:], keys[:-1], strict=True))
    for metric in ("tree", "graph"):
        space = metric_space(LabelGraph.from_edges(pairs, weights=[length] * (n - 1)), metric)
        assert space.distance_dtype == dtype
        table = space.distances()
        assert table.dtype == dtype
        assert table.max() == (n - 1) * length == space.diameter()
        assert (table == abs(np.subtract.outer(np.arange(n), np.arange(n))) * length).all()


# ---- trees from arrays -----------------------------------------------------------------------------------


@given(cases(["tree", "undirected tree", "weighted tree", "polytree", "primary tree"]))
def test_arrays_make_the_same_tree_again(case: Case) -> None:
    space = case.space
    again = TreeSpace.from_arrays(space.points, space.parent, space.length, space.allowed)
    assert (again.distances() == space.distances()).all()
    assert (again.parent == space.parent).all()
    assert list(again.keys) == list(space.keys)


@pytest.mark.parametrize(
    ("parent", "length", "text"),
    [
        ([-1, 0], None, "2 entries for 3 labels"),
        ([-1, 0, -1], None, "2 roots"),
        ([1, 2, 0], None, "0 roots"),
        ([-1, 2, 1], None, "2 of 3 labels are not connected"),
        ([-1, 0, 3], None, "outside"),
        ([-1, 0, 0], [0, 1, 0], "length"),
        ([-1, 0, 0], [0, 1, np.nan], "length"),
        ([-1, 0, 0], [0, 1, 1e80], "another unit"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(parent: list, length: list | None, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        TreeSpace.from_arrays(Keys.from_strings("abc"), parent, length)


# ---- matrices --------------------------------------------------------------------------------------------


def test_matrix_of_some_points() -> None:
    matrix = np.array([[0, 2], [2, 0], [1, 1]], dtype=np.uint8)
    space = MatrixSpace(matrix, ["a", "b", "c"], points=["a", "b"])
    assert (space.n_labels, space.n_points) == (3, 2)
    assert space.distances([2], [1]).tolist() == [[1]]
    with pytest.raises(SpaceError, match=r"1 labels have no column, 'c'"):
        space.diameter()


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (np.zeros((2, 3)), "shape"),
        (np.zeros((2, 2), dtype=np.int64), "dtype"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "1.0 from 'a' to 'b'"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "-1.0 from 'a' to 'b'"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "nan"),
        (np.array([[0.5, 1.0], [1.0, 0.0]]), "0.5 from 'a' to 'a'"),
    ],
)
def test_matrices_that_are_no_distances_are_refused(matrix: np.ndarray, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        MatrixSpace(matrix, ["a", "b"])


# ---- imports ---------------------------------------------------------------------------------------------

NUMPY_ALONE = """
import sys
for name in ("scipy", "numba", "networkx", "sklearn", "sqlalchemy", "neo4j", "redis", "celery", "click"):
    sys.modules[name] = None
import labelgrove.ontology.geometry as g
from labelgrove.ontology.labelgraph import LabelGraph
assert set(g.__all__) <= set(dir(g)) and all(hasattr(g, name) for name in g.__all__)
graph = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "b")])
for labels in ("all", "leaves"):
    for space in (g.metric_space(graph, labels=labels), g.CompleteSpace(["a", "b", "c"])):
        g.frechet_mean(space, ["a", "b"], [0.5, 0.5], top=2)
        g.frechet_mean(space, ["a", "b"], [0.5, 0.5], beta=1)
space = g.MatrixSpace(g.metric_space(graph).distances(), graph.keys)
assert g.frechet_mean_set(space, ["a", "c"], [2, 1]) == ("r",)
try:
    g.GraphSpace(graph).diameter()
except ImportError as error:
    assert "[science]" in str(error)
else:
    raise SystemExit("a graph was measured without scipy")
"""


def test_everything_but_graphs_works_with_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", NUMPY_ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

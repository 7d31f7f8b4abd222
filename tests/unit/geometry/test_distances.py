"""Bulk distances equal the obvious searches: every family, shape of request, dtype and way of computing."""

from __future__ import annotations

import heapq
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import numpy as np
import pytest
from geometry_cases import KINDS, Case, cases, random_case
from hypothesis import given
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import CompleteSpace, GraphSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.kernels.graphs import breadthfirst
from labelgrove.ontology.geometry.kernels.graphs.adjacency import adjacency
from labelgrove.ontology.geometry.paths import rootedtree
from labelgrove.ontology.geometry.spaces.bulkdistances import pairwise_distances
from labelgrove.ontology.labelgraph import LabelGraph


def graph_of(n: int, edges: list[tuple[int, int]], weights: list[float] | None = None) -> LabelGraph:
    """Undirected graph on labels 0..n-1, named so that canonical order is another."""
    keys = [f"{(i * 7919) % 100_003:06d}" for i in range(n)]
    return LabelGraph.from_edges(
        [(keys[a], keys[b]) for a, b in edges], weights=weights, labels=keys, directed=False
    )


def random_edges(n: int, n_more: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A random tree of moderate depth and `n_more` further edges; many vertices are pendant."""
    tree = [(i, int(rng.integers(max(0, i - 40), i))) for i in range(1, n)]
    more = rng.integers(0, n, (n_more, 2)).tolist()
    return sorted({(max(a, b), min(a, b)) for a, b in tree + more if a != b})


def searched(graph: LabelGraph, sources: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lengths of shortest paths from each source, by a plain Dijkstra; infinite where there is no path."""
    neighbors: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_labels)]
    ends = zip(graph.edge_child.tolist(), graph.edge_parent.tolist(), graph.edge_weight.tolist(), strict=True)
    for a, b, w in ends:
        neighbors[a].append((b, w))
        neighbors[b].append((a, w))
    table = np.full((graph.n_labels, len(sources)), np.inf)
    for source in set(sources.tolist()):
        known: dict[int, float] = {}
        heap = [(0.0, source)]
        while heap:
            distance, v = heapq.heappop(heap)
            if v not in known:
                known[v] = distance
                for u, w in neighbors[v]:
                    heapq.heappush(heap, (distance + w, u))
        column = np.full(graph.n_labels, np.inf)
        column[list(known)] = list(known.values())
        table[:, sources == source] = column[:, None]
    return table


# ---- graphs ----------------------------------------------------------------------------------------------


@given(cases())
def test_pairwise_and_out_equal_the_oracle(case: Case) -> None:
    space = case.space
    table = [case.distances[y] for y in case.allowed]
    assert pairwise_distances(space).tolist() == table
    rows = [*range(space.n_labels)][::-1] * 2
    cols = [*case.observed, case.observed[0]]
    wanted = np.array([[table[r][c] for c in cols] for r in rows])
    assert (pairwise_distances(space, rows, cols) == wanted).all()
    for order in ("C", "F"):
        out = np.empty(wanted.shape, dtype=space.distance_dtype, order=order)
        assert pairwise_distances(space, rows, cols, out=out) is out
        assert (out == wanted).all()


@pytest.mark.parametrize("n_sources", [1, 7, 8, 63, 64, 65, 500, 511, 512, 513, 600])
def test_sources_in_any_number(n_sources: int) -> None:
    rng = np.random.default_rng(n_sources)
    graph = graph_of(700, random_edges(700, 60, rng))
    sources = rng.integers(0, 700, n_sources)  # some stand twice
    table = searched(graph, sources)
    space = GraphSpace(graph)
    found = space.distances(cols=sources)
    assert found.dtype == np.uint8
    assert (found == table).all()
    rows = rng.integers(0, 700, 900)
    assert (space.distances(rows, sources) == table[rows]).all()
    assert (space.distances(sources, rows) == table[rows].T).all()
    assert (space.distances(sources) == table.T).all()


@pytest.mark.parametrize("shift", [0, 1, 8, 37, 63])
@pytest.mark.parametrize("width", [8, 9, 40, 64, 130, 530])
def test_out_at_any_address(shift: int, width: int) -> None:
    rng = np.random.default_rng(width)
    graph = graph_of(300, random_edges(300, 30, rng))
    sources = rng.integers(0, 300, width)
    memory = np.full(300 * width + 256, 77, dtype=np.uint8)
    first = 128 - memory.ctypes.data % 64 + shift
    out = memory[first : first + 300 * width].reshape(300, width)
    pairwise_distances(GraphSpace(graph), cols=sources, out=out)
    assert (out == searched(graph, sources)).all()
    assert (memory[:first] == 77).all()
    assert (memory[first + 300 * width :] == 77).all()


def test_rows_are_written_after_every_sweep_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    breadthfirst = pytest.importorskip("labelgrove.ontology.geometry.kernels.graphs.breadthfirst")
    rng = np.random.default_rng(2)
    graph = graph_of(900, random_edges(900, 90, rng))
    sources = rng.integers(0, 900, 1300)
    table = searched(graph, sources)
    for words in (0, 1 << 17):
        monkeypatch.setattr(breadthfirst, "_PLANE_WORDS", words)
        assert (GraphSpace(graph).distances(np.arange(900).repeat(2), sources) == table.repeat(2, 0)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_graphs_that_are_all_pendant(n: int) -> None:
    star = graph_of(n, [(i, 0) for i in range(1, n)])
    path = graph_of(n, [(i, i - 1) for i in range(1, n)])
    for graph in (star, path):
        space = GraphSpace(graph)
        for n_sources in {1, min(n, 8), n}:
            sources = np.arange(n_sources)
            assert (space.distances(cols=sources) == searched(graph, sources)).all()
            again = np.zeros(20, dtype=np.int64)  # one vertex for every source: all else is stripped
            assert (space.distances(cols=again) == searched(graph, again)).all()


@pytest.mark.parametrize(
    ("n", "ring", "dtype"),
    [
        (256, False, np.uint8),
        (257, False, np.uint16),
        (511, True, np.uint8),
        (512, True, np.uint16),
        (1000, False, np.uint16),
    ],
)
def test_deep_graphs(n: int, ring: bool, dtype: type) -> None:
    edges = [(i, i - 1) for i in range(1, n)] + ([(n - 1, 0)] if ring else [])
    graph = graph_of(n, edges)
    space = GraphSpace(graph)
    sources = np.random.default_rng(n).permutation(n)[:70]
    found = space.distances(cols=sources)
    assert found.dtype == dtype
    assert (found == searched(graph, sources)).all()
    assert (space.distances(sources) == found.T).all()
    assert space.diameter() == (n // 2 if ring else n - 1)


def test_lengths_are_summed_by_dijkstra() -> None:
    rng = np.random.default_rng(9)
    edges = random_edges(120, 60, rng)
    for weights, dtype in [
        (rng.integers(1, 9, len(edges)), np.uint8),
        (rng.integers(100, 900, len(edges)), np.uint16),
        (2.0 ** -rng.integers(0, 9, len(edges)), np.float64),
    ]:
        graph = graph_of(120, edges, weights.tolist())
        found = pairwise_distances(graph, cols=[5, 3, 5])
        assert found.dtype == dtype
        assert (found == searched(graph, np.array([5, 3, 5]))).all()


# ---- parts -----------------------------------------------------------------------------------------------


def test_a_graph_in_parts_is_refused() -> None:
    edges = [(i, i - 1) for i in range(1, 20)] + [(21, 22)]
    with pytest.raises(SpaceError, match="5 parts"):
        pairwise_distances(graph_of(25, edges))


def test_a_connected_graph_is_measured_as_its_space() -> None:
    graph = graph_of(80, random_edges(80, 9, np.random.default_rng(1)))
    assert (pairwise_distances(graph) == GraphSpace(graph).distances()).all()


# ---- trees -----------------------------------------------------------------------------------------------


@pytest.fixture(params=["rows from parents", "meeting points"])
def tree_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each of the two ways of making tree distances, for matrices of any size."""
    if request.param == "rows from parents":
        pytest.importorskip("numba")
        monkeypatch.setattr(rootedtree, "_BLOCK_ENTRIES", 1)
    else:
        monkeypatch.setattr(rootedtree, "_BLOCK_ENTRIES", 1 << 62)
    return request.param


@pytest.mark.parametrize("kind", ["tree", "undirected tree", "weighted tree", "polytree", "primary tree"])
def test_tree_rows(kind: str, tree_path: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(25):
        case = random_case(kind, rng, 1)
        table = np.array(case.distances)
        rows = rng.integers(0, len(case.allowed), 30)
        cols = rng.integers(0, len(table), 9)
        at = np.array(case.allowed)
        assert (case.space.distances() == table[at]).all()
        assert (case.space.distances(rows, cols) == table[at[rows]][:, cols]).all()
        assert (case.space.distances(rows[:3], cols) == table[at[rows[:3]]][:, cols]).all()
        assert (case.space.distances(cols=cols) == table[at][:, cols]).all()


@pytest.mark.parametrize(("length", "dtype"), [(1, np.uint8), (2, np.uint16), (300, np.float32)])
def test_deep_tree_rows(length: int, dtype: type, tree_path: str) -> None:
    n = 256  # in uint8 a sum passes 255 before it is overwritten
    space = TreeSpace.from_arrays(graph_of(n, []).keys, np.arange(n) - 1, np.full(n, length))
    found = space.distances()
    assert found.dtype == dtype
    assert (found == np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * length).all()


# ---- diameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_diameters_of_every_family(kind: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(25):
        case = random_case(kind, rng, 1)
        assert case.space.diameter() == max(case.distances[a][b] for a in case.allowed for b in case.allowed)


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_diameters_of_graphs_with_few_and_many_cycles(labels: str) -> None:
    rng = np.random.default_rng(3)
    for n_more in (0, 30, 900):
        graph = graph_of(400, random_edges(400, n_more, rng))
        space = metric_space(graph, "graph", labels)
        allowed = np.arange(400) if space.allowed is None else space.allowed
        assert space.diameter() == searched(graph, allowed)[allowed].max()


def test_wordnet_nouns_have_diameter_30_and_their_tree_34(wordnet_dir) -> None:
    from labelgrove.ontology.readers import read

    graph = read(wordnet_dir).graph
    assert graph is not None
    assert metric_space(graph, "graph").diameter() == 30
    assert metric_space(graph, "tree").diameter() == 34


# ---- without numba, and bad requests ---------------------------------------------------------------------


def test_numba_or_not_the_numbers_are_the_same() -> None:
    code = """
    import hashlib
    import numpy as np
    from labelgrove.ontology.geometry import GraphSpace, metric_space
    from labelgrove.ontology.labelgraph import LabelGraph

    rng = np.random.default_rng(0)
    drawn = [(i, int(rng.integers(max(0, i - 50), i))) for i in range(1, 1500) for _ in "ab"]
    pairs = [(f"{a:04d}", f"{b:04d}") for a, b in sorted(set(drawn))]
    graph = LabelGraph.from_edges(pairs)
    whole = GraphSpace(graph)
    tree = metric_space(graph, "tree")
    found = [whole.distances(cols=np.arange(600)), whole.distances(np.arange(3))]
    found += [tree.distances(cols=np.arange(3000) % 1500), np.array(whole.diameter())]
    print([(a.dtype.str, a.shape, hashlib.sha256(a.tobytes()).hexdigest()) for a in found])
    """
    block = "import sys\nsys.modules['numba'] = None\n"
    printed = {
        subprocess.run(
            [sys.executable, "-c", first + textwrap.dedent(code)],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for first in ("", block)
    }
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rows": [3]}, "rows"),
        ({"cols": [-1]}, "cols"),
    ],
)
def test_bad_requests_are_named(arguments: dict, text: str) -> None:
    with pytest.raises(InputError, match=text):
        pairwise_distances(CompleteSpace(["a", "b", "c"]), **arguments)


def test_an_out_that_does_not_fit_is_refused() -> None:
    space = CompleteSpace(["a", "b", "c"])
    for out in (np.empty((3, 2), np.uint8), np.empty((3, 3), np.uint16)):
        with pytest.raises(InputError, match="out: "):
            pairwise_distances(space, out=out)


def test_stripping_leaves_one_vertex_of_a_tree_without_a_source():
    """Its last vertex hangs on nothing: what it hung on was memory that nobody had written."""
    pairs = np.arange(0, 400, 2)
    begin, neighbor = adjacency(400, pairs, pairs + 1)
    keep = np.zeros(400, dtype=bool)
    keep[:8] = True
    core_begin, _, anchor, height = breadthfirst._strip(begin, neighbor, keep)
    assert len(core_begin) - 1 == 8 + 196
    assert ((anchor >= 0) & (anchor < 204)).all()
    assert sorted(height[8:].tolist()) == [0] * 196 + [1] * 196

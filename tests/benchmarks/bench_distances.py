"""Distance blocks beside igraph, scipy and networkx, in one process and on one thread.

    python -m tests.benchmarks.bench_distances [--sources 1000] [--whole]

Graphs: WordNet's nouns over every edge (without WordNet, a synthetic graph of their size), and the synthetic
category graph; K seeded sources to all labels. igraph and scipy measure fewer sources and are scaled by K
over that number, unless `--whole` gives igraph all of them (gigabytes of Python lists on the category graph);
networkx always measures a few. igraph gives distances to Python as lists alone, so its searches are timed
without them too. Every answer is compared before it counts. `fresh` allocates the output, `out`
fills the same array again, which spares the clearing of new memory. Peak memory is that of a process of its
own. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import GraphSpace, metric_space
from labelgrove.ontology.geometry.spaces.bulkdistances import pairwise_distances
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import category_graph, describe, noun_graph
from tests.benchmarks.measuring import one_thread, print_document, timed

SEED = 0

WITHOUT_LISTS = "igraph_without_lists"

T = TypeVar("T")
GRAPHS: dict[str, Callable[[], tuple[str, LabelGraph]]] = {
    "nouns": noun_graph,
    "category_graph": lambda: ("category_graph", category_graph()),
}


def repeated(work: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Least processor time of `repeats` calls, and the last answer; one answer is held at a time."""
    least, answer = timed(work)
    for _ in range(repeats - 1):
        del answer
        taken, answer = timed(work)
        least = min(least, taken)
    return least, answer


def drawn(n_labels: int, n_sources: int) -> NDArray[np.int64]:
    """Distinct sources."""
    return np.random.default_rng(SEED).permutation(n_labels)[:n_sources]


def others(graph: LabelGraph, sources: NDArray[np.int64], ours: NDArray[Any], whole: bool) -> dict[str, Any]:
    """Seconds that igraph, scipy and networkx take for all sources, and how many were measured."""
    import igraph
    import networkx
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    ends = np.column_stack([graph.edge_child, graph.edge_parent])
    one = igraph.Graph(n=graph.n_labels, edges=ends)
    two = networkx.Graph(ends.tolist())
    three = csr_array((np.ones(len(ends)), tuple(ends.T)), shape=(graph.n_labels,) * 2)
    few = min(len(sources), 10_000_000 // graph.n_labels)

    def of_networkx() -> NDArray[Any]:
        found = np.empty((3, graph.n_labels))
        for row, source in zip(found, sources[:3].tolist(), strict=True):
            lengths = networkx.single_source_shortest_path_length(two, source)
            row[list(lengths)] = list(lengths.values())
        return found

    measures: dict[str, tuple[int, Callable[[], Any]]] = {
        "igraph": (len(sources) if whole else few, lambda: one.distances(sources[: measures["igraph"][0]])),
        "scipy": (few, lambda: dijkstra(three, directed=False, indices=sources[:few], unweighted=True)),
        "networkx": (3, of_networkx),
    }
    document = {}
    for name, (n_sources, measure) in measures.items():
        seconds, answer = timed(measure)
        for j in range(n_sources):
            assert (np.asarray(answer[j]) == ours[:, j]).all(), name
        del answer
        document[name] = {
            "sources_measured": n_sources,
            "seconds": round(seconds * len(sources) / n_sources, 2),
        }
    n_sources = measures["igraph"][0]
    seconds = without_lists(one, sources[:n_sources], ours[:, :n_sources])
    document[WITHOUT_LISTS] = {
        "sources_measured": n_sources,
        "seconds": round(seconds * len(sources) / n_sources, 2),
    }
    return document


def without_lists(graph: Any, sources: NDArray[np.int64], ours: NDArray[Any]) -> float:
    """Seconds of igraph's breadth-first searches from `sources` through a whole connected graph, in C alone.

    Eccentricity and closeness both search so, and return one number for each source in place of a list of all
    distances. The faster of the two counts.
    """
    farthest, eccentricity = timed(lambda: graph.eccentricity(sources))
    nearness, closeness = timed(lambda: graph.closeness(sources))
    assert (np.asarray(eccentricity) == ours.max(axis=0)).all()
    means = ours.sum(axis=0, dtype=np.int64) / (len(ours) - 1)
    np.testing.assert_allclose(closeness, 1 / means, rtol=1e-9)
    return min(farthest, nearness)


def measure(name: str, n_sources: int, whole: bool) -> dict[str, Any]:
    """Check and time one graph."""
    called, graph = GRAPHS[name]()
    sources = drawn(graph.n_labels, n_sources)
    space = GraphSpace(graph)
    begin = time.perf_counter()
    ours = pairwise_distances(space, cols=sources)
    first = time.perf_counter() - begin
    beside = others(graph, sources, ours, whole)
    again, _ = repeated(lambda: pairwise_distances(space, cols=sources, out=ours), 7)
    fresh, _ = repeated(lambda: pairwise_distances(space, cols=sources), 7)
    clearing, _ = repeated(lambda: np.empty_like(ours).fill(1), 5)
    diameter, largest = timed(space.diameter)
    document = {
        "graph": describe(called, graph),
        "n_sources": n_sources,
        "first_call_seconds": round(first, 2),
        "fresh_ms": round(1e3 * fresh, 1),
        "out_ms": round(1e3 * again, 1),
        "new_memory_alone_ms": round(1e3 * clearing, 1),
        "diameter": largest,
        "diameter_seconds": round(diameter, 3),
        "beside": beside,
        "ratio_fresh": {k: round(v["seconds"] / fresh, 1) for k, v in beside.items()},
        "ratio_out": {k: round(v["seconds"] / again, 1) for k, v in beside.items()},
    }
    if name == "nouns":
        tree = metric_space(graph, "tree")
        rows, block = repeated(lambda: pairwise_distances(tree, cols=sources), 5)
        into, _ = repeated(lambda: pairwise_distances(tree, cols=sources, out=block), 5)
        tree_diameter, tree_largest = repeated(tree.diameter, 3)
        document |= {
            "tree": {
                "fresh_ms": round(1e3 * rows, 1),
                "out_ms": round(1e3 * into, 1),
                "diameter": tree_largest,
                "diameter_ms": round(1e3 * tree_diameter, 1),
            },
        }
    return document


def peak(name: str, n_sources: int) -> None:
    """Print the output's size, and the peak memory of this process beyond what it held before."""
    space = GraphSpace(GRAPHS[name]()[1])
    pairwise_distances(GraphSpace(LabelGraph.grid((20, 20))))  # loads numba
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    before = pages * resource.getpagesize() >> 20
    output = pairwise_distances(space, cols=drawn(space.n_points, n_sources)).nbytes >> 20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    figures = {"output_mb": output, "before_mb": before, "peak_mb": most}
    print(json.dumps(figures | {"beside_output_mb": most - before - output}))


def main() -> None:
    """Run every graph and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=1000)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--peak", choices=GRAPHS, help="measure one graph's peak memory alone")
    options = parser.parse_args()
    if options.peak:
        peak(options.peak, options.sources)
        return
    one_thread()
    memory = {}
    for name in options.graphs:
        command = [sys.executable, "-m", "tests.benchmarks.bench_distances", "--peak", name]
        command += ["--sources", str(options.sources)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        memory[name] = json.loads(printed)
    graphs = [measure(name, options.sources, options.whole) for name in options.graphs]
    print_document(
        "distance blocks",
        SEED,
        graphs=graphs,
        peak_memory=memory,
    )


if __name__ == "__main__":
    main()

"""Browsing: build and open the label index, then search and walk, at WordNet's and at LSHTC's size.

    python -m tests.benchmarks.bench_browse

Times are processor time of one thread. The names of the synthetic graphs are words drawn from a vocabulary
of WordNet's size. Prints one JSON document.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.indexcache import IndexCache
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.levels import Levels
from labelgrove.ontology.browse.marks import Marks
from labelgrove.ontology.browse.shortest import shortest_path
from labelgrove.ontology.browse.suggestions import did_you_mean
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store
from tests.benchmarks.graphs import category_graph, describe, noun_graph, taxonomy_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed

SEED = 0
CALLS = 200
LARGEST_TREE = 664_000
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "or", "us")]

MEMORY = """
import sys
from pathlib import Path
from labelgrove.ontology.browse.indexcache import IndexCache
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

def private_mb():
    rows = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    found = {row[0]: int(row[1]) for row in rows}
    return (found["Private_Dirty:"] + found["Anonymous:"]) / 2 / 1024

folder, sha256 = sys.argv[1:]
warm = LabelGraph.from_edges([("a", "b")])
before = private_mb()
graph = LabelGraph.from_arrays(*open_store(folder + "/store").open_arrays(sha256))
index = IndexCache(Path(folder) / "index").open(graph)
for text in ("a", "ba", "ana", "bada", "zzz"):
    index.search.find(text, facets=True)
index.walk.path(1, graph.n_labels - 1)
print(private_mb() - before)
"""


def named(graph: LabelGraph, rng: np.random.Generator) -> LabelGraph:
    """Return the graph with names of one to three words; frequent words are far more frequent than others."""
    vocabulary = ["".join(rng.choice(SYLLABLES, n)) for n in rng.integers(1, 5, 80_000)]
    drawn = (rng.random((graph.n_labels, 3)) ** 3 * len(vocabulary)).astype(int).tolist()
    n_words = rng.integers(1, 4, graph.n_labels).tolist()
    names = [" ".join(vocabulary[i] for i in row[:n]) for row, n in zip(drawn, n_words, strict=True)]
    edges = list(graph.edges())
    return LabelGraph.from_edges(
        [(c, p) for c, p, _, _ in edges], names=dict(zip(graph.keys, names, strict=True)), labels=graph.keys
    )


def quantiles(work: Callable[[Any], object], inputs: list[Any]) -> dict[str, float]:
    """Median, 99th percentile and worst of one call, in milliseconds, over different inputs."""
    taken = [min(seconds(lambda given=given: work(given), 3)) * 1_000 for given in inputs]
    return {
        "p50": float(np.percentile(taken, 50)),
        "p99": float(np.percentile(taken, 99)),
        "worst": max(taken),
    }


def measured(name: str, graph: LabelGraph) -> dict[str, object]:
    """Everything about one graph; the answers were checked by the tests."""
    rng = np.random.default_rng(SEED)
    build, (arrays, _) = timed(lambda: LabelIndex.to_arrays(graph))
    with tempfile.TemporaryDirectory() as folder:
        cache = IndexCache(Path(folder) / "index")
        store = open_store(f"{folder}/store")
        sha256 = store.put_arrays(*graph.to_arrays())
        cache.open(graph)
        opened = LabelGraph.from_arrays(*store.open_arrays(sha256))
        cold = min(
            timed(lambda: cache.open(LabelGraph.from_arrays(*store.open_arrays(sha256))))[0] for _ in range(5)
        )
        index = cache.open(opened)
        memory = subprocess.run(
            [sys.executable, "-c", MEMORY, folder, sha256], capture_output=True, text=True, check=True
        ).stdout
        times = calls(index, rng)
    size = sum(array.nbytes for array in arrays.values())
    return describe(name, graph) | {
        "build_s": build,
        "open_ms": cold * 1_000,
        "file_mb": size / 1e6,
        "private_memory_mb": float(memory),
        "ms": times,
    }


def calls(index: LabelIndex, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Quantiles of each question."""
    graph, answers = index.graph, Answers(index)
    labels = rng.integers(0, graph.n_labels, CALLS).tolist()
    pairs = rng.integers(0, graph.n_labels, (CALLS, 2)).tolist()
    texts = [graph.names[i] for i in labels]
    typed = [text[: 1 + int(rng.integers(0, len(text)))] for text in texts]
    widest = int(np.diff(index.adjacency.down).argmax())
    levels, marks = Levels(index.order), Marks.of(index.order, np.array(labels))

    def map_of(label: int) -> None:
        for row in levels.rows(label, width=1200):
            marks.share(row.labels)

    return {
        "suggest": quantiles(index.search.suggest, typed),
        "search, page of 50 with facets": quantiles(
            lambda text: answers.search(text, limit=50, facets=True), typed
        ),
        "search under a branch": quantiles(
            lambda of: answers.search(of[0], under=of[1], facets=True),
            list(zip(typed, index.order.parent[labels].clip(0).tolist(), strict=True)),
        ),
        "did you mean": quantiles(
            lambda text: did_you_mean(index.search, index.names, text), [f"{t[1:]}q" for t in texts[:50]]
        ),
        "show": quantiles(answers.show, labels),
        "children, 100 of the most": quantiles(answers.children, [widest]),
        "children": quantiles(answers.children, labels),
        "siblings": quantiles(answers.siblings, labels),
        "ancestors": quantiles(answers.ancestors, labels),
        "lowest common ancestors": quantiles(lambda of: answers.lowest_common_ancestors(*of), pairs),
        "path": quantiles(lambda of: answers.path(*of), pairs),
        "path by search": quantiles(lambda of: shortest_path(index.adjacency, *of), pairs),
        "map, 1,200 pixels": quantiles(map_of, [0, *labels[:20]]),
    }


def main() -> None:
    """Measure everything and print the document."""
    one_thread()
    rng = np.random.default_rng(SEED)
    graphs = [
        noun_graph(),
        ("category_graph, LSHTC's size", named(category_graph(seed=SEED), rng)),
        ("taxonomy_tree, MeSH's size", named(taxonomy_tree(LARGEST_TREE, SEED), rng)),
    ]
    print_document("browse", SEED, graphs=[measured(name, graph) for name, graph in graphs])


if __name__ == "__main__":
    main()

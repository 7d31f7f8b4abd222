"""Browsing: build and open the label index, then search and walk, from WordNet's size to that of NCBI.

    python -m tests.benchmarks.bench_browse

Times are processor time of one thread. The names of the synthetic graphs are words drawn from a vocabulary
of WordNet's size; each graph has further names as well. Beside it, networkx walks the same graphs, SQLite's
full-text index (FTS5 with trigrams) finds the same names, and pronto (of the extra ``oracles``) reads WordNet
as an OBO file and walks it. Prints one JSON document.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.indexcache import IndexCache
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.names.suggestions import did_you_mean
from labelgrove.ontology.browse.structure.levels import Levels
from labelgrove.ontology.browse.structure.marks import Marks
from labelgrove.ontology.browse.structure.shortest import shortest_path
from labelgrove.ontology.exports.exporting import export_graph
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import find_wordnet, read
from labelgrove.ontology.store.artifacts import open_store
from tests.benchmarks.graphs import category_graph, describe, noun_graph, taxonomy_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed

SEED = 0
CALLS = 200
MESH_LABELS, MESH_NAMES = 664_000, 1_000_000
NCBI_LABELS, NCBI_NAMES = 2_600_000, 4_000_000
BESIDE = 20  # calls of the slower tools
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


def drawn_names(n: int, rng: np.random.Generator) -> list[str]:
    """Return names of one to three words; frequent words are far more frequent than others."""
    vocabulary = ["".join(rng.choice(SYLLABLES, n)) for n in rng.integers(1, 5, 80_000)]
    drawn = (rng.random((n, 3)) ** 3 * len(vocabulary)).astype(int).tolist()
    n_words = rng.integers(1, 4, n).tolist()
    return [" ".join(vocabulary[i] for i in row[:m]) for row, m in zip(drawn, n_words, strict=True)]


def named(graph: LabelGraph, rng: np.random.Generator) -> LabelGraph:
    """Return the graph with drawn names."""
    names = drawn_names(graph.n_labels, rng)
    return LabelGraph.from_edges(
        [(child, parent) for child, parent, _, _ in graph.edges()],
        names=dict(zip(graph.keys, names, strict=True)),
        labels=graph.keys,
    )


def synonyms(graph: LabelGraph, n: int, rng: np.random.Generator) -> Annotations:
    """Return annotations with `n` drawn synonyms of random labels."""
    arrays, _ = Annotations.of(graph, {}).to_arrays(graph.digest)
    texts = Texts.from_strings(drawn_names(n, rng))
    nothing = np.zeros(n, dtype=np.int32)
    return Annotations(
        arrays
        | {
            "names.blob": texts.blob,
            "names.offsets": texts.offsets,
            "names.subject": np.sort(rng.integers(0, graph.n_labels, n)).astype(np.int32),
            "names.kind": nothing.astype(np.uint8) + np.uint8(1),
            "names.language": nothing.astype(np.uint16),
            "names.use": nothing,
        },
        graph.n_labels,
    )


def quantiles(work: Callable[[Any], object], inputs: list[Any]) -> dict[str, float]:
    """Median, 99th percentile and worst of one call, in milliseconds, over different inputs."""
    taken = [min(seconds(lambda given=given: work(given), 3)) * 1_000 for given in inputs]
    return {
        "p50": round(float(np.percentile(taken, 50)), 3),
        "p99": round(float(np.percentile(taken, 99)), 3),
        "worst": round(max(taken), 3),
    }


def measured(name: str, graph: LabelGraph, annotations: Annotations | None) -> dict[str, object]:
    """Everything about one graph; the answers were checked by the tests."""
    rng = np.random.default_rng(SEED)
    build, (arrays, _) = timed(lambda: LabelIndex.to_arrays(graph, annotations))
    size, n_names = sum(array.nbytes for array in arrays.values()), len(arrays["rows.label"])
    del arrays
    with tempfile.TemporaryDirectory() as folder:
        cache = IndexCache(Path(folder) / "index")
        store = open_store(f"{folder}/store")
        sha256 = store.put_arrays(*graph.to_arrays())
        cache.open(graph, lambda: annotations)
        cold = min(
            timed(lambda: cache.open(LabelGraph.from_arrays(*store.open_arrays(sha256))))[0] for _ in range(5)
        )
        index = cache.open(LabelGraph.from_arrays(*store.open_arrays(sha256)))
        memory = subprocess.run(
            [sys.executable, "-c", MEMORY, folder, sha256], capture_output=True, text=True, check=True
        ).stdout
        times = calls(index, rng)
    return describe(name, graph) | {
        "n_names": n_names,
        "build_s": round(build, 2),
        "open_ms": round(cold * 1_000, 1),
        "file_mb": round(size / 1e6, 1),
        "private_memory_mb": round(float(memory), 1),
        "ms": times,
    }


def beside_networkx(graph: LabelGraph) -> dict[str, dict[str, float]]:
    """Quantiles of the walks of networkx on the same graph, where each answer is compared with ours."""
    index, rng = LabelIndex.of(graph), np.random.default_rng(SEED)
    up = nx.DiGraph(zip(graph.edge_child.tolist(), graph.edge_parent.tolist(), strict=True))
    either = up.to_undirected(as_view=False)
    labels = rng.integers(0, graph.n_labels, BESIDE).tolist()
    pairs = list(zip(labels, rng.integers(0, graph.n_labels, BESIDE).tolist(), strict=True))
    for (a, b), label in zip(pairs, labels, strict=True):
        assert nx.shortest_path_length(either, a, b) == len(index.walk.path(a, b)) - 1
        assert nx.descendants(up, label) == set(index.walk.ancestors(label)[0].tolist())
    return {
        "ancestors": quantiles(lambda label: nx.descendants(up, label), labels),
        "path by search": quantiles(lambda of: nx.bidirectional_shortest_path(either, *of), pairs),
    }


def beside_sqlite(graph: LabelGraph) -> dict[str, object]:
    """Build and search a trigram index of the same keys and names in SQLite."""
    rng = np.random.default_rng(SEED)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE names USING fts5(name, tokenize='trigram')")
    rows = [(text,) for text in (*graph.keys, *graph.names)]
    build, _ = timed(lambda: database.executemany("INSERT INTO names VALUES (?)", rows))
    typed = [graph.names[i][:6] for i in rng.integers(0, graph.n_labels, BESIDE).tolist()]
    typed = [text.strip() for text in typed if len(text.strip()) >= 3]

    def count_and_first(text: str) -> None:
        quoted = '"' + text.replace('"', '""') + '"'
        query = "SELECT rowid, count(*) OVER () FROM names WHERE names MATCH ? ORDER BY rank LIMIT 50"
        database.execute(query, (quoted,)).fetchall()

    return {"build_s": round(build, 2), "search, page of 50": quantiles(count_and_first, typed)}


def beside_pronto(graph: LabelGraph) -> dict[str, Any]:
    """Read the same graph as an OBO file into pronto, and walk it; each answer is compared with ours."""
    import pronto  # of the extra `oracles`, which tests do without

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nouns.obo"
        exported = export_graph(graph, None, name="nouns", format="obo", leave_out=True)
        path.write_text("".join(exported), encoding="utf-8")
        taken, ontology = timed(lambda: pronto.Ontology(str(path), threads=1))
        ours, _ = timed(lambda: read(path, policies={"roots": "virtual"}))
    index, rng = LabelIndex.of(graph), np.random.default_rng(SEED)
    keys = graph.keys.take(rng.integers(0, graph.n_labels, BESIDE).tolist())

    def above(key: str) -> set[str]:
        return {term.id for term in ontology[key].superclasses(with_self=False)}

    def children(key: str) -> set[str]:
        return {term.id for term in ontology[key].subclasses(distance=1, with_self=False)}

    for key in keys:
        label = graph.keys.index(key)
        assert above(key) == set(graph.keys.take(index.walk.ancestors(label)[0].tolist()))
        assert children(key) == set(graph.keys.take(index.walk.children(label).tolist()))
    return {
        "read_s": round(taken, 2),
        "our_read_s": round(ours, 2),
        "ancestors": quantiles(above, list(keys)),
        "children": quantiles(children, list(keys)),
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
    folder = find_wordnet()
    of_wordnet = None if folder is None else read(folder).annotations
    name, nouns = noun_graph()
    graphs = [measured(name, nouns, of_wordnet)]
    category = named(category_graph(seed=SEED), rng)
    graphs.append(measured("category_graph, LSHTC's size", category, None))
    beside = {
        "networkx": beside_networkx(category),
        "sqlite": beside_sqlite(category),
        "pronto": beside_pronto(nouns),
    }
    for name, n_labels, n_names in (
        ("taxonomy_tree, MeSH's size", MESH_LABELS, MESH_NAMES),
        ("taxonomy_tree, NCBI's size", NCBI_LABELS, NCBI_NAMES),
    ):
        tree = named(taxonomy_tree(n_labels, SEED), rng)
        graphs.append(measured(name, tree, synonyms(tree, n_names, rng)))
    print_document("browse", SEED, graphs=graphs, beside=beside)


if __name__ == "__main__":
    main()

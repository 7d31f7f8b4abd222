"""Reading, building, registering and opening, at WordNet's and at LSHTC's size, on each graph store.

    python -m tests.benchmarks.bench_ingest [--neo4j bolt://user:password@host:port]

Every figure is one run in a fresh home after the answer was checked: counts, and the digest read back.
Prints one JSON document.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import find_wordnet, read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.benchmarks.graphs import category_graph, describe
from tests.benchmarks.measuring import print_document

SEED = 0


def timed(work: Any) -> tuple[float, Any]:
    """Return the wall-clock seconds of a call, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def snapshot(graph: LabelGraph, folder: Path) -> dict[str, float]:
    """Write a snapshot, then open it through a store that has not seen it: verified, memory-mapped."""
    written, sha256 = timed(lambda: open_store(str(folder)).put_arrays(*graph.to_arrays()))
    opened = []
    for _ in range(7):
        store = open_store(str(folder))
        taken, found = timed(lambda store=store: LabelGraph.from_arrays(*store.open_arrays(sha256)))
        assert found.digest == graph.digest
        opened.append(taken)
    return {
        "snapshot write": written,
        "snapshot open, first": opened[0],
        "snapshot open, median": statistics.median(opened),
    }


def store(graph: LabelGraph, folder: Path, graph_url: str | None) -> dict[str, float]:
    """Register a graph in a fresh workspace and read it back."""
    environment = {"GROVE_HOME": str(folder)} | ({"GROVE_GRAPH_URL": graph_url} if graph_url else {})
    with Workspace.open(Settings.from_env(environment)) as workspace:
        _ = workspace.graph
        seconds, result = timed(lambda: register(workspace, "bench", graph))
        back, found = timed(lambda: workspace.graph.read_back(graph.digest))
        assert found.digest == graph.digest
        workspace.graph.drop_ontology("bench")
    return {
        "register": seconds,
        "of it graph batches": result.seconds["batches"],
        "read back, digest compared": back,
    }


def main() -> None:
    """Measure everything and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neo4j", help="also measure this server")
    options = parser.parse_args()
    graphs = []
    wordnet = find_wordnet()
    sources: list[tuple[str, Path | None]] = [("category_graph, LSHTC's size", None)]
    if wordnet is not None:
        sources.insert(0, ("wordnet nouns", wordnet))
    for name, source in sources:
        steps: dict[str, float] = {}
        if source is not None:
            steps["read and check the source"], result = timed(lambda source=source: read(source))
            graph = result.graph
        else:
            graph = category_graph(seed=SEED)
        columns = list(graph.edges())
        pairs = [(c, p) for c, p, _, _ in columns]
        ranks = [r for _, _, _, r in columns]
        names = dict(zip(graph.keys, graph.names, strict=True))
        steps["build LabelGraph from edges"], again = timed(
            lambda pairs=pairs, ranks=ranks, names=names: LabelGraph.from_edges(
                pairs, ranks=ranks, names=names
            )
        )
        assert again.digest == graph.digest
        with tempfile.TemporaryDirectory() as folder:
            steps |= snapshot(graph, Path(folder) / "store")
            entry = describe(name, graph) | {"seconds": steps}
            entry["embedded"] = store(graph, Path(folder) / "embedded", None)
            if options.neo4j:
                entry["neo4j"] = store(graph, Path(folder) / "neo4j", options.neo4j)
        graphs.append(entry)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print_document("ingest", SEED, graphs=graphs, peak_memory_mb=most)


if __name__ == "__main__":
    main()

"""Scoring through an Adapter over N labels, K observed ones and B rows, and its memory; one thread.

    python -m tests.benchmarks.bench_scoring_curves [--labels 82115] [--sizes N ...] [--observed K ...]
        [--samples B ...] [--memory-samples 100000]

Four ways through the same call, `Adapter.predict_indices`: a tree with all labels, with its leaves alone, a
graph of several parents from a block of distances, and that block with exponent 3, for which nothing but the
dense path applies. Beside them ``np.argmin(D2 @ P.T)`` over a stored float32 matrix, the same in torch where
it can be imported, and the fused dense path of `bench_tree_scoring`. Graphs are WordNet's nouns at their own
size where WordNet is installed, else seeded and synthetic. Answers are compared with `DenseScorer` before
anything is timed. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import statistics
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from labelgrove.adapter import Adapter
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.baselines import torch_on_one_thread
from tests.benchmarks.bench_tree_scoring import SEED, fused_dense, probabilities
from tests.benchmarks.graphs import WORDNET_SIZE, describe, noun_graph, taxonomy_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed

WAYS = {
    "tree": {"metric": "tree"},
    "leaves": {"metric": "tree", "labels": "leaves"},
    "graph": {"metric": "graph"},
    "dense": {"metric": "graph", "beta": 3},
}
CHECKED = 32
FURTHER_PARENTS = 35  # one label in so many has another parent, as in WordNet
MOST_ENTRIES = 1 << 27  # of a stored matrix, or of its product with all rows
MOST_PRODUCTS = 1e11  # of a path that looks at every distance for every row
WORK_SECONDS = 0.5


def label_graph(n_labels: int) -> tuple[str, LabelGraph]:
    """WordNet's nouns at their own size, where they are at hand; else seeded, several parents for some."""
    if n_labels == WORDNET_SIZE:
        return noun_graph()
    tree = taxonomy_tree(n_labels)
    keys = tree.keys.take(np.arange(n_labels))
    pairs = [(keys[c], keys[p]) for c, p in zip(tree.edge_child, tree.edge_parent, strict=True)]
    rng = np.random.default_rng(SEED)
    child = rng.integers(2, n_labels, n_labels // FURTHER_PARENTS)
    above = (child * rng.random(len(child))).astype(np.int64)  # in preorder: never below the child
    further = {(keys[c], keys[p]) for c, p in zip(child, above, strict=True)} - set(pairs)
    return f"seeded, {n_labels:,} labels", LabelGraph.from_edges(pairs + sorted(further))


def rows_of(n_samples: int, n_observed: int) -> np.ndarray:
    """Peaked rows: the harder ones."""
    return probabilities("peaked", n_samples, n_observed)


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of a call: the median of up to 15 that follow one, of one where that takes long."""
    first, _ = timed(work)
    further = int(min(WORK_SECONDS / max(first, 1e-6), 15))
    return 1e3 * (statistics.median(seconds(work, further)) if further else first)


def naive(squares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What one writes first."""
    return np.asarray((squares @ rows.T).argmin(axis=0))


def in_torch(squares: np.ndarray) -> Callable[[np.ndarray], object] | None:
    """Return the same in torch, or None where it cannot be imported."""
    torch = torch_on_one_thread()
    if torch is None:
        return None
    matrix = torch.from_numpy(squares)
    return lambda rows: (matrix @ torch.from_numpy(rows).T).argmin(dim=0)


def beside(distances: np.ndarray, rows: np.ndarray) -> dict[str, float | None]:
    """Milliseconds of what is compared with; None: not measured."""
    figures: dict[str, float | None] = dict.fromkeys(("naive", "torch", "fused"))
    if distances.size * len(rows) <= MOST_PRODUCTS:
        figures["fused"] = milliseconds(lambda: fused_dense(distances, rows))
    if max(distances.size, len(distances) * len(rows)) <= MOST_ENTRIES:
        squares = np.square(distances, dtype=np.float32)
        figures["naive"] = milliseconds(lambda: naive(squares, rows))
        torch = in_torch(squares)
        figures["torch"] = None if torch is None else milliseconds(lambda: torch(rows))
    return figures


def adapters(graph: LabelGraph, observed: list[str]) -> dict[str, tuple[Adapter, np.ndarray]]:
    """Return an adapter for each way, whose answers are those of `DenseScorer`, and its distances."""
    found = {}
    for way, options in WAYS.items():
        adapter = Adapter.from_graph(graph, observed, **options)  # type: ignore[arg-type]
        space = metric_space(graph, options["metric"], options.get("labels", "all"))  # type: ignore[arg-type]
        distances = space.distances(cols=space.points.indices(observed))
        rows = rows_of(CHECKED, len(observed))
        exact = DenseScorer(distances, beta=options.get("beta", 2)).score(rows)  # type: ignore[arg-type]
        for _ in range(1 + 256 // CHECKED if way == "graph" else 1):  # also after rows have been grouped
            assert (adapter.predict_indices(rows) == exact.index).all(), way
        found[way] = adapter, distances
    return found


def point(made: dict[str, tuple[Adapter, np.ndarray]], n_samples: int, n_observed: int) -> dict[str, Any]:
    """Milliseconds of every way, and of what is compared with, for one N, K and B."""
    rows = rows_of(n_samples, n_observed)
    distances = made["graph"][1]
    taken: dict[str, Any] = {"n_labels": len(distances), "n_observed": n_observed, "n_samples": n_samples}
    for way, (adapter, _) in made.items():
        if way == "dense" and distances.size * n_samples > MOST_PRODUCTS:
            taken[way] = None
            continue
        adapter.predict_indices(rows[:1])
        taken[way] = milliseconds(lambda a=adapter: a.predict_indices(rows))  # type: ignore[misc]
    return taken | beside(distances, rows)


def sgemm_share(distances: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    """Rate of the dense path, exponent 2, beside that of the matrix product alone in blocks of its size."""
    block = np.square(distances[:2048], dtype=np.float32)
    product = np.empty((len(block), len(rows)), dtype=np.float32)
    scorer = DenseScorer(distances)
    peak = 2e-6 * block.size * len(rows) / milliseconds(lambda: np.matmul(block, rows.T, out=product))
    rate = 2e-6 * distances.size * len(rows) / milliseconds(lambda: scorer.score(rows))
    return {"sgemm_gflops": round(peak, 1), "dense_gflops": round(rate, 1), "share": round(rate / peak, 3)}


def held(thing: Any, seen: set[int]) -> Iterator[np.ndarray]:
    """Yield every array that an object holds, those of keys aside."""
    if id(thing) in seen or isinstance(thing, (Keys, type, str, bytes)):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        return
    parts: list[Any] = []
    if isinstance(thing, dict):
        parts += thing.values()
    elif isinstance(thing, (list, tuple, set)):
        parts += thing
    elif is_dataclass(thing):
        parts += [getattr(thing, field.name) for field in fields(thing)]
    if type(thing).__module__.startswith("labelgrove."):
        parts += getattr(thing, "__dict__", {}).values()
    for part in parts:
        yield from held(part, seen)


def memory(made: dict[str, tuple[Adapter, np.ndarray]], n_samples: int, n_observed: int) -> dict[str, Any]:
    """Peak of a call beyond its rows, and what an adapter of a bundle holds for each label, keys aside."""
    rows = np.tile(rows_of(min(n_samples, 1000), n_observed), (-(-n_samples // 1000), 1))[:n_samples]
    figures: dict[str, Any] = {"n_samples": n_samples, "rows_mb": round(rows.nbytes / 1e6, 1)}
    for way in ("tree", "leaves", "graph"):
        of_graph, distances = made[way]
        adapter = Adapter(of_graph.bundle)  # as a server loads it: without the graph that it was built from
        adapter.predict_indices(rows[:1])
        tracemalloc.start()
        adapter.predict_indices(rows)
        figures[f"{way}_peak_mb"] = round(tracemalloc.get_traced_memory()[1] / 1e6, 3)
        tracemalloc.stop()
        arrays = {(a.__array_interface__["data"][0], a.nbytes) for a in held(adapter, set())}
        figures[f"{way}_bytes_per_label"] = round(sum(size for _, size in arrays) / len(distances), 1)
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=WORDNET_SIZE)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 325_056])
    parser.add_argument("--observed", type=int, nargs="+", default=[1000, 10, 100, 3000])
    parser.add_argument("--samples", type=int, nargs="+", default=[1024, 1, 16, 256, 16_384])
    parser.add_argument("--memory-samples", type=int, default=100_000)
    options = parser.parse_args(arguments)
    one_thread()
    usual_observed, usual_samples = options.observed[0], options.samples[0]
    points, graphs, extra = [], [], {}
    for n_labels in [options.labels, *options.sizes]:
        name, graph = label_graph(n_labels)
        graphs.append(describe(name, graph))
        usual = n_labels == options.labels
        for n_observed in options.observed if usual else [min(usual_observed, n_labels // 4)]:
            rng = np.random.default_rng(SEED + n_observed)
            observed = graph.keys.take(rng.choice(graph.n_labels, n_observed, replace=False))
            made = adapters(graph, observed)
            whole = usual and n_observed == usual_observed
            points += [point(made, b, n_observed) for b in (options.samples if whole else [usual_samples])]
            if whole:
                extra["gemm"] = sgemm_share(made["graph"][1], rows_of(usual_samples, n_observed))
                extra["memory"] = memory(made, options.memory_samples, n_observed)
    print_document("curves over N, K and B", SEED, graphs=graphs, points=points, **extra)


if __name__ == "__main__":
    main()

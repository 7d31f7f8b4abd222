"""Rehearsals: once they have run, no call of a kernel has a type of argument that is still to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long  # processes that load all kernels

HEAD = """
import importlib, pkgutil, re, sys
from pathlib import Path
import ml_dtypes
import numpy as np
from labelgrove import Adapter, LabelGraph
from labelgrove.adapter import Subtree, build_bundle
from labelgrove.ontology import geometry
from labelgrove.ontology.geometry import rehearsals

rng = np.random.default_rng(0)
N, K = 300, 40
KEYS = [f"v{i:03d}" for i in range(N)]
TREE = [(KEYS[i], KEYS[max(i - int(rng.integers(1, 20)), 0)]) for i in range(1, N)]
DAG = list(dict.fromkeys(TREE + [(KEYS[i], KEYS[int(rng.integers(0, i))]) for i in range(5, N, 7)]))
CHAIN = [(KEYS[i], KEYS[i - 1]) for i in range(1, N)]
INEXACT = rng.choice([0.1, 1e9, 3.0, 1e-9], len(DAG)).tolist()
GRAPHS = {
    "tree": LabelGraph.from_edges(TREE),
    "tree, inexact": LabelGraph.from_edges(TREE, weights=INEXACT[: len(TREE)]),
    "graph": LabelGraph.from_edges(DAG),
    "graph, far": LabelGraph.from_edges(CHAIN, directed=False),
    "graph, long": LabelGraph.from_edges(DAG, weights=[1e5] * len(DAG)),
    "graph, inexact": LabelGraph.from_edges(DAG, weights=INEXACT),
}
SPACES = [
    (name, "tree" if name.startswith("tree") else "graph", labels)
    for name in GRAPHS
    for labels in ("all", "leaves")
    if (name, labels) != ("graph, far", "leaves")  # undirected: without leaves
]
OBSERVED = [KEYS[i] for i in rng.permutation(N)[:K]]

def kernels():
    for name, module in list(sys.modules.items()):
        if name.startswith("labelgrove.ontology.geometry.kernels."):
            for attribute, value in vars(module).items():
                if hasattr(value, "overloads") and value.__module__ == name:
                    yield f"{name}.{attribute}", value

def types():
    return {(name, str(of)) for name, kernel in kernels() for of in kernel.signatures}
"""

ADAPTERS = """
for name, metric, labels in SPACES:
    bundle = build_bundle(GRAPHS[name], OBSERVED, metric=metric, labels=labels)
    for kind, temperature in (("probabilities", None), ("logits", 1.0), ("log_probabilities", 2.5)):
        P = rng.random((40, K))
        P /= P.sum(axis=1, keepdims=True)
        P = P if kind == "probabilities" else np.log(P) - 1e-3
        for columns in (None, sorted(OBSERVED)):
            options = {} if temperature is None else {"temperature": temperature}
            adapter = Adapter(bundle, columns, by="key", outputs=kind, **options).warm(k=5)
            before = types()
            assert before, "no kernel was loaded"
            for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble, ">f4"):
                rows = P.astype(dtype)
                wide = np.zeros((40, 2 * K), rows.dtype)
                wide[:, ::2] = rows
                frozen = np.asfortranarray(rows)
                frozen.flags.writeable = False
                for some in (rows, frozen, wide[:, ::2], rows[::-1], rows[0], rows[:1], rows.tolist()):
                    adapter.predict(some)
                    adapter.top_k(some, 1)
                    adapter.top_k(some, 5)
            adapter.predict(P, threads=2)
            adapter.decision_function(P)
            new = types() - before
            assert not new, (name, metric, labels, kind, sorted(new))
print("all called")
"""

GEOMETRY = """
for rehearsal in rehearsals.REHEARSALS:
    rehearsals.rehearse(rehearsal)
before = types()

folder = importlib.import_module("labelgrove.ontology.geometry.kernels")
for module in pkgutil.walk_packages(folder.__path__, folder.__name__ + "."):
    importlib.import_module(module.name)
idle = {name for name, kernel in kernels() if not kernel.signatures}
words = set()
for path in Path(geometry.__file__).parent.rglob("*.py"):
    if "kernels" not in path.parts:
        words |= set(re.findall(r"\\w+", path.read_text()))
print(*sorted({name.rpartition(".")[2] for name in idle} & words))

def check(what):
    new = types() - before
    assert not new, (what, sorted(new))

for name, metric, labels in SPACES:
    space = geometry.metric_space(GRAPHS[name], metric, labels)
    few = OBSERVED[:6]
    W = rng.random((40, 6))
    for what, call in {
        "mean": lambda: geometry.frechet_mean(space, few, W, top=3),
        "variance": lambda: geometry.frechet_variance(space, few, W),
        "set": lambda: geometry.frechet_mean_set(space, few, W[0]),
        "locus": lambda: geometry.locus(space, OBSERVED),
        "pairs": lambda: geometry.locus(space, few, method="pairs"),
        "cover": lambda: geometry.is_locus_cover(space, few),
        "selection": lambda: geometry.select_classes(space, few, 2),
        "diameter": space.diameter,
    }.items():
        call()
        check((name, metric, labels, what))
    observed = [key for key in OBSERVED if labels == "all" or key in set(space.keys)]
    adapter = Adapter(build_bundle(GRAPHS[name], OBSERVED, metric=metric, labels=labels))
    choices = ["observed", "locus", list(adapter.keys)[:30]] + [Subtree(KEYS[0])] * (metric == "tree")
    for candidates in choices:
        adapter.predict(rng.random((40, K)), candidates=candidates)
        check((name, metric, labels, candidates))
for name, graph in GRAPHS.items():
    for method in ("capped", "neighbourhood", "node", "subtree"):
        if graph.directed or method != "subtree":
            geometry.summarize(graph, 40, method=method)
            check((name, method))
    tree = graph.directed and geometry.phylogenetic_cover(geometry.metric_space(graph, "tree"))
    check((name, "phylogenetic cover"))
print("all called")
"""


def run(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEAD + program],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_an_adapter_that_is_warm_compiles_nothing_more() -> None:
    assert run(ADAPTERS) == ["all called"]


@pytest.mark.slow
def test_after_all_rehearsals_no_function_of_geometry_compiles() -> None:
    inlined = "_largest _search _smallest _square _turns descend draw pop push"  # called by kernels alone
    assert run(GEOMETRY) == [inlined, "all called"]

"""From an LSHTC file to a Cypher answer, through jobs: every step a command, in both deployments.

    python -m tests.benchmarks.bench_lshtc [--scale 1.0]

Writes a category hierarchy of LSHTC's size in its own format, then runs `grove` on it: embedded, and with
Neo4j, Redis, PostgreSQL and a worker of two processes, all started here. The time of a step is that of its
command, start of Python included; its memory is the most that the command and the worker held together, the
servers apart. Results of both deployments are compared by digest. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.benchmarks.graphs import hub_below
from tests.benchmarks.measuring import print_document
from tests.services import Neo4jServer, PostgresServer, RedisServer, wait_until

SEED = 0
NODES, EDGES, CLASSES = 478_020, 863_261, 325_056
SUPERNODES, OBSERVED = 10_000, 256
SUPERNODE_OF = """
MATCH (:Job {kind: 'summary', state: 'done'})-[:PRODUCED]->(:Summary)-[:HAS]->(s:Supernode)
      -[:CONTAINS]->(l:Label {uid: $uid})
RETURN s.id AS supernode, s.size AS size
"""


@dataclass
class Deployment:
    """One way to run `grove`: its environment, and the processes whose memory counts."""

    name: str
    environment: Mapping[str, str]
    workers: list[psutil.Process] = field(default_factory=list)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)

    def run(self, step: str, *arguments: str) -> Any:
        """Run one command, keep its time and memory, and return its JSON document."""
        print(f"{self.name}: {step}", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        command = [sys.executable, "-m", "labelgrove", *arguments, "--json"]
        process = subprocess.Popen(command, env=dict(self.environment), stdout=subprocess.PIPE, text=True)
        with most_memory([psutil.Process(process.pid), *self.workers]) as most:
            out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}")
        self.steps[step] = {"seconds": round(time.perf_counter() - begin, 2), "memory_mb": most[0] >> 20}
        return json.loads(out)


@contextlib.contextmanager
def most_memory(roots: list[psutil.Process]) -> Iterator[list[int]]:
    """Measure, in the one entry of the list, the most resident memory of processes and their children."""
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            held = 0
            for root in roots:
                with contextlib.suppress(psutil.NoSuchProcess):
                    for process in [root, *root.children(recursive=True)]:
                        with contextlib.suppress(psutil.NoSuchProcess):
                            held += process.memory_info().rss
            most[0] = max(most[0], held)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def write_files(folder: Path, scale: float) -> tuple[Path, Path, list[int]]:
    """Write ``hierarchy.txt`` and ``train.csv``; return their paths and the classes.

    Categories 0 to n - 1 grow from hubs; every one of them has a child. The classes are below them. Further
    edges give labels more parents. Numbers and lines are shuffled.
    """
    n_nodes, n_edges, n_classes = (int(size * scale) for size in (NODES, EDGES, CLASSES))
    rng = np.random.default_rng(SEED)
    n_inner = n_nodes - n_classes
    inner = np.arange(1, n_inner)
    parent = hub_below(inner, rng)
    childless = np.setdiff1d(np.arange(n_inner), parent)
    classes = np.arange(n_inner, n_nodes)
    above = np.concatenate([childless, hub_below(np.full(n_classes - len(childless), n_inner), rng)])
    edges = np.unique(np.concatenate([inner * n_nodes + parent, classes * n_nodes + rng.permutation(above)]))
    while len(edges) < n_edges:
        child = rng.integers(1, n_nodes, 2 * (n_edges - len(edges)))
        more = np.setdiff1d(child * n_nodes + hub_below(np.minimum(child, n_inner), rng), edges)
        edges = np.concatenate([edges, rng.permutation(more)[: n_edges - len(edges)]])
    number = rng.permutation(n_nodes) + 1
    lines = number[np.stack([edges % n_nodes, edges // n_nodes], axis=1)][rng.permutation(n_edges)]
    hierarchy, train = folder / "hierarchy.txt", folder / "train.csv"
    np.savetxt(hierarchy, lines, fmt="%d")
    numbers = np.sort(number[classes]).tolist()
    with open(train, "w", encoding="ascii") as file:
        file.write("Data\n")
        for start in range(0, len(numbers), 3):
            file.write(", ".join(map(str, numbers[start : start + 3])) + f" {start % 1000 + 1}:1\n")
    return hierarchy, train, numbers


def route(deployment: Deployment, hierarchy: Path, train: Path, classes: list[int], scale: float) -> Any:
    """Take every step in one deployment; return what must be the same in each."""
    rng = np.random.default_rng(SEED)
    observed = sorted(str(key) for key in rng.choice(classes, OBSERVED, replace=False))
    listed = hierarchy.parent / "observed.txt"
    listed.write_text("\n".join(observed) + "\n", encoding="ascii")
    run = deployment.run
    ingested = run("ingest", "ingest", "lshtc", str(hierarchy), "--format", "lshtc", "--labels", str(train))
    target = str(int(SUPERNODES * scale))
    on = ("--param", "ontology=lshtc")
    summary = run(
        "summary, shown in the graph", "jobs", "submit", "summary", *on, "--param", f"target={target}"
    )
    columns = ("--param", f"columns=@{listed}", "--param", "metric=graph")
    distances = run("distances", "jobs", "submit", "distances", *on, *columns)
    bundles = {}
    for name, metric in (("blocks", "graph"), ("tree", "tree")):
        build = ("bundle", "build", "lshtc", name, "--observed", str(listed), "--metric", metric)
        bundles[name] = run(f"bundle of {name}", *build)
    digest = ingested["digest"]
    label = f"uid={digest[:16]}:{observed[0]}"
    found = run(
        "Cypher: supernode of a label", "cypher", SUPERNODE_OF, "--ontology", "lshtc", "--param", label
    )
    return {
        "digest": digest,
        "summary": summary["result_sha256"],
        "distances": distances["result_sha256"],
        "bundles": bundles,
        "supernode": found["rows"],
    }


@contextlib.contextmanager
def services(folder: Path) -> Iterator[Deployment]:
    """Start every server and a worker, and stop them again."""
    with (
        Neo4jServer(sustained=True) as neo4j,
        PostgresServer() as postgres,
        RedisServer(appendonly=True) as redis,
    ):
        environment = os.environ | {
            "GROVE_HOME": str(folder),
            "GROVE_GRAPH_URL": neo4j.url,
            "GROVE_DATABASE_URL": postgres.url,
            "GROVE_BROKER_URL": redis.url,
            "GROVE_ARTIFACTS_URL": str(folder / "artifacts"),
        }
        grove = [sys.executable, "-m", "labelgrove"]
        subprocess.run([*grove, "db", "upgrade"], env=environment, check=True, stdout=subprocess.DEVNULL)
        with open(folder / "worker.log", "w") as log:
            worker = subprocess.Popen([*grove, "worker", "-c", "2"], env=environment, stdout=log, stderr=log)
            try:
                said = folder / "worker.log"
                wait_until(lambda: " ready." in said.read_text(), deadline_s=60, what="the worker")
                yield Deployment("services", environment, [psutil.Process(worker.pid)])
            finally:
                worker.terminate()
                worker.wait(60)


def main() -> None:
    """Run both deployments and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        files = write_files(folder, options.scale)
        embedded = Deployment("embedded", os.environ | {"GROVE_HOME": str(folder / "embedded")})
        answers = [route(embedded, *files, options.scale)]
        (folder / "services").mkdir()
        served = stack.enter_context(services(folder / "services"))
        answers.append(route(served, *files, options.scale))
        if answers[0] != answers[1]:
            raise SystemExit(f"the deployments differ: {json.dumps(answers, indent=1)}")
    print_document(
        "lshtc",
        SEED,
        scale=options.scale,
        nodes=int(NODES * options.scale),
        edges=int(EDGES * options.scale),
        classes=int(CLASSES * options.scale),
        answers=answers[0],
        deployments={each.name: each.steps for each in (embedded, served)},
    )


if __name__ == "__main__":
    main()

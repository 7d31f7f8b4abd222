"""Kill an ingest by SIGKILL, again and again, while a reader watches.

    python -m tests.faults.ingest_kill --wordnet --times 20 --store embedded|neo4j [--seed 0]

Each trial ingests the next version of one ontology in a child process, which dies at a named step or at a
random moment. A reader in another process keeps reading catalog, graph and index file. Each of them must show
the whole old or the whole new version, and never go back. Then the ingest runs again and must complete.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.graph import open_graph
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.defects import Report
from labelgrove.ontology.readers.reading import ReadResult
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.catalog import Catalog
from labelgrove.ontology.sql.database import create_engine
from labelgrove.ontology.store.artifacts import open_store, read_safetensors, write_safetensors
from labelgrove.ontology.versions.graphannotations import shown_annotations
from labelgrove.ontology.versions.ingest import STEPS, delete_ontology, register
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.workspace import Workspace

NAME = "trial"
POINTS: tuple[tuple[str, str], ...] = (*((step, "begin") for step in STEPS), (STEPS[-1], "end"))
"""The points at which a child can die; the end of a step is the beginning of the next one."""

READ_EVERY_S = 0.01
TIDY_LABELS = 20_000
"""The number of labels above which the version before the last is deleted after each trial."""

# Children are forked from a clean process with all imports, so they inherit no thread or open database.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        "labelgrove.ontology.versions.ingest",
        "labelgrove.ontology.sql.catalog",
        "labelgrove.ontology.graph.embedded.embeddedengine",
        "labelgrove.ontology.graph.neo4j.neo4jengine",
    ]
)


@dataclass
class Outcome:
    """The outcome of the trials; `problems` is empty if all is well."""

    trials: list[str] = field(default_factory=list)
    reads: int = 0
    problems: list[str] = field(default_factory=list)


def numbered_graph(number: int, size: int) -> LabelGraph:
    """Return version `number`: a hierarchy of ``size + number`` labels, some with a second parent."""
    draw = random.Random(number)
    pairs = [(f"label {i}", f"label {draw.randrange(i)}") for i in range(1, size + number)]
    pairs += [(f"label {i}", f"label {draw.randrange(i // 2)}") for i in range(10, size, 7)]
    return LabelGraph.from_edges(pairs)


def wordnet_graph(number: int) -> LabelGraph:
    """Return the nouns of WordNet with `number` more labels."""
    from labelgrove.ontology.readers import find_wordnet, read

    folder = find_wordnet()
    if folder is None:
        raise SystemExit("WordNet is not installed: apt-get install wordnet-base")
    found = read(folder).graph
    if found is None:
        raise SystemExit(f"WordNet at {folder} has defects: grove ontology validate {folder}")
    edges = list(found.edges())
    extra = [(f"extra {i}", found.roots[0]) for i in range(number)]
    return LabelGraph.from_edges(
        [(child, parent) for child, parent, _, _ in edges] + extra,
        ranks=[rank for _, _, _, rank in edges] + [0] * number,
        names=dict(zip(found.keys, found.names, strict=True)),
        labels=list(found.keys),
    )


def annotated(graph: LabelGraph) -> ReadResult:
    """Return a graph as if it was read from a source with names and definitions, which differ by version."""
    texts = {
        key: Description(
            (
                Name(f"{key}, also", "exact", "en"),
                Name(f"{graph.n_labels} {key}", "narrow", "de"),
            ),
            f"what {key} means in a hierarchy of {graph.n_labels} labels",
            deprecated=i % 5 == 0,
        )
        for i, key in enumerate(graph.keys)
        if i % 20 == 0
    }
    return ReadResult(graph, Report("trial", "edges", (), {}), Annotations.of(graph, texts))


# ---- the child that dies -------------------------------------------------------------------------------


def _ingest(settings: Settings, path: Path, die_at: tuple[str, str] | None, started: Connection) -> None:
    graph = LabelGraph.from_arrays(*read_safetensors(path.read_bytes()))

    def progress(step: str, done: int, total: int) -> None:
        moment = "begin" if done == 0 else "end" if done == total else "middle"
        if (step, moment) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with Workspace.open(settings) as workspace:
        assert workspace.graph.current(NAME) is not None
        started.send("ready")
        register(workspace, NAME, annotated(graph), progress=progress)


# ---- the reader ----------------------------------------------------------------------------------------


def _read(
    settings: Settings, digests: Sequence[str], counts: Sequence[tuple[int, int]], talk: Connection
) -> None:
    """Watch every part until asked to stop; send back the number of reads and the problems."""
    number = {digest: i for i, digest in enumerate(digests)}
    seen = {"catalog": 0, "graph": 0, "index": 0}
    problems: list[str] = []
    catalog = Catalog(create_engine(settings.database_url))
    store, artifacts = open_graph(settings), open_store(settings.artifacts_url)

    def saw(part: str, digest: str | None) -> None:
        if digest not in number:
            problems.append(f"{part}: answers with {digest}, which is neither old nor new")
        elif not seen[part] <= number[digest] <= seen[part] + 1:
            problems.append(f"{part}: went from version {seen[part]} to {number[digest]}")
        else:
            seen[part] = number[digest]

    reads = 0
    while not talk.poll(READ_EVERY_S):
        try:
            saw("catalog", catalog.current(NAME))
            current = store.current(NAME)
            saw("graph", current)
            if current in number and store.counts(current) != counts[number[current]]:
                problems.append(f"graph: version {number[current]} is current with {store.counts(current)}")
            document = artifacts.read_index(NAME) or {"version": None, "snapshot": "0" * 64}
            saw("index", document["version"])
            snapshot = LabelGraph.from_arrays(*artifacts.open_arrays(document["snapshot"]))
            if snapshot.digest != document["version"]:
                problems.append("index: its snapshot is another version")
        except GroveError as error:
            problems.append(f"reading raised {type(error).__name__}: {error}")
        reads += 1
        if reads == 1:
            talk.send("ready")
        if len(problems) > 20:
            break
    talk.send((reads, problems))
    store.close()


@contextmanager
def _reader(settings: Settings, graphs: Sequence[LabelGraph], outcome: Outcome) -> Iterator[None]:
    ours, theirs = _PROCESSES.Pipe()
    digests = [graph.digest for graph in graphs]
    counts = [(graph.n_labels, graph.n_edges) for graph in graphs]
    process = _PROCESSES.Process(target=_read, args=(settings, digests, counts, theirs), daemon=True)
    process.start()
    theirs.close()
    assert ours.recv() == "ready"
    try:
        yield
    finally:
        ours.send("stop")
        outcome.reads, problems = ours.recv()
        outcome.problems += [f"reader: {problem}" for problem in problems]
        process.join()


# ---- trials --------------------------------------------------------------------------------------------


def run_trials(
    settings: Settings,
    graphs: Sequence[LabelGraph],
    points: Sequence[tuple[str, str] | None],
    *,
    seed: int = 0,
    report: bool = False,
) -> Outcome:
    """Kill the ingest of each of ``graphs[1:]`` at one of `points`; None is a random moment."""
    draw = random.Random(seed)
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, graph in enumerate(graphs):
            paths.append(Path(folder, f"{i}.safetensors"))
            paths[-1].write_bytes(write_safetensors(*graph.to_arrays()))
        begin = time.monotonic()
        with Workspace.open(settings) as workspace:
            register(workspace, NAME, annotated(graphs[0]))
        usual_s = time.monotonic() - begin
        with _reader(settings, graphs, outcome):
            for i, point in enumerate(points, start=1):
                after_s = None if point else draw.uniform(0, usual_s)
                where = f"{point[0]} {point[1]}" if point else f"{after_s:.3f} s"
                exit_code = _kill_one(settings, paths[i], point, after_s)
                said = f"trial {i}: killed at {where} (exit {exit_code}), " + _complete(
                    settings, graphs, i, outcome
                )
                outcome.trials.append(said)
                if point and exit_code != -signal.SIGKILL:
                    outcome.problems.append(
                        f"trial {i}: the child was to die at {where}, it ended with {exit_code}"
                    )
                if report:
                    print(said, flush=True)
        with Workspace.open(settings) as workspace:
            differing = [found for found in verify_graph(workspace) if not found["same"]]
            outcome.problems += [f"at the end: {found}" for found in differing]
    return outcome


def _kill_one(
    settings: Settings, path: Path, point: tuple[str, str] | None, after_s: float | None
) -> int | None:
    ours, theirs = _PROCESSES.Pipe()
    child = _PROCESSES.Process(target=_ingest, args=(settings, path, point, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        ours.recv()
    except EOFError as error:
        child.join()
        raise RuntimeError(f"the child ended with {child.exitcode} before it began") from error
    child.join(after_s)  # at a random moment: wait until the child ends or the time is up
    if child.is_alive():
        child.kill()
        child.join()
    return child.exitcode


def _complete(settings: Settings, graphs: Sequence[LabelGraph], i: int, outcome: Outcome) -> str:
    """Open the workspace, which repairs it, ingest again to the end, and compare."""
    allowed = {graphs[i - 1].digest: "old", graphs[i].digest: "new"}
    with Workspace.open(settings) as workspace:
        graph_says = workspace.graph.current(NAME)  # repaired when it was opened
        index = workspace.artifacts.read_index(NAME) or {}
        says = {workspace.catalog.current(NAME), graph_says, index.get("version")}
        if len(says) != 1 or not says <= allowed.keys():
            outcome.problems.append(f"trial {i}: after opening, the parts say {says}")
        served = next((graph for graph in graphs if graph.digest == graph_says), None)
        if served is not None:
            shown = shown_annotations(workspace.stores, served)
            differing = list(workspace.graph.annotation_differences(shown))
            outcome.problems += [f"trial {i}: after opening, {found}" for found in differing]
        result = register(workspace, NAME, annotated(graphs[i]))
        if (result.n_labels, result.n_edges) != workspace.graph.counts(result.digest):
            outcome.problems.append(f"trial {i}: counts differ after the second run")
        if {workspace.catalog.current(NAME), workspace.graph.current(NAME)} != {graphs[i].digest}:
            outcome.problems.append(f"trial {i}: the second run did not complete")
        if i >= 2 and graphs[i].n_labels > TIDY_LABELS:
            delete_ontology(workspace, NAME, version=graphs[i - 2].digest)
    return (
        f"{'/'.join(allowed.get(s or '', 'neither') for s in says)} on opening, complete after the second run"
    )


def main() -> int:
    """Run the trials that the command line requests."""
    parser = argparse.ArgumentParser(description="Kill an ingest with -9 while a reader watches.")
    parser.add_argument("--store", choices=("embedded", "neo4j"), default="embedded")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--labels", type=int, default=5000, help="size of the random hierarchies")
    parser.add_argument("--wordnet", action="store_true", help="all nouns of WordNet instead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    points = [draw.choice([None, *POINTS]) for _ in range(options.times)]
    graphs = [
        wordnet_graph(i) if options.wordnet else numbered_graph(i, options.labels)
        for i in range(options.times + 1)
    ]
    print(
        f"seed {options.seed}, {options.store}, {graphs[0].n_labels} labels, {graphs[0].n_edges} edges",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as home, _graph_url(options.store, home) as url:
        settings = Settings.from_env({"GROVE_HOME": home, "GROVE_GRAPH_URL": url})
        outcome = run_trials(settings, graphs, points, seed=options.seed, report=True)
    print(f"{len(outcome.trials)} kills, {outcome.reads} reads, {len(outcome.problems)} problems")
    for problem in outcome.problems:
        print(problem, file=sys.stderr)
    return 1 if outcome.problems else 0


@contextmanager
def _graph_url(store: str, home: str) -> Iterator[str]:
    if store == "embedded":
        yield f"embedded:{home}/graph"
    elif given := os.environ.get("GROVE_TEST_NEO4J_URL"):
        yield given
    else:
        from tests.services import Neo4jServer

        server = Neo4jServer()
        server.start()
        try:
            yield server.url
        finally:
            server.close()


if __name__ == "__main__":
    from tests.faults.ingest_kill import main as run  # children find their functions under this name

    sys.exit(run())

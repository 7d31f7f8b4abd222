"""The embedded store under damage, death and company: old or new, never a mixture, and never in silence."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labelgrove.ontology.errors import (
    ConflictError,
    GraphDamagedError,
    GroveError,
    MigrationError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    SettingsError,
)
from labelgrove.ontology.graph import GraphStore, open_graph
from labelgrove.ontology.graph.embedded import userquery
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.embedded.generations import Generations
from labelgrove.ontology.graph.userqueries import sandbox
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings

pytestmark = pytest.mark.long

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
OTHER = LabelGraph.from_edges([("cat", "animal")])


def load(store: GraphStore, graph: LabelGraph, fence: int = 1) -> None:
    store.begin_version("plants", graph)
    store.load_batch(graph, 0)
    store.mark_ready(graph.digest)
    store.publish("plants", graph.digest, fence)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
        yield store


@pytest.fixture
def loaded(store: GraphStore) -> GraphStore:
    load(store, GRAPH)
    return store


def newest_file(store: GraphStore) -> Path:
    return store.engine.file.folder / (store.engine.file.folder / "CURRENT").read_text().strip()


# ---- the folder ----------------------------------------------------------------------------------------


def test_the_folder_holds_one_generation_and_nothing_else(loaded: GraphStore) -> None:
    loaded.run_user("RETURN 1 AS one")
    assert {p.name for p in loaded.engine.file.folder.iterdir()} == {
        "CURRENT",
        "LOCK",
        newest_file(loaded).name,
    }


@pytest.mark.parametrize("at", ["migrate", "newest"])
def test_a_graph_that_is_wiped_before_it_is_open_is_begun_again(
    at: str, loaded: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = loaded.engine.file if at == "migrate" else loaded.engine.file.generations
    act, wipes = getattr(owner, at), []

    def then_wiped() -> object:
        """Act as ever, and let another process wipe the graph right after."""
        found = act()
        if found and not wipes:
            wipes.append(found)
            Generations(loaded.engine.file.folder).wipe()
        return found

    loaded.close()
    if at == "migrate":
        loaded.wipe()
    monkeypatch.setattr(owner, at, then_wiped)
    assert loaded.versions() == []
    assert wipes


def test_a_generation_is_never_written_again(loaded: GraphStore) -> None:
    first = newest_file(loaded)
    kept = loaded.engine.file.folder.parent / "kept"
    os.link(first, kept)
    before = kept.read_bytes()
    load(loaded, OTHER, fence=2)
    assert newest_file(loaded) != first
    assert not first.exists()
    assert kept.read_bytes() == before


def test_a_repeated_publication_makes_no_generation(loaded: GraphStore) -> None:
    before = newest_file(loaded)
    load(loaded, GRAPH)
    loaded.migrate()
    assert newest_file(loaded) == before


def test_a_version_that_is_not_written_whole_leaves_nothing(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.migrate()
    before = newest_file(store)
    with monkeypatch.context() as patch:
        patch.setattr(store.engine, "_counted", lambda *_: (2, 3))
        with pytest.raises(ServiceError, match=r"wrote 2 labels and 3 edges .* instead of 4 and 3"):
            store.load_whole("plants", GRAPH)
    assert newest_file(store) == before
    assert (store.versions(), store.counts(GRAPH.digest)) == ([], (0, 0))
    assert store.load_whole("plants", GRAPH)
    assert store.counts(GRAPH.digest) == (4, 3)


def test_a_version_begun_by_another_process_is_not_loaded_whole(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.begin_version("plants", GRAPH)
    monkeypatch.setattr(store.engine, "version", lambda _: None)  # asked before the other one began
    assert not store.load_whole("others", GRAPH)
    (version,) = store.versions()
    assert (version["ontology"], version["state"]) == ("plants", "loading")
    assert store.counts(GRAPH.digest) == (0, 0)


def test_an_open_reader_follows_the_writers_of_other_stores(loaded: GraphStore) -> None:
    assert loaded.current("plants") == GRAPH.digest
    with GraphStore(EmbeddedEngine(loaded.engine.file.folder)) as second:
        load(second, OTHER, fence=2)
    assert loaded.current("plants") == OTHER.digest


def test_what_dead_processes_left_is_cleared_and_what_the_living_use_is_kept(loaded: GraphStore) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name in (f"reading-{dead.pid}-abc", f"writing-{dead.pid}-abc", f"reading-{os.getpid()}-abc"):
        (loaded.engine.file.folder / name).mkdir()
        (loaded.engine.file.folder / name / "next.lbug").write_bytes(b"x")
    (loaded.engine.file.folder / "g99.lbug").write_bytes(b"a generation that nothing points to")
    load(loaded, OTHER, fence=2)
    names = {p.name for p in loaded.engine.file.folder.iterdir()}
    assert names == {"CURRENT", "LOCK", newest_file(loaded).name, f"reading-{os.getpid()}-abc"}


def test_wipe_begins_anew(loaded: GraphStore) -> None:
    loaded.wipe()
    assert loaded.current("plants") is None
    assert loaded.versions() == []
    load(loaded, GRAPH)
    assert loaded.read_back(GRAPH.digest) == GRAPH


def test_folders_with_awkward_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "a [b] {c,d} *? \\ 'e' ü"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with GraphStore(EmbeddedEngine(tmp_path / "it's a [graph] {1,2} *\\ ü")) as store:
        load(store, GRAPH)
        assert store.read_back(GRAPH.digest) == GRAPH
        assert store.run_user("MATCH (l:Label) RETURN count(l) AS n").rows == [(4,)]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with (
        GraphStore(EmbeddedEngine(tmp_path / "file" / "graph")) as store,
        pytest.raises(GroveError, match="graph"),
    ):
        store.migrate()


# ---- damage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"no generation", b"../../etc/passwd", b"\xff\xfe"])
def test_a_pointer_that_names_no_generation_is_damage(loaded: GraphStore, content: bytes) -> None:
    (loaded.engine.file.folder / "CURRENT").write_bytes(content)
    with pytest.raises(GraphDamagedError, match="graph rebuild"):
        loaded.current("plants")
    loaded.wipe()
    load(loaded, GRAPH)
    assert loaded.current("plants") == GRAPH.digest


def test_a_pointer_that_the_system_will_not_read_is_no_damage(
    loaded: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, **options: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", fail)
        with pytest.raises(ServiceError, match="Permission denied"):
            loaded.current("plants")
    assert loaded.current("plants") == GRAPH.digest


def test_a_query_that_the_engine_breaks_at_does_not_call_the_graph_damaged(loaded: GraphStore) -> None:
    statement = "MATCH (a)" + "-[:IS_A]->()" * 900 + " RETURN count(*) AS n"
    with pytest.raises(QueryFailedError) as caught:
        loaded.run_user(statement)
    assert "is damaged" not in str(caught.value)


def test_a_list_of_mixed_kinds_is_a_failed_query_that_names_the_reason(loaded: GraphStore) -> None:
    with pytest.raises(QueryFailedError, match="must have the same type"):
        loaded.run_user("RETURN $x AS x", {"x": [1, "a"]})


@pytest.mark.parametrize("value", [[], [None], [[], [None]]])
def test_a_list_of_no_kind_can_be_compared_with_and_is_named_elsewhere(
    loaded: GraphStore, value: list[Any]
) -> None:
    with pytest.raises(QueryFailedError, match=r"^\$x: the embedded engine .* use the list only with IN"):
        loaded.run_user("RETURN $x AS x, $y AS y", {"x": value, "y": [1]})
    if value != [[], [None]]:
        assert loaded.run_user("MATCH (l:Label) WHERE l.key IN $x RETURN l.key", {"x": value}).rows == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
def test_a_limit_on_address_space_is_named_and_no_damage(loaded: GraphStore) -> None:
    loaded.close()
    before = loaded.engine.file.generations.newest()
    asked = (
        "import sys; from pathlib import Path; "
        "from labelgrove.ontology.graph import GraphStore; "
        "from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine; "
        "GraphStore(EmbeddedEngine(Path(sys.argv[1]))).current('plants')"
    )
    command = [
        "sh",
        "-c",
        'ulimit -v 8000000; "$0" -c "$1" "$2"',
        sys.executable,
        asked,
        str(loaded.engine.file.folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("labelgrove.ontology.errors.ServiceError: graph file ")
    assert "reserves 8.8 TB of address space" in said
    assert said.endswith("ulimit -v unlimited")
    assert loaded.engine.file.generations.newest() == before
    assert loaded.current("plants") == GRAPH.digest


def test_a_generation_that_is_gone_is_damage(loaded: GraphStore) -> None:
    loaded.close()
    newest_file(loaded).unlink()
    with pytest.raises(GraphDamagedError, match="is gone"):
        loaded.current("plants")
    with pytest.raises(GraphDamagedError):
        loaded.run_user("RETURN 1")


@pytest.mark.parametrize("damage", ["garbage", "empty", "short", "other", "pages"])
def test_a_damaged_file_is_damage_for_readers_and_writers(loaded: GraphStore, damage: str) -> None:
    loaded.close()
    path = newest_file(loaded)
    if damage == "garbage":
        path.write_bytes(os.urandom(4096))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "short":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    elif damage == "pages":  # a length read from them may ask for more memory than there is
        held = bytearray(path.read_bytes())
        held[8192 : 8192 + 80 * 1024] = random.Random(3).randbytes(80 * 1024)
        path.write_bytes(held)
    else:
        path.write_bytes(b"SQLite format 3\0" + bytes(4096))
    with pytest.raises(GraphDamagedError, match="graph rebuild"):
        loaded.current("plants")
    with pytest.raises(GraphDamagedError):
        load(loaded, OTHER, fence=2)


def test_a_changed_migration_means_rebuild_and_a_newer_one_is_refused(
    loaded: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record(version: str, checksum: str) -> None:
        def work(run: object) -> None:
            with_text = {"version": version, "name": "x", "checksum": checksum}
            run("record_migration", **with_text)  # type: ignore[operator]

        loaded.engine.transact(work)

    record("0042", "of a newer labelgrove")
    with pytest.raises(MigrationError, match="0042"):
        loaded.current("plants")
    with pytest.raises(MigrationError, match="0042"):
        load(loaded, OTHER, fence=2)
    loaded.wipe()
    load(loaded, GRAPH)
    loaded.close()
    monkeypatch.setattr(
        "labelgrove.ontology.graph.embedded.graphfile.changed_versions", lambda dialect, recorded: ["0001"]
    )
    with pytest.raises(GraphDamagedError, match="migration 0001 has changed since it was applied"):
        loaded.current("plants")


def test_a_partial_version_is_damage(loaded: GraphStore) -> None:
    loaded.engine.transact(lambda run: run("drop_labels", version=GRAPH.digest, limit=1_000))
    loaded.begin_version("plants", GRAPH)
    loaded.load_batch(GRAPH, 0)  # none of it there: loaded again
    assert loaded.read_back(GRAPH.digest) == GRAPH


# ---- company -------------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_names_the_first(loaded: GraphStore) -> None:
    impatient = Generations(loaded.engine.file.folder, wait_s=0.1)
    with (
        loaded.engine.file.generations.writing(),
        pytest.raises(ConflictError, match=str(os.getpid())),
        impatient.writing(),
    ):
        pass


def test_writers_in_threads_follow_one_another(store: GraphStore) -> None:
    graphs = [LabelGraph.from_edges([(f"c{i}", f"p{i}")]) for i in range(6)]
    failures: list[BaseException] = []

    def write(i: int) -> None:
        try:
            with GraphStore(EmbeddedEngine(store.engine.file.folder)) as own:
                own.begin_version(f"n{i}", graphs[i])
                own.load_batch(graphs[i], 0)
                own.mark_ready(graphs[i].digest)
                own.publish(f"n{i}", graphs[i].digest, 1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {store.current(f"n{i}") for i in range(6)} == {g.digest for g in graphs}
    assert all(store.read_back(g.digest) == g for g in graphs)


WRITER = """
import sys
from pathlib import Path
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.labelgraph import LabelGraph
store = GraphStore(EmbeddedEngine(Path(sys.argv[1])))
first = int(sys.argv[2])
for fence in range(first, first + 10_000):
    graph = LabelGraph.from_edges([(f"{fence}-{i}", str(fence)) for i in range(300)])
    store.begin_version("plants", graph)
    store.load_batch(graph, 0)
    store.mark_ready(graph.digest)
    store.publish("plants", graph.digest, fence)
    if fence == first:
        print("going", flush=True)
"""


@pytest.mark.faults
def test_a_reader_sees_whole_versions_while_writers_are_killed(loaded: GraphStore) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    seen = set()
    for attempt in range(5):
        command = [sys.executable, "-c", WRITER, str(loaded.engine.file.folder), str(20_000 * (attempt + 1))]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"going\n"
            deadline = time.monotonic() + 0.4 + 0.13 * attempt
            while time.monotonic() < deadline:
                digest = loaded.current("plants")
                assert digest is not None
                assert loaded.read_back(digest).digest == digest
                seen.add(digest)
            writer.send_signal(signal.SIGKILL)
        digest = loaded.current("plants")
        assert digest is not None
        assert loaded.read_back(digest).digest == digest
        for version in loaded.versions():
            expected = (version["n_labels"], version["n_edges"])
            assert loaded.counts(version["digest"]) in (expected, (0, 0))
    assert len(seen) > 1
    load(loaded, OTHER, fence=1_000_000)
    assert {p.name for p in loaded.engine.file.folder.iterdir()} == {
        "CURRENT",
        "LOCK",
        newest_file(loaded).name,
    }


def _child(store: GraphStore, answer: multiprocessing.Queue[object]) -> None:
    answer.put(store.current("plants"))
    load(store, OTHER, fence=2)
    answer.put(store.current("plants"))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_uses_the_store_and_so_does_its_parent(loaded: GraphStore) -> None:
    assert loaded.current("plants") == GRAPH.digest  # a database is open
    context = multiprocessing.get_context("fork")
    answer: multiprocessing.Queue[object] = context.Queue()
    child = context.Process(target=_child, args=(loaded, answer))
    child.start()
    assert [answer.get(timeout=60), answer.get(timeout=60)] == [GRAPH.digest, OTHER.digest]
    child.join(timeout=60)
    assert child.exitcode == 0
    assert loaded.current("plants") == OTHER.digest


# ---- the sandbox ---------------------------------------------------------------------------------------


def test_a_query_that_needs_too_much_memory_fails_alone(loaded: GraphStore) -> None:
    with pytest.raises(QueryFailedError):
        loaded.run_user("RETURN repeat('a', 3000000000) AS a")
    assert loaded.current("plants") == GRAPH.digest


def test_an_answer_that_is_too_large_fails(loaded: GraphStore) -> None:
    with pytest.raises(QueryFailedError, match="64 MiB"):
        loaded.run_user("UNWIND range(1, 100) AS x RETURN repeat('a', 1000000) AS a")


def test_the_child_writes_no_file_and_knows_no_password(
    loaded: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROVE_DATABASE_URL", "postgresql://u:canary@h/d")
    monkeypatch.setenv("SSL_CERT_FILE", "/certificates of a server's")
    script = tmp_path / "bin"
    script.write_text(f'#!/bin/sh\nenv > {tmp_path}/env\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert loaded.run_user("RETURN 1 AS one").rows == [(1,)]
    told = (tmp_path / "env").read_text()
    assert "canary" not in told
    assert "SSL_CERT_FILE=/certificates of a server's" in told
    monkeypatch.undo()
    stolen = tmp_path / "stolen.csv"
    statement = f"COPY (MATCH (l:Label) RETURN l.key) TO '{stolen}'"
    with loaded.engine.file.generations.reading() as held:
        assert held is not None
        place = {"path": str(held[1]), "pool_bytes": 64 << 20}
        with pytest.raises(QueryFailedError, match="File too large"):
            sandbox.run(userquery.__name__, place, statement, {}, timeout_s=10, max_rows=10)
    assert not stolen.exists() or stolen.stat().st_size == 0


def test_a_child_that_dies_is_a_typed_error(loaded: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(QueryFailedError, match="status 1"):
        loaded.run_user("RETURN 1")


def test_a_child_that_does_not_end_is_killed(
    loaded: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    script.chmod(0o755)
    loaded.current("plants")
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(sandbox, "_GRACE_S", 0.5)
    with pytest.raises(QueryTimeoutError, match=r"ran past 0\.5 s"):
        loaded.run_user("RETURN 1", timeout_s=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# ---- opening -------------------------------------------------------------------------------------------


def test_a_url_without_a_place_is_refused(tmp_path: Path) -> None:
    for url in ("embedded:", "bolt://"):
        with pytest.raises(SettingsError, match="GROVE_GRAPH_URL"):
            open_graph(Settings(tmp_path, url, "sqlite:///x", "x"))


def test_opening_reaches_nothing(tmp_path: Path) -> None:
    open_graph(Settings(tmp_path, f"embedded:{tmp_path}/graph", "sqlite:///x", "x")).close()
    open_graph(Settings(tmp_path, "bolt://u:p@127.0.0.1:1", "sqlite:///x", "x")).close()
    assert list(tmp_path.iterdir()) == [tmp_path / "home"] or not list(tmp_path.iterdir())


def test_a_full_disk_is_a_service_error(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    load(store, GRAPH)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(ServiceError, match="No space left"):
        load(store, OTHER, fence=2)
    monkeypatch.undo()
    assert store.current("plants") == GRAPH.digest

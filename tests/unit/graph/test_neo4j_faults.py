"""Neo4j that is away, refuses, dies or leaves a commit open."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import neo4j
import neo4j.exceptions
import numpy as np
import pytest

from labelgrove.ontology.errors import (
    MigrationError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    SettingsError,
    TransientError,
)
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.migrate import migrations
from labelgrove.ontology.graph.neo4j.neo4jengine import EDGES_PER_BATCH, LABELS_PER_BATCH, Neo4jEngine
from labelgrove.ontology.labelgraph import LabelGraph
from tests.conftest import wipe_neo4j
from tests.services import Neo4jServer, patient

pytestmark = pytest.mark.long

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])


def load(store: GraphStore, graph: LabelGraph, fence: int = 1) -> None:
    store.begin_version("plants", graph)
    for i in range(store.batch_count(graph)):
        store.load_batch(graph, i)
    store.mark_ready(graph.digest)
    store.publish("plants", graph.digest, fence)


# ---- without a server ----------------------------------------------------------------------------------


def test_a_server_that_is_away_is_named_at_once_without_its_password() -> None:
    began = time.monotonic()
    with (
        GraphStore(Neo4jEngine("bolt://neo4j:canary@127.0.0.1:1")) as store,
        pytest.raises(ServiceError) as caught,
    ):
        store.current("plants")
    assert "bolt://neo4j:***@127.0.0.1:1" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "canary" not in repr(caught.value.__cause__)
    assert time.monotonic() - began < patient(30)  # not the 120 s for which a broken transaction is repeated


@pytest.mark.parametrize("url", ["bolt://", "bolt://:7687", "bolt://host:port", "bolt://[::1"])
def test_a_url_without_a_host_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="GROVE_GRAPH_URL"):
        GraphStore(Neo4jEngine(url))


def test_an_undirected_or_long_graph_has_as_many_batches_as_it_needs() -> None:
    store = GraphStore(Neo4jEngine("bolt://127.0.0.1:1"))
    assert store.batch_count(GRAPH) == 2
    assert store.batch_count(LabelGraph.from_edges([], labels=["a"])) == 1
    wide = LabelGraph.from_edges([(str(i), "root") for i in range(LABELS_PER_BATCH)])
    assert store.batch_count(wide) == 2 + 1
    assert EDGES_PER_BATCH == 10_000


# ---- with one ------------------------------------------------------------------------------------------


@pytest.fixture
def store(neo4j_clean_url: str) -> Iterator[GraphStore]:
    with GraphStore(Neo4jEngine(neo4j_clean_url)) as store:
        yield store


@pytest.mark.services
def test_a_wrong_password_is_said_to_be_one(neo4j_clean_url: str) -> None:
    before, _, host = neo4j_clean_url.rpartition("@")
    if not before:
        pytest.skip("this server asks for no password")
    with (
        GraphStore(Neo4jEngine(f"bolt://neo4j:canary@{host}")) as store,
        pytest.raises(ServiceError, match="password is wrong") as caught,
    ):
        store.current("plants")
    assert "canary" not in str(caught.value)


@pytest.mark.services
def test_migrations_of_a_newer_labelgrove_and_changed_ones_are_refused(
    store: GraphStore, neo4j_clean_url: str
) -> None:
    store.migrate()

    def work(run: object) -> None:
        run("record_migration", version="0042", name="x", checksum="y")  # type: ignore[operator]

    store.engine.transact(work)
    with GraphStore(Neo4jEngine(neo4j_clean_url)) as later:
        for _ in range(2):
            with pytest.raises(MigrationError, match="0042 was applied by a newer labelgrove"):
                later.current("plants")
    with store.engine.server.session() as session:
        session.run("MATCH (m:_Migration {version: '0042'}) DELETE m").consume()
        session.run("MATCH (m:_Migration {version: '0001'}) SET m.checksum = 'other'").consume()
    with (
        GraphStore(Neo4jEngine(neo4j_clean_url)) as later,
        pytest.raises(MigrationError, match="has changed since it was applied"),
    ):
        later.migrate()


@pytest.mark.services
def test_processes_that_migrate_one_empty_graph_at_once(neo4j_empty_url: str) -> None:
    """Schema statements of two sessions deadlock, and whoever comes second finds what the first one made."""
    steps = migrations("neo4j")
    for _ in range(4):
        wipe_neo4j(neo4j_empty_url)
        with ExitStack() as opened, ThreadPoolExecutor(4) as threads:
            stores = [opened.enter_context(GraphStore(Neo4jEngine(neo4j_empty_url))) for _ in range(4)]
            for store in stores:
                store.describe()  # connected: they begin together
            list(threads.map(GraphStore.migrate, stores))
            assert stores[0].run_named("recorded_migrations").rows == [(m.version, m.checksum) for m in steps]
            assert [store.migrate() for store in stores] == [[]] * len(stores)


@pytest.mark.services
def test_a_wait_for_indexes_lets_its_locks_go_between_its_parts(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = "UNWIND range(1, 1000000000) AS i RETURN count(i)"
    for name, value in {"_AWAIT": waits, "_AWAITED_S": 1.0, "_AWAITED_IN_ALL_S": 3.0}.items():
        monkeypatch.setattr(f"labelgrove.ontology.graph.neo4j.neo4jengine.{name}", value)
    began, parts = time.monotonic(), []
    run = neo4j.ManagedTransaction.run
    monkeypatch.setattr(neo4j.ManagedTransaction, "run", lambda *given: parts.append(given) or run(*given))
    with pytest.raises(QueryTimeoutError):
        store.engine._execute(waits)
    assert 2 <= len(parts) <= 4
    assert 3 <= time.monotonic() - began < patient(60)


SEE = "MATCH (n:Held) SET n.seen = true"


@pytest.fixture
def held(store: GraphStore) -> Iterator[neo4j.Transaction]:
    """Yield an open transaction that holds the lock of the only node labelled ``Held``."""
    with store.engine.server.session() as session:
        session.run("CREATE (:Held)").consume()
        with session.begin_transaction() as holder:
            holder.run("MATCH (n:Held) SET n.held = true").consume()
            yield holder
        session.run("MATCH (n:Held) DELETE n").consume()


@pytest.mark.services
def test_a_wait_that_is_stopped_at_a_lock_goes_on(
    store: GraphStore, held: neo4j.Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server names a transaction that ran too long differently if it was waiting for a lock."""
    for name, value in {"_AWAIT": SEE, "_AWAITED_S": 1.0}.items():
        monkeypatch.setattr(f"labelgrove.ontology.graph.neo4j.neo4jengine.{name}", value)
    parts, run, repeated = [], neo4j.ManagedTransaction.run, threading.Event()

    def noted(transaction: neo4j.ManagedTransaction, query: str) -> neo4j.Result:
        parts.append(query)
        if len(parts) == 2:
            repeated.set()
        return run(transaction, query)

    monkeypatch.setattr(neo4j.ManagedTransaction, "run", noted)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(store.engine._execute, SEE)
        stopped = repeated.wait(60)
        held.rollback()
        waiting.result(60)
    assert stopped
    with store.engine.server.session() as session:
        assert [r["seen"] for r in session.run("MATCH (n:Held) RETURN n.seen AS seen")] == [True]


@pytest.mark.services
def test_a_write_that_is_stopped_at_a_lock_may_be_tried_again(
    store: GraphStore, held: neo4j.Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labelgrove.ontology.graph.neo4j.neo4jengine._AWAIT", SEE)
    monkeypatch.setattr("labelgrove.ontology.graph.neo4j.neo4jengine._AWAITED_S", 1.0)
    monkeypatch.setattr("labelgrove.ontology.graph.neo4j.neo4jengine._AWAITED_IN_ALL_S", 0.0)
    with pytest.raises(TransientError, match="try again"):
        store.engine._execute(SEE)
    held.rollback()


@pytest.mark.services
def test_the_schema_stands_before_the_first_label(store: GraphStore) -> None:
    store.begin_version("plants", GRAPH)
    with store.engine.server.session() as session:
        constraints = {r["name"] for r in session.run("SHOW CONSTRAINTS YIELD name, type RETURN name")}
        indexes = {(r["name"], r["state"]) for r in session.run("SHOW INDEXES YIELD name, state RETURN *")}
    assert {"label_uid", "version_digest", "ontology_name", "migration_version"} <= constraints
    assert {("label_version", "ONLINE"), ("label_key", "ONLINE")} <= indexes


@pytest.mark.services
def test_a_commit_whose_outcome_is_unknown_is_run_again(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = neo4j.Session.execute_write
    outcomes = iter(["after", "before", "fine"] * 100)

    def sometimes(session: neo4j.Session, work: object, *args: object, **kwargs: object) -> object:
        outcome = next(outcomes)
        if outcome == "before":
            raise neo4j.exceptions.IncompleteCommit("broken before the commit")
        answer = commit(session, work, *args, **kwargs)  # type: ignore[arg-type]
        if outcome == "after":
            raise neo4j.exceptions.IncompleteCommit("broken after the commit")
        return answer

    store.migrate()
    monkeypatch.setattr(neo4j.Session, "execute_write", sometimes)
    load(store, GRAPH)
    assert store.read_back(GRAPH.digest) == GRAPH
    assert store.current("plants") == GRAPH.digest

    def never(session: object, *args: object, **kwargs: object) -> object:
        raise neo4j.exceptions.IncompleteCommit("always broken")

    monkeypatch.setattr(neo4j.Session, "execute_write", never)
    with pytest.raises(TransientError, match="in a row"):
        store.drop_ontology("plants")


@pytest.mark.services
def test_an_error_of_the_server_keeps_its_words(store: GraphStore) -> None:
    with pytest.raises(QueryFailedError, match=r"Neo\.ClientError\.Statement\.SyntaxError"):
        store.run_user("RETURN 1 +")
    with pytest.raises(QueryFailedError, match="AccessMode"):
        store.run_named("mark_ready", version="x")


def _child(store: GraphStore, answer: multiprocessing.Queue[object]) -> None:
    answer.put(store.current("plants"))


@pytest.mark.services
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_opens_connections_of_its_own(store: GraphStore) -> None:
    load(store, GRAPH)
    context = multiprocessing.get_context("fork")
    answer: multiprocessing.Queue[object] = context.Queue()
    children = [context.Process(target=_child, args=(store, answer)) for _ in range(2)]
    for child in children:
        child.start()
    assert [answer.get(timeout=60) for _ in children] == [GRAPH.digest] * 2
    for child in children:
        child.join(timeout=60)
    assert store.current("plants") == GRAPH.digest


@pytest.mark.services
@pytest.mark.faults
@pytest.mark.timeout(300)
def test_a_load_survives_the_death_of_its_server(neo4j_server: Neo4jServer) -> None:
    rng = np.random.default_rng(11)
    graph = LabelGraph.from_edges([(f"n{c}", f"n{rng.integers(0, c)}") for c in range(1, 20_000)])
    with GraphStore(Neo4jEngine(neo4j_server.url)) as store:
        load(store, GRAPH, fence=1)
        store.begin_version("plants", graph)
        failures: list[BaseException] = []
        progress = threading.Semaphore(0)

        def work() -> None:
            try:
                for i in range(store.batch_count(graph)):
                    store.load_batch(graph, i)
                    progress.release()
            except BaseException as error:
                failures.append(error)
            finally:
                progress.release()

        loader = threading.Thread(target=work)
        loader.start()
        for _ in range(3):
            progress.acquire()
        neo4j_server.kill()
        neo4j_server.start()
        loader.join(timeout=200)
        assert not loader.is_alive()
        for error in failures:  # reported as what it was, and repeating cures it
            assert isinstance(error, ServiceError)
        assert store.current("plants") == GRAPH.digest  # the previous version serves throughout
        load(store, graph, fence=2)
        assert store.counts(graph.digest) == (graph.n_labels, graph.n_edges)
        assert store.read_back(graph.digest) == graph
        assert store.read_back(GRAPH.digest) == GRAPH

"""The graph on a Neo4j server, through the official driver.

Bulk rows travel in batches inside managed transactions. Every write may be repeated without harm, because the
driver repeats what fails for the moment, and a commit whose outcome is unknown is run again here.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from labelgrove.ontology.errors import (
    GroveError,
    MigrationError,
    MissingExtraError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    SettingsError,
    TransientError,
)
from labelgrove.ontology.graph.embedded.tablefiles import ROWS_TOGETHER
from labelgrove.ontology.graph.engine import Removal, Run
from labelgrove.ontology.graph.errors import GraphDamagedError
from labelgrove.ontology.graph.migrate import Migration, changed_versions, pending
from labelgrove.ontology.graph.named import check_parameters, named_query
from labelgrove.ontology.graph.records import edge_columns, label_columns, no_graph
from labelgrove.ontology.graph.results import GraphResult, result_tables
from labelgrove.ontology.graph.resultstore import shown_by
from labelgrove.ontology.graph.rows import Rows, plain_value
from labelgrove.ontology.graph.store import GraphStore
from labelgrove.ontology.graph.userqueries import sandbox
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import masked

try:
    import neo4j
    import neo4j.exceptions
    import neo4j.graph
except ImportError as error:
    raise MissingExtraError.of("neo4j", "service", "the Neo4j graph") from error

__all__ = ["EDGES_PER_BATCH", "LABELS_PER_BATCH", "Neo4jStore", "served"]

Result = TypeVar("Result")

LABELS_PER_BATCH = 5_000
EDGES_PER_BATCH = 10_000
_DATABASE = "neo4j"
_BATCH_TIMEOUT_S = 120.0
_UNKNOWN_OUTCOMES = 5
_TIMED_OUT = "TransactionTimedOut"
_AWAIT = "CALL db.awaitIndexes"
_AWAITED_S = 10.0
_AWAITED_IN_ALL_S = 600.0
_MADE_MEANWHILE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
"""What ``IF NOT EXISTS`` answers where another process makes the same index at the same moment."""

_INHERITED: list[neo4j.Driver] = []  # a forked child keeps its parent's driver and never closes its sockets


class Neo4jStore(GraphStore):
    """The graph store on a Neo4j server.

    Parameters
    ----------
    url : str
        ``bolt://user:password@host:7687`` (also ``neo4j://``, ``+s``, ``+ssc``); without user and password
        for a server that asks for none.
    """

    dialect = "neo4j"
    may_be_edited = True

    def __init__(self, url: str) -> None:
        self._given = url
        self._url, self._auth = _split(url)
        self._where = masked(url)
        self._lock = threading.Lock()
        self._driver: neo4j.Driver | None = None
        self._process = 0

    # ---- the contract ------------------------------------------------------------------------------

    def migrate(self) -> list[str]:
        """Apply the migrations that are missing; see `GraphStore.migrate`.

        A migration file that has changed since it was applied raises `MigrationError`.
        """
        missing = self._missing()
        for step in missing:
            for statement in step.statements:  # schema and data cannot share a transaction
                self._execute(statement)
            params = {"version": step.version, "name": step.name, "checksum": step.checksum}
            self._transact(lambda run, params=params: run("record_migration", **params))  # type: ignore[misc]
        return [m.version for m in missing]

    def _execute(self, statement: str) -> None:
        """Execute one statement of a migration; another process may be executing it too.

        Who waits for indexes holds locks that whoever makes them may need, which the server takes for no
        deadlock: such a wait is cut into parts, so that the locks are let go between them.
        """
        waits = _AWAIT in statement

        @neo4j.unit_of_work(timeout=_AWAITED_S if waits else None)
        def execute(transaction: neo4j.ManagedTransaction) -> None:
            transaction.run(statement).consume()

        until = time.monotonic() + _AWAITED_IN_ALL_S
        with self._session() as session:
            while True:
                try:
                    return session.execute_write(execute)  # again after a deadlock
                except neo4j.exceptions.Neo4jError as error:
                    if error.code == _MADE_MEANWHILE:
                        return None
                    if _TIMED_OUT not in str(error.code) or time.monotonic() > until:
                        raise

    def describe(self) -> dict[str, Any]:
        """Return engine, version and masked URL of the server."""
        with self._translated():
            info = self._connected().get_server_info()
        return {"engine": "neo4j", "version": info.agent.rpartition("/")[2], "where": self._where}

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None and self._process == os.getpid():
            driver.close()

    def wipe(self) -> bool:
        """Remove nothing: a server may hold more than ours, and what somebody edited."""
        return False

    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches: 5,000 labels each, then 10,000 edges each."""
        return -(-graph.n_labels // LABELS_PER_BATCH) + -(-graph.n_edges // EDGES_PER_BATCH)

    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i`, labels before edges; see `GraphStore.load_batch`."""
        of_labels = -(-graph.n_labels // LABELS_PER_BATCH)
        if i < of_labels:
            name = str(self._known_version(graph.digest)["ontology"])
            start = i * LABELS_PER_BATCH
            rows = _rows(label_columns(graph, name, start, start + LABELS_PER_BATCH))
            self._transact(lambda run: run("load_labels", rows=rows))
        else:
            start = (i - of_labels) * EDGES_PER_BATCH
            rows = _rows(edge_columns(graph, start, start + EDGES_PER_BATCH))
            self._transact(lambda run: run("load_edges", rows=rows))

    # ---- running -----------------------------------------------------------------------------------

    def _read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        with self._session(neo4j.READ_ACCESS) as session:
            return session.execute_read(lambda tx: _fetched(tx.run(cypher, dict(params))))

    def _read_version(self, digest: str) -> tuple[Any, Any]:
        labels, edges = (self._table(name, digest) for name in ("all_labels", "all_edges"))
        return labels.append_column("place", labels["key"]), edges  # keys: what was drawn by hand has them

    def _table(self, name: str, digest: str) -> Any:
        query = named_query(self.dialect, name)
        with self._session(neo4j.READ_ACCESS) as session:
            return session.execute_read(lambda tx: _table_of(tx.run(query.text, {"version": digest}), digest))

    def _parents_of(self, uids: Sequence[str]) -> list[dict[str, Any]]:
        return self.run_named("parents_of", uids=list(uids)).dicts()

    def _transact(self, work: Callable[[Run], Result]) -> Result:
        @neo4j.unit_of_work(timeout=_BATCH_TIMEOUT_S)
        def once(transaction: neo4j.ManagedTransaction) -> Result:
            def run(name: str, /, **params: Any) -> Rows:
                query = named_query(self.dialect, name)
                check_parameters(query.parameters, params.keys(), where=f"query {name!r}")
                return _fetched(transaction.run(query.text, params))

            return work(run)

        with self._session(neo4j.WRITE_ACCESS) as session:
            for _ in range(_UNKNOWN_OUTCOMES):
                try:
                    return session.execute_write(once)
                except neo4j.exceptions.IncompleteCommit:
                    continue  # committed or not: our writes may be repeated, the driver does not dare
            raise TransientError(
                f"graph {self._where}: the connection broke during {_UNKNOWN_OUTCOMES} commits in a row; "
                "try again"
            )

    def _write_result(self, result: GraphResult) -> None:
        if not shown_by(self.run_named, result):
            properties = {"version": result.graph.digest, **result.properties}
            self._transact(
                lambda run: run("load_result", label=result.label, id=result.id, properties=properties)
            )
            for table in result_tables(result):
                for start in range(0, table.n_rows, EDGES_PER_BATCH):
                    rows = _rows(table.columns(start, start + EDGES_PER_BATCH))
                    self._load_links(result, table.type, rows)
        self._transact(lambda run: _join(run, result))

    def _load_links(self, result: GraphResult, kind: str, rows: list[dict[str, Any]]) -> None:
        loaded = self._transact(lambda run: run(f"load_{kind.lower()}", rows=rows).rows[0][0])
        if loaded != len(rows):
            raise _half_gone(result, f"{loaded} of {len(rows)} {kind} found both their ends")

    def _remove(self, steps: Iterable[Removal]) -> None:
        for name, params in steps:
            removed = LABELS_PER_BATCH
            while removed == LABELS_PER_BATCH:
                removed = self._remove_batch(name, params)

    def _remove_batch(self, name: str, params: Mapping[str, Any]) -> int:
        return self._transact(lambda run: int(run(name, **params, limit=LABELS_PER_BATCH).rows[0][0]))

    def _run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        self._connected()  # faults of server, password and schema are raised before a process starts
        return sandbox.run({"url": self._given}, cypher, params, timeout_s=timeout_s, max_rows=max_rows)

    # ---- connections -------------------------------------------------------------------------------

    @contextmanager
    def _session(self, access: str = neo4j.WRITE_ACCESS, fetch_size: int = 10_000) -> Iterator[neo4j.Session]:
        driver = self._connected()
        with (
            self._translated(),
            driver.session(database=_DATABASE, default_access_mode=access, fetch_size=fetch_size) as session,
        ):
            yield session

    def _connected(self) -> neo4j.Driver:
        """Return this process's driver; the first use reaches the server and checks the schema's age."""
        with self._lock:
            if self._process != os.getpid():
                if self._driver is not None:
                    _INHERITED.append(self._driver)
                self._driver, self._process = None, os.getpid()
            if self._driver is not None:
                return self._driver
            with self._translated():
                driver = neo4j.GraphDatabase.driver(
                    self._url,
                    auth=self._auth,
                    connection_timeout=10,
                    connection_acquisition_timeout=15,  # the handshake included: a silent server is away
                    max_transaction_retry_time=120,
                    liveness_check_timeout=30,
                    max_connection_lifetime=600,
                    notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
                )
                try:
                    driver.verify_connectivity()
                except BaseException:
                    driver.close()
                    raise
            self._driver = driver
        try:
            self._missing()
        except MigrationError:
            self.close()
            raise
        return driver

    def _missing(self) -> list[Migration]:
        recorded = dict(self._read(named_query(self.dialect, "recorded_migrations").text, {}).rows)
        missing = pending(self.dialect, recorded, where=self._where)
        changed = changed_versions(self.dialect, recorded)
        if changed:
            raise MigrationError(
                f"graph {self._where}: migration {', '.join(changed)} was applied in another form; bring "
                "its file back to what it was and put changes into a new one, or point GROVE_GRAPH_URL at an "
                "empty graph"
            )
        return missing

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the driver's errors into ours, naming the server without its password."""
        where = f"graph {self._where}"
        try:
            yield
        except GroveError:  # ours already; a ServiceError is an OSError too
            raise
        except neo4j.exceptions.AuthError as error:
            raise ServiceError(f"{where}: user or password is wrong; GROVE_GRAPH_URL holds both") from error
        except neo4j.exceptions.ConfigurationError as error:
            raise SettingsError(f"GROVE_GRAPH_URL: {masked(str(error))}") from error
        except neo4j.exceptions.Neo4jError as error:
            code, text = str(error.code), str(error.message)
            if _TIMED_OUT in code:
                raise QueryTimeoutError(
                    f"{where}: the query ran past its time limit and was stopped"
                ) from error
            if isinstance(error, (neo4j.exceptions.TransientError, neo4j.exceptions.DatabaseUnavailable)):
                raise TransientError(f"{where}: {text}; try again") from error
            raise QueryFailedError(f"{where}: {text} ({code})") from error
        except (neo4j.exceptions.SessionExpired, neo4j.exceptions.IncompleteCommit) as error:
            raise TransientError(f"{where}: {masked(str(error))}; try again") from error
        except (neo4j.exceptions.DriverError, OSError) as error:
            raise ServiceError(
                f"{where} cannot be reached: {masked(str(error))}; check that Neo4j runs and that "
                "GROVE_GRAPH_URL names it (`grove doctor` tries it)"
            ) from error


@contextmanager
def served(url: str, timeout_s: float, *, fetch_size: int) -> Iterator[sandbox.Query]:
    """Reach a server for one query of a user: read access, stopped after `timeout_s` seconds."""
    with Neo4jStore(url) as store:
        store._connected()  # reached now: the time of the query begins after this

        @contextmanager
        def query(cypher: str, params: Mapping[str, Any]) -> Iterator[tuple[Sequence[str], Iterator[Any]]]:
            with store._session(neo4j.READ_ACCESS, fetch_size) as session:
                result = session.run(neo4j.Query(cypher, timeout=timeout_s), dict(params))
                yield result.keys(), _plain_rows(result)

        yield query


def _split(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return the URL without user and password, and those."""
    from urllib.parse import unquote, urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError(f"GROVE_GRAPH_URL: {masked(url)!r} is not a URL ({error})") from None
    if not host:
        raise SettingsError(
            f"GROVE_GRAPH_URL: {masked(url)!r} names no host; write bolt://user:password@host:7687"
        )
    shown = f"[{host}]" if ":" in host else host
    bare = urlunsplit((parts.scheme, f"{shown}:{port}" if port else shown, "", parts.query, ""))
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return bare, auth


def _join(run: Run, result: GraphResult) -> None:
    """Join a result to its job; with nothing to join, nothing is written."""
    run("note_job", job=result.job, kind=result.kind, created=result.created)
    joined = run("load_produced", version=result.graph.digest, job=result.job, id=result.id).rows[0][0]
    if joined != 1:
        raise _half_gone(result, "it is not there to be joined to its job")


def _half_gone(result: GraphResult, what: str) -> GraphDamagedError:
    return GraphDamagedError(
        f"{result.label} {result.id[:12]} of version {result.graph.digest[:12]}: {what}; somebody removes "
        "one of them meanwhile: write it again, or run: grove graph rebuild"
    )


def _fetched(result: neo4j.Result) -> Rows:
    return Rows(tuple(result.keys()), list(_plain_rows(result)))


def _plain_rows(result: neo4j.Result) -> Iterator[tuple[Any, ...]]:
    for record in result:
        yield tuple(_plain(value) for value in record.values())


def _table_of(result: neo4j.Result, digest: str) -> Any:
    """Return a long answer as an Arrow table, filled piece by piece."""
    import pyarrow

    types = {"idx": "float64", "weight": "float64", "rank": "int64"}
    names = result.keys()
    schema = pyarrow.schema([(name, types.get(name, "string")) for name in names])
    rows, pieces = _plain_rows(result), [schema.empty_table()]
    while piece := list(islice(rows, ROWS_TOGETHER)):
        columns = zip(schema, zip(*piece, strict=True), strict=True)
        try:
            arrays = [pyarrow.array(values, type=field.type) for field, values in columns]
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise no_graph(digest, error) from error
        pieces.append(pyarrow.table(arrays, schema=schema))
    return pyarrow.concat_tables(pieces)


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    names = tuple(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    """Return a value without the driver's types, nodes and edges as on the embedded engine."""
    if isinstance(value, neo4j.graph.Node):
        return {"_label": next(iter(value.labels), ""), **{k: _plain(v) for k, v in value.items()}}
    if isinstance(value, neo4j.graph.Relationship):
        return {"_label": value.type, **{k: _plain(v) for k, v in value.items()}}
    if isinstance(value, neo4j.graph.Path):
        return {
            "_nodes": [_plain(n) for n in value.nodes],
            "_edges": [_plain(e) for e in value.relationships],
        }
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return plain_value(value)

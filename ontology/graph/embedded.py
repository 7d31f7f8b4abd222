"""The graph in a file of this machine: ladybug, an embedded Cypher engine, over immutable generations.

The engine is a projection that can be rebuilt, never the only copy. Its rules, each learned from a crash or a
silent wrong answer: keys are unique and ends resolved before COPY, and COPY reads only parquet files; a
database is written by one process, under a name of its own, and closed after any error; the pool of buffers
has a size; variable length patterns reach as far as they say, not 30 steps; no process forks with an open
database.
"""

from __future__ import annotations

import glob
import math
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import ladybug

from ontology.errors import QueryFailedError, QueryTimeoutError, ServiceError
from ontology.graph import sandbox
from ontology.graph.engine import Removal, Run
from ontology.graph.errors import GraphDamagedError
from ontology.graph.generations import Generations
from ontology.graph.migrate import Migration, changed_versions, migrations, pending
from ontology.graph.named import check_parameters, named_query
from ontology.graph.records import edge_columns, label_columns
from ontology.graph.results import RESULT_PROPERTIES, GraphResult, result_tables
from ontology.graph.resultstore import shown_by
from ontology.graph.rows import Rows, plain_value
from ontology.graph.store import GraphStore
from ontology.labelgraph import LabelGraph

__all__ = ["EmbeddedStore", "fetch", "limited_connection", "open_database", "reserved_bytes"]

Result = TypeVar("Result")

_READER_BYTES = 256 << 20
_WRITER_BYTES = 1 << 30
_MAX_HOPS = 100_000
_ALL_ROWS = 2**62
_DAMAGED = re.compile(
    r"not a valid|corrupt|cannot read (checkpoint|pip|page)|checksum|catalog page range|checkpoint recovery"
    r"|invalid local node offset|storage version|database version|deserializ|cannot be a directory"
    r"|unordered_map::at|vector::_M_range_check|empty database under read only",
    re.IGNORECASE,
)
_QUERY_AT_FAULT = re.compile(r"(parser|binder|catalog|function|conversion|overflow) exception", re.IGNORECASE)


class EmbeddedStore(GraphStore):
    """The graph store that needs no server.

    Parameters
    ----------
    folder : Path
        Where the generations lie; on a local disk.
    """

    dialect = "embedded"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generations = Generations(folder)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._open: tuple[int, ladybug.Database] | None = None
        self._lacking: list[Migration] = []
        _STORES.add(self)

    # ---- the contract ------------------------------------------------------------------------------

    def migrate(self) -> list[str]:
        """Apply the migrations that are missing; see `GraphStore.migrate`.

        A generation whose migrations have changed since raises `GraphDamagedError`: rebuilding is the cure.
        """
        with self._writing:
            missing = self._missing()
            if missing:
                with self._generation():
                    pass
            return [m.version for m in missing]

    def describe(self) -> dict[str, Any]:
        """Return engine, version, folder, number and size in bytes of the generation."""
        self.run_named("versions")
        number = self.generations.newest()
        size = (self.folder / f"g{number}.lbug").stat().st_size
        return {
            "engine": "ladybug",
            "version": ladybug.__version__,
            "where": str(self.folder),
            "generation": number,
            "bytes": size,
        }

    def close(self) -> None:
        """Close the generation that is open for reading."""
        with self._reading:
            self._close_reader()

    def wipe(self) -> None:
        """Remove the graph; the next use begins an empty one."""
        with self._writing:
            self.close()
            self.generations.wipe()

    def batch_count(self, graph: LabelGraph) -> int:
        """Return 1: a generation is all or nothing."""
        return 1

    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load the whole graph; harmless when it is there. See `GraphStore.load_batch`."""
        held = self.counts(graph.digest)
        if held == (graph.n_labels, graph.n_edges):
            return
        if held != (0, 0):  # a generation holds all of a version or none of it
            raise GraphDamagedError(
                f"graph {self.folder}: version {graph.digest[:12]} holds {held[0]} labels and {held[1]} "
                f"edges of {graph.n_labels} and {graph.n_edges}; run: grove graph rebuild"
            )
        name = str(self._known_version(graph.digest)["ontology"])
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
            labels, edges = Path(folder, "labels.parquet"), Path(folder, "edges.parquet")
            _write_parquet(labels, label_columns(graph, name, 0, graph.n_labels))
            _write_parquet(edges, edge_columns(graph, 0, graph.n_edges))
            with self._writing, self._generation() as connection:
                if self._runner(connection)("count_labels", version=graph.digest).rows[0][0]:
                    return  # another process, before this one had the lock
                fetch(connection, f"COPY Label FROM {_literal(labels)}")
                if graph.n_edges:
                    fetch(connection, f"COPY IS_A FROM {_literal(edges)}")

    # ---- running -----------------------------------------------------------------------------------

    def _read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        with self._reader() as connection:
            return fetch(connection, cypher, params)

    def _read_columns(self, cypher: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with self._reader() as connection, _result(connection, cypher, params) as result:
            table = result.get_as_arrow()
        return {
            name: column.to_pylist() if _is_text(column) else column.to_numpy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }

    def _transact(self, work: Callable[[Run], Result]) -> Result:
        with self._writing, self._generation() as connection:
            return work(self._runner(connection))

    def _write_result(self, result: GraphResult) -> None:
        with (
            tempfile.TemporaryDirectory(prefix="labelgrove-") as folder,
            self._writing,
            self._generation() as connection,
        ):
            run = self._runner(connection)
            shown = shown_by(run, result)  # asked again: now no other process writes
            if result.job in shown:
                return
            if not shown:
                for table, columns in _result_columns(result):
                    path = Path(folder, f"{table}.parquet")
                    _write_parquet(path, columns)
                    fetch(connection, f"COPY {table} FROM {_literal(path)}")
            run("note_job", job=result.job, kind=result.kind, created=result.created)
            path = Path(folder, "PRODUCED.parquet")
            _write_parquet(path, {"job": [result.job], "id": [result.id]})
            fetch(connection, f"COPY PRODUCED FROM {_literal(path)} (from='Job', to='{result.label}')")

    def _remove(self, steps: Iterable[Removal]) -> None:
        def work(run: Run) -> None:
            for name, params in steps:
                run(name, **params, limit=_ALL_ROWS)

        self._transact(work)

    def _runner(self, connection: ladybug.Connection) -> Run:
        def run(name: str, /, **params: Any) -> Rows:
            query = named_query(self.dialect, name)
            check_parameters(query.parameters, params.keys(), where=f"query {name!r}")
            return fetch(connection, query.text, params)

        return run

    def _run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        self.run_named("versions")  # opens, checks and if need be makes the generation
        with self.generations.reading() as held:
            if held is None:
                raise GraphDamagedError(f"graph {self.folder} has gone; run: grove graph rebuild")
            return sandbox.run(held[1], cypher, params, timeout_s=timeout_s, max_rows=max_rows)

    # ---- generations -------------------------------------------------------------------------------

    @contextmanager
    def _reader(self) -> Iterator[ladybug.Connection]:
        """Give a connection to the newest generation; one reader at a time in a process."""
        if self._missing():
            self.migrate()
        with self._reading:
            self._refresh()
            if self._open is None:
                raise GraphDamagedError(f"graph {self.folder} has gone; run: grove graph rebuild")
            with _connection(self._open[1]) as connection:
                yield connection

    def _missing(self) -> list[Migration]:
        """Return the migrations that the newest generation lacks."""
        with self._reading:
            self._refresh()
            return self._lacking

    def _refresh(self) -> None:
        """Open the newest generation unless it is open already."""
        if self._open is not None and self._open[0] == self.generations.newest():
            return
        self._close_reader()
        with self.generations.reading() as held:
            if held is None:
                self._lacking = migrations(self.dialect)
                return
            database = open_database(held[1], read_only=True, buffer_bytes=_READER_BYTES)
        try:
            with _connection(database) as connection:
                self._lacking = self._check(connection)
        except BaseException:
            database.close()
            raise
        self._open = held[0], database

    def _check(self, connection: ladybug.Connection) -> list[Migration]:
        try:
            recorded = dict(fetch(connection, named_query(self.dialect, "recorded_migrations").text).rows)
        except QueryFailedError as error:  # an empty file opens as an empty database
            raise GraphDamagedError(
                f"graph {self.folder}: the file holds no graph of labels; run: grove graph rebuild"
            ) from error
        missing = pending(self.dialect, recorded, where=str(self.folder))
        changed = changed_versions(self.dialect, recorded)
        if changed:
            raise GraphDamagedError(
                f"graph {self.folder}: made with another form of migration {', '.join(changed)}; "
                "run: grove graph rebuild"
            )
        return missing

    @contextmanager
    def _generation(self) -> Iterator[ladybug.Connection]:
        """Give a connection to the next generation, migrated; it is published when the block ends well."""
        with self.generations.writing() as (number, path):
            database = open_database(path, read_only=False, buffer_bytes=_WRITER_BYTES)
            try:
                with _connection(database) as connection:
                    missing = self._check(connection) if number else migrations(self.dialect)
                    for step in missing:
                        for statement in step.statements:
                            fetch(connection, statement)
                        record = named_query(self.dialect, "record_migration").text
                        params = {"version": step.version, "name": step.name, "checksum": step.checksum}
                        fetch(connection, record, params)
                    yield connection
                    fetch(connection, "CHECKPOINT")
            finally:
                database.close()
            if any(p != path for p in path.parent.iterdir()):
                raise GraphDamagedError(f"graph {self.folder}: the engine left its log behind; run it again")

    def _close_reader(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


# ---- the engine, shared with the sandbox ---------------------------------------------------------------


def open_database(
    path: Path, *, read_only: bool, buffer_bytes: int, max_bytes: int | None = None, threads: int = 0
) -> ladybug.Database:
    """Open a database file; what cannot be opened raises `GraphDamagedError`.

    Parameters
    ----------
    path, read_only
        The file; whether it may only be read.
    buffer_bytes : int
        Size of the buffer pool.
    max_bytes : int, optional
        Address space to reserve for the file, a power of two.
    threads : int, default=0
        Threads of a query; 0: one for each core.
    """
    try:
        return ladybug.Database(
            str(path),
            read_only=read_only,
            buffer_pool_size=buffer_bytes,
            max_db_size=max_bytes,
            max_num_threads=threads,
        )
    except (RuntimeError, MemoryError) as error:  # a damaged length asks for more memory than there is
        raise GraphDamagedError(
            f"graph file {path.name} cannot be opened: {error}; run: grove graph rebuild"
        ) from error


def fetch(
    connection: ladybug.Connection,
    cypher: str,
    params: Mapping[str, Any] | None = None,
    max_rows: int | None = None,
) -> Rows:
    """Run one statement and return its rows as plain values, `max_rows` of them at most."""
    with _result(connection, cypher, params or {}) as result:
        rows: list[tuple[Any, ...]] = []
        while result.has_next() and (max_rows is None or len(rows) < max_rows):
            rows.append(tuple(_plain(v) for v in result.get_next()))
        return Rows(tuple(result.get_column_names()), rows, truncated=result.has_next())


@contextmanager
def limited_connection(path: Path, timeout_s: float) -> Iterator[ladybug.Connection]:
    """Give a read-only connection of one thread whose statements are stopped after `timeout_s` seconds."""
    reserve = reserved_bytes(path)
    database = open_database(path, read_only=True, buffer_bytes=_READER_BYTES, max_bytes=reserve, threads=1)
    try:
        with _connection(database) as connection:
            connection.set_query_timeout(max(1, math.ceil(1000 * timeout_s)))
            yield connection
    finally:
        database.close()


def reserved_bytes(path: Path) -> int:
    """Return the address space that `limited_connection` reserves for a file; the engine takes it twice."""
    return 1 << max(30, (4 * path.stat().st_size - 1).bit_length())


@contextmanager
def _connection(database: ladybug.Database) -> Iterator[ladybug.Connection]:
    connection = ladybug.Connection(database)
    try:
        connection.execute(f"CALL var_length_extend_max_depth={_MAX_HOPS}")
        yield connection
    finally:
        connection.close()


@contextmanager
def _result(
    connection: ladybug.Connection, cypher: str, params: Mapping[str, Any]
) -> Iterator[ladybug.QueryResult]:
    """Run one statement; turn the engine's plain errors, which differ only by their text, into ours."""
    try:
        try:
            result = connection.execute(cypher, dict(params))
        except (ValueError, TypeError, OverflowError) as error:  # its conversion of parameters
            raise QueryFailedError(
                f"a parameter does not fit ({error}); the entries of a list are of one kind"
            ) from error
        if isinstance(result, list):
            raise QueryFailedError(f"{len(result)} statements stand where one is expected: {cypher[:80]!r}")
        with closing(result):
            yield result
    except RuntimeError as error:
        text = str(error)
        if "Interrupted" in text:
            raise QueryTimeoutError("the query ran past its time limit and was stopped") from error
        if _DAMAGED.search(text) and not _QUERY_AT_FAULT.match(text):
            raise GraphDamagedError(f"the graph file is damaged: {text}; run: grove graph rebuild") from error
        if re.search(r"no space left|io exception", text, re.IGNORECASE):
            raise ServiceError(f"the graph file cannot be used: {text}") from error
        raise QueryFailedError(f"{text} (in {' '.join(cypher.split())[:120]!r})") from error


def _plain(value: Any) -> Any:
    """Return a value without the engine's internal ids, nodes and edges as on Neo4j."""
    if isinstance(value, dict):
        if "_NODES" in value:
            return {"_nodes": _plain(value["_NODES"]), "_edges": _plain(value["_RELS"])}
        if "_LABEL" in value:
            properties = {k: _plain(v) for k, v in value.items() if k[0] != "_" and v is not None}
            return {"_label": value["_LABEL"], **properties}
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return plain_value(value)


# ---- bulk load -----------------------------------------------------------------------------------------


def _result_columns(result: GraphResult) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """Yield the tables of a result and their columns, nodes before what joins them."""
    properties = {name: [result.properties[name]] for name in RESULT_PROPERTIES[result.label]}
    yield result.label, {"id": [result.id], "version": [result.graph.digest], **properties}
    for table in result_tables(result):
        if not table.n_rows:
            continue
        columns = table.columns(0, table.n_rows)
        if table.type == "HAS":
            yield "Supernode", {name: columns[name] for name in ("target", "version", "size")}
            columns = {name: columns[name] for name in ("source", "target")}
        yield table.type, columns


def _write_parquet(path: Path, columns: Mapping[str, list[Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {"depth": pyarrow.int64()}  # which may hold nothing that tells its type
    arrays = {n: pyarrow.array(c, type=types.get(n)) for n, c in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(arrays), path)


def _literal(path: Path) -> str:
    """Return the path as a literal of the engine, which reads file names as patterns."""
    escaped = glob.escape(str(path)).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _is_text(column: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type))


# ---- forking: a child that inherits an open database hangs ---------------------------------------------

_STORES: weakref.WeakSet[EmbeddedStore] = weakref.WeakSet()
_HELD: list[EmbeddedStore] = []


def _before_fork() -> None:
    for store in list(_STORES):
        store._writing.acquire()
        store._reading.acquire()
        store._close_reader()
        _HELD.append(store)


def _after_fork() -> None:
    while _HELD:
        store = _HELD.pop()
        store._reading.release()
        store._writing.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

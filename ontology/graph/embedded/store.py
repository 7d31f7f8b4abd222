"""The graph in a file of this machine: ladybug, an embedded Cypher engine, over immutable generations.

The engine is a projection that can be rebuilt, never the only copy. Its rules, each learned from a crash or a
silent wrong answer: keys are unique and ends resolved before COPY, and COPY reads only parquet files; a
database is written by one process, under a name of its own, and closed after any error; the pool of buffers
has a size; variable length patterns reach as far as they say, not 30 steps; no process forks with an open
database.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from labelgrove.ontology.errors import (
    MissingExtraError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    sized,
)
from labelgrove.ontology.graph.embedded.generations import Generations
from labelgrove.ontology.graph.embedded.tablefiles import path_literal, result_columns, write_parquet
from labelgrove.ontology.graph.embedded.thinning import thin_out
from labelgrove.ontology.graph.engine import Removal, Run
from labelgrove.ontology.graph.errors import GraphDamagedError
from labelgrove.ontology.graph.migrate import Migration, changed_versions, migrations, pending
from labelgrove.ontology.graph.named import check_parameters, named_query
from labelgrove.ontology.graph.records import edge_columns, is_part, label_columns
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.graph.resultstore import shown_by
from labelgrove.ontology.graph.rows import Rows, plain_value
from labelgrove.ontology.graph.store import GraphStore
from labelgrove.ontology.graph.userqueries import sandbox
from labelgrove.ontology.labelgraph import LabelGraph

try:
    import ladybug
except ImportError as error:
    raise MissingExtraError.of("ladybug", "service", "the embedded graph") from error

__all__ = ["EmbeddedStore", "fetch", "limited", "open_database", "reserved_bytes"]

Result = TypeVar("Result")
_Streamed = tuple[Sequence[str], Iterator[tuple[Any, ...]]]

_READER_BYTES = 256 << 20
_WRITER_BYTES = 1 << 30
_LABELS_TOGETHER = 25_000
"""Labels read at a time: even with the longest keys, and names as long, they fit the smallest pool."""
_ROW_BYTES = 100
"""About how many bytes of a file a label or an edge takes."""
_MAX_HOPS = 100_000
_ALL_ROWS = 2**62
_DAMAGED = re.compile(
    r"not a valid|corrupt|cannot read (checkpoint|pip|page)|checksum|catalog page range|checkpoint recovery"
    r"|invalid local node offset|storage version|database version|deserializ|cannot be a directory"
    r"|unordered_map::at|vector::_M_range_check|empty database under read only",
    re.IGNORECASE,
)
_POOL_FULL = re.compile(r"unable to allocate memory|buffer pool is full", re.IGNORECASE)
_NOT_MAPPED = re.compile(r"mmap for size (\d+) failed", re.IGNORECASE)
_QUERY_AT_FAULT = re.compile(r"(parser|binder|catalog|function|conversion|overflow) exception", re.IGNORECASE)


_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much memory a container may have, in the two versions of control groups."""

_WIPES_OUTLIVED = 3
"""How often a reader starts again where a rebuild wipes the graph before it is open."""


class _PoolFullError(QueryFailedError):
    """The engine's buffer pool has no room for what a query needs."""


class EmbeddedStore(GraphStore):
    """The graph store that needs no server.

    Parameters
    ----------
    folder : Path
        Where the generations lie; on a local disk.
    pool_bytes : int, optional
        Most memory of the engine's buffer pool. By default twice the file, at most half of the memory of the
        machine or container, but at least 256 MiB to read and 1 GiB to write; of it only what queries need is
        taken.
    """

    dialect = "embedded"
    may_be_edited = False

    def __init__(self, folder: Path, pool_bytes: int | None = None) -> None:
        self.folder = folder
        self.pool_bytes = pool_bytes
        self.generations = Generations(folder)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._open: tuple[int, ladybug.Database] | None = None
        self._lacking: list[Migration] = []
        _STORES.add(self)
        _guard_forks()

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
        """Return engine, version, folder, number and size in bytes of the generation, MiB of the pool."""
        self.run_named("versions")
        number = self.generations.newest()
        size = (self.folder / f"g{number}.lbug").stat().st_size
        return {
            "engine": "ladybug",
            "version": ladybug.__version__,
            "where": str(self.folder),
            "generation": number,
            "bytes": size,
            "pool_mb": self._pool(size, _READER_BYTES) >> 20,
        }

    def close(self) -> None:
        """Close the generation that is open for reading."""
        with self._reading:
            self._close_reader()

    def wipe(self) -> bool:
        """Remove the graph; see `GraphStore.wipe`."""
        with self._writing:
            self.close()
            self.generations.wipe()
        return True

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
            write_parquet(labels, graph.n_labels, partial(label_columns, graph, name))
            if graph.n_edges:
                write_parquet(edges, graph.n_edges, partial(edge_columns, graph))
            with self._writing, self._generation(graph.n_labels + graph.n_edges) as connection:
                if self._runner(connection)("count_labels", version=graph.digest).rows[0][0]:
                    return  # another process, before this one had the lock
                fetch(connection, f"COPY Label FROM {path_literal(labels)}")
                if graph.n_edges:
                    fetch(connection, f"COPY IS_A FROM {path_literal(edges)}")

    # ---- running -----------------------------------------------------------------------------------

    def counts(self, digest: str) -> tuple[int, int]:
        """Return how many labels and edges the store holds for a version, counted now."""

        def counted(database: ladybug.Database) -> tuple[int, int]:
            edges = self._by_ranges(database, "count_edges_between", digest, n_labels)
            return n_labels, sum(int(table["edges"][0].as_py()) for table in edges)

        n_labels = int(self.run_named("count_labels", version=digest).rows[0][0])
        return self._reading_again(counted)

    def _read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        def answered(database: ladybug.Database) -> Rows:
            with _connection(database) as connection:
                return fetch(connection, cypher, params)

        return self._reading_again(answered)

    def _read_version(self, digest: str) -> tuple[Any, Any]:
        import pyarrow

        def tables(database: ladybug.Database) -> tuple[Any, Any]:
            labels, edges = (
                pyarrow.concat_tables(self._by_ranges(database, name, digest, n_labels))
                for name in ("labels_between", "edges_between")
            )
            return labels.append_column("place", labels["idx"]), edges

        n_labels = int(self.run_named("count_labels", version=digest).rows[0][0])
        return self._reading_again(tables)

    def difference(self, digest: str, graph: LabelGraph | None = None) -> str:
        """Say how the stored version differs from the original; with `graph`, compare piece by piece."""
        if graph is None:
            return super().difference(digest)
        self._known_version(digest)
        return self._reading_again(partial(self._compared, graph))

    def _compared(self, graph: LabelGraph, database: ladybug.Database) -> str:
        labels, edges = (
            self._by_ranges(database, name, graph.digest, graph.n_labels)
            for name in ("labels_between", "edges_between")
        )
        for start, *part in zip(count(0, _LABELS_TOGETHER), labels, edges, strict=False):
            stop = min(start + _LABELS_TOGETHER, graph.n_labels)
            if not is_part(graph, start, stop, *part):
                return f"labels {start:,} to {stop - 1:,}, or edges up from them, are others"
        return ""

    def _reading_again(self, work: Callable[[ladybug.Database], Result]) -> Result:
        """Run `work`, and once more with an empty pool where earlier queries may have left too much in it."""
        try:
            with self._reader() as database:
                return work(database)
        except _PoolFullError:
            with self._reader() as database:
                return work(database)

    def _by_ranges(self, database: ladybug.Database, name: str, digest: str, n_labels: int) -> Iterator[Any]:
        """Answer a query about labels from ``$start`` to ``$stop`` (exclusive) for one range after the other.

        The engine gathers a whole answer in its pool before it gives the first row. The bounds stand in the
        text as numbers: a parameter tells the engine too late which part of the file it may skip. A
        connection keeps every text that it has run, and with it what it took of the pool.
        """
        text = named_query(self.dialect, name).text
        for start in range(0, max(n_labels, 1), _LABELS_TOGETHER):
            part = text.replace("$start", str(start)).replace("$stop", str(start + _LABELS_TOGETHER))
            with (
                _connection(database) as connection,
                _result(connection, part, {"version": digest}) as result,
            ):
                yield result.get_as_arrow()

    def _parents_of(self, uids: Sequence[str]) -> list[dict[str, Any]]:
        def looked_up(database: ladybug.Database) -> list[dict[str, Any]]:
            with _connection(database) as connection:
                return [row for uid in uids for row in fetch(connection, text, {"uid": uid}).dicts()]

        text = named_query(self.dialect, "parents_of").text
        return self._reading_again(looked_up)

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
                for table, n_rows, columns in result_columns(result):
                    path = Path(folder, f"{table}.parquet")
                    write_parquet(path, n_rows, columns)
                    fetch(connection, f"COPY {table} FROM {path_literal(path)}")
            run("note_job", job=result.job, kind=result.kind, created=result.created)
            path = Path(folder, "PRODUCED.parquet")
            write_parquet(path, 1, lambda *_: {"job": [result.job], "id": [result.id]})
            fetch(connection, f"COPY PRODUCED FROM {path_literal(path)} (from='Job', to='{result.label}')")

    def _remove(self, steps: Iterable[Removal]) -> None:
        with self._writing, self._generation() as connection:
            run = self._runner(connection)
            for name, params in steps:
                thin_out(name, partial(fetch, connection))
                run(name, **params, limit=_ALL_ROWS)

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
            pool_bytes = self._pool(held[1].stat().st_size, _READER_BYTES)
            place = {"path": str(held[1]), "pool_bytes": pool_bytes}
            return sandbox.run(place, cypher, params, timeout_s=timeout_s, max_rows=max_rows)

    # ---- generations -------------------------------------------------------------------------------

    @contextmanager
    def _reader(self) -> Iterator[ladybug.Database]:
        """Give the newest generation, open; one reader at a time in a process."""
        for _ in range(_WIPES_OUTLIVED):
            if self._missing():
                self.migrate()
            with self._reading:
                self._refresh()
                if self._open is None:  # a rebuild wiped the graph since
                    continue
                try:
                    yield self._open[1]
                except BaseException:  # memory of the pool that a failed query took is not given back
                    self._close_reader()
                    raise
                return
        raise GraphDamagedError(f"graph {self.folder} has gone; run: grove graph rebuild")

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
            pool_bytes = self._pool(held[1].stat().st_size, _READER_BYTES)
            database = open_database(held[1], read_only=True, buffer_bytes=pool_bytes)
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
        except _PoolFullError:
            raise
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
    def _generation(self, n_rows: int = 0) -> Iterator[ladybug.Connection]:
        """Give a connection to the next generation, migrated; it is published when the block ends well.

        `n_rows` labels and edges are about to be added to it.
        """
        with self.generations.writing() as (number, path):
            held = path.stat().st_size if number is not None else 0
            pool_bytes = self._pool(held + n_rows * _ROW_BYTES, _WRITER_BYTES)
            database = open_database(path, read_only=False, buffer_bytes=pool_bytes)
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
            except (GraphDamagedError, QueryFailedError, ServiceError) as error:
                full = self.generations.no_room()
                if full is None:
                    raise
                raise full from error
            finally:
                database.close()
            if any(p != path for p in path.parent.iterdir()):
                raise GraphDamagedError(f"graph {self.folder}: the engine left its log behind; run it again")

    def _pool(self, file_bytes: int, least: int) -> int:
        """Return the most bytes of the buffer pool for a file of this size."""
        return self.pool_bytes or max(least, min(2 * file_bytes, _memory_bytes() // 2))

    def _close_reader(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


# ---- the engine, shared with the sandbox ---------------------------------------------------------------


def open_database(
    path: Path, *, read_only: bool, buffer_bytes: int, max_bytes: int | None = None, threads: int = 0
) -> ladybug.Database:
    """Open a database file.

    What cannot be opened raises `GraphDamagedError`; where nothing is wrong with the file, and this process
    has too little address space for it, `ServiceError`.

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
        reserved = _NOT_MAPPED.search(str(error))
        if reserved:
            raise ServiceError(
                f"graph file {path.name} cannot be opened: the engine reserves {sized(int(reserved[1]))} of "
                "addresses, no memory, and this process may not have as many; raise the limit on its address "
                "space: ulimit -v unlimited"
            ) from error
        raise GraphDamagedError(
            f"graph file {path.name} cannot be opened: {error}; run: grove graph rebuild"
        ) from error


def _memory_bytes() -> int:
    """Return the memory of the machine, or of the container that this process runs in."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file on other systems; "max" is no limit
            found = min(found, int(path.read_text()))
    return found


def fetch(connection: ladybug.Connection, cypher: str, params: Mapping[str, Any] | None = None) -> Rows:
    """Run one statement and return its rows as plain values."""
    with _streamed(connection, cypher, params or {}) as (columns, rows):
        return Rows(tuple(columns), list(rows))


@contextmanager
def limited(path: Path, timeout_s: float, pool_bytes: int) -> Iterator[sandbox.Query]:
    """Open a file for one query of a user: read-only, one thread, stopped after `timeout_s` seconds."""
    reserve = reserved_bytes(path)
    database = open_database(path, read_only=True, buffer_bytes=pool_bytes, max_bytes=reserve, threads=1)
    try:
        with _connection(database) as connection:
            connection.set_query_timeout(max(1, math.ceil(1000 * timeout_s)))
            yield partial(_of_user, connection)
    finally:
        database.close()


@contextmanager
def _of_user(connection: ladybug.Connection, cypher: str, params: Mapping[str, Any]) -> Iterator[_Streamed]:
    try:
        with _streamed(connection, cypher, params) as streamed:
            yield streamed
    except (GraphDamagedError, ServiceError) as error:
        # the file was opened, so that it is the query at which the engine failed
        raise QueryFailedError(
            f"the engine failed at the query: {error.__cause__}; make it smaller, and if small ones fail "
            "too, run: grove graph verify"
        ) from error


def reserved_bytes(path: Path) -> int:
    """Return the address space that `limited` reserves for a file; the engine takes it twice."""
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
def _streamed(connection: ladybug.Connection, cypher: str, params: Mapping[str, Any]) -> Iterator[_Streamed]:
    """Run one statement; give its columns, and its rows of plain values one by one."""
    with _result(connection, cypher, params) as result:
        yield result.get_column_names(), _plain_rows(result)


def _plain_rows(result: ladybug.QueryResult) -> Iterator[tuple[Any, ...]]:
    while result.has_next():
        yield tuple(_plain(value) for value in result.get_next())


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
        if _POOL_FULL.search(text):
            raise _PoolFullError(
                f"the query needs more memory than the graph's buffer pool may take ({text[:80]}); ask for "
                "less, or set GROVE_GRAPH_POOL_MB above the pool_mb that `grove doctor` shows"
            ) from error
        if text == "std::bad_alloc":
            raise QueryFailedError(
                f"the query needs more memory than it is given ({text}); return less of it"
            ) from error
        if "Interrupted" in text:
            raise QueryTimeoutError("the query ran past its time limit and was stopped") from error
        if _DAMAGED.search(text) and not _QUERY_AT_FAULT.match(text):
            raise GraphDamagedError(f"the graph file is damaged: {text}; run: grove graph rebuild") from error
        if re.search(r"no space left|io exception", text, re.IGNORECASE):
            raise ServiceError(f"the graph file cannot be used: {text}") from error
        if "with ANY type" in text:
            empty = [f"${name}" for name, value in params.items() if _is_of_no_kind(value)]
            raise QueryFailedError(
                f"{', '.join(empty) or 'a list'}: the embedded engine cannot tell the kind of a list without "
                "entries, or of nulls alone; compare with it (IN), unwind it, or give it an entry"
            ) from error
        raise QueryFailedError(f"{text} (in {' '.join(cypher.split())[:120]!r})") from error


def _is_of_no_kind(value: Any) -> bool:
    """Return whether a value is an empty list, or a list of nothing but nulls and such lists."""
    return isinstance(value, list) and all(entry is None or _is_of_no_kind(entry) for entry in value)


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


@cache
def _guard_forks() -> None:
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

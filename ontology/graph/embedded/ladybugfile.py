"""Open and query files of ladybug, the embedded Cypher engine; translate its errors into labelgrove's.

Three rules prevent crashes and wrong answers of the engine: close a database after any error; set a size for
the buffer pool; raise the limit of 30 relationships that the engine sets by default for patterns of variable
length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import (
    GraphDamagedError,
    MissingExtraError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    sized,
)
from labelgrove.ontology.graph.answer import Rows, plain_value

try:
    import ladybug
    from ladybug import Connection, Database
except ImportError as error:
    raise MissingExtraError.of("ladybug", "service", "the embedded graph") from error

__all__ = [
    "VERSION",
    "Connection",
    "Database",
    "PoolFullError",
    "Streamed",
    "connected",
    "fetch",
    "open_database",
    "result_of",
    "streamed",
]

VERSION = str(ladybug.__version__)
"""Version of the engine."""

Streamed = tuple[Sequence[str], Iterator[tuple[Any, ...]]]
"""The column names of an answer, and its rows of plain values, which are fetched one by one."""

_MAX_HOPS = 100_000
_DAMAGED = re.compile(
    r"not a valid|corrupt|cannot read (checkpoint|pip|page)|checksum|catalog page range|checkpoint recovery"
    r"|invalid local node offset|storage version|database version|deserializ|cannot be a directory"
    r"|unordered_map::at|vector::_M_range_check|empty database under read only",
    re.IGNORECASE,
)
_POOL_FULL = re.compile(r"unable to allocate memory|buffer pool is full", re.IGNORECASE)
_NOT_MAPPED = re.compile(r"mmap for size (\d+) failed", re.IGNORECASE)
_QUERY_AT_FAULT = re.compile(r"(parser|binder|catalog|function|conversion|overflow) exception", re.IGNORECASE)


class PoolFullError(QueryFailedError):
    """The engine's buffer pool is too small for a query."""


def open_database(
    path: Path, *, read_only: bool, buffer_bytes: int, max_bytes: int | None = None, threads: int = 0
) -> Database:
    """Open a database file.

    Parameters
    ----------
    path, read_only
        The file, and whether it may only be read.
    buffer_bytes : int
        Size of the buffer pool in bytes.
    max_bytes : int, optional
        Address space in bytes to reserve for the file, a power of two; by default the engine chooses it.
    threads : int, default=0
        Number of threads for a query; 0 means one for each core.

    Raises
    ------
    ServiceError
        If this process has too little address space for the file.
    GraphDamagedError
        If the file cannot be opened for any other reason.
    """
    try:
        return Database(
            str(path),
            read_only=read_only,
            buffer_pool_size=buffer_bytes,
            max_db_size=max_bytes,
            max_num_threads=threads,
        )
    except (RuntimeError, MemoryError) as error:  # a damaged length requests more memory than there is
        reserved = _NOT_MAPPED.search(str(error))
        if reserved:
            raise ServiceError(
                f"graph file {path.name} cannot be opened: the engine reserves {sized(int(reserved[1]))} of "
                "address space (not memory), which is more than this process may have; raise the limit: "
                "ulimit -v unlimited"
            ) from error
        raise GraphDamagedError(
            f"graph file {path.name} cannot be opened: {error}; run: grove graph rebuild"
        ) from error


@contextmanager
def connected(database: Database) -> Iterator[Connection]:
    """Yield a connection to an open database."""
    connection = Connection(database)
    try:
        connection.execute(f"CALL var_length_extend_max_depth={_MAX_HOPS}")
        yield connection
    finally:
        connection.close()


def fetch(connection: Connection, cypher: str, params: Mapping[str, Any] | None = None) -> Rows:
    """Run one statement and return its rows as plain values."""
    with streamed(connection, cypher, params or {}) as (columns, rows):
        return Rows(tuple(columns), list(rows))


@contextmanager
def streamed(connection: Connection, cypher: str, params: Mapping[str, Any]) -> Iterator[Streamed]:
    """Run one statement; yield its column names and an iterator over its rows of plain values."""
    with result_of(connection, cypher, params) as result:
        yield result.get_column_names(), _plain_rows(result)


def _plain_rows(result: ladybug.QueryResult) -> Iterator[tuple[Any, ...]]:
    while result.has_next():
        yield tuple(_plain(value) for value in result.get_next())


@contextmanager
def result_of(
    connection: Connection, cypher: str, params: Mapping[str, Any]
) -> Iterator[ladybug.QueryResult]:
    """Run one statement and yield its result; translate the engine's errors into labelgrove's.

    The engine has one type for all its errors, so they are distinguished by their texts.
    """
    try:
        try:
            result = connection.execute(cypher, dict(params))
        except (ValueError, TypeError, OverflowError) as error:  # from the engine's conversion of parameters
            raise QueryFailedError(
                f"a parameter cannot be converted ({error}); the entries of a list must have the same type"
            ) from error
        if isinstance(result, list):
            raise QueryFailedError(f"{len(result)} statements given, expected one: {cypher[:80]!r}")
        with closing(result):
            yield result
    except RuntimeError as error:
        text = str(error)
        if _POOL_FULL.search(text):
            raise PoolFullError(
                f"the query needs more memory than the graph's buffer pool may use ({text[:80]}); request "
                "less, or set GROVE_GRAPH_POOL_MB above the pool_mb that `grove doctor` shows"
            ) from error
        if text == "std::bad_alloc":
            raise QueryFailedError(
                f"the query needs more memory than it may use ({text}); return less"
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
                f"{', '.join(empty) or 'a list'}: the embedded engine cannot tell the type of an empty list "
                "or of a list of only nulls; use the list only with IN or UNWIND, or add an entry"
            ) from error
        raise QueryFailedError(f"{text} (in {' '.join(cypher.split())[:120]!r})") from error


def _is_of_no_kind(value: Any) -> bool:
    """Return whether a value is a list whose entries do not show a type.

    Such a list is empty, or contains only nulls and other such lists.
    """
    return isinstance(value, list) and all(entry is None or _is_of_no_kind(entry) for entry in value)


def _plain(value: Any) -> Any:
    """Return a value of an answer without internal ids; nodes and edges look the same for both engines."""
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

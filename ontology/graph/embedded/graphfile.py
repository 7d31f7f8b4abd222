"""Open the embedded graph's file: the newest generation for reading, the next one for writing.

A writer works on a file with a private name, so no other process opens that file. Readers and writers close
their database after any error. Before a process forks, it waits for its writer and closes its reader's
database, because a child that inherits an open database hangs.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from labelgrove.ontology.errors import GraphDamagedError, QueryFailedError, ServiceError
from labelgrove.ontology.graph.embedded.generations import Generations
from labelgrove.ontology.graph.embedded.ladybugfile import (
    Connection,
    Database,
    PoolFullError,
    connected,
    fetch,
    open_database,
)
from labelgrove.ontology.graph.migrate import Migration, changed_versions, migrations, pending
from labelgrove.ontology.graph.namedqueries import query_text

__all__ = ["DIALECT", "GraphFile"]

DIALECT = "embedded"
"""The dialect of the queries and migrations of this engine."""

Result = TypeVar("Result")

_READER_BYTES = 256 << 20
_WRITER_BYTES = 1 << 30
_ROW_BYTES = 100
"""Approximate size in bytes of a label or an edge in a file."""

_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files in which Linux gives the memory limit of a container, for the two versions of control groups."""

_WIPES_OUTLIVED = 3
"""Number of times that a reader tries to open the graph; a try fails if a rebuild has just wiped it."""


class GraphFile:
    """The graph in one folder: readers open its newest generation, and a writer makes the next one.

    Parameters
    ----------
    folder : Path
        Folder of the generations, on a local disk.
    pool_bytes : int, optional
        Largest size of the engine's buffer pool. By default it is twice the size of the file (for a writer,
        the size that the file is expected to reach), or half of the memory of the machine or container if
        that is less. The default is never below 256 MiB for a reader or 1 GiB for a writer. The engine uses
        only as much of the pool as queries need.
    """

    def __init__(self, folder: Path, pool_bytes: int | None = None) -> None:
        self.folder = folder
        self.pool_bytes = pool_bytes
        self.generations = Generations(folder)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._open: tuple[int, Database] | None = None
        self._missing: list[Migration] = []
        _FILES.add(self)
        _guard_forks()

    # ---- reading -----------------------------------------------------------------------------------

    def read(self, work: Callable[[Database], Result]) -> Result:
        """Call `work` with the open database of the newest generation, and return its result.

        If the engine's buffer pool is full, perhaps from earlier queries, run `work` once more with an empty
        pool.
        """
        try:
            with self._reader() as database:
                return work(database)
        except PoolFullError:
            with self._reader() as database:
                return work(database)

    def reader_pool(self, file_bytes: int) -> int:
        """Return the largest size in bytes of a reader's buffer pool, for a file of `file_bytes`."""
        return self._pool(file_bytes, _READER_BYTES)

    def close(self) -> None:
        """Close the generation that is open for reading."""
        with self._reading:
            self._close_reader()

    @contextmanager
    def _reader(self) -> Iterator[Database]:
        """Yield the open database of the newest generation; a process has one reader at a time."""
        for _ in range(_WIPES_OUTLIVED):
            if self._missing_migrations():
                self.migrate()
            with self._reading:
                self._refresh()
                if self._open is None:  # a rebuild wiped the graph meanwhile
                    continue
                try:
                    yield self._open[1]
                except BaseException:  # the pool does not free memory that a failed query took
                    self._close_reader()
                    raise
                return
        raise GraphDamagedError(f"graph {self.folder} is gone; run: grove graph rebuild")

    def _missing_migrations(self) -> list[Migration]:
        """Return the migrations that the newest generation lacks."""
        with self._reading:
            self._refresh()
            return self._missing

    def _refresh(self) -> None:
        """Open the newest generation unless it is open already."""
        if self._open is not None and self._open[0] == self.generations.newest():
            return
        self._close_reader()
        with self.generations.reading() as held:
            if held is None:
                self._missing = migrations(DIALECT)
                return
            pool_bytes = self._pool(held[1].stat().st_size, _READER_BYTES)
            database = open_database(held[1], read_only=True, buffer_bytes=pool_bytes)
        try:
            with connected(database) as connection:
                self._missing = self._check(connection)
        except BaseException:
            database.close()
            raise
        self._open = held[0], database

    def _check(self, connection: Connection) -> list[Migration]:
        try:
            recorded = dict(fetch(connection, query_text(DIALECT, "recorded_migrations", {})).rows)
        except PoolFullError:
            raise
        except QueryFailedError as error:  # an empty file also opens, as an empty database
            raise GraphDamagedError(
                f"graph {self.folder}: the file contains no graph of labels; run: grove graph rebuild"
            ) from error
        missing = pending(DIALECT, recorded, where=str(self.folder))
        changed = changed_versions(DIALECT, recorded)
        if changed:
            raise GraphDamagedError(
                f"graph {self.folder}: migration {', '.join(changed)} has changed since it was applied; "
                "run: grove graph rebuild"
            )
        return missing

    # ---- writing -----------------------------------------------------------------------------------

    def migrate(self) -> list[str]:
        """Apply the missing migrations and return their version numbers.

        If migrations have changed since they were applied, `GraphDamagedError` is raised: the graph must be
        rebuilt.
        """
        with self._writing:
            missing = self._missing_migrations()
            if missing:
                with self._generation():
                    pass
            return [m.version for m in missing]

    def wipe(self) -> None:
        """Remove the graph; the next use creates an empty one."""
        with self._writing:
            self.close()
            self.generations.wipe()

    @contextmanager
    def writing(self, n_rows: int = 0) -> Iterator[Connection]:
        """Yield a connection to the next generation; the caller changes the generation in a ``with`` block.

        Readers see that generation after the block has ended without an error. Missing migrations are applied
        before the block starts. Writers wait for each other. `n_rows` is the number of labels and edges that
        the block will add; the size of the buffer pool depends on `n_rows`.
        """
        with self._writing, self._generation(n_rows) as connection:
            yield connection

    @contextmanager
    def _generation(self, n_rows: int = 0) -> Iterator[Connection]:
        """Yield a connection to the next generation, as `writing` does; the caller must hold the lock."""
        with self.generations.writing() as (number, path):
            held = path.stat().st_size if number is not None else 0
            pool_bytes = self._pool(held + n_rows * _ROW_BYTES, _WRITER_BYTES)
            database = open_database(path, read_only=False, buffer_bytes=pool_bytes)
            try:
                with connected(database) as connection:
                    missing = self._check(connection) if number else migrations(DIALECT)
                    for step in missing:
                        for statement in step.statements():
                            fetch(connection, statement)
                        params = step.record()
                        fetch(connection, query_text(DIALECT, "record_migration", params), params)
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
                raise GraphDamagedError(
                    f"graph {self.folder}: the engine did not finish writing the file; run the command again"
                )

    def _pool(self, file_bytes: int, least: int) -> int:
        """Return the largest size in bytes of the buffer pool for a file of `file_bytes`.

        This is `pool_bytes` if it was given. Otherwise it depends on the file, and is at least `least`.
        """
        return self.pool_bytes or max(least, min(2 * file_bytes, _memory_bytes() // 2))

    def hold_still(self) -> None:
        """Close the reader and block all readers and writers until `go_on`, so that the process can fork."""
        self._writing.acquire()
        self._reading.acquire()
        self._close_reader()

    def go_on(self) -> None:
        """Let readers and writers in again."""
        self._reading.release()
        self._writing.release()

    def _close_reader(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _memory_bytes() -> int:
    """Return the bytes of memory of the machine, or of this process's container if that may use less."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # not on other systems; "max" means no limit
            found = min(found, int(path.read_text()))
    return found


# ---- forking: a child that inherits an open database hangs ---------------------------------------------

_FILES: weakref.WeakSet[GraphFile] = weakref.WeakSet()
_HELD: list[GraphFile] = []


def _before_fork() -> None:
    for file in list(_FILES):
        file.hold_still()
        _HELD.append(file)


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().go_on()


@cache
def _guard_forks() -> None:
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

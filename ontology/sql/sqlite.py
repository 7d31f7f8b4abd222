"""Connect to a SQLite file, even to a file that cannot be written.

In WAL mode, SQLite needs two other files next to the database, even to read it. On a read-only or full disk,
or in another user's folder, they cannot be created. If the write-ahead log, one of the two, is absent or
empty, the database file contains everything. It is then read without locks, and a check after each read shows
whether somebody wrote to the database meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from labelgrove.ontology.store.wholefile import PRIVATE

__all__ = ["Connection", "connect"]

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")

_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR_SHMOPEN, *_FULL}


class Connection(sqlite3.Connection):
    """A connection to a SQLite file; a transaction begins only with an explicit BEGIN.

    Attributes
    ----------
    unwritable : sqlite3.Error or None
        None if the file can be written. If it can only be read, the error that showed this; every write then
        raises an error.
    read_as : (Path, tuple of int) or None
        If the file is read without locks, a pair: its path, and a tuple of its inode, modification time in
        nanoseconds and size when it was opened. Otherwise None.
    """

    unwritable: sqlite3.Error | None = None
    read_as: tuple[Path, tuple[int, ...]] | None = None

    @property
    def is_full(self) -> bool:
        """Whether a full disk is the reason why the file can be read but not written."""
        return self.unwritable is not None and self.unwritable.sqlite_errorcode in _FULL

    def is_consistent(self) -> bool:
        """Return whether all data read so far come from one state of the file.

        Locks guarantee this. Without locks, it is true if the file has not changed since it was opened and no
        part of the database may be in a write-ahead log.
        """
        if self.read_as is None:
            return True
        path, stamp = self.read_as
        return _stamp(path) == stamp and not _has_log(path)


def connect(path: Path, **options: Any) -> Connection:
    """Connect to the file at `path`; a file that cannot be written is opened for reading only.

    `options` are those of `sqlite3.connect`.

    Raises
    ------
    sqlite3.Error
        For a file that cannot be read.
    """
    with contextlib.suppress(OSError):  # SQLite itself reports a file that cannot be created
        # SQLite gives the adjacent files the same rights
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE))
    try:
        connection = sqlite3.connect(path, factory=Connection, isolation_level=None, **options)
        with _closed_on_error(connection):
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
    except sqlite3.OperationalError as error:
        unwritable = {error.sqlite_errorcode, error.sqlite_errorcode & 0xFF} & _UNWRITABLE
        if not unwritable or not path.is_file():
            raise
        return _read_only(path, error, options)
    return connection


def _read_only(path: Path, because: sqlite3.Error, options: dict[str, Any]) -> Connection:
    alone, stamp = not _has_log(path), _stamp(path)
    url = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if alone else ''}"
    connection = sqlite3.connect(url, uri=True, factory=Connection, isolation_level=None, **options)
    with _closed_on_error(connection):
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.unwritable = because
    if alone:
        connection.read_as = path, stamp
    return connection


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Any:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _has_log(path: Path) -> bool:
    """Return whether part of the database may be in its write-ahead log, the file next to it."""
    log = path.with_name(f"{path.name}-wal")
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size

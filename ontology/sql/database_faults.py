"""Translate faults of the database into our own errors: recognize the fault, and say what to do about it.

PostgreSQL identifies a fault by five characters (SQLSTATE), SQLite by a number. The texts of messages differ
between versions and languages. Therefore texts are used only where nothing else identifies the fault: a
failed attempt to connect has no SQLSTATE, and SQLite has one number for all errors in statements. No driver
is imported.

An error in a statement is not translated: it is a defect of labelgrove, for which the driver's error and its
traceback are needed.
"""

from __future__ import annotations

import re
from typing import Final

from labelgrove.ontology.errors import GroveError, MigrationError, ServiceError, SettingsError, TransientError
from labelgrove.ontology.settings import masked

__all__ = ["database_fault"]

_Fault = tuple[type[GroveError], str]

_HELD: Final = (TransientError, "somebody else is using it, try again")
_AWAY: Final = (
    ServiceError,
    "check that it runs and can be reached (GROVE_DATABASE_URL names it, `grove doctor` tries it)",
)
_LOGIN: Final = (ServiceError, "user or password is wrong; GROVE_DATABASE_URL holds both")
_NO_DATABASE: Final = (
    ServiceError,
    "there is no such database: create it (createdb), or correct its name in GROVE_DATABASE_URL",
)
_CROWDED: Final = (
    ServiceError,
    "it takes no more connections: try again, close others, or raise max_connections",
)
_RIGHTS: Final = (
    ServiceError,
    "its user may not do this: grant SELECT, INSERT, UPDATE and DELETE on all tables, and CREATE in the "
    "schema to the user that runs grove db upgrade; or name another user in GROVE_DATABASE_URL",
)
_SCHEMA: Final = (
    MigrationError,
    "the schema does not fit this version: run grove db upgrade; if that changes nothing, somebody altered "
    "the tables: restore a backup into a new database (grove restore)",
)
_STANDBY: Final = (
    TransientError,
    "it takes no writes for now (a standby, a server in failover, or default_transaction_read_only): try "
    "again; if it still takes none, name the primary in GROVE_DATABASE_URL",
)
_STOPPED: Final = (
    TransientError,
    "the server stopped the statement: try again; if it happens often, raise its statement_timeout",
)
_NO_ROOM: Final = (ServiceError, "its disk is full: free some space there; nothing was changed")
_SHORT: Final = (ServiceError, "the server is short of memory or another resource: see its log, try again")
_LIMIT: Final = (ServiceError, "a limit of the server is too low for this: see its log, and raise that limit")
_BROKEN: Final = (ServiceError, "the server reports an internal fault: see its log, and check its disk")
_DAMAGED: Final = (
    ServiceError,
    "it is damaged: stop all that use it, and restore a backup into a new database (grove restore)",
)
_POOLER: Final = (
    ServiceError,
    "a pooler (such as pgbouncer) shares its connections between statements: let it pool whole sessions, or "
    "name the server itself in GROVE_DATABASE_URL",
)
_ENCODING: Final = (
    MigrationError,
    "the database is not in UTF-8: create one with ENCODING 'UTF8', and restore a backup into it "
    "(grove restore)",
)
_REFUSED: Final = (ServiceError, "the database refused the request: see its log")

_SQLSTATES: Final[dict[str, _Fault]] = {
    "0A000": (TransientError, "the tables changed under a prepared statement: try again"),
    "22P05": _ENCODING,
    "25006": _STANDBY,
    "25P03": (TransientError, "the server ended a transaction that did nothing for too long: try again"),
    "25P04": _STOPPED,
    "26000": _POOLER,
    "3D000": _NO_DATABASE,
    "3F000": _SCHEMA,
    "42501": _RIGHTS,
    "42703": _SCHEMA,
    "42704": _SCHEMA,
    "42883": _SCHEMA,
    "42P01": _SCHEMA,
    "42P05": _POOLER,
    "53100": _NO_ROOM,
    "53300": _CROWDED,
    "55006": _HELD,
    "55P03": _HELD,
    "57014": _STOPPED,
    "57P03": (TransientError, "it is starting up or shutting down: try again"),
    "57P04": _NO_DATABASE,
    "72000": _STOPPED,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
_CLASSES: Final[dict[str, _Fault]] = {
    "08": _AWAY,
    "28": _LOGIN,
    "40": _HELD,
    "53": _SHORT,
    "54": _LIMIT,
    "55": _REFUSED,
    "57": _AWAY,
    "58": _BROKEN,
    "F0": _BROKEN,
    "XX": _BROKEN,
}
"""Faults by the first two characters of the SQLSTATE, for codes that are not listed in full."""

_OF_THE_STATEMENT: Final = {"0Z", "20", "21", "22", "23", "24", "25", "2B", "34", "3B", "42", "44"}
"""First two characters of the SQLSTATEs that are errors in a statement."""

_CONNECTING: Final[tuple[tuple[re.Pattern[str], _Fault], ...]] = tuple(
    (re.compile(pattern, re.I), fault)
    for pattern, fault in (
        (r"authentication failed|no password|pg_hba\.conf|not permitted to log in|role .* not exist", _LOGIN),
        (r"database .* does not exist", _NO_DATABASE),
        (r"too many (connections|clients)|connection slots", _CROWDED),
        (r"permission denied", _RIGHTS),
        (r"starting up|shutting down|recovery mode", _SQLSTATES["57P03"]),
    )
)
"""Faults of a rejected connection, by a pattern that the server's message matches."""

_SQLITE: Final[dict[int, _Fault]] = {
    3: (ServiceError, "give this user the right to read and write the file and its folder"),  # PERM
    5: _HELD,  # BUSY
    6: _HELD,  # LOCKED
    7: _SHORT,  # NOMEM
    8: (  # READONLY
        ServiceError,
        "it can be read but not written: use a disk that is not read-only, and give this user the right to "
        "write the file and its folder, or name another file in GROVE_DATABASE_URL",
    ),
    9: _STOPPED,  # INTERRUPT
    10: (ServiceError, "its disk reports a fault: check the disk and its free space"),  # IOERR
    11: _DAMAGED,  # CORRUPT
    13: _NO_ROOM,  # FULL
    14: (  # CANTOPEN
        ServiceError,
        "the file cannot be opened: give this user the right to read and write it and its folder, or name "
        "another file in GROVE_DATABASE_URL",
    ),
    15: _HELD,  # PROTOCOL: too many transactions begin at once
    17: _HELD,  # SCHEMA: it changed during a statement, which must be prepared again
    23: _RIGHTS,  # AUTH
    26: _DAMAGED,  # NOTADB
    4874: _NO_ROOM,  # IOERR_SHMSIZE: no room for the adjacent file that readers need
}
"""Faults by SQLite's extended or primary result code; both kinds are documented and stable."""

_SQLITE_SCHEMA: Final = re.compile(r"no such (table|column|index)|has no column named")


def database_fault(error: BaseException, where: str, *, connected: bool, lost: bool) -> GroveError | None:
    """Return our error for a fault of the database at `where`; None for an error in a statement.

    Parameters
    ----------
    error : BaseException
        The error that the driver raised.
    where : str
        Name of the database in messages, without passwords.
    connected : bool
        Whether there was a connection. If there was none, the error cannot be in a statement.
    lost : bool
        Whether the connection can no longer be used.

    Examples
    --------
    >>> import sqlite3
    >>> try:
    ...     sqlite3.connect(":memory:").execute("SELECT FORM WHERE")
    ... except sqlite3.OperationalError as error:
    ...     print(database_fault(error, "here", connected=True, lost=False))
    None
    """
    fault = _known(error, connected)
    if fault is None and lost:
        fault = _AWAY
    if fault is None:
        return None
    text = masked(str(error)).strip().partition("\n")[0] or type(error).__name__
    kind, advice = fault
    return kind(f"database {where}: {text}; {advice}")


def _known(error: BaseException, connected: bool) -> _Fault | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        if _SQLITE_SCHEMA.search(str(error)):
            return _SCHEMA
        return _SQLITE.get(code) or _SQLITE.get(code & 0xFF)
    state = getattr(error, "sqlstate", None)
    if state is not None:
        left = None if state[:2] in _OF_THE_STATEMENT else _REFUSED
        return _SQLSTATES.get(state) or _CLASSES.get(state[:2], left)
    if connected:  # a broken connection gives no further information
        return _AWAY if type(error).__name__ == "OperationalError" else None
    if type(error).__name__ == "ProgrammingError":  # raised before contact with any server
        return SettingsError, "correct GROVE_DATABASE_URL"
    return next((fault for pattern, fault in _CONNECTING if pattern.search(str(error))), _AWAY)

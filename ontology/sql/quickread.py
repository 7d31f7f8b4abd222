"""Read a few rows of the database quickly for interactive use: without SQLAlchemy and without a long wait.

All other code uses `ontology.sql.database`, which takes time to import, creates and checks the schema, and
waits longer for a server. This module only reads tables that exist, and gives up after a few seconds.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

__all__ = ["bundle_names", "ontology_names", "read_rows"]

_WAIT_S = 2
_SQLITE = "sqlite:///"


def ontology_names(database_url: str, limit: int) -> list[tuple[str]]:
    """Return the names of the ontologies that have a current version, at most `limit`, sorted."""
    statement = "SELECT name FROM ontology WHERE current_version IS NOT NULL ORDER BY name"
    return read_rows(database_url, f"{statement} LIMIT {limit}")


def bundle_names(database_url: str, limit: int) -> list[tuple[str]]:
    """Return the names of at most `limit` bundles, as ``ONTOLOGY/NAME``, sorted by ontology, then by name."""
    statement = "SELECT ontology || '/' || name FROM bundle ORDER BY ontology, name"
    return read_rows(database_url, f"{statement} LIMIT {limit}")


def read_rows(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of one statement that only reads.

    Parameters
    ----------
    database_url : str
        As in `ontology.settings.Settings`.
    statement : str
        SQL that SQLite and PostgreSQL both understand.

    Raises
    ------
    Exception
        Any error of the driver, for example if there is no database, no such table or no answer in time.
    """
    if database_url.startswith(_SQLITE):
        return _from_sqlite(Path(unquote(database_url.removeprefix(_SQLITE))), statement)
    return _from_postgresql(database_url.replace("+psycopg", "", 1), statement)


def _from_sqlite(path: Path, statement: str) -> list[tuple[Any, ...]]:
    import sqlite3

    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)
    with contextlib.closing(connection):
        return connection.execute(statement).fetchall()


def _from_postgresql(url: str, statement: str) -> list[tuple[Any, ...]]:
    import psycopg

    limits = f"-c statement_timeout={1000 * _WAIT_S}"
    with psycopg.connect(
        url, connect_timeout=_WAIT_S, tcp_user_timeout=1000 * _WAIT_S, options=limits
    ) as connection:
        return connection.execute(statement.encode()).fetchall()

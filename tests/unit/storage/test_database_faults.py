"""Every fault that a database reports has a type and a next step of ours; a statement at fault has none."""

from __future__ import annotations

import contextlib
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine, text

from labelgrove.ontology.errors import GroveError, MigrationError, ServiceError, SettingsError, TransientError
from labelgrove.ontology.sql.database import create_engine, reading, writing
from tests.faults.rights import with_rights, without_privileges
from tests.services.postgres_server import drop_database

STATES = {
    # the connection, and who may have one
    "08006": (ServiceError, "check that it runs"),
    "08P01": (ServiceError, "check that it runs"),
    "28P01": (ServiceError, "user or password is wrong"),
    "28000": (ServiceError, "user or password is wrong"),
    "3D000": (ServiceError, "there is no such database"),
    "53300": (ServiceError, "takes no more connections"),
    "57P01": (ServiceError, "check that it runs"),
    "57P02": (ServiceError, "check that it runs"),
    "57P03": (TransientError, "starting up"),
    "57P04": (ServiceError, "there is no such database"),
    "57P05": (ServiceError, "check that it runs"),
    # what may pass by itself
    "0A000": (TransientError, "tables changed"),
    "25006": (TransientError, "takes no writes"),
    "25P03": (TransientError, "did nothing for too long"),
    "25P04": (TransientError, "stopped the statement"),
    "40001": (TransientError, "try again"),
    "40P01": (TransientError, "try again"),
    "55006": (TransientError, "somebody else is using it"),
    "55P03": (TransientError, "somebody else is using it"),
    "57014": (TransientError, "stopped the statement"),
    "72000": (TransientError, "stopped the statement"),
    # what is not as it has to be
    "22P05": (MigrationError, "not in UTF-8"),
    "3F000": (MigrationError, "grove db upgrade"),
    "42501": (ServiceError, "grant SELECT"),
    "42703": (MigrationError, "grove db upgrade"),
    "42704": (MigrationError, "grove db upgrade"),
    "42883": (MigrationError, "grove db upgrade"),
    "42P01": (MigrationError, "grove db upgrade"),
    "26000": (ServiceError, "pool whole sessions"),
    "42P05": (ServiceError, "pool whole sessions"),
    # the machine it runs on
    "53100": (ServiceError, "disk is full"),
    "53200": (ServiceError, "short of memory"),
    "54001": (ServiceError, "a limit of the server"),
    "55000": (ServiceError, "refused the request"),
    "58030": (ServiceError, "check its disk"),
    "F0000": (ServiceError, "check its disk"),
    "P0001": (ServiceError, "refused the request"),
    "XX000": (ServiceError, "check its disk"),
    "XX001": (ServiceError, "restore a backup"),
    "XX002": (ServiceError, "restore a backup"),
}
OURS = ("21000", "22003", "22021", "23505", "25001", "25P02", "42601", "42804")


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(postgres_url)
    yield engine
    engine.dispose()


def run(engine: Engine, *statements: str) -> None:
    with writing(engine) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def raised(engine: Engine, *statements: str) -> GroveError:
    with pytest.raises(GroveError) as caught:
        run(engine, *statements)
    assert "\n" not in str(caught.value)
    return caught.value


def is_like(found: GroveError, kind: type[GroveError], advice: str) -> None:
    assert (type(found), advice in str(found)) == (kind, True), repr(found)


# ---- PostgreSQL ----------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_server_says_what_is_wrong_by_its_sqlstate(engine):
    raising = "DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{}'; END $$"
    for state, (kind, advice) in STATES.items():
        is_like(raised(engine, raising.format(state)), kind, advice)
    for state in OURS:
        with pytest.raises(sa.exc.DBAPIError, match="as told"):
            run(engine, raising.format(state))


@contextmanager
def user(engine: Engine, options: str = "") -> Iterator[str]:
    """Make a user for a while; gives the URL with which it connects."""
    name = f"grove_{secrets.token_hex(6)}"
    run(engine, f"CREATE ROLE {name} {options or 'LOGIN'} PASSWORD 'right'")
    try:
        host = urlsplit(engine.url.render_as_string()).netloc.rpartition("@")[2]
        yield f"postgresql://{name}:right@{host}/{engine.url.database}"
    finally:
        run(engine, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def tried(url: str, *statements: str) -> GroveError:
    engine = create_engine(url)
    try:
        return raised(engine, *(statements or ("SELECT 1",)))
    finally:
        engine.dispose()


REFUSALS: dict[str, tuple[str, Callable[[str], str], type[GroveError], str]] = {
    "password": ("", lambda url: url.replace(":right@", ":wrong@"), ServiceError, "password is wrong"),
    "no password": ("", lambda url: url.replace(":right@", "@"), ServiceError, "password is wrong"),
    "may not log in": ("NOLOGIN", str, ServiceError, "password is wrong"),
    "no database": ("", lambda url: f"{url}_gone", ServiceError, "there is no such database"),
    "one too many": ("LOGIN CONNECTION LIMIT 0", str, ServiceError, "takes no more connections"),
    "no server": ("", lambda url: re.sub(r":\d+/", ":1/", url), ServiceError, "check that it runs"),
    "no host": ("", lambda url: re.sub(r"@[^/]*/", "@nowhere.invalid/", url), ServiceError, "check that it"),
    "no parameter": ("", lambda url: f"{url}?nonsense=1", SettingsError, "correct GROVE_DATABASE_URL"),
}


@pytest.mark.services
@pytest.mark.parametrize("name", REFUSALS)
def test_a_connection_that_is_refused_says_why(engine, name):
    options, changed, kind, advice = REFUSALS[name]
    with user(engine, options) as url:
        found = tried(changed(url))
    is_like(found, kind, advice)
    assert not re.search("right@|wrong", str(found).replace("password is wrong", ""))


@pytest.mark.services
def test_a_user_without_rights_is_told_which(engine):
    run(engine, "CREATE TABLE kept (name TEXT)")
    with user(engine) as url:
        is_like(tried(url, "SELECT * FROM kept"), ServiceError, "grant SELECT, INSERT")
        run(engine, "GRANT SELECT ON kept TO PUBLIC")
        is_like(tried(url, "INSERT INTO kept VALUES ('a')"), ServiceError, "grant SELECT, INSERT")
        is_like(tried(url, "CREATE TABLE mine (name TEXT)"), ServiceError, "CREATE in the schema")


@pytest.mark.services
def test_a_standby_a_stopped_statement_and_a_held_row(engine):
    run(engine, "CREATE TABLE held (name TEXT)")
    is_like(
        raised(engine, "SET TRANSACTION READ ONLY", "INSERT INTO held VALUES ('a')"),
        TransientError,
        "name the primary in GROVE_DATABASE_URL",
    )
    is_like(
        raised(engine, "SET LOCAL statement_timeout = 20", "SELECT pg_sleep(10)"),
        TransientError,
        "raise its statement_timeout",
    )
    with writing(engine) as other:
        other.execute(text("LOCK TABLE held"))
        found = raised(engine, "SET LOCAL lock_timeout = 20", "SELECT * FROM held")
    is_like(found, TransientError, "somebody else is using it")


@pytest.mark.services
@pytest.mark.parametrize(
    "statement", ["SELECT * FROM nowhere", "SELECT kept.color FROM kept", "SELECT * FROM no.kept"]
)
def test_a_table_or_column_that_is_missing_is_a_matter_of_the_schema(engine, statement):
    run(engine, "CREATE TABLE kept (name TEXT)")
    is_like(raised(engine, statement), MigrationError, "run grove db upgrade")


@pytest.mark.services
def test_statements_that_a_pooler_lost_or_a_migration_changed(engine, postgres_url):
    run(engine, "CREATE TABLE kept (name TEXT)")
    for _ in range(10):  # until the driver prepares it
        run(engine, "SELECT * FROM kept")
    other = create_engine(postgres_url)
    run(other, "ALTER TABLE kept ADD COLUMN color TEXT")
    other.dispose()
    is_like(raised(engine, "SELECT * FROM kept"), TransientError, "the tables changed")
    for _ in range(10):
        run(engine, "SELECT name FROM kept")
    with engine.connect() as connection, connection.begin():  # as a pooler gives the connection to others
        connection.connection.driver_connection.pgconn.exec_(b"DEALLOCATE ALL")
    is_like(raised(engine, "SELECT name FROM kept"), ServiceError, "let it pool whole sessions")


@pytest.mark.services
def test_a_database_in_another_encoding_is_not_one_of_ours(engine, postgres_url):
    name = f"latin_{secrets.token_hex(6)}"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER 'libc' TEMPLATE template0"
        )
    url = f"{postgres_url.rpartition('/')[0]}/{name}"
    try:
        is_like(tried(url, "SELECT 'Ω'"), MigrationError, "ENCODING 'UTF8'")
    finally:
        drop_database(url, server_url=postgres_url)


# ---- SQLite --------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database file with a table, closed."""
    path = tmp_path / "home" / "catalog.db"
    engine = create_engine(f"sqlite:///{path}")
    run(engine, "CREATE TABLE kept (name TEXT)", "INSERT INTO kept VALUES ('a')")
    engine.dispose()
    return path


def in_file(path: Path, *statements: str) -> GroveError:
    return tried(f"sqlite:///{path}", *(statements or ("INSERT INTO kept VALUES ('b')",)))


@pytest.mark.parametrize("statement", ["SELECT * FROM nowhere", "SELECT color FROM kept"])
def test_a_file_without_a_table_or_column_is_a_matter_of_the_schema(file, statement):
    is_like(in_file(file, statement), MigrationError, "run grove db upgrade")
    is_like(in_file(file, "INSERT INTO kept (color) VALUES (1)"), MigrationError, "run grove db upgrade")


def test_a_file_whose_disk_is_full(file):
    statements = ("PRAGMA max_page_count = 4", f"INSERT INTO kept VALUES ('{'x' * 100_000}')")
    is_like(in_file(file, *statements), ServiceError, "its disk is full: free some space")


def test_a_file_that_is_damaged_or_is_another(file):
    file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 4096)
    is_like(in_file(file, "SELECT * FROM kept"), ServiceError, "restore a backup")
    file.write_text("this is no database at all " * 100)
    is_like(in_file(file, "SELECT * FROM kept"), ServiceError, "restore a backup")


def test_a_file_that_may_not_be_opened(file):
    with with_rights(file.parent, folders=0o755, files=0o000), without_privileges():
        is_like(in_file(file), ServiceError, "the right to read and write it")


def test_a_place_that_is_no_file(tmp_path):
    is_like(in_file(tmp_path), ServiceError, "the file cannot be opened")


def test_a_file_that_is_held(file):
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect().execution_options(labelgrove_begin="BEGIN") as connection:
        connection.execute(text("PRAGMA busy_timeout = 1"))
        with pytest.raises(TransientError, match="somebody else is using it"):
            connection.execute(text("INSERT INTO kept VALUES ('b')"))
    engine.dispose()
    holder.close()


def test_a_statement_at_fault_keeps_the_drivers_error(file):
    engine = create_engine(f"sqlite:///{file}")
    for statement in ("SELEC 1", "SELECT nothing()", "INSERT INTO kept VALUES (1, 2)"):
        with pytest.raises(sa.exc.OperationalError), reading(engine) as connection:
            connection.exec_driver_sql(statement)
    engine.dispose()


# ---- connections of this process -----------------------------------------------------------------------


def test_who_waits_too_long_for_a_connection_may_try_again(file, monkeypatch):
    engine = create_engine(f"sqlite:///{file}")
    monkeypatch.setattr(engine.pool, "_timeout", 0.05)
    with contextlib.ExitStack() as held:
        for _ in range(15):
            held.enter_context(engine.connect())
        with pytest.raises(TransientError, match="no connection became free: this process has held all 15"):
            engine.connect()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM kept")).scalar_one() == 1
    engine.dispose()

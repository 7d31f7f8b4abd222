"""The SQL database of catalog and ledger: engine, transactions, clock and schema version.

SQLite runs in WAL mode with synchronous FULL, foreign keys on and a 30 s wait for locks. Transactions that
may write begin with ``BEGIN IMMEDIATE``, so that they wait for the write lock at their beginning. If a
transaction read first and took the lock only at its first write, it could fail instead of waiting. A file
that cannot be written can still be read (`ontology.sql.sqlite`). PostgreSQL is accessed through psycopg
(`ontology.sql.postgresql`).
Faults of server and disk are raised as our own errors, with passwords masked
(`ontology.sql.database_faults`).
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import (
    MigrationError,
    MissingExtraError,
    ServiceError,
    SettingsError,
    TransientError,
)
from labelgrove.ontology.extras import upgrade_command
from labelgrove.ontology.packagedfiles import migrations_folder
from labelgrove.ontology.settings import masked
from labelgrove.ontology.sql.database_faults import database_fault
from labelgrove.ontology.sql.sqlite import Connection as SQLiteConnection
from labelgrove.ontology.sql.sqlite import connect as connect_sqlite
from labelgrove.ontology.store.wholefile import make_folder

try:
    import sqlalchemy
    from sqlalchemy import Connection, Engine, MetaData, event
    from sqlalchemy.engine import URL, ExceptionContext, make_url
    from sqlalchemy.ext.compiler import compiles
    from sqlalchemy.sql.functions import FunctionElement
except ImportError as error:
    raise MissingExtraError.of("sqlalchemy", "service", "the SQL database") from error
if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

__all__ = [
    "autocommitting",
    "check_schema",
    "create_engine",
    "describe",
    "find_damage",
    "metadata",
    "now",
    "patient",
    "reading",
    "schema_state",
    "try_writing",
    "upgrade",
    "upsert",
    "writing",
]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
"""Every table of catalog and ledger; Alembic compares the migrations with it."""

_BUSY_S = 30.0
_RESTED_S = 1.0
"""Seconds without use after which a connection to a server is tested before it is used again."""

_MIGRATION_LOCK = 7_018_153_370  # any fixed number; makes two upgrades of one PostgreSQL database take turns


class now(FunctionElement[float]):
    """An SQL expression for the time of the database's clock, in seconds since 1970.

    PostgreSQL uses its own clock, never a worker's; SQLite uses the clock of its host.

    >>> from sqlalchemy.dialects import postgresql
    >>> str(sqlalchemy.select(now()).compile(dialect=postgresql.dialect()))
    'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) AS anon_1'
    """

    type = sqlalchemy.Double()
    inherit_cache = True


@compiles(now, "postgresql")
def _now_postgresql(_element: now, _compiler: Any, **_options: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


@compiles(now, "sqlite")
def _now_sqlite(_element: now, _compiler: Any, **_options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


def upsert(connection: Connection, table: sqlalchemy.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT with the methods ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    # Only the dialect in use is imported: that of PostgreSQL costs every process that starts 25 ms.
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


# ---- engine and transactions ---------------------------------------------------------------------------


def create_engine(url: str) -> Engine:
    """Open the database at `url`, ``sqlite:////path`` or ``postgresql+psycopg://...``.

    The folder of a SQLite file is created. The first statement connects, and raises `ServiceError` if a
    server does not answer within 10 s. Later statements raise it too, if the server stops answering
    (`ontology.sql.postgresql`).
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        try:
            make_folder(Path(str(parsed.database)).absolute().parent)
        except OSError as error:
            raise ServiceError(
                f"database {parsed.database}: its folder cannot be created ({error.strerror}); "
                "create it, or choose another file (GROVE_DATABASE_URL)"
            ) from error
        engine = sqlalchemy.create_engine(parsed, poolclass=_Pool, connect_args={"timeout": _BUSY_S})
        event.listen(engine, "do_connect", _connect_sqlite)
        event.listen(engine, "checkin", _forget_unwritable)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = sqlalchemy.create_engine(parsed, poolclass=_Pool)
        event.listen(engine, "do_connect", _connect_postgresql)
        event.listen(engine, "checkout", _try_rested)
    event.listen(engine, "handle_error", _translate)
    return engine


class _Pool(sqlalchemy.QueuePool):
    """The connections of one process; waiting too long for a free one raises `TransientError`."""

    def connect(self) -> Any:
        try:
            return super().connect()
        except sqlalchemy.exc.TimeoutError as error:
            raise TransientError(
                f"database: no connection became free: this process has held all {self.checkedout()} for too "
                "long; try again, or reduce its parallel work (grove worker --concurrency)"
            ) from error


def _is_not_an_interrupt(record: logging.LogRecord) -> bool:
    """Keep the pool from logging a signal to end: return False for the record of what its handler raised.

    That is `KeyboardInterrupt` after Ctrl-C, and `SystemExit` after SIGTERM. It still reaches the command.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], (KeyboardInterrupt, SystemExit)))


_pool_logger = logging.getLogger(f"{__name__}.{_Pool.__name__}")  # SQLAlchemy's name for it
_pool_logger.addFilter(_is_not_an_interrupt)
# As SQLAlchemy's own pools, or each sweep of a worker would log two lines.
_pool_logger.setLevel(logging.WARNING)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that may write; the end of the block commits it, and an error rolls it back."""
    with engine.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads; on SQLite it does not take the write lock.

    `TransientError` is raised if a SQLite file was read without locks, and somebody wrote to it meanwhile.
    """
    with engine.connect().execution_options(labelgrove_begin="BEGIN") as connection, connection.begin():
        yield connection
        driver = connection.connection.driver_connection
        if isinstance(driver, SQLiteConnection) and not driver.is_consistent():
            raise TransientError(
                f"database {_masked_url(engine)}: was written to while it was read; try again"
            )


@contextmanager
def autocommitting(engine: Engine) -> Iterator[Connection]:
    """Open a connection that runs every statement as a separate transaction and commits it at once.

    This saves the two round trips of BEGIN and COMMIT to a PostgreSQL server. All rows of a statement must be
    read before the next statement.
    """
    alone = {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(labelgrove_begin=None, **alone) as connection:
        yield connection


@contextmanager
def patient(connection: Connection) -> Iterator[None]:
    """Let the statements in a block take any time, for example statements about all units of a job.

    Outside such a block, the connection is closed if a PostgreSQL server is silent for too long
    (`ontology.sql.postgresql`).
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    from labelgrove.ontology.sql.postgresql import unhurried

    with unhurried(connection.connection.driver_connection):
        yield


def describe(engine: Engine) -> dict[str, str | float]:
    """Return a dictionary that describes the database.

    ``version`` contains the name and the version of the database engine. ``seconds`` is the time of the
    database's clock, in seconds since 1970. For SQLite, ``journal`` is the journal mode.
    """
    facts: dict[str, str | float] = {}
    with reading(engine) as connection:
        facts["seconds"] = connection.execute(sqlalchemy.select(now())).scalar_one()
        if engine.dialect.name == "sqlite":
            facts["version"] = f"SQLite {connection.exec_driver_sql('SELECT sqlite_version()').scalar_one()}"
            facts["journal"] = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        else:
            facts["version"] = f"PostgreSQL {connection.exec_driver_sql('SHOW server_version').scalar_one()}"
    return facts


def try_writing(engine: Engine) -> None:
    """Write to every table without changing a row, so that any fault that prevents writing is raised."""
    none = sqlalchemy.false()
    with engine.connect() as connection, connection.begin() as transaction:
        for table in metadata.sorted_tables:
            rows = sqlalchemy.select(table).where(none)
            connection.execute(sqlalchemy.insert(table).from_select(list(table.c.keys()), rows))
            same = {column.name: column for column in table.primary_key}
            connection.execute(sqlalchemy.update(table).values(same).where(none))
            connection.execute(sqlalchemy.delete(table).where(none))
        transaction.rollback()


def find_damage(engine: Engine) -> str | None:
    """Read a whole SQLite file and return its first fault; None if it has none.

    For PostgreSQL nothing is read, and the result is None.
    """
    if engine.dialect.name != "sqlite":
        return None
    with reading(engine) as connection:
        found: str = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    return None if found == "ok" else " ".join(found.split())


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is not a number
        raise SettingsError(
            f"GROVE_DATABASE_URL: {masked(url)!r} is not a database URL; "
            "write postgresql+psycopg://user:password@host:5432/name"
        ) from error
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if not parsed.database or ":memory:" in parsed.database:
            raise SettingsError(f"GROVE_DATABASE_URL: {url!r} names no file; use sqlite:////path/catalog.db")
        return parsed.set(drivername="sqlite+pysqlite")
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise SettingsError(f"GROVE_DATABASE_URL: {masked(url)!r} must start with sqlite:// or postgresql://")


def _connect_postgresql(_dialect: Any, _record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
    from labelgrove.ontology.sql.postgresql import LIMITS, Connection

    return Connection.connect(*arguments, **{**LIMITS, **parameters})


def _try_rested(connection: Any, record: Any, _proxy: Any) -> None:
    """Test a connection that was not used for a while, before the pool lends it again.

    If it is broken, the pool drops all connections that were opened before this test, and connects again.
    """
    from labelgrove.ontology.sql.postgresql import is_alive

    if not record.info:  # a new connection: its first statement reports faults
        record.info["used"] = True
    elif not is_alive(connection, rested_s=_RESTED_S):
        raise sqlalchemy.exc.InvalidatePoolError


def _connect_sqlite(_dialect: Any, _record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
    return connect_sqlite(Path(arguments[0]), **parameters)


def _forget_unwritable(connection: Any, record: Any) -> None:
    """Drop a connection that can only read, so that the next one tests again whether the file is writable."""
    if connection is not None and connection.unwritable is not None:
        record.invalidate()


def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get("labelgrove_begin", "BEGIN IMMEDIATE")
    if begin is not None:
        connection.exec_driver_sql(begin)


def _translate(context: ExceptionContext) -> None:
    """Raise our own error for a fault of the server or the disk; leave errors in statements as they are."""
    original, driver = context.original_exception, context.dialect.loaded_dbapi
    if isinstance(original, driver.Error):
        where = "at the given URL" if context.engine is None else _masked_url(context.engine)
        connected = context.connection is not None
        cause = _no_room(context.connection) or original
        fault = database_fault(cause, where, connected=connected, lost=context.is_disconnect)
        if fault is not None:
            raise fault from original


def _no_room(connection: Connection | None) -> BaseException | None:
    """Return the error that showed, when a SQLite file was opened, that a full disk prevents writing to it.

    Return None if the file can be written, or cannot be written for another reason.
    """
    if connection is None or connection.invalidated or connection.dialect.name != "sqlite":
        return None
    driver: Any = connection.connection.driver_connection
    return driver.unwritable if driver.is_full else None


# ---- schema --------------------------------------------------------------------------------------------


def schema_state(engine: Engine) -> tuple[str | None, str]:
    """Return the schema revision of the database (None if it is empty) and the newest known revision."""
    with reading(engine) as connection:
        found = None
        if sqlalchemy.inspect(connection).has_table("alembic_version"):
            found = connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version")).scalar()
    return found, _revisions()[-1]


def check_schema(engine: Engine) -> None:
    """Check that the database has the schema that this version of labelgrove needs.

    An empty or older SQLite database, which has only one owner, is upgraded here. An empty or older
    PostgreSQL database raises `MigrationError`, which names the command that upgrades it. If a newer
    labelgrove wrote the schema, `MigrationError` is raised for either kind of database.
    """
    found, head = schema_state(engine)
    if found == head:
        return
    _refuse_newer(engine, found, head)
    if engine.dialect.name != "sqlite":
        has = "empty" if found is None else f"revision {found!r}"
        raise MigrationError(
            f"database {_masked_url(engine)}: its schema is {has}, "
            f"this labelgrove needs {head!r}; run: grove db upgrade"
        )
    upgrade(engine)


def upgrade(engine: Engine, revision: str | None = None) -> str:
    """Upgrade the schema to `revision`, by default the newest, in one transaction; return that revision.

    Concurrent upgrades wait for each other, and a second one changes nothing. `MigrationError` is raised if a
    newer labelgrove wrote the schema.
    """
    import alembic.command
    import alembic.config

    found, head = schema_state(engine)
    _refuse_newer(engine, found, head)
    config = alembic.config.Config()
    config.set_main_option("script_location", str(migrations_folder() / "sql").replace("%", "%%"))
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(writing(engine))
        stack.enter_context(patient(connection))
        if engine.dialect.name == "postgresql":
            connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, revision or head)
    return revision or head


def _refuse_newer(engine: Engine, found: str | None, head: str) -> None:
    if found is not None and found not in _revisions():
        raise MigrationError(
            f"database {_masked_url(engine)}: its schema has revision {found!r}, which a newer labelgrove "
            f"wrote; this one knows revisions up to {head!r}; upgrade with: {upgrade_command('service')}"
        )


def _masked_url(engine: Engine) -> str:
    return masked(engine.url.render_as_string(hide_password=True))


def _revisions() -> list[str]:
    """Return the revision numbers in order: the leading digits of files in ``migrations/sql/versions``."""
    names = (path.name for path in (migrations_folder() / "sql" / "versions").iterdir())
    return sorted(name.split("_")[0] for name in names if re.fullmatch(r"\d{4}_\w+\.py", name))

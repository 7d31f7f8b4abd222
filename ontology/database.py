"""The SQL database below catalogue and ledger: engine, transactions, clock and schema version.

SQLite runs in WAL mode with synchronous FULL, foreign keys on and a 30 s wait for locks; transactions that
may write begin with ``BEGIN IMMEDIATE``, because a read that later turns into a write fails at once, whatever
the wait. PostgreSQL is reached through psycopg. Faults of the connection leave as `ServiceError`, those worth
a second try as `TransientError`, with passwords masked.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, MetaData, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ontology.errors import MigrationError, ServiceError, SettingsError, TransientError
from ontology.migrations import migrations_folder
from ontology.settings import masked

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
"""Every table of catalogue and ledger; Alembic compares the migrations with it."""

_BUSY_S = 30.0
_RESTED_S = 1.0
"""Seconds without use after which a connection to a server is tried before it is used again."""

_MIGRATION_LOCK = 7_018_153_370  # any fixed number: two upgrades of one PostgreSQL database take turns


class now(FunctionElement[float]):
    """The database server's clock in seconds since 1970, for use inside a statement.

    PostgreSQL answers with its own clock, never a worker's; SQLite has one host, whose clock it reads.

    >>> str(sqlalchemy.select(now()).compile(dialect=postgresql.dialect()))
    'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) AS anon_1'
    """

    type = sqlalchemy.Double()
    inherit_cache = True


@compiles(now, "postgresql")
def _now_postgresql(element: now, compiler: Any, **options: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


def upsert(connection: Connection, table: sqlalchemy.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT into `table` that has ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


# ---- engine and transactions ---------------------------------------------------------------------------


def create_engine(url: str) -> Engine:
    """Open the database at `url`, ``sqlite:////path`` or ``postgresql+psycopg://...``.

    The folder of a SQLite file is created. The first statement connects; a server that does not answer
    within 10 s raises `ServiceError` there, as does one that falls silent later (`ontology.postgresql`).
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        try:
            Path(str(parsed.database)).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(
                f"database {parsed.database}: its folder cannot be made ({error.strerror})"
            ) from error
        engine = sqlalchemy.create_engine(parsed, connect_args={"timeout": _BUSY_S})
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = sqlalchemy.create_engine(parsed)
        event.listen(engine, "do_connect", _connect_postgresql)
        event.listen(engine, "checkout", _try_rested)
    event.listen(engine, "handle_error", _translate)
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that may write: committed at the end, rolled back on an error."""
    with engine.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads; on SQLite it takes no write lock."""
    with engine.connect().execution_options(labelgrove_begin="BEGIN") as connection, connection.begin():
        yield connection


@contextmanager
def autocommitting(engine: Engine) -> Iterator[Connection]:
    """Open a connection on which every statement is a transaction of its own, committed when it returns.

    Spares PostgreSQL the two round trips of BEGIN and COMMIT. Rows must be read to the end before the next.
    """
    alone = {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(labelgrove_begin=None, **alone) as connection:
        yield connection


@contextmanager
def patient(connection: Connection) -> Iterator[None]:
    """Let the statements of a block take as long as they need, as those over all units of a job may.

    Elsewhere a PostgreSQL that is silent for so long counts as lost (`ontology.postgresql`).
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    from ontology.postgresql import unhurried

    with unhurried(connection.connection.driver_connection):
        yield


def describe(engine: Engine) -> dict[str, str | float]:
    """Return the server's ``version``, ``seconds`` (the time it has) and SQLite's ``journal`` mode."""
    facts: dict[str, str | float] = {}
    with reading(engine) as connection:
        facts["seconds"] = connection.execute(sqlalchemy.select(now())).scalar_one()
        if engine.dialect.name == "sqlite":
            facts["version"] = f"SQLite {connection.exec_driver_sql('SELECT sqlite_version()').scalar_one()}"
            facts["journal"] = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        else:
            facts["version"] = f"PostgreSQL {connection.exec_driver_sql('SHOW server_version').scalar_one()}"
    return facts


def find_damage(engine: Engine) -> str | None:
    """Return the first fault in the pages of a SQLite file, None where there is none; reads all of it."""
    if engine.dialect.name != "sqlite":
        return None
    with reading(engine) as connection:
        found: str = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    return None if found == "ok" else " ".join(found.split())


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is no number
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


def _connect_postgresql(dialect: Any, record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
    from ontology.postgresql import LIMITS, Connection

    return Connection.connect(*arguments, **{**LIMITS, **parameters})


def _try_rested(connection: Any, record: Any, proxy: Any) -> None:
    """Have the pool connect anew, and forget its older connections, where one broke while it rested."""
    from ontology.postgresql import is_alive

    if not record.info:  # new: what is wrong with it, its first statement says
        record.info["used"] = True
    elif not is_alive(connection, rested_s=_RESTED_S):
        raise sqlalchemy.exc.InvalidatePoolError


def _set_pragmas(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; `_begin_sqlite` does
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get("labelgrove_begin", "BEGIN IMMEDIATE")
    if begin is not None:
        connection.exec_driver_sql(begin)


_TRANSIENT = re.compile(
    r"database( table)? is locked|deadlock detected|could not serialize|lock timeout", re.I
)
_UNUSABLE = re.compile(
    r"readonly database|disk I/O error|disk is full|unable to open database|not a database|malformed"
    r"|No space left|connection|server closed|could not connect|resolve host|terminat|starting up"
    r"|shutting down",
    re.I,
)


def _translate(context: ExceptionContext) -> None:
    """Raise our own error for faults of the server or the disk; statements at fault keep SQLAlchemy's."""
    original, driver = context.original_exception, context.dialect.loaded_dbapi
    if not isinstance(original, driver.DatabaseError) or isinstance(original, driver.IntegrityError):
        return
    text = masked(str(original)).strip().partition("\n")[0] or type(original).__name__
    engine = context.engine
    where = _shown(engine) if engine is not None else "at the given URL"
    if _TRANSIENT.search(text):
        raise TransientError(f"database {where}: {text}; somebody else holds it, try again") from original
    if context.is_disconnect or _UNUSABLE.search(text):
        raise ServiceError(
            f"database {where}: {text}; check that it runs, is readable and writable and has space "
            "(GROVE_DATABASE_URL names it, `grove doctor` tries it)"
        ) from original


# ---- schema --------------------------------------------------------------------------------------------


def schema_state(engine: Engine) -> tuple[str | None, str]:
    """Return the schema revision the database has (None: empty) and the newest one known here."""
    with reading(engine) as connection:
        found = None
        if sqlalchemy.inspect(connection).has_table("alembic_version"):
            found = connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version")).scalar()
    return found, _revisions()[-1]


def check_schema(engine: Engine) -> None:
    """Make sure that the database has the schema of this version.

    SQLite, which has one owner, is upgraded here. A PostgreSQL database that is empty or older raises
    `MigrationError` naming the command; so does a schema of a newer version on either.
    """
    found, head = schema_state(engine)
    if found == head:
        return
    _refuse_newer(engine, found, head)
    if engine.dialect.name != "sqlite":
        has = "empty" if found is None else f"revision {found!r}"
        raise MigrationError(
            f"database {_shown(engine)}: its schema is {has}, "
            f"this labelgrove needs {head!r}; run: grove db upgrade"
        )
    upgrade(engine)


def upgrade(engine: Engine, revision: str | None = None) -> str:
    """Bring the schema up to `revision`, by default the newest, in one transaction, and return that revision.

    Two at once take turns; a second run changes nothing; a schema of a newer version raises `MigrationError`.
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
            f"database {_shown(engine)}: its schema is revision {found!r}, known here is up to {head!r}; "
            "a newer labelgrove wrote it: upgrade with pip install -U 'labelgrove[service]'"
        )


def _shown(engine: Engine) -> str:
    return masked(engine.url.render_as_string(hide_password=True))


def _revisions() -> list[str]:
    """Revision numbers in order: the leading digits of the files in ``migrations/sql/versions``."""
    names = (path.name for path in (migrations_folder() / "sql" / "versions").iterdir())
    return sorted(name.split("_")[0] for name in names if re.fullmatch(r"\d{4}_\w+\.py", name))

"""The engine: pragmas, transactions that take turns, the server's clock, faults with our types."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Engine, event, text

from labelgrove.ontology.errors import ServiceError, SettingsError, TransientError
from labelgrove.ontology.sql.database import autocommitting, create_engine, now, reading, upsert, writing

TABLE = sqlalchemy.Table(
    "counter",
    sqlalchemy.MetaData(),
    sqlalchemy.Column("name", sqlalchemy.String(10), primary_key=True),
    sqlalchemy.Column("value", sqlalchemy.Integer),
)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'new' / 'catalog.db'}")
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite")
        return
    engine = create_engine(request.getfixturevalue("postgres_url"))
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("busy_timeout", 30_000), ("foreign_keys", 1)],
)
def test_sqlite_runs_with_our_pragmas(sqlite: Engine, pragma: str, value: object) -> None:
    with reading(sqlite) as connection:
        assert connection.execute(text(f"PRAGMA {pragma}")).scalar() == value


def test_the_clock_is_the_servers(engine: Engine) -> None:
    with reading(engine) as connection:
        found = connection.scalar(sqlalchemy.select(now()))
        again = connection.scalar(sqlalchemy.select(now() - 60.0))
    assert abs(found - time.time()) < 5
    assert abs(found - 60 - again) < 5


def test_a_failed_transaction_leaves_nothing(engine: Engine) -> None:
    TABLE.create(engine)

    def fail() -> None:
        with writing(engine) as connection:
            connection.execute(TABLE.insert().values(name="a", value=1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with reading(engine) as connection:
        assert connection.execute(TABLE.select()).all() == []


def test_each_statement_of_autocommitting_stands_by_itself(engine: Engine) -> None:
    TABLE.create(engine)
    try:
        with contextlib.suppress(RuntimeError), autocommitting(engine) as connection:
            connection.execute(TABLE.insert().values(name="a", value=1).returning(TABLE.c.name)).one()
            with reading(engine) as other:  # no lock is held, nothing is to be committed
                assert other.execute(sqlalchemy.select(TABLE.c.value)).scalars().all() == [1]
            raise RuntimeError
        with (
            contextlib.suppress(RuntimeError),
            writing(engine) as connection,
        ):  # as ever
            connection.execute(TABLE.update().values(value=2))
            raise RuntimeError
        with autocommitting(engine) as connection:
            assert connection.execute(sqlalchemy.select(TABLE.c.value)).scalars().all() == [1]
    finally:
        TABLE.drop(engine)


@pytest.mark.services
@pytest.mark.parametrize("rested_s", [0.0, 1e6])
def test_connections_that_the_server_ended_are_replaced(
    rested_s: float, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried before use where they rested for long, and even those just used where the server said so."""
    monkeypatch.setattr("labelgrove.ontology.sql.database._RESTED_S", rested_s)
    engine, other = create_engine(postgres_url), create_engine(postgres_url)
    backend = text("SELECT pg_backend_pid()")
    try:
        for _ in range(5):
            with reading(engine) as connection:
                pid = connection.execute(backend).scalar_one()
            with reading(engine) as connection:
                assert connection.execute(backend).scalar_one() == pid, "a connection in order was replaced"
            with reading(other) as connection:  # which waits until the process has ended
                ended = text("SELECT pg_terminate_backend(:pid, 10000)")
                assert connection.execute(ended, {"pid": pid}).scalar_one()
            with reading(engine) as connection:
                assert connection.execute(backend).scalar_one() != pid
    finally:
        engine.dispose()
        other.dispose()


@pytest.mark.services
def test_connections_that_end_as_they_begin_are_a_service_error(postgres_url: str) -> None:
    engine, other = create_engine(postgres_url), create_engine(postgres_url)

    def end(connection: Any, record: Any) -> None:
        with reading(other) as direct:
            ended = text("SELECT pg_terminate_backend(:pid, 10000)")
            direct.execute(ended, {"pid": connection.info.backend_pid})

    event.listen(engine, "connect", end)
    try:
        with pytest.raises(ServiceError), reading(engine) as connection:
            connection.execute(text("SELECT 1"))
    finally:
        engine.dispose()
        other.dispose()


def test_upsert_does_nothing_or_updates(engine: Engine) -> None:
    TABLE.create(engine)
    with writing(engine) as connection:
        for value in (1, 2):
            insertion = upsert(connection, TABLE).values(name="kept", value=value)
            connection.execute(insertion.on_conflict_do_nothing())
            insertion = upsert(connection, TABLE).values(name="last", value=value)
            connection.execute(
                insertion.on_conflict_do_update(index_elements=["name"], set_={"value": value})
            )
        rows = {row.name: row.value for row in connection.execute(TABLE.select())}
    assert rows == {"kept": 1, "last": 2}


def test_read_then_write_loses_no_update(sqlite: Engine) -> None:
    """With a deferred BEGIN the second writer's upgrade fails at once; IMMEDIATE makes it wait its turn."""
    TABLE.create(sqlite)
    with writing(sqlite) as connection:
        connection.execute(TABLE.insert().values(name="a", value=0))

    def add() -> None:
        for _ in range(20):
            with writing(sqlite) as connection:
                value = connection.scalar(sqlalchemy.select(TABLE.c.value))
                connection.execute(TABLE.update().values(value=value + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(sqlite) as connection:
        assert connection.scalar(sqlalchemy.select(TABLE.c.value)) == 80


def test_readers_do_not_wait_for_a_writer(sqlite: Engine) -> None:
    TABLE.create(sqlite)
    with writing(sqlite) as writer:
        writer.execute(TABLE.insert().values(name="a", value=1))
        with reading(sqlite) as reader:
            assert reader.execute(TABLE.select()).all() == []


def test_a_lock_that_does_not_end_is_worth_another_try(sqlite: Engine) -> None:
    TABLE.create(sqlite)
    impatient = create_engine(str(sqlite.url))
    with writing(sqlite), impatient.connect().execution_options(labelgrove_begin="BEGIN") as second:
        second.execute(text("PRAGMA busy_timeout=1"))
        with pytest.raises(TransientError, match="locked"):
            second.execute(TABLE.insert().values(name="a", value=1))
    impatient.dispose()


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    engine = create_engine("postgresql://grove:hunter2@127.0.0.1:1/grove")
    with (
        pytest.raises(ServiceError, match=r"127\.0\.0\.1:1/grove.*GROVE_DATABASE_URL") as caught,
        reading(engine),
    ):
        pass
    assert "hunter2" not in str(caught.value)


def test_a_password_behind_the_path_and_an_unknown_host_are_a_service_error_too() -> None:
    engine = create_engine("postgresql://nowhere.invalid/grove?user=grove&password=hunter2")
    with pytest.raises(ServiceError, match=r"nowhere\.invalid") as caught, reading(engine):
        pass
    assert "hunter2" not in str(caught.value)


def test_a_signal_that_reaches_the_pool_is_raised_and_not_logged(sqlite: Engine, capfd, caplog) -> None:
    """Signals come where they come; the pool logs what happens while it takes a connection back."""

    def pressed(*_: object) -> None:
        raise kind

    event.listen(sqlite, "reset", pressed)
    for kind, logged in ((KeyboardInterrupt(), False), (SystemExit(0), False), (GeneratorExit(), True)):
        with pytest.raises(type(kind)), sqlite.connect() as connection:
            connection.execute(text("SELECT 1"))
        assert ("Exception during reset" in caplog.text) is logged
    event.remove(sqlite, "reset", pressed)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_text("this is no database at all " * 100)
    engine = create_engine(f"sqlite:///{path}")
    with pytest.raises(ServiceError, match=r"catalog\.db.*not a database"), reading(engine):
        pass
    engine.dispose()


def test_a_statement_at_fault_keeps_sqlalchemys_error(engine: Engine) -> None:
    with pytest.raises(sqlalchemy.exc.DBAPIError, match="FORM"), reading(engine) as connection:
        connection.execute(text("SELECT 1 FORM nowhere x"))


def test_a_broken_constraint_keeps_sqlalchemys_error(engine: Engine) -> None:
    TABLE.create(engine)
    with pytest.raises(sqlalchemy.exc.IntegrityError), writing(engine) as connection:
        connection.execute(TABLE.insert(), [{"name": "a", "value": 1}, {"name": "a", "value": 2}])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "catalog.db",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://u:hunter2@h/d",
        "postgresql://u:hunter2@h:port/d",
    ],
)
def test_urls_that_name_no_database_are_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="GROVE_DATABASE_URL") as caught:
        create_engine(url)
    assert "hunter2" not in str(caught.value)

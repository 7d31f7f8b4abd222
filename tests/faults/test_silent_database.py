"""A PostgreSQL that falls silent is given up in time, and what it held is free again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy import text

import labelgrove.ontology.sql.postgresql
from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.sql.database import _MIGRATION_LOCK, create_engine, reading, upgrade, writing
from labelgrove.ontology.sql.postgresql import unhurried
from tests.faults.proxy import Proxy
from tests.services import patient, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

SILENCE_S = 2.0
IDLE_MS = 2500


@pytest.fixture
def proxy(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setattr(labelgrove.ontology.sql.postgresql, "ANSWER_S", SILENCE_S)
    with Proxy(postgres_url, seed=0) as proxy:
        yield proxy


@pytest.fixture
def engine(proxy: Proxy) -> Iterator[sa.Engine]:
    limits = f"?options=-c%20idle_in_transaction_session_timeout%3D{IDLE_MS}"
    engine = create_engine(proxy.url + limits)
    yield engine
    engine.dispose()


def use(engine: sa.Engine, *steps: str | Callable[[], None]) -> None:
    """Execute statements and call functions within one transaction."""
    with writing(engine) as connection:
        for step in steps:
            if callable(step):
                step()
            else:
                connection.execute(text(step))


def test_a_silent_connection_is_an_error_and_the_next_one_works(engine: sa.Engine, proxy: Proxy):
    begin = time.monotonic()
    with pytest.raises(ServiceError, match="silent for 2 s"):
        use(engine, "SELECT 1", proxy.half_open, "SELECT 2")
    assert SILENCE_S <= time.monotonic() - begin < patient(20 * SILENCE_S)
    use(engine, "SELECT 3")


def test_connections_that_rest_are_all_replaced_after_one_was_silent(
    engine: sa.Engine, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("labelgrove.ontology.sql.database._RESTED_S", 0.0)
    with reading(engine), reading(engine), reading(engine):
        pass
    proxy.half_open()
    begin = time.monotonic()
    with reading(engine) as one, reading(engine) as two, reading(engine) as three:
        assert [c.scalar(text("SELECT 1")) for c in (one, two, three)] == [1, 1, 1]
    assert SILENCE_S <= time.monotonic() - begin < 2.5 * SILENCE_S


def test_a_lost_transaction_frees_its_rows(engine: sa.Engine, proxy: Proxy, postgres_url: str):
    use(
        engine, "CREATE TABLE held (name TEXT PRIMARY KEY, value INTEGER)", "INSERT INTO held VALUES ('a', 1)"
    )
    update = "UPDATE held SET value = value + 1"
    with pytest.raises(ServiceError):
        use(engine, update, proxy.half_open)  # its commit never arrives; the server sees an open transaction

    def updated() -> bool:
        try:
            use(engine, update)
        except ServiceError:  # the row is still held: no answer within the time
            return False
        return True

    wait_until(updated, deadline_s=30, what="the lock to be free")
    direct = create_engine(postgres_url)
    with reading(direct) as connection:  # tries that got no answer may have been carried out
        assert connection.scalar(text("SELECT value FROM held")) >= 2
    direct.dispose()


def test_a_slow_statement_is_given_up_unless_it_may_take_long(engine: sa.Engine):
    slow = text("SELECT pg_sleep(:seconds)")
    with pytest.raises(ServiceError, match="silent"), reading(engine) as connection:
        connection.execute(slow, {"seconds": 3 * SILENCE_S})
    with reading(engine) as connection, unhurried(connection.connection.driver_connection):
        connection.execute(slow, {"seconds": 2 * SILENCE_S})


def test_connections_have_limits_and_the_url_wins(engine: sa.Engine, proxy: Proxy, postgres_url: str):
    def shown(connection: sa.Connection, name: str) -> str:
        return str(connection.scalar(text(f"SHOW {name}")))

    with reading(engine) as connection:
        assert shown(connection, "idle_in_transaction_session_timeout") == f"{IDLE_MS}ms"
    direct = create_engine(postgres_url)
    with reading(direct) as connection:
        assert shown(connection, "idle_in_transaction_session_timeout") == "20s"
        assert shown(connection, "tcp_keepalives_idle") == "10"
        assert shown(connection, "tcp_user_timeout") in ("20s", "20000")
        info = connection.connection.driver_connection.info.get_parameters()
        assert (info["keepalives_idle"], info["tcp_user_timeout"]) == ("10", "20000")
    direct.dispose()


def test_a_migration_waits_for_another_longer_than_for_an_answer(engine: sa.Engine, postgres_url: str):
    direct = create_engine(postgres_url)
    with writing(direct) as other:
        other.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        done: list[str] = []
        thread = threading.Thread(target=lambda: done.append(upgrade(engine)))
        thread.start()
        thread.join(2 * SILENCE_S)
        assert thread.is_alive()
    thread.join(60)
    assert len(done) == 1
    direct.dispose()

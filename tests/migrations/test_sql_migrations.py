"""The SQL migrations: empty to head equals the models, again is harmless, newer is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

import labelgrove.ontology.sql.catalog
import labelgrove.ontology.sql.tokens
import labelgrove.workers.ledger.ledger  # noqa: F401 - registers its tables
from labelgrove.ontology.errors import MigrationError
from labelgrove.ontology.packagedfiles import migrations_folder
from labelgrove.ontology.sql.database import (
    check_schema,
    create_engine,
    metadata,
    reading,
    schema_state,
    upgrade,
    writing,
)

TABLES = {
    "ontology",
    "version",
    "load_batch",
    "artifact",
    "bundle",
    "job",
    "unit",
    "job_unit",
    "schedule",
    "firing",
    "token",
}


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'catalog.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    yield engine
    engine.dispose()


def described(engine: Engine) -> dict[str, Any]:
    """Return every table with its columns, keys, indexes and checks, as the database itself says them."""
    found = {}
    with reading(engine) as connection:
        looking = inspect(connection)
        for table in looking.get_table_names():
            if table != "alembic_version":
                found[table] = {
                    "columns": [
                        (c["name"], str(c["type"]), c["nullable"]) for c in looking.get_columns(table)
                    ],
                    "primary": looking.get_pk_constraint(table),
                    "foreign": sorted(looking.get_foreign_keys(table), key=str),
                    "unique": sorted(looking.get_unique_constraints(table), key=str),
                    "checks": sorted(looking.get_check_constraints(table), key=str),
                    "indexes": sorted(looking.get_indexes(table), key=str),
                }
    return found


def head() -> str:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder() / "sql"))
    (revision,) = ScriptDirectory.from_config(config).get_heads()
    return revision


def test_empty_to_head_equals_the_models(engine: Engine) -> None:
    assert upgrade(engine) == head()
    with reading(engine) as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    assert differences == []
    migrated = described(engine)
    assert migrated.keys() == metadata.tables.keys() >= TABLES
    with writing(engine) as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
    assert migrated == described(engine)


def test_a_second_run_changes_nothing(engine: Engine) -> None:
    upgrade(engine)
    before = described(engine)
    assert upgrade(engine) == head()
    check_schema(engine)
    assert described(engine) == before
    assert schema_state(engine) == (head(), head())


def test_two_at_once_take_turns(url: str) -> None:
    results: list[object] = []

    def run() -> None:
        engine = create_engine(url)
        try:
            results.append(upgrade(engine))
        except Exception as error:
            results.append(error)
        finally:
            engine.dispose()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [head()] * 4


def test_a_newer_schema_is_refused_with_the_remedy(engine: Engine) -> None:
    upgrade(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for ask in (check_schema, upgrade):
        with pytest.raises(MigrationError, match=r"'9999'.*newer.*pip install --upgrade"):
            ask(engine)


def test_sqlite_is_brought_up_to_date_when_opened(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    check_schema(engine)
    assert schema_state(engine) == (head(), head())
    engine.dispose()


def test_postgresql_asks_for_the_command(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with pytest.raises(MigrationError, match=r"empty.*grove db upgrade"):
        check_schema(engine)
    assert described(engine) == {}
    engine.dispose()


def test_downgrading_removes_every_table(engine: Engine) -> None:
    import alembic.command

    upgrade(engine)
    config = Config()
    config.set_main_option("script_location", str(migrations_folder() / "sql"))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        alembic.command.downgrade(config, "base")
    assert described(engine) == {}


def test_units_of_the_first_revision_are_kept(engine: Engine) -> None:
    import alembic.command

    config = Config()
    config.set_main_option("script_location", str(migrations_folder() / "sql"))
    unit = {"key": "a" * 64, "kind": "bundle", "spec_json": "{}", "state": "done"}
    numbers = dict.fromkeys(("kind_version", "stage", "fence", "lease_until", "attempts", "sends"), 1)
    row = {**unit, **numbers, "next_send_at": 0.0}
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0001")
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO unit ({names}) VALUES ({values})"), row)
    assert upgrade(engine) == head()
    with reading(engine) as connection:
        (kept,) = connection.execute(text("SELECT key, state, claimed_at, ended_at FROM unit")).all()
    assert tuple(kept) == ("a" * 64, "done", None, None)


def test_what_jobs_wait_for_is_found_for_those_there_are(engine: Engine) -> None:
    import alembic.command

    config = Config()
    config.set_main_option("script_location", str(migrations_folder() / "sql"))
    numbers = dict.fromkeys(("kind_version", "fence", "lease_until", "attempts", "sends", "next_send_at"), 1)
    job = {"id": "j", "kind": "k", "spec_json": "{}", "state": "pending", "kind_version": 1, "created_at": 1}
    units = [("a", 0, "done"), ("b", 0, "pending"), ("c", 0, "running"), ("last", 1, "pending")]
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0003")

        def insert(table: str, row: dict[str, Any]) -> None:
            names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)

        insert("job", job)
        for key, stage, state in units:
            more = {"key": key, "kind": "k", "spec_json": "{}", "stage": stage, "state": state}
            insert("unit", numbers | more)
            insert("job_unit", {"job_id": "j", "unit_key": key})
    assert upgrade(engine) == head()
    with reading(engine) as connection:
        waiting = connection.execute(text("SELECT key, waits_for FROM unit ORDER BY stage, key")).all()
        ends = connection.execute(text("SELECT last_unit FROM job")).scalar()
    assert [tuple(row) for row in waiting] == [("a", None), ("b", None), ("c", None), ("last", "b")]
    assert ends == "last"


def test_files_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in (migrations_folder() / "sql/versions").glob("*.py"))
    assert [name[:5] for name in names] == [f"{i:04}_" for i in range(1, len(names) + 1)]
    assert head() == names[-1][:4]

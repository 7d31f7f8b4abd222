"""A ledger with a clock of its own, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.ontology.sql.database import create_engine, metadata, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from tests.integration.workers_support import PARTS, registered, settings_in


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """SQLite, unless a test is parametrized with the name of the database."""
    on_server = getattr(request, "param", "sqlite") == "postgresql"
    engine = create_engine(
        request.getfixturevalue("postgres_url") if on_server else f"sqlite:///{tmp_path}/l.db"
    )
    metadata.create_all(engine)  # that migrations build the same is tested with them
    yield engine
    engine.dispose()


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database: SQLite, unless a test is parametrized with the name of another."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path}/catalog.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def workspace(database: str, tmp_path: Path) -> Iterator[Workspace]:
    """An upgraded workspace on that database, in which the kind `parts` is known."""
    engine = create_engine(database)
    upgrade(engine)
    engine.dispose()
    with registered(PARTS), Workspace.open(settings_in(tmp_path, database_url=database)) as workspace:
        yield workspace


@pytest.fixture
def ledger(engine: sa.Engine, clock: Clock) -> Ledger:
    return Ledger(engine, clock=clock)

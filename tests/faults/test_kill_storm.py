"""F1: random kill -9 of children, nodes, sweepers and the broker, and freezes longer than a lease."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.faults.storm import storm

pytestmark = [pytest.mark.faults, pytest.mark.services]

_NIGHTLY = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    ("faults", "database", "seed"),
    [
        (12, "PostgreSQL", 41),
        pytest.param(30, "PostgreSQL", 41, marks=_NIGHTLY),
        pytest.param(200, "PostgreSQL", 42, marks=_NIGHTLY),
        pytest.param(200, "SQLite", 43, marks=_NIGHTLY),
    ],
)
def test_random_kills_lose_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, faults: int, database: str, seed: int
):
    url = request.getfixturevalue("postgres_url") if database == "PostgreSQL" else None
    with Deployment(tmp_path, seed=seed, database_url=url, nodes=2, slots=2) as deployment:
        storm(deployment, faults)
        result = deployment.finish()
    keep("F1", f"{faults} faults, {database}", dataclasses.asdict(result))

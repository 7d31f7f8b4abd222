"""Twenty-four processes want the same ten units at once: each unit is computed once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ontology.database import create_engine, upgrade
from ontology.workspace import Workspace
from tests.integration.celery_worker import ROOT, environment
from tests.integration.workers_support import notes, plan_parts, settings_in
from workers.ledger import Ledger
from workers.states import State

PROCESSES = 24


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def test_each_unit_is_computed_once(tmp_path: Path, request: pytest.FixtureRequest, database: str):
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    settings = settings_in(tmp_path, database_url=url)
    engine = create_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    log = tmp_path / "computed"
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.contention_main", str(PROCESSES), str(log)],
        cwd=ROOT,
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"done": 10, "not mine": 10 * PROCESSES - 10}
    assert sorted(map(int, notes(log))) == list(range(10))
    plan = plan_parts(list(range(10)), log)
    with Workspace.open(settings) as workspace:
        ledger = Ledger(workspace.engine)
        job = ledger.job(plan.id)
        assert (job.state, job.units) == (State.DONE, {"done": 11})
        assert [ledger.unit(unit.key).fence for unit in plan.units] == [1] * 11
        assert workspace.artifacts.open_arrays(job.result_sha256)[0]["value"].tolist() == [285]

"""F4: many processes want the same units at once: each unit is computed once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from tests.faults.measured import keep
from tests.integration.celery_worker import ROOT, environment
from tests.integration.workers_support import notes, plan_parts, settings_in

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("processes", "units"),
    [(24, 10), pytest.param(64, 1000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def test_each_unit_is_computed_once(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, processes: int, units: int
):
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    settings = settings_in(tmp_path, database_url=url)
    engine = create_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    log = tmp_path / "computed"
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.contention_main", str(processes), str(units), str(log)],
        cwd=ROOT,
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seconds = time.monotonic() - begin
    assert json.loads(done.stdout) == {"done": units, "not mine": units * (processes - 1)}
    assert sorted(map(int, notes(log))) == list(range(units))
    plan = plan_parts(list(range(units)), log)
    with Workspace.open(settings) as workspace:
        ledger = Ledger(workspace.engine)
        job = ledger.job(plan.id)
        assert (job.state, job.units) == (State.DONE, {"done": units + 1})
        assert [ledger.unit(unit.key).fence for unit in plan.units] == [1] * (units + 1)
        assert workspace.artifacts.open_arrays(job.result_sha256)[0]["value"].tolist() == [
            sum(n * n for n in range(units))
        ]
    figures = {"units": units, "claims": units, "seconds": round(seconds, 1), "seed": 0, "note": database}
    keep("F4", f"{processes} processes, {units} units, {database}", figures)

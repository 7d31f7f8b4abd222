"""A pool that runs one job without sweeping ends also where a process was killed before its last move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.running.pool import Pool
from tests.integration.workers_support import PARTS, registered, settings_in

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with registered(PARTS), Workspace.open(settings_in(tmp_path)) as workspace:
        yield workspace


def run(workspace: Workspace, job: Job) -> Job:
    with Pool(workspace, threads=1) as pool:
        pool.run_job(job.id, lambda: client.status(workspace, job.id).ended)
    return client.status(workspace, job.id)


def test_units_that_are_done_end_the_job(workspace):
    """Killed between the commit of the last unit and the move of its job."""
    job = client.submit(workspace, "parts", {"numbers": [3, 4]}, wait=False)
    assert run(workspace, job).state is State.DONE
    done = client.status(workspace, job.id).result_sha256
    with writing(workspace.engine) as connection:
        connection.execute(
            sa.text("UPDATE job SET state = 'pending', result_sha256 = NULL, finished_at = NULL")
        )
    assert run(workspace, job).result_sha256 == done


def test_a_unit_without_attempts_left_fails_the_job(workspace):
    job = client.submit(workspace, "parts", {"numbers": [3]}, wait=False)
    ledger = Ledger(workspace.engine)
    (key,) = ledger.claimable(job.id, limit=1)
    claim = ledger.claim(key, lease_s=0.0)
    assert claim is not None
    with writing(workspace.engine) as connection:
        connection.execute(sa.update(unit_table).where(unit_table.c.key == key).values(attempts=4))
    found = run(workspace, job)
    assert found.state is State.FAILED
    assert "submit the job again" in (found.error or "")


def test_a_unit_whose_row_is_damaged_fails_the_job(workspace):
    job = client.submit(workspace, "parts", {"numbers": [3]}, wait=False)
    with writing(workspace.engine) as connection:
        connection.execute(sa.update(unit_table).values(spec_json="garbage"))
    found = run(workspace, job)
    assert found.state is State.FAILED
    assert "restore a backup" in (found.error or "")

"""Jobs of a newer installation: left alone by a living worker that goes on with the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.app import make_app
from labelgrove.workers.celery_transport.tasks import sender
from labelgrove.workers.kinds import DEFAULT_QUEUE
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import PARTS, registered, settings_in
from tests.services import wait_until

pytestmark = pytest.mark.services

NEWER = replace(PARTS, version=PARTS.version + 1)


def test_a_living_worker_leaves_a_newer_version_and_does_the_rest(tmp_path: Path, redis_url: str) -> None:
    settings = settings_in(tmp_path, broker_url=redis_url)
    with (
        registered(PARTS),
        Workspace.open(settings) as workspace,
        CeleryWorker(settings, tmp_path / "log") as worker,
        make_app(settings) as app,
    ):
        ledger = Ledger(workspace.engine)
        newer = plan_job(NEWER, {"numbers": [1, 2]})
        ledger.submit(newer)
        sender(app)(newer.units[0].key, DEFAULT_QUEUE)  # as a newer node would send it
        wait_until(lambda: "'unknown'" in worker.text(), deadline_s=30, what="the unit to be met")
        assert client.submit(workspace, "parts", {"numbers": [3]}).state is State.DONE
        found = client.status(workspace, newer.id)
        assert (found.state, found.error) == (State.PENDING, None)
        assert {
            (unit.state, unit.attempts, unit.error) for unit in client.list_units(workspace, newer.id)
        } == {(State.PENDING, 0, None)}
        assert worker.running

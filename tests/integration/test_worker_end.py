"""How a node ends that is told to, where what it talks to is gone already."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import GATED, registered, settings_in
from tests.services import RedisServer, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]


def test_a_broker_that_is_gone_keeps_no_node_from_its_end(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    with RedisServer() as broker, registered(GATED):
        settings = settings_in(tmp_path / "home", broker_url=broker.url)
        with Workspace.open(settings) as workspace, CeleryWorker(settings, tmp_path / "log") as worker:
            job = client.submit(workspace, "gated", {"folder": str(gate), "name": "a"}, wait=False)
            wait_until((gate / "started").exists, deadline_s=60, what="the unit to run")
            broker.kill()
            _wait_for_knocks(4, broker.port)  # events of the node, its heartbeat among them
            (gate / "go").touch()
            assert worker.stop() == 0
            assert client.status(workspace, job.id).state is State.DONE


def _wait_for_knocks(times: int, port: int) -> None:
    """Return once so many attempts were made to reach the server that listened there."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(60)
        for _ in range(times):
            listener.accept()[0].close()

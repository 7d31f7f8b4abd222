"""A database that refuses a worker for a while, in the middle of a unit or at its end, costs no work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.running.execute import Outcome, execute_unit
from tests.faults.changing_database import WAYS, ordinary_user, refusing
from tests.integration.workers_support import GATED, notes, registered, settings_in
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

LEASE_S = 3.0


@pytest.fixture
def user_url(postgres_url: str) -> Iterator[str]:
    with ordinary_user(postgres_url) as url:
        yield url


@pytest.fixture
def workspace(tmp_path: Path, postgres_url: str, user_url: str) -> Iterator[Workspace]:
    engine = create_engine(postgres_url)
    upgrade(engine)
    engine.dispose()
    with registered(GATED), Workspace.open(settings_in(tmp_path, database_url=user_url)) as workspace:
        yield workspace


class Running:
    """A unit that runs in a thread until it is let go."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self._folder = folder
        self.ledger = Ledger(workspace.engine)
        plan = plan_job(GATED, {"folder": str(folder), "name": "x"})
        self.ledger.submit(plan)
        self.key, self.job_id = plan.units[0].key, plan.id
        self.outcomes: list[Outcome] = []
        self._thread = threading.Thread(target=self._run, args=(workspace,))
        self._thread.start()
        wait_until(lambda: bool(notes(folder / "started")), deadline_s=30, what="the unit to start")

    def _run(self, workspace: Workspace) -> None:
        self.outcomes.append(execute_unit(self.key, self.ledger, workspace, lease_s=LEASE_S))

    def let_go(self) -> None:
        (self._folder / "go").touch()

    def check_renewed(self) -> None:
        """Wait until the lease has been renewed for longer than one lease."""
        before = self.ledger.unit(self.key).lease_until
        wait_until(
            lambda: self.ledger.unit(self.key).lease_until > before + LEASE_S,
            deadline_s=30,
            what="renewed leases",
        )

    def check_done(self) -> None:
        self._thread.join(30)
        assert self.outcomes == [Outcome.DONE]
        unit = self.ledger.unit(self.key)
        assert unit is not None
        assert (unit.state, unit.attempts, unit.fence) == (State.DONE, 1, 1)


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if text in record.getMessage()]


@pytest.mark.parametrize("way", WAYS)
def test_a_heartbeat_goes_on_when_the_database_does(way, workspace, tmp_path, postgres_url, user_url, caplog):
    unit = Running(workspace, tmp_path)
    with refusing(WAYS[way], postgres_url, user_url):
        wait_until(
            lambda: bool(said(caplog, "heartbeat failed")), deadline_s=30, what="a heartbeat that failed"
        )
    assert WAYS[way].told in said(caplog, "heartbeat failed")[0]
    unit.check_renewed()
    unit.let_go()
    unit.check_done()
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("way", WAYS)
def test_the_end_of_a_unit_is_told_when_the_database_is_back(
    way, workspace, tmp_path, postgres_url, user_url, caplog
):
    unit = Running(workspace, tmp_path)
    with refusing(WAYS[way], postgres_url, user_url):
        unit.let_go()
        wait_until(
            lambda: bool(said(caplog, "reported again")), deadline_s=30, what="an end that was not told"
        )
    unit.check_done()
    assert unit.ledger.job(unit.job_id).state is State.DONE


def test_a_defect_in_a_heartbeat_costs_no_work_either(workspace, tmp_path, monkeypatch, caplog):
    unit = Running(workspace, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(unit.ledger, "heartbeat", lambda *_, **__: 1 / 0)
        wait_until(
            lambda: bool(said(caplog, "heartbeat failed")), deadline_s=30, what="a heartbeat that failed"
        )
    assert "ZeroDivisionError" in caplog.text
    unit.check_renewed()
    unit.let_go()
    unit.check_done()


def test_a_commit_whose_answer_was_lost_is_known_to_have_been_made(workspace, tmp_path):
    ledger = Ledger(workspace.engine)
    plan = plan_job(GATED, {"folder": str(tmp_path), "name": "x"})
    ledger.submit(plan)
    claim = ledger.claim(plan.units[0].key, lease_s=LEASE_S)
    assert claim is not None
    assert ledger.commit(claim, "a" * 64, 1)
    assert ledger.commit(claim, "a" * 64, 1)
    assert not ledger.commit(claim, "b" * 64, 1)
    assert not ledger.release(claim, "too late", delay_s=0)

"""The end of a pool that serves: a signal finds the thread that only waits, and the sweep is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.ontology.sql.database import reading
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import JobKind, Step, Work
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.pool import Pool
from labelgrove.workers.running.presence import living
from tests.integration.workers_support import GATED, as_given, registered, settings_in
from tests.services import wait_until


class _ToldError(BaseException):
    """What a signal raises."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(settings_in(tmp_path)) as workspace:
        yield workspace


@pytest.fixture
def tell() -> Iterator[None]:
    """Let SIGUSR1 raise `_ToldError` in the main thread, as SIGTERM raises SystemExit in a worker's."""

    def told(number: int, frame: object) -> None:
        raise _ToldError

    before = signal.signal(signal.SIGUSR1, told)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_in_the_middle_of_a_sweep_leaves_the_sweep_its_end(workspace, tell):
    go_on, ended = threading.Event(), threading.Event()

    def swept(_: int) -> None:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        assert go_on.wait(60)
        ended.set()

    pool = Pool(workspace, threads=1, swept=swept)
    with pytest.raises(_ToldError):
        pool.serve()
    assert not pool.give_back(within_s=0.1)  # the sweep still uses the workspace
    go_on.set()
    assert pool.give_back(within_s=60)
    assert ended.is_set()
    assert living(workspace.engine) == []


def test_a_unit_that_comes_at_the_end_counts_as_not_sent(workspace):
    """A sweep comes to it when the pool starts nothing any more."""
    with registered(GATED):
        request = {"folder": str(workspace.settings.home), "name": "x"}
        job = client.submit(workspace, "gated", request, wait=False)
        pool = Pool(workspace, threads=1)
        pool._executor.shutdown()
        sweeps = threading.Thread(target=pool.serve)
        sweeps.start()
        wait_until(lambda: living(workspace.engine) != [], deadline_s=60, what="the first sweep")
        assert pool.give_back(within_s=60)
        sweeps.join()
    (key,) = Ledger(workspace.engine).units(job.id)
    with reading(workspace.engine) as connection:
        row = connection.execute(sa.select(unit_table).where(unit_table.c.key == key)).one()
    assert (row.state, row.sends) == (State.PENDING, 0)


def test_a_unit_that_exits_ends_the_worker_that_runs_it(workspace):
    def leave(work: Work) -> None:
        raise SystemExit(7)

    with registered(JobKind("leaving", 1, as_given, lambda parameters: [Step(parameters)], leave)):
        client.submit(workspace, "leaving", {}, wait=False)
        pool = Pool(workspace, threads=1)
        with pytest.raises(SystemExit, match="7"):
            pool.serve()
        assert pool.give_back(within_s=60)

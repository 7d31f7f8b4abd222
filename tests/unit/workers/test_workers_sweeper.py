"""The thread that sweeps: it outlives what a sweep raises, and ends when it is told to."""

from __future__ import annotations

import logging
import threading

from ontology.errors import ServiceError
from tests.services import wait_until
from workers import sweeper


def test_what_a_sweep_raises_does_not_end_the_next(caplog):
    faults = [ServiceError("the database is away"), RuntimeError("a defect")]
    sweeps = []

    def once() -> None:
        sweeps.append(len(sweeps))
        if faults:
            raise faults.pop(0)

    caplog.set_level(logging.WARNING)
    thread = sweeper.Sweeper(once, period_s=0.01)
    thread.start()
    wait_until(lambda: len(sweeps) >= 4, deadline_s=30, what="sweeps after two that failed")
    thread.stop()
    assert not thread.is_alive()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_a_sweep_that_hangs_is_left_behind(monkeypatch):
    began, go_on = threading.Event(), threading.Event()

    def once() -> None:
        began.set()
        go_on.wait(30)

    monkeypatch.setattr(sweeper, "_STOP_S", 0.05)
    thread = sweeper.Sweeper(once)
    thread.start()
    assert began.wait(30)
    thread.stop()
    assert thread.is_alive()
    go_on.set()
    thread.join(30)
    assert not thread.is_alive()

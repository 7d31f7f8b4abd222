"""The worker beside the service: it is started again, at intervals that grow until it runs well."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labelgrove.service.processes import beside
from labelgrove.service.processes.beside import next_pause, worker_beside
from tests.services import wait_until

STAYS = "import os, pathlib, sys; pathlib.Path(sys.argv[1], str(os.getpid())).touch(); sys.stdin.read()"
FAILS = "import os, pathlib, sys; pathlib.Path(sys.argv[1], str(os.getpid())).touch(); raise SystemExit(3)"


def test_pauses_grow_to_a_minute_and_begin_again_after_a_worker_that_ran_well():
    pauses, pause_s = [], 0.0
    for ran_s in [0.0] * 9 + [59.9, 60.0, 0.0, 3_600.0, 0.0]:
        pause_s = next_pause(pause_s, ran_s)
        pauses.append(pause_s)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 1, 2, 1, 2]


def pids(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir()]


def test_a_worker_that_cannot_start_is_tried_again_and_the_end_waits_for_no_pause(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(beside, "_FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(beside, "_LONGEST_PAUSE_S", 3_600.0)
    with caplog.at_level(logging.WARNING), worker_beside([sys.executable, "-c", FAILS, str(tmp_path)]):
        wait_until(lambda: len(pids(tmp_path)) >= 3, deadline_s=60, what="three starts")
        monkeypatch.setattr(beside, "_FIRST_PAUSE_S", 3_600.0)
        began = time.monotonic()
    assert time.monotonic() - began < beside.ENDING_S
    assert "the worker ended with status 3 and is started again" in caplog.text
    assert not any(map(psutil.pid_exists, pids(tmp_path)))


@pytest.mark.parametrize(("heard", "status"), [(1, 0), (2, 0), (9, 1)])
def test_a_process_whose_parent_is_gone_ends_although_signals_get_lost(heard, status):
    """The handler of a worker raises an exception, and what it interrupts may swallow that."""
    program = (
        "import signal, sys, threading\n"
        "from labelgrove.service.processes import child; child._PATIENCE_S = 0.05\n"
        "lost = []\n"
        "def handle(*_):\n"
        "    lost.append(1)\n"
        f"    if len(lost) >= {heard}: sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, handle)\n"
        "child.end_with_parent(); print('ready', flush=True)\n"
        "while True: threading.Event().wait(60)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        assert one.stdout.readline() == "ready\n"
        one.stdin.close()
        assert one.wait(60) == status


def test_a_killed_worker_is_replaced_by_one_and_none_is_left_running(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "_FIRST_PAUSE_S", 0.05)
    with worker_beside([sys.executable, "-c", STAYS, str(tmp_path)]):
        wait_until(lambda: len(pids(tmp_path)) == 1, deadline_s=60, what="the worker")
        (first,) = pids(tmp_path)
        psutil.Process(first).kill()
        wait_until(lambda: len(pids(tmp_path)) == 2, deadline_s=60, what="another worker")
        (second,) = {*pids(tmp_path)} - {first}
        assert psutil.pid_exists(second)
    assert not psutil.pid_exists(second)

"""Locks on files: one holder at a time, a wait with an end, and no child that keeps the lock."""

import os
import threading
from pathlib import Path

from labelgrove.ontology.store.posix import locked


def test_a_lock_has_one_holder_and_the_wait_for_it_ends(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", 0) as first, locked(tmp_path / "lock", 0.1) as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "lock", 0) as again:
        assert again


def test_whoever_waits_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    held: list[bool] = []

    def wait() -> None:
        with locked(tmp_path / "lock", 30) as mine:
            held.append(mine)

    waiting = threading.Thread(target=wait)
    with locked(tmp_path / "lock", 0):
        waiting.start()
        waiting.join(0.2)
        assert held == []
    waiting.join(30)
    assert held == [True]


def test_a_child_that_was_forked_does_not_keep_the_lock(tmp_path: Path) -> None:
    begin, end = os.pipe()
    with locked(tmp_path / "lock", 0):
        child = os.fork()
        if child == 0:  # lives on with a copy of the open file
            os.close(end)
            os.read(begin, 1)
            os._exit(0)
        os.close(begin)
    try:
        with locked(tmp_path / "lock", 0) as free:
            assert free
    finally:
        os.close(end)
        os.waitpid(child, 0)

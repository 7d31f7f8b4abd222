"""Keep a worker running beside the service, in a process of its own."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence

__all__ = ["ENDING_S", "next_pause", "worker_beside"]

logger = logging.getLogger(__name__)

ENDING_S = 10
"""Seconds that requests have to end after a signal, and then the worker."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0

_SOUND_S = 60.0
"""Seconds after which a worker that ends is not taken for one that cannot start."""

_COMMAND = (sys.executable, "-m", "labelgrove.service.processes.child")


def next_pause(pause_s: float, ran_s: float) -> float:
    """Return the seconds to wait before a worker that ended after `ran_s` seconds is started again.

    Parameters
    ----------
    pause_s : float
        The pause before; 0 for none.
    ran_s : float

    Examples
    --------
    >>> next_pause(0, ran_s=0.1), next_pause(4, ran_s=0.1), next_pause(60, ran_s=90)
    (1.0, 8.0, 1.0)
    """
    if not pause_s or ran_s >= _SOUND_S:
        return _FIRST_PAUSE_S
    return min(2.0 * pause_s, _LONGEST_PAUSE_S)


@contextlib.contextmanager
def worker_beside(command: Sequence[str] = _COMMAND) -> Iterator[None]:
    """Keep a worker running during the ``with`` block; start it again if it ends.

    Parameters
    ----------
    command : sequence of str
        What to run; it ends when its stdin is closed.
    """
    ending = threading.Event()
    child: list[subprocess.Popen[bytes]] = []

    def keep_running() -> None:
        pause_s = 0.0
        while not ending.is_set():
            began = time.monotonic()
            with subprocess.Popen(command, stdin=subprocess.PIPE) as one:
                child[:] = [one]
                if ending.is_set():
                    one.terminate()
                one.wait()
            pause_s = next_pause(pause_s, time.monotonic() - began)
            if not ending.wait(pause_s):
                logger.warning("the worker ended with status %d and is started again", one.returncode)

    keeper = threading.Thread(target=keep_running, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ending.set()
        for one in child:
            one.terminate()
            try:
                one.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                one.kill()
        keeper.join()

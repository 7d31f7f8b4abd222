"""The embedded executor: the same claim, execution and commit as a worker's, in threads of this process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from ontology.workspace import Workspace
from workers.execute import Outcome, execute_unit
from workers.ledger import Ledger
from workers.sweeper import WINDOW_PER_SLOT, dispatch, sweep

__all__ = ["LEASE_S", "Pool"]

LEASE_S = 15.0
"""Seconds that the units of a killed process stay taken; a rerun waits no longer than that for them."""

_SWEEP_S = 1.0
_ATTEMPTS = 4  # somebody waits: what does not pass within a minute is an error to show


class Pool:
    """Threads that run the units of one workspace; what an earlier process left is taken up again.

    Parameters
    ----------
    workspace : Workspace
        Whose ledger and artifacts are worked on; stays open as long as the pool.
    threads : int, optional
        Units at the same time; one for each core, at most 4, by default.
    lease_s : float
        Length of a unit's lease.
    swept : callable, optional
        Told after each sweep how many leases it found ended.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        threads: int | None = None,
        lease_s: float = LEASE_S,
        swept: Callable[[int], None] | None = None,
    ) -> None:
        self._workspace = workspace
        self._ledger = Ledger(workspace.engine, max_attempts=_ATTEMPTS)
        self.slots = threads or min(4, os.cpu_count() or 1)
        self._lease_s = lease_s
        self._swept = swept or (lambda _: None)
        self._executor = ThreadPoolExecutor(self.slots, thread_name_prefix="unit")
        self._running: set[Future[Outcome]] = set()
        self._changed = threading.Event()

    def run_until(self, finished: Callable[[], bool]) -> None:
        """Work until `finished()` is true, asked whenever nothing runs and about once a second.

        An error of the ledger leaves from here; the units stay where they are and can be taken up.
        """
        window = self.slots * WINDOW_PER_SLOT
        while not finished():
            self._swept(sweep(self._workspace, self._ledger, self._start, window=window))
            self._work(window, until=time.monotonic() + _SWEEP_S)

    def _work(self, window: int, *, until: float) -> None:
        """Keep the threads busy until nothing is left to start, or the time of the next sweep."""
        while (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
            self._changed.clear()
            for future in [future for future in self._running if future.done()]:
                self._running.discard(future)
                future.result()
            if len(self._running) <= window // 2:
                dispatch(self._ledger, self._start, window=window)
            if not self._running:
                return

    def close(self) -> None:
        """Wait for the units that run, and start no others."""
        self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, key: str, queue: str) -> None:
        del queue  # one process, one queue
        future = self._executor.submit(
            execute_unit, key, self._ledger, self._workspace, lease_s=self._lease_s
        )
        self._running.add(future)
        future.add_done_callback(lambda _: self._changed.set())

"""The embedded executor: claim, execute and commit units as a worker does, in threads of this process."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Self

from labelgrove.ontology.errors import DEPLOYMENT_FAULTS, GroveError, ServiceError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.running.execute import Outcome, Recall, execute_unit
from labelgrove.workers.running.presence import Presence
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT, dispatch, sweep

__all__ = ["LEASE_S", "Pool"]

LEASE_S = 15.0
"""Seconds for which the units of a killed process stay claimed; the next run of its job waits that long."""

logger = logging.getLogger(__name__)

_SWEEP_S = 1.0
_AWAY_S = 2.0
_ATTEMPTS = 4  # somebody waits: a fault that does not pass within a minute is an error to show


class Pool:
    """Threads that run the units of one workspace, including units that an earlier process left.

    Parameters
    ----------
    workspace : Workspace
        The workspace whose ledger and artifacts are used. It must stay open until the pool is closed.
    threads : int, optional
        Number of units that run at the same time; by default one for each core, at most 4.
    lease_s : float
        Length of the lease of a unit, in seconds.
    swept : callable, optional
        Called after each sweep with the number of ended leases that the sweep found.
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
        self._recall = Recall()
        self._presence = Presence(self.slots)
        self._changed = threading.Event()
        self._ending = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._fault: BaseException | None = None

    def run_until(self, finished: Callable[[], bool]) -> None:
        """Run units, and sweep, until `finished()` is true.

        `finished` is called whenever no unit runs, and about once a second.

        If the ledger does not answer, its error is raised; the units stay recorded and can be run again.
        """
        while not finished():
            self._turn()

    def run_job(self, job_id: str, ended: Callable[[], bool]) -> None:
        """Run only the units of one job until `ended()` is true, without sweeping or publishing results.

        Use this for an answer that somebody waits for. If another process has claimed a unit of the job, this
        method waits for the unit; the units of a killed process become free when their leases end. When no
        unit of the job can run, the states of all jobs are brought up to date, as a sweep does.
        """
        while not ended():
            for key in self._ledger.claimable(job_id, limit=self.slots - len(self._running)):
                self._start(key, publish=False)
            if not self._running:  # a process that was killed may have left the job before its last move
                self._ledger.expire()
                if self._ledger.settle():
                    continue
            self._changed.wait(_SWEEP_S)
            self._changed.clear()
            self._collect()

    def serve(self) -> None:
        """Run units, and sweep, until a signal raises an exception; wait while the database is unreachable.

        Meanwhile this process is listed among the workers that are alive. The calling thread, which receives
        the signals, only waits: a signal that interrupts a database driver would leave a transaction open, or
        get lost. An exception that ends the sweeps, such as `SystemExit` from a unit, is raised here.
        """
        self._idle.clear()
        threading.Thread(target=self._sweep_until_told, name="sweeps", daemon=True).start()
        self._idle.wait()  # not `join`: before Python 3.13 a signal in it makes the thread count as ended
        if self._fault is not None:
            raise self._fault

    def _sweep_until_told(self) -> None:
        try:
            self._sweep_on()
        except BaseException as fault:
            self._fault = fault
        finally:
            self._idle.set()

    def _sweep_on(self) -> None:
        failed = False
        while not self._ending.is_set():
            try:
                self._turn(self._presence)
            except Exception as error:
                if not failed:
                    expected = isinstance(error, (GroveError, OSError))
                    logger.warning(
                        "the sweep failed, and is tried again soon: %s", error, exc_info=not expected
                    )
                failed = True
                self._ending.wait(_AWAY_S)
            else:
                if failed:
                    logger.info("the sweep works again")
                failed = False

    def _turn(self, presence: Presence | None = None) -> None:
        """Sweep once, and run units until the next sweep is due."""
        window = self.slots * WINDOW_PER_SLOT
        self._swept(sweep(self._workspace, self._ledger, self._send, window=window, presence=presence))
        self._work(window, until=time.monotonic() + _SWEEP_S)

    def _work(self, window: int, *, until: float) -> None:
        """Keep the threads busy until nothing is left to start, or until the next sweep is due."""
        while (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
            self._changed.clear()
            if self._ending.is_set():
                return
            self._collect()
            if len(self._running) <= window // 2:
                dispatch(self._ledger, self._send, window=window)
            if not self._running:
                return

    def _collect(self) -> None:
        """Forget the units that ended; raise the error of a unit that could not reach the ledger."""
        for future in [future for future in self._running if future.done()]:
            self._running.discard(future)
            future.result()

    def give_back(self, *, within_s: float) -> bool:
        """Give the running units back to the ledger, start no others, and wait at most `within_s` seconds.

        Return whether all threads have ended by then. A thread that has not ended still uses the workspace.
        """
        until = time.monotonic() + within_s
        self._ending.set()
        self._changed.set()
        self._executor.shutdown(wait=False, cancel_futures=True)
        if given := self._recall.call():
            logger.info("%d units are returned to the ledger", given)
        idle = self._idle.wait(within_s)  # else the sweep could report after this that the worker is alive
        try:
            self._presence.leave(self._workspace.engine)
        except DEPLOYMENT_FAULTS as error:
            logger.warning(
                "this worker still counts as alive for a while, because its end could not be recorded: %s",
                error,
            )
        return idle and not wait(self._running, timeout=max(0.0, until - time.monotonic())).not_done

    def close(self, *, wait: bool = True) -> None:
        """Start no other units, and wait for the running ones."""
        self._executor.shutdown(wait=wait, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        self.close(wait=not stopped)  # Ctrl-C waits for no unit
        if stopped:  # the next process that continues the job need not wait until its lease ends
            self._recall.call()

    def _send(self, key: str, queue: str) -> None:
        del queue  # one process, one queue
        self._start(key)

    def _start(self, key: str, *, publish: bool = True) -> None:
        try:
            future = self._executor.submit(
                execute_unit,
                key,
                self._ledger,
                self._workspace,
                lease_s=self._lease_s,
                recall=self._recall,
                publish=publish,
            )
        except RuntimeError as error:  # the pool was shut down
            raise ServiceError("this worker is stopping") from error
        self._running.add(future)
        future.add_done_callback(lambda _: self._changed.set())

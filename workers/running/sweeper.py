"""Sweep: look after units of lost workers, units to be sent, jobs that have ended, and due schedules.

A sweep is safe to run anywhere, any number of times and by any number of processes at once.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from contextlib import nullcontext

from labelgrove.ontology.errors import GroveError, ServiceError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import known_kinds
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.running.presence import Presence
from labelgrove.workers.schedules.schedule import Timetable, fire_due
from labelgrove.workers.showing import publish_results, reshow_once
from labelgrove.workers.upkeep.retention import tidy

__all__ = ["WINDOW_PER_SLOT", "Send", "Sweeper", "dispatch", "sweep"]

logger = logging.getLogger(__name__)

WINDOW_PER_SLOT = 4
"""Messages that may wait unclaimed, for each unit that can run at the same time."""

_STOP_S = 15.0  # with the 20 s for running units, within the 45 s before a container is killed

Send = Callable[[str, str], None]
"""Sends a unit's key to a queue; raises `ServiceError` on failure."""


def dispatch(ledger: Ledger, send: Send, *, window: int) -> int:
    """Call `send` for each unit that is due to be sent to a worker; return how many units were sent.

    At most `window` units may be sent but not yet claimed. A unit whose kind or version is unknown here is
    left to a process that knows it. If `send` fails, the remaining units stay in the ledger and are sent
    later. That is not an error, because the rows are safe.
    """
    queues = {(kind.name, kind.version): kind.queue for kind in known_kinds()}
    due = ledger.due(window, kinds=list(queues))
    for i, (key, name, version) in enumerate(due):
        try:
            send(key, queues[name, version])
        except ServiceError as error:
            logger.warning("%d units stay in the ledger to be sent later: %s", len(due) - i, error)
            ledger.unsent([later for later, _, _ in due[i:]])
            return i
    return len(due)


def sweep(
    workspace: Workspace, ledger: Ledger, send: Send, *, window: int, presence: Presence | None = None
) -> int:
    """Free the units of lost workers, finish jobs, run due schedules, send due units and tidy up.

    At most `window` units may be sent but not yet claimed; with 0, none is sent.
    With `presence`, report that the sweeping worker is alive. If the worker could not report for a time, do
    not free the units whose lease ended during that time. Return how many leases had ended.
    """
    with nullcontext(0.0) if presence is None else presence.reaching(workspace.engine) as away_s:
        expired = ledger.expire(away_s=away_s)
    if expired:
        logger.warning("%d units of lost workers are free again", expired)
    ledger.settle()
    fire_due(workspace, ledger, Timetable(workspace.engine, clock=ledger.clock))
    dispatch(ledger, send, window=window)
    publish_results(workspace, ledger)  # after the sending, because a silent graph takes its time
    reshow_once(workspace, ledger)
    tidy(workspace, clock=ledger.clock)
    return expired


class Sweeper(threading.Thread):
    """Calls `once` every `period_s` seconds, a little more or less at random, until stopped.

    Parameters
    ----------
    once : callable
        One sweep. Its exceptions are logged, and the next sweep tries again.
    period_s : float, default=5.0
        Seconds between the end of a sweep and the beginning of the next.
    leave : callable, optional
        Called once, after the last sweep.
    """

    def __init__(
        self,
        once: Callable[[], None],
        *,
        period_s: float = 5.0,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="sweeper", daemon=True)
        self._once = once
        self._leave = leave
        self._period_s = period_s
        self._stopped = threading.Event()

    def run(self) -> None:
        """Sweep at once, then periodically."""
        self._try("sweep", self._once)
        while not self._stopped.wait(self._period_s * random.uniform(0.75, 1.25)):
            self._try("sweep", self._once)
        self._try("last sweep", self._leave)

    def _try(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except GroveError as error:
            logger.warning("%s: %s", what, error)
        except Exception:
            logger.exception("%s", what)

    def stop(self, *, within_s: float = _STOP_S) -> None:
        """End the thread after the current sweep; abandon a sweep that takes longer than `within_s`."""
        self._stopped.set()
        self.join(within_s)

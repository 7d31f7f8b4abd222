"""The only Celery task: it executes the unit with a given 64-digit key. All else is in the ledger."""

from __future__ import annotations

import logging
import os
from typing import Any

import celery
from celery.exceptions import SoftTimeLimitExceeded
from kombu.exceptions import KombuError

from labelgrove.ontology.errors import DEPLOYMENT_FAULTS, InputError, ServiceError
from labelgrove.ontology.settings import Settings, masked
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.celery_transport.transport import KEY, TASK
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.running.execute import execute_unit
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT, Send, dispatch

__all__ = ["UnitTask", "sender"]

logger = logging.getLogger(__name__)


class UnitTask(celery.Task):  # type: ignore[misc]
    """Runs one unit, then sends the units that have become due.

    A process opens the workspace when it runs its first unit. Therefore it uses no connection that was opened
    before the process was forked.
    """

    name = TASK
    Strategy = "labelgrove.workers.celery_transport.transport:strategy"
    settings: Settings
    lease_s: float
    sweep_s: float
    window: int = WINDOW_PER_SLOT * (os.cpu_count() or 1)  # a worker sets it from its own slots

    _opened: tuple[Workspace, Ledger] | None = None
    _opened_by: int = 0

    def run(self, key: str) -> str:
        """Execute the unit with this key; do nothing if the ledger has no such unit."""
        check_key(key)
        try:
            workspace, ledger = self._open()
            outcome = execute_unit(
                key, ledger, workspace, lease_s=self.lease_s, out_of_time=SoftTimeLimitExceeded
            )
            dispatch(ledger, sender(self.app), window=self.window)
        except DEPLOYMENT_FAULTS as error:  # of the ledger, which sends the unit again when it is back
            logger.warning("unit %s stays in the ledger and is sent again later: %s", key, error)
            return "left to the ledger"
        return outcome.value

    def apply_async(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Send a message with one key; raise `InputError` for other content before it reaches the broker."""
        if kwargs or not isinstance(args, tuple) or len(args) != 1:
            raise InputError(f"{TASK}: got {args!r:.80} and {kwargs!r:.80}; give one key and nothing else")
        check_key(args[0])
        own = {"time_limit": None, "soft_time_limit": None}  # use the limits of the worker that gets it
        return super().apply_async(args, **own, **options)

    def _open(self) -> tuple[Workspace, Ledger]:
        if self._opened is None or self._opened_by != os.getpid():
            workspace = Workspace.open(self.settings)
            self._opened, self._opened_by = (workspace, Ledger(workspace.engine)), os.getpid()
        return self._opened


def check_key(key: Any) -> None:
    """Raise `InputError` unless `key` is 64 lower-case hexadecimal digits; this limits a message's size."""
    if not (isinstance(key, str) and KEY.fullmatch(key)):
        raise InputError(f"{TASK}: {key!r:.80} is not a unit key; a key is 64 lower-case hexadecimal digits")


def sender(app: celery.Celery) -> Send:
    """Return a function that sends a key to a queue of this app.

    If the broker is unreachable, the function raises `ServiceError` at once.
    """
    task = app.tasks[TASK]

    def send(key: str, queue: str) -> None:
        try:
            task.apply_async((key,), queue=queue)
        except KombuError as error:
            broker = masked(str(task.settings.broker_url))
            reason = f"broker {broker}: {masked(str(error))}"
            raise ServiceError(
                f"{reason}; check that Redis runs; grove doctor shows what is wrong"
            ) from error

    return send

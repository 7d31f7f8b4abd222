"""The one Celery task: a 64-digit key in, the unit of that key executed. Everything else is in the ledger."""

from __future__ import annotations

import os
import re
from typing import Any

import celery
from celery.exceptions import SoftTimeLimitExceeded
from kombu.exceptions import KombuError

from ontology.errors import InputError, ServiceError
from ontology.settings import Settings, masked
from ontology.workspace import Workspace
from workers.execute import execute_unit
from workers.ledger import Ledger
from workers.sweeper import WINDOW_PER_SLOT, Send, dispatch

__all__ = ["TASK", "UnitTask", "sender"]

TASK = "labelgrove.run_unit"

_KEY = re.compile(r"[0-9a-f]{64}")


class UnitTask(celery.Task):  # type: ignore[misc]
    """Runs one unit, then sends what has become due.

    The workspace is opened by the first unit of a process, so that no connection is older than the fork that
    made the process.
    """

    name = TASK
    settings: Settings
    lease_s: float
    sweep_s: float

    _workspace: Workspace | None = None
    _opened_by: int = 0

    def run(self, key: str) -> str:
        """Execute the unit with this key; a key that no row has does nothing."""
        check_key(key)
        workspace = self._opened()
        ledger = Ledger(workspace.engine)
        outcome = execute_unit(
            key, ledger, workspace, lease_s=self.lease_s, out_of_time=SoftTimeLimitExceeded
        )
        window = WINDOW_PER_SLOT * (os.cpu_count() or 1)
        dispatch(ledger, sender(self.app), window=window)
        return outcome.value

    def apply_async(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Send one key and nothing else; anything else raises `InputError` before it reaches the broker."""
        if kwargs or not isinstance(args, tuple) or len(args) != 1:
            raise InputError(f"{TASK}: a message carries one key and nothing else")
        check_key(args[0])
        own = {"time_limit": None, "soft_time_limit": None}  # those of the worker that gets it
        return super().apply_async(args, **own, **options)

    def _opened(self) -> Workspace:
        if self._workspace is None or self._opened_by != os.getpid():
            self._workspace, self._opened_by = Workspace.open(self.settings), os.getpid()
        return self._workspace


def check_key(key: Any) -> None:
    """Refuse anything but 64 lower-case hexadecimal digits, which also bounds the length of a message."""
    if not (isinstance(key, str) and _KEY.fullmatch(key)):
        raise InputError(f"{TASK}: {key!r:.80} is no unit key; a key is 64 lower-case hexadecimal digits")


def sender(app: celery.Celery) -> Send:
    """Return the function that sends a key to a queue of this app; it does not wait for an absent broker."""
    task = app.tasks[TASK]

    def send(key: str, queue: str) -> None:
        try:
            task.apply_async((key,), queue=queue)
        except KombuError as error:
            broker = masked(str(task.settings.broker_url))
            raise ServiceError(f"broker {broker}: {masked(str(error))}; check that Redis runs") from error

    return send

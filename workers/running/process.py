"""Begin and end a process that runs units or sweeps: wait for its database, and clean up at SIGTERM."""

from __future__ import annotations

import gc
import logging
import signal
import time
from collections.abc import Callable
from typing import NoReturn

from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["ENDING_S", "await_database", "end_on_sigterm", "exempt_imports"]

logger = logging.getLogger(__name__)

ENDING_S = 2.0
"""Seconds that threads have to end once their process was told to; then it ends without them."""

_DATABASE_S = 60.0
"""Seconds for which a starting worker waits for its database, because servers may start at the same time."""


def await_database(settings: Settings, *, before_waiting: Callable[[], None] = lambda: None) -> None:
    """Check that the database can be used; wait while it is unreachable.

    The connection that the check opened is closed.

    Parameters
    ----------
    settings : Settings
    before_waiting : callable, optional
        Called once, before the first wait.

    Raises
    ------
    ServiceError
        If the database is still unreachable after `_DATABASE_S` seconds. Any other error is raised at once,
        because waiting would not remove its cause.
    """
    until, waiting = time.monotonic() + _DATABASE_S, False
    while True:
        try:
            with Workspace.open(settings) as workspace:
                workspace.engine.dispose()
                return
        except ServiceError as error:
            if time.monotonic() >= until:
                raise
            if not waiting:
                before_waiting()
                logger.warning("waiting at most %.0f s for the database: %s", _DATABASE_S, error)
            waiting = True
        time.sleep(min(1.0, _DATABASE_S / 10))


def exempt_imports() -> None:
    """Exempt what was imported so far from garbage collection.

    It stays until the process ends, and searching it would take time, at the exit too.
    """
    gc.freeze()


def end_on_sigterm() -> None:
    """Let SIGTERM raise `SystemExit`, so that `with` blocks clean up before the process ends."""
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> NoReturn:
    raise SystemExit(0)

"""Keep a lease: renew it three times within its duration, and more often while renewals fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from labelgrove.ontology.errors import GroveError

__all__ = ["keep_renewed"]

_log = logging.getLogger(__name__)


def keep_renewed(renew: Callable[[], bool], lease_s: float, ended: threading.Event, warning: str) -> None:
    """Renew a lease until the lease is lost, or until the work that it protects has ended.

    This is the main function of a thread.

    Parameters
    ----------
    renew : callable
        Renews the lease; returns False if it is lost.
    lease_s : float
        Duration of the lease in seconds. The lease is renewed every `lease_s` / 3 seconds; after an attempt
        that raised an error, every `lease_s` / 30 seconds. Therefore the lease survives even if the database
        is away for almost `lease_s` seconds.
    ended : Event
        Set when the work has ended.
    warning : str
        Text that is logged before the error; of several failures in a row, only the first is logged.

    Notes
    -----
    Errors do not end the thread, because their cause may pass before the lease ends. If the lease does end,
    the result stays right: the commits of this worker are refused, because their fence is old.
    """
    failed = False
    while not ended.wait(lease_s / (30 if failed else 3)):
        try:
            if not renew():
                return
        except Exception as error:
            if not failed:
                _log.warning("%s: %s", warning, error, exc_info=not isinstance(error, GroveError))
            failed = True
        else:
            failed = False

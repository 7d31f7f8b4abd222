"""Keep a lease: renew it three times in its duration, and more often while renewals fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from labelgrove.ontology.errors import GroveError

__all__ = ["keep_renewed"]

_log = logging.getLogger(__name__)


def keep_renewed(renew: Callable[[], bool], lease_s: float, ended: threading.Event, warning: str) -> None:
    """Renew a lease until its work has ended or the lease is lost; runs as the body of a thread.

    Parameters
    ----------
    renew : callable
        Renews the lease; returns whether it is still held.
    lease_s : float
        Duration of the lease in seconds; it is renewed three times in this time. A renewal that raises is
        repeated ten times as often, so that a database that is away for almost a whole lease does no harm.
    ended : Event
        Set when the work has ended.
    warning : str
        Text that the log gives before the error, at the first failure of several in a row.

    Notes
    -----
    No error ends the thread: the fault may pass before the lease ends, and a fence keeps the result right.
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

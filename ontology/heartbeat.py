"""Keeping a lease: renewed three times in its span, and more often while that fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from labelgrove.ontology.errors import GroveError

__all__ = ["keep_renewed"]

_log = logging.getLogger(__name__)


def keep_renewed(renew: Callable[[], bool], lease_s: float, ended: threading.Event, warning: str) -> None:
    """Renew a lease until its work has ended or the lease is lost; the body of a thread.

    Parameters
    ----------
    renew : callable
        Renews it; returns whether it is still held.
    lease_s : float
        Length of the lease in seconds. It is renewed three times in it. A renewal that raises is tried again
        ten times as often: a database that is away for nearly a whole lease costs nothing.
    ended : Event
        Set when the work has ended.
    warning : str
        What the log says of the first renewal of a row that fails, before the error.

    Notes
    -----
    No error ends it: it may pass before the lease does, and a fence keeps the result right.
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

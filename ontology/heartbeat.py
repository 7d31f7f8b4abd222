"""Keeping a lease alive from a thread: three beats a lease, and ten times as often after one that failed."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["beat"]


def beat(
    renew: Callable[[], bool], stopped: threading.Event, lease_s: float, missed: Callable[[Exception], None]
) -> None:
    """Renew a lease until `stopped` is set or the lease is over.

    A ledger or database that is away for nearly a whole lease costs its holder nothing. A failure may pass
    before the lease ends, and the fence decides what counts, so none ends the beats.

    Parameters
    ----------
    renew : callable
        Renews the lease; returns False when there is none to renew any more.
    stopped : threading.Event
        Set by whoever gives up the lease.
    lease_s : float
        Length of the lease in seconds.
    missed : callable
        Is told the error of the first beat of each row of beats that failed.
    """
    failed = False
    while not stopped.wait(lease_s / (30 if failed else 3)):
        try:
            if not renew():
                return
        except Exception as error:
            if not failed:
                missed(error)
            failed = True
        else:
            failed = False

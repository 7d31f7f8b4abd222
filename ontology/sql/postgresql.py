"""Connect to PostgreSQL without ever waiting forever.

Some faults give no signal: a network that drops packets, a load balancer whose server is gone, a process
stopped in the middle of a transaction. Therefore there are time limits on each side (`LIMITS`). The operating
system tests connections that are idle or whose data are not acknowledged. The server ends transactions that
do nothing, which frees their locks. The client closes the connection if no part of an answer arrives within
`ANSWER_S` seconds.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from labelgrove.ontology.errors import MissingExtraError

try:
    import psycopg
except ImportError as error:
    raise MissingExtraError.of("psycopg", "service", "PostgreSQL") from error

__all__ = ["ANSWER_S", "LIMITS", "Connection", "is_alive", "unhurried"]

ANSWER_S = 30.0
"""Seconds without a byte of an answer after which a connection counts as broken."""

_PROBES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_UNACKNOWLEDGED_MS = 20_000
_IDLE_IN_TRANSACTION_MS = 20_000  # no transaction here waits for anything but the database

LIMITS: Final[Mapping[str, Any]] = {
    "connect_timeout": 10,
    "client_encoding": "utf8",  # the database's encoding may lack characters
    **_PROBES,
    "tcp_user_timeout": _UNACKNOWLEDGED_MS,
    "options": " ".join(
        [
            *(f"-c tcp_{name}={value}" for name, value in _PROBES.items()),
            f"-c tcp_user_timeout={_UNACKNOWLEDGED_MS}",
            f"-c idle_in_transaction_session_timeout={_IDLE_IN_TRANSACTION_MS}",
        ]
    ),
}
"""Parameters of every connection; values in the database's URL take precedence."""


class Connection(psycopg.Connection[Any]):
    """A connection that closes and raises `OperationalError` if the server is silent for too long.

    Attributes
    ----------
    answer_s : float
        The connection is closed if the server sends no byte for this many seconds; NaN means `ANSWER_S`.
    heard_at : float
        Time of the last answer on the monotonic clock, in seconds.
    """

    answer_s: float = math.nan
    heard_at: float = -math.inf

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Run a generator of psycopg within the time limit.

        psycopg calls this method whenever it waits for the server; `gen` yields the events to wait for.
        """
        limit = ANSWER_S if math.isnan(self.answer_s) else self.answer_s
        return super().wait(self._within(limit, gen), *args, **options)

    def _within(self, seconds: float, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Forward a generator of psycopg: yield what it yields, and send it what comes back.

        If the server is silent for `seconds`, close the connection and raise `OperationalError`.
        """
        try:
            awaited = next(gen)
            silent_since = time.monotonic()
            while True:
                ready = yield awaited
                if ready:
                    silent_since = self.heard_at = time.monotonic()
                elif time.monotonic() - silent_since > seconds:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"connection lost: the server was silent for {seconds:g} s"
                    )
                awaited = gen.send(ready)
        except StopIteration as end:
            return end.value


def is_alive(connection: Connection, *, rested_s: float) -> bool:
    """Return whether an unused connection can be used again; close it if it cannot.

    The server is contacted, which takes one round trip, in two cases: its last answer is more than `rested_s`
    seconds old, or data have arrived without a request. A server that shuts down announces it by such data.
    """
    try:
        unasked = select.poll()
        unasked.register(connection.fileno(), select.POLLIN)
        if time.monotonic() - connection.heard_at <= rested_s and not unasked.poll(0):
            return True
        connection.execute("")
        connection.rollback()
    except psycopg.Error:
        connection.close()
        return False
    return True


@contextmanager
def unhurried(connection: Any) -> Iterator[None]:
    """Remove the time limit of a `Connection` while a block runs, for example for a migration."""
    before, connection.answer_s = connection.answer_s, math.inf
    try:
        yield
    finally:
        connection.answer_s = before

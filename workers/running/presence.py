"""Report in the database which workers are alive.

Each worker reports regularly, and removes its name when it ends. A killed worker removes nothing; it counts
as alive until `LIVING_S` seconds after its last report. Units do not depend on this, because their leases
say who works on them. A worker also learns from its reports for how long the database was unreachable.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from labelgrove.ontology.sql.database import now, reading, upsert, writing
from labelgrove.workers.ledger.schema import worker_table

__all__ = ["LIVING_S", "Presence", "Worker", "living"]

LIVING_S = 60.0
"""Seconds without a report after which a worker no longer counts as alive."""

_EVERY_S = 10.0
_FORGOTTEN_S = 86_400.0

_worker = worker_table.c


@dataclass(frozen=True)
class Worker:
    """A worker that is alive.

    Attributes
    ----------
    name : str
        The name of its host, and the id of its main process there.
    slots : int
        Number of units that it runs at the same time; 0 for a process that only sweeps.
    silent_s : float
        Seconds since its last report, by the clock of the database.
    """

    name: str
    slots: int
    silent_s: float


class Presence:
    """Reports to the database that this process is alive.

    Parameters
    ----------
    slots : int
        Number of units that this process runs at the same time; 0 if it only sweeps.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self.name = f"{socket.gethostname()}/{os.getpid()}"
        self._told_at: float | None = None
        self._reached_at: float | None = None
        self._away = False

    @contextmanager
    def reaching(self, engine: sa.Engine) -> Iterator[float]:
        """Report that this worker is alive, then run the caller's `with` block, which writes to the database.

        Yields
        ------
        float
            Seconds for which the database has been unreachable. If the previous block failed, this is the
            time since a block last succeeded; otherwise it is 0.
        """
        away_s = time.monotonic() - self._reached_at if self._away and self._reached_at is not None else 0.0
        self._away = True
        self.tell(engine)
        yield away_s
        self._away, self._reached_at = False, time.monotonic()

    def tell(self, engine: sa.Engine) -> None:
        """Report that this worker is alive, unless it did so a moment ago."""
        if self._told_at is not None and time.monotonic() - self._told_at < _EVERY_S:
            return
        values = {"slots": self._slots, "seen_at": now()}
        with writing(engine) as connection:
            connection.execute(
                upsert(connection, worker_table)
                .values(name=self.name, **values)
                .on_conflict_do_update(index_elements=["name"], set_=values)
            )
            connection.execute(sa.delete(worker_table).where(_worker.seen_at < now() - _FORGOTTEN_S))
        self._told_at = time.monotonic()

    def leave(self, engine: sa.Engine) -> None:
        """Remove the name of this worker, because it ends."""
        with writing(engine) as connection:
            connection.execute(sa.delete(worker_table).where(_worker.name == self.name))


def living(engine: sa.Engine) -> list[Worker]:
    """Return the workers that reported in the last `LIVING_S` seconds, ordered by name."""
    silent = now() - _worker.seen_at
    query = sa.select(_worker.name, _worker.slots, silent).where(silent <= LIVING_S).order_by(_worker.name)
    with reading(engine) as connection:
        return [Worker(*row) for row in connection.execute(query)]

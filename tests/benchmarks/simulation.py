"""A ledger at work without workers: a clock that is told the time, and a broker that loses messages.

Everything that SQL does is done; nothing is computed, stored or waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import sqlalchemy as sa

from labelgrove.workers.kinds import JobKind, Product, Step, Work
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT
from tests.integration.workers_support import as_given

__all__ = ["NOTHING", "Clock", "Window", "plan_nothing"]

LEASE_S = 60.0


def _steps(parameters: Mapping[str, Any]) -> list[Step]:
    return [*(Step({"number": i}) for i in range(parameters["units"])), Step({"last": True}, stage=1)]


def _nothing(work: Work) -> Product:
    return Product({"value": np.array([work.parameters.get("number", -1)])}, {"format": "nothing"})


NOTHING = JobKind("nothing", 1, as_given, _steps, _nothing)
"""Units that compute nothing, each with a result of its own, and one after them all."""


def plan_nothing(n_units: int) -> PlannedJob:
    """Return a job of `n_units` units and a last one."""
    return plan_job(NOTHING, {"units": n_units})


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Window:
    """One job from its first message to its last commit, over a broker that loses some of them.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        With the ledger's tables, empty.
    n_units, slots : int
        Size of the job, and how many units run at a time; each takes a second of the clock.
    loss : float
        Share of the messages that nobody ever receives.
    seed : int
        Of the choice of messages, and of the pauses before they are sent again.
    """

    engine: sa.Engine
    n_units: int
    slots: int = 2
    loss: float = 0.1
    seed: int = 0
    most_out: int = 0
    sent: list[str] = field(default_factory=list)
    lost: int = 0

    def run(self) -> None:
        """Work until the job is done; the laws of the window are checked on the way."""
        clock, chance, plan = Clock(), Random(self.seed), plan_nothing(self.n_units)
        ledger = Ledger(self.engine, clock=clock, jitter=Random(self.seed))
        ledger.submit(plan)
        window, queue, first_sent = WINDOW_PER_SLOT * self.slots, [], []
        seen: set[str] = set()
        n_done = 0
        while n_done < len(plan.units):
            due = [key for key, _, _ in ledger.due(window)]
            self.sent += due
            first_sent += [key for key in due if key not in seen]
            seen.update(due)
            arriving = [key for key in due if chance.random() >= self.loss]
            self.lost += len(due) - len(arriving)
            queue += arriving
            self.most_out = max(self.most_out, self._out(clock.time))
            clock.time += 1.0
            for key in queue[: self.slots]:
                claim = ledger.claim(key, lease_s=LEASE_S)
                if claim is not None:  # a message that was sent twice is no second unit
                    assert ledger.commit(claim, key[::-1], 8)
                    ledger.settle(key)
                    n_done += 1
            del queue[: self.slots]
        assert ledger.job(plan.id).state is State.DONE
        assert self.most_out <= window, f"{self.most_out} messages out, {window} allowed"
        assert first_sent == [unit.key for unit in sorted(plan.units, key=lambda u: (u.stage, u.key))], (
            "not sent in the order of the backlog"
        )

    def _out(self, instant: float) -> int:
        column = unit_table.c
        waiting = sa.and_(column.state == State.PENDING, column.sends > 0, column.next_send_at > instant)
        with self.engine.connect() as connection:
            return connection.execute(sa.select(sa.func.count()).where(waiting)).scalar_one()

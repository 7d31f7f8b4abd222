"""A Celery application for fault tests: `celery -A` this module, in the home of a `Deployment`.

It works like `workers.app`, but under the `Conditions` of its home: short leases, a safeguard taken out, or a
stop between publication and commit. It records which workers were told that their commit won.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
from pathlib import Path
from typing import Any

import celery
import sqlalchemy as sa

import labelgrove.workers.app
import labelgrove.workers.celery_transport.tasks
from labelgrove.ontology.settings import Settings
from labelgrove.workers.kinds import find_kind, register
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Beat, Claim
from tests.faults.mutants import WithoutFence, WithoutLease
from tests.faults.trial_kind import KINDS, Conditions
from tests.integration.workers_support import note

COMMITS, HOLD, HELD = "commits", "hold", "held"

_MUTANTS: dict[str, type[Ledger]] = {"fence": WithoutFence, "lease": WithoutLease}


class WatchedLedger(Ledger):
    """A ledger that records each commit and whether it won.

    If there is a file `hold`, one worker stops before its commit. It stops outside of any transaction: a
    process that stops inside one, for instance while its other thread renews the lease, leaves SQLite locked
    for all.
    """

    home: Path
    _renewing = threading.Lock()

    def __init__(self, engine: sa.Engine, **options: Any) -> None:
        super().__init__(engine, **{"max_attempts": Conditions.of(self.home).max_attempts, **options})

    def heartbeat(self, claim: Claim, *, lease_s: float) -> Beat:
        with self._renewing:
            return super().heartbeat(claim, lease_s=lease_s)

    def commit(self, claim: Claim, sha256: str, size: int) -> bool:
        with contextlib.suppress(FileNotFoundError):
            (self.home / HOLD).unlink()  # only one of all workers succeeds
            note(self.home / HELD, f"{os.getpid()} {claim.key} {claim.fence}")
            with self._renewing:
                os.kill(os.getpid(), signal.SIGSTOP)
        won = super().commit(claim, sha256, size)
        note(self.home / COMMITS, f"{claim.key} {claim.fence} {'won' if won else 'lost'}")
        return won


def faulty_app(settings: Settings) -> celery.Celery:
    """Return the application of the deployment in the home of `settings`."""
    conditions = Conditions.of(settings.home)
    for kind in KINDS:
        if find_kind(kind.name) is None:
            register(kind)
    mutant = _MUTANTS.get(conditions.mutant, Ledger)
    watched = type("Watched", (WatchedLedger, mutant), {"home": settings.home})
    labelgrove.workers.celery_transport.tasks.Ledger = labelgrove.workers.app.Ledger = watched  # type: ignore[misc, assignment]
    if conditions.mutant == "sweeper":
        labelgrove.workers.app.sweep = lambda *_, **__: None
    app = labelgrove.workers.app.make_app(settings, lease_s=conditions.lease_s, sweep_s=conditions.sweep_s)
    task = app.tasks[labelgrove.workers.celery_transport.tasks.TASK]
    task.soft_time_limit, task.time_limit = conditions.time_limit_s, conditions.time_limit_s + 1
    app.conf.broker_transport_options |= {
        "visibility_timeout": conditions.visibility_s,
        "unacked_restore_interval": min(10, conditions.visibility_s),
    }
    return app


@functools.cache
def _default_app() -> celery.Celery:
    return faulty_app(Settings.from_env())


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    return _default_app()

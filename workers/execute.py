"""One unit of work: claim, compute, publish, commit. Knows neither Celery nor thread pools.

The order is the promise: the artifact is whole in the store before the row says so, and the row is written
only by whoever still holds the fence. A heartbeat in its own thread keeps the lease alive and learns when
nobody wants the result any more.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from adapter.cache import through_cache
from ontology.database import reading
from ontology.errors import ConflictError, GroveError, LeaseLostError
from workers.kinds import JobKind, Work, find_kind
from workers.ledger import RESEND_S, Ledger
from workers.logs import about
from workers.records import holders
from workers.showing import publish_results
from workers.states import Beat, Claim

if TYPE_CHECKING:
    from ontology.workspace import Workspace

__all__ = ["Outcome", "UnwantedError", "execute_unit", "finish_jobs"]

logger = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What became of one call of `execute_unit`."""

    DONE = "done"
    NOT_MINE = "not mine"
    """Somebody else has it, it is finished, or its turn has not come."""
    UNKNOWN = "unknown"
    """No such unit, or a kind or version that this process does not know: left for a worker that does."""
    RELEASED = "released"
    """A fault of the moment: pending again, to be sent later."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    """The lease went to another worker; its result counts."""


class UnwantedError(ConflictError):
    """Work that every job has let go of: stop, publish nothing."""


def execute_unit(
    key: str,
    ledger: Ledger,
    workspace: Workspace,
    *,
    lease_s: float = 60.0,
    out_of_time: type[Exception] | tuple[()] = (),
) -> Outcome:
    """Compute one unit, if it is there to be claimed, and settle the jobs that waited for it.

    Parameters
    ----------
    key : str
        Key of the unit; what to compute comes from its row, never from a message.
    ledger, workspace
        Where units are recorded and artifacts kept.
    lease_s : float
        Length of the lease in seconds, renewed three times as often.
    out_of_time : type of exception, optional
        What the carrier raises inside a unit that took too long: the unit is given back.

    Returns
    -------
    outcome : Outcome
        What happened; every outcome but DONE leaves the store and the row consistent without further ado.

    Raises
    ------
    ServiceError
        If the ledger does not answer: the lease ends by itself and the unit is sent again.
    """
    unit = ledger.unit(key)
    kind = None if unit is None else find_kind(unit.kind, unit.version)
    if kind is None:
        return Outcome.UNKNOWN
    jobs = _jobs(workspace, key)
    claim = ledger.claim(key, lease_s=lease_s)
    if claim is None:
        return Outcome.NOT_MINE
    with about(unit=key, kind=kind.name, attempt=claim.attempts, **jobs):
        began = time.monotonic()
        with _Heartbeat(ledger, claim, lease_s) as heartbeat:
            outcome = _run(kind, claim, ledger, workspace, heartbeat, out_of_time)
        logger.info(
            "unit %s of kind %s, attempt %d: %s",
            *(key, kind.name, claim.attempts, outcome),
            extra={"outcome": outcome.value, "seconds": time.monotonic() - began},
        )
    if outcome in (Outcome.DONE, Outcome.FAILED):
        finish_jobs(ledger, workspace, key)
    return outcome


def finish_jobs(ledger: Ledger, workspace: Workspace, key: str | None = None) -> None:
    """Settle the jobs of one unit, or all of them, and publish what is done; repeatable."""
    settled = ledger.settle(key)
    if key is not None and not settled:
        return
    publish_results(workspace, ledger, None if key is None else settled)


def _jobs(workspace: Workspace, key: str) -> dict[str, list[str]]:
    """Return the jobs that hold a unit, as a field of the log; where nothing is logged, nothing is asked."""
    if not logger.isEnabledFor(logging.INFO):
        return {}
    with reading(workspace.engine) as connection:
        return {"jobs": holders(connection, key)}


def _run(
    kind: JobKind,
    claim: Claim,
    ledger: Ledger,
    workspace: Workspace,
    heartbeat: _Heartbeat,
    out_of_time: type[Exception] | tuple[()],
) -> Outcome:
    began = time.monotonic()
    artifacts = through_cache(workspace.artifacts, workspace.settings)
    try:
        product = kind.execute(Work(claim.parameters, claim.inputs, artifacts, heartbeat.check, workspace))
        heartbeat.check()
        digest = artifacts.put_arrays(product.arrays, product.metadata)
        size = artifacts.size(digest)
    except LeaseLostError:
        return Outcome.LOST
    except UnwantedError:
        return Outcome.CANCELLED if ledger.abandon(claim) else Outcome.LOST
    except out_of_time:
        reason = f"stopped by the time limit of a unit after {time.monotonic() - began:.0f} s; "
        reason += "a less busy worker may be fast enough, or ask for more and smaller units"
        return _given_back(claim, ledger, reason)
    except OSError as error:  # TransientError, an unreachable service, a full disk: it may pass
        return _given_back(claim, ledger, str(error))
    except GroveError as error:
        return Outcome.FAILED if ledger.fail(claim, str(error)) else Outcome.LOST
    except (
        Exception
    ) as error:  # a defect of the kind: recorded with its job, and in the log with the traceback
        logger.exception("unit %s of kind %s", claim.key, kind.name)
        return Outcome.FAILED if ledger.fail(claim, f"{type(error).__name__}: {error}") else Outcome.LOST
    return Outcome.DONE if ledger.commit(claim, digest, size) else Outcome.LOST


def _given_back(claim: Claim, ledger: Ledger, reason: str) -> Outcome:
    """Return the unit to the ledger after a fault of the moment; the attempt counts."""
    pause = RESEND_S[min(claim.attempts, len(RESEND_S)) - 1] * random.uniform(1.0, 1.25)
    logger.warning("unit %s, attempt %d: %s", claim.key, claim.attempts, reason)
    return Outcome.RELEASED if ledger.release(claim, reason, delay_s=pause) else Outcome.LOST


class _Heartbeat(threading.Thread):
    """Renews a claim until it is left, lost or unwanted."""

    def __init__(self, ledger: Ledger, claim: Claim, lease_s: float) -> None:
        super().__init__(name=f"heartbeat-{claim.key[:8]}", daemon=True)
        self._ledger = ledger
        self._claim = claim
        self._lease_s = lease_s
        self._stopped = threading.Event()
        self._beat = Beat.HELD

    def check(self) -> None:
        """Raise `UnwantedError` or `LeaseLostError` once the last heartbeat said so."""
        if self._beat is Beat.UNWANTED:
            raise UnwantedError(f"unit {self._claim.key}: no job wants it any more")
        if self._beat is Beat.LOST:
            raise LeaseLostError(f"unit {self._claim.key}: another worker has its lease")

    def run(self) -> None:
        """Beat three times a lease."""
        while not self._stopped.wait(self._lease_s / 3):
            try:
                self._beat = self._ledger.heartbeat(self._claim, lease_s=self._lease_s)
            except OSError as error:  # the database may come back before the lease ends; the fence decides
                logger.warning("unit %s: no heartbeat: %s", self._claim.key, error)
            if self._beat is not Beat.HELD:
                return

    def __enter__(self) -> _Heartbeat:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self.join()

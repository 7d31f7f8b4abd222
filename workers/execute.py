"""One unit of work: claim, compute, publish, commit. Knows neither Celery nor thread pools.

The order is the promise: the artifact is whole in the store before the row says so, and the row is written
only by whoever still holds the fence. A heartbeat in its own thread keeps the lease alive and learns when
nobody wants the result any more.
"""

from __future__ import annotations

import logging
import random
import threading
from enum import StrEnum
from typing import TYPE_CHECKING

from adapter.cache import through_cache
from ontology.errors import ConflictError, GroveError, LeaseLostError
from workers.kinds import JobKind, Work, find_kind
from workers.ledger import RESEND_S, Ledger
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


def execute_unit(key: str, ledger: Ledger, workspace: Workspace, *, lease_s: float = 60.0) -> Outcome:
    """Compute one unit, if it is there to be claimed, and settle the jobs that waited for it.

    Parameters
    ----------
    key : str
        Key of the unit; what to compute comes from its row, never from a message.
    ledger, workspace
        Where units are recorded and artifacts kept.
    lease_s : float
        Length of the lease in seconds, renewed three times as often.

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
    claim = ledger.claim(key, lease_s=lease_s)
    if claim is None:
        return Outcome.NOT_MINE
    with _Heartbeat(ledger, claim, lease_s) as heartbeat:
        outcome = _run(kind, claim, ledger, workspace, heartbeat)
    logger.info("unit %s of kind %s, attempt %d: %s", key, kind.name, claim.attempts, outcome)
    if outcome in (Outcome.DONE, Outcome.FAILED):
        finish_jobs(ledger, workspace, key)
    return outcome


def finish_jobs(ledger: Ledger, workspace: Workspace, key: str | None = None) -> None:
    """Settle the jobs of one unit, or all of them, and give the results there are their names; repeatable."""
    settled = ledger.settle(key)
    if key is not None and not settled:
        return
    for publication in ledger.publications():
        kind = find_kind(publication.kind, publication.version)
        if kind is None or kind.publish is None:
            continue  # a worker that knows this version of the kind gives it its name
        try:
            kind.publish(workspace, publication)
        except OSError as error:  # an unreachable service or a full disk may pass: it stays to be published
            logger.warning("job %s: its result is not yet named: %s", publication.job_id, error)
        except GroveError as error:
            logger.error("job %s: its result cannot be named: %s", publication.job_id, error)  # noqa: TRY400
            ledger.published(publication, error=str(error))
        except Exception as error:  # a defect of the kind: left pending, it would end every sweep after this
            logger.exception("job %s: its result cannot be named", publication.job_id)
            ledger.published(publication, error=f"{type(error).__name__}: {error}")
        else:
            ledger.published(publication)


def _run(kind: JobKind, claim: Claim, ledger: Ledger, workspace: Workspace, heartbeat: _Heartbeat) -> Outcome:
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
    except OSError as error:  # TransientError, an unreachable service, a full disk: it may pass
        pause = RESEND_S[min(claim.attempts, len(RESEND_S)) - 1] * random.uniform(1.0, 1.25)
        logger.warning("unit %s of kind %s, attempt %d: %s", claim.key, kind.name, claim.attempts, error)
        return Outcome.RELEASED if ledger.release(claim, str(error), delay_s=pause) else Outcome.LOST
    except GroveError as error:
        return Outcome.FAILED if ledger.fail(claim, str(error)) else Outcome.LOST
    except (
        Exception
    ) as error:  # a defect of the kind: recorded with its job, and in the log with the traceback
        logger.exception("unit %s of kind %s", claim.key, kind.name)
        return Outcome.FAILED if ledger.fail(claim, f"{type(error).__name__}: {error}") else Outcome.LOST
    return Outcome.DONE if ledger.commit(claim, digest, size) else Outcome.LOST


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

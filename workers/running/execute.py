"""One unit of work: claim, compute, publish, commit. Knows neither Celery nor thread pools.

The order is the promise: the artifact is whole in the store before the row says so, and the row is written
only by whoever still holds the fence. A heartbeat in its own thread keeps the lease alive and learns when
nobody wants the result any more. A ledger that is away in the middle of a unit, or at its end, costs no work
as long as it is back before the lease has ended.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, ParamSpec

from labelgrove.adapter.loading.cache import through_cache
from labelgrove.ontology.errors import (
    DEPLOYMENT_FAULTS,
    ArtifactError,
    ConflictError,
    GroveError,
    LeaseLostError,
    NotFoundError,
)
from labelgrove.ontology.heartbeat import keep_renewed
from labelgrove.ontology.sql.database import autocommitting
from labelgrove.workers.kinds import JobKind, Work, find_kind
from labelgrove.workers.ledger.ledger import RESEND_S, Ledger
from labelgrove.workers.ledger.records import holders, kind_of
from labelgrove.workers.ledger.states import Beat, Claim
from labelgrove.workers.running.logs import about
from labelgrove.workers.showing import publish_results, reshow

if TYPE_CHECKING:
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["Outcome", "Recall", "UnwantedError", "execute_unit", "finish_jobs"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")

_TOLD_LEASES = 2
"""Leases for which the end of a unit is told again to a ledger that does not answer."""


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


class Recall:
    """Gives back the units that run in this process, all at once, whatever they are busy with.

    A unit learns of it before the next part of its work; one that works in a single part goes on for nothing,
    as what it ends with is not published.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[_Heartbeat] = set()
        self._called = False

    def call(self) -> int:
        """Give back the units that run, and any claimed from now on; return how many were running.

        A ledger that does not answer gets them when their leases end.
        """
        with self._lock:
            self._called, running = True, list(self._running)
        return sum(heartbeat.give_back() for heartbeat in running)

    def add(self, heartbeat: _Heartbeat) -> None:
        """Take in a unit that begins."""
        with self._lock:
            self._running.add(heartbeat)
            called = self._called
        if called:
            heartbeat.give_back()

    def remove(self, heartbeat: _Heartbeat) -> None:
        """Let go of a unit that ended."""
        with self._lock:
            self._running.discard(heartbeat)


class UnwantedError(ConflictError):
    """Work that every job has let go of: stop, publish nothing."""


def execute_unit(
    key: str,
    ledger: Ledger,
    workspace: Workspace,
    *,
    lease_s: float = 60.0,
    out_of_time: type[Exception] | tuple[()] = (),
    recall: Recall | None = None,
    publish: bool = True,
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
    recall : Recall, optional
        By which the unit can be given back while it runs.
    publish : bool, default=True
        Whether results that are done now are named and shown in the graph as well, or left to the next sweep.

    Returns
    -------
    outcome : Outcome
        What happened; every outcome but DONE leaves the store and the row consistent without further ado.

    Raises
    ------
    ServiceError
        If the ledger does not answer, at the end of the unit for longer than two leases: the unit is sent
        again when its lease has ended; where the commit stood already, the next sweep does the rest.
    """
    kind, jobs = _found(workspace, key)
    if kind is None:
        return Outcome.UNKNOWN
    claim = ledger.claim(key, lease_s=lease_s)
    if claim is None:
        return Outcome.NOT_MINE
    with about(unit=key, kind=kind.name, attempt=claim.attempts, **jobs):
        began = time.monotonic()
        with _Heartbeat(ledger, claim, lease_s, recall or Recall()) as heartbeat:
            outcome = _run(kind, claim, ledger, workspace, heartbeat, out_of_time)
        logger.info(
            "unit %s of kind %s, attempt %d: %s",
            *(key, kind.name, claim.attempts, outcome),
            extra={"outcome": outcome.value, "seconds": time.monotonic() - began},
        )
    if outcome in (Outcome.DONE, Outcome.FAILED) and not publish:
        ledger.settle(key)
    elif outcome in (Outcome.DONE, Outcome.FAILED):
        try:
            finish_jobs(ledger, workspace, key, out_of_time=out_of_time)
        except out_of_time:
            logger.warning("unit %s: no time was left to publish results; the next sweep does", key)
    return outcome


def finish_jobs(
    ledger: Ledger,
    workspace: Workspace,
    key: str | None = None,
    *,
    out_of_time: type[Exception] | tuple[()] = (),
) -> None:
    """Settle the jobs of one unit, or all of them, and publish what is done; repeatable.

    What is `out_of_time`, as in `execute_unit`, is left to the next sweep and raised.
    """
    settled = ledger.settle(key)
    if key is not None and not settled:
        return
    publish_results(workspace, ledger, None if key is None else settled, out_of_time=out_of_time)


def _found(workspace: Workspace, key: str) -> tuple[JobKind | None, dict[str, list[str]]]:
    """Return the kind of a unit, if it is known here, and the jobs that hold it, as a field of the log.

    Where nothing is logged, jobs are not asked for.
    """
    with autocommitting(workspace.engine) as connection:
        named = kind_of(connection, key)
        jobs = {"jobs": holders(connection, key)} if logger.isEnabledFor(logging.INFO) else {}
    return None if named is None else find_kind(*named), jobs


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
        show_again = partial(reshow, workspace, ledger, out_of_time=out_of_time)
        work = Work(claim.parameters, claim.inputs, artifacts, heartbeat.check, workspace, show_again)
        product = kind.execute(work)
        heartbeat.check()
        if isinstance(product, bytes):
            digest = artifacts.put_bytes(product)
        else:
            digest = artifacts.put_arrays(product.arrays, product.metadata)
        size = artifacts.size(digest)
    except LeaseLostError:
        return Outcome.LOST
    except UnwantedError:
        return Outcome.CANCELLED if heartbeat.tell(ledger.abandon, claim) else Outcome.LOST
    except out_of_time:
        limit = f"GROVE_UNIT_TIME_LIMIT_S, {workspace.settings.unit_time_limit_s} s"
        reason = f"stopped by the time limit of a unit ({limit}) after {time.monotonic() - began:.0f} s; "
        reason += "a less busy worker may be fast enough, ask for more and smaller units, or raise the limit"
        return _given_back(claim, ledger, heartbeat, reason)
    except DEPLOYMENT_FAULTS as error:  # an unreachable service, a full disk: it may pass
        return _given_back(claim, ledger, heartbeat, str(error))
    except (ArtifactError, NotFoundError) as error:
        return _without_input(claim, ledger, heartbeat, artifacts, error)
    except GroveError as error:
        return Outcome.FAILED if heartbeat.tell(ledger.fail, claim, str(error)) else Outcome.LOST
    except (
        Exception
    ) as error:  # a defect of the kind: recorded with its job, and in the log with the traceback
        logger.exception("unit %s of kind %s", claim.key, kind.name)
        told = heartbeat.tell(ledger.fail, claim, f"{type(error).__name__}: {error}")
        return Outcome.FAILED if told else Outcome.LOST
    return Outcome.DONE if heartbeat.tell(ledger.commit, claim, digest, size) else Outcome.LOST


def _without_input(
    claim: Claim,
    ledger: Ledger,
    heartbeat: _Heartbeat,
    artifacts: ArtifactStore,
    error: ArtifactError | NotFoundError,
) -> Outcome:
    """End a unit that could not read something: inputs that are gone or damaged are computed again.

    Nothing is deleted: publishing an artifact again replaces the file, and another worker may just have done
    that. Hence inputs that are all whole now are worth a second attempt.
    """
    try:
        lost = [digest for digest in claim.inputs if not artifacts.is_whole(digest)]
    except OSError as fault:
        return _given_back(claim, ledger, heartbeat, str(fault))
    if lost:
        logger.warning("unit %s, attempt %d: %s; computed again", claim.key, claim.attempts, error)
        told = heartbeat.tell(ledger.inputs_lost, claim, lost, str(error))
        return Outcome.RELEASED if told else Outcome.LOST
    if claim.inputs and claim.attempts == 1:
        return _given_back(claim, ledger, heartbeat, str(error))
    return Outcome.FAILED if heartbeat.tell(ledger.fail, claim, str(error)) else Outcome.LOST


def _given_back(claim: Claim, ledger: Ledger, heartbeat: _Heartbeat, reason: str) -> Outcome:
    """Return the unit to the ledger after a fault of the moment; the attempt counts."""
    pause = RESEND_S[min(claim.attempts, len(RESEND_S)) - 1] * random.uniform(1.0, 1.25)
    logger.warning("unit %s, attempt %d: %s", claim.key, claim.attempts, reason)
    told = heartbeat.tell(ledger.release, claim, reason, delay_s=pause)
    return Outcome.RELEASED if told else Outcome.LOST


class _Heartbeat(threading.Thread):
    """Renews a claim until it is left, lost or unwanted, whatever the ledger answers meanwhile."""

    def __init__(self, ledger: Ledger, claim: Claim, lease_s: float, recall: Recall) -> None:
        super().__init__(name=f"heartbeat-{claim.key[:8]}", daemon=True)
        self._recall = recall
        self._ledger = ledger
        self._claim = claim
        self._lease_s = lease_s
        self._stopped = threading.Event()
        self._beat = Beat.HELD
        self._given_back = False

    def tell(self, end: Callable[P, bool], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Tell the ledger how the unit ended, again while it does not answer; False where the claim is lost.

        After `_TOLD_LEASES` the error of the ledger is raised.
        """
        until = time.monotonic() + _TOLD_LEASES * self._lease_s
        failed = False
        while not (failed and self._beat is Beat.LOST):
            try:
                return end(*args, **kwargs)
            except DEPLOYMENT_FAULTS as error:
                if time.monotonic() >= until:
                    raise
                if not failed:
                    logger.warning("unit %s: its end will be told again: %s", self._claim.key, error)
                failed = True
            self._stopped.wait(self._lease_s / 30)
        return end(*args, **kwargs)  # it was told after all, perhaps, and only the answer was lost

    def give_back(self) -> bool:
        """Let another worker have the unit at once; whether the ledger took it."""
        self._given_back = True
        try:
            return self._ledger.hand_back(self._claim)
        except DEPLOYMENT_FAULTS as error:
            logger.warning("unit %s is free when its lease has ended: %s", self._claim.key, error)
            return False

    def check(self) -> None:
        """Raise `UnwantedError` or `LeaseLostError` once the last heartbeat said so, or it was given back."""
        if self._given_back:
            raise LeaseLostError(f"unit {self._claim.key}: given back, as its worker ends")
        if self._beat is Beat.UNWANTED:
            raise UnwantedError(f"unit {self._claim.key}: no job wants it any more")
        if self._beat is Beat.LOST:
            raise LeaseLostError(f"unit {self._claim.key}: another worker has its lease")

    def run(self) -> None:
        """Beat three times a lease."""
        keep_renewed(self._renew, self._lease_s, self._stopped, f"unit {self._claim.key}: no heartbeat")

    def _renew(self) -> bool:
        self._beat = self._ledger.heartbeat(self._claim, lease_s=self._lease_s)
        return self._beat is Beat.HELD

    def __enter__(self) -> _Heartbeat:
        self.start()
        self._recall.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._recall.remove(self)
        self._stopped.set()
        self.join()

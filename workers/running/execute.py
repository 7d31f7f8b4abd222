"""Execute one unit of work: claim, compute, publish, commit.

This module depends neither on Celery nor on thread pools.

The order of the steps makes the result safe. The artifact is complete in the store before the row of the unit
names it, and only the worker whose claim has the current fence can change the row. A heartbeat in a separate
thread keeps the lease alive and learns when the result is no longer wanted. The ledger may be unreachable
while a unit runs or when it ends: no work is lost if the ledger answers again before the lease ends.
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
from labelgrove.workers.ledger.failures import defect_text
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
"""Number of leases during which the end of a unit is reported again if the ledger does not answer."""


class Outcome(StrEnum):
    """The outcome of one call of `execute_unit`."""

    DONE = "done"
    NOT_MINE = "not mine"
    """Another worker has the unit, or it is finished, or it still waits for an input."""
    UNKNOWN = "unknown"
    """The unit, its kind or its version is unknown to this process; a worker that knows it runs it."""
    RELEASED = "released"
    """A temporary fault: the unit is pending again and is sent later."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    """The lease went to another worker; its result counts."""


class Recall:
    """Gives back to the ledger all units that run in this process, without waiting for their work to end.

    A unit stops before the next part of its work. A unit that does its work in a single part runs to its end,
    but its result is not published.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[_Heartbeat] = set()
        self._called = False

    def call(self) -> int:
        """Give back the running units; return how many of them the ledger has taken back.

        Each unit that begins after this call is given back at once (`add`). If the ledger does not answer,
        the units are free when their leases end.
        """
        with self._lock:
            self._called, running = True, list(self._running)
        return sum(heartbeat.give_back() for heartbeat in running)

    def add(self, heartbeat: _Heartbeat) -> None:
        """Add a unit that begins; if `call` was called before, give the unit back at once."""
        with self._lock:
            self._running.add(heartbeat)
            called = self._called
        if called:
            heartbeat.give_back()

    def remove(self, heartbeat: _Heartbeat) -> None:
        """Remove a unit that ended."""
        with self._lock:
            self._running.discard(heartbeat)


class UnwantedError(ConflictError):
    """Raised inside a unit that no job wants any more, so that it stops and publishes nothing."""


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
    """Compute one unit if it can be claimed, and update the states of the jobs that contain it.

    Parameters
    ----------
    key : str
        Key of the unit; its computation is read from its row, never from a message.
    ledger, workspace
        Where units are recorded and artifacts kept.
    lease_s : float
        Length of the lease in seconds; the lease is renewed three times in this period.
    out_of_time : type of exception, optional
        The exception that is raised inside a unit that takes too long, such as Celery's; the unit is then
        given back.
    recall : Recall, optional
        Object that can give the unit back while it runs.
    publish : bool, default=True
        Whether to name finished results and write them into the graph; if not, the next sweep does so.

    Returns
    -------
    outcome : Outcome
        What happened. In every case artifact store and row agree, and the caller has nothing to repair.

    Raises
    ------
    ServiceError
        If the ledger does not answer when the unit begins. Also if the unit has ended and the ledger does not
        answer for twice the length of a lease. The unit is then sent again when its lease has ended. If the
        end of the unit was already committed, the next sweep does the rest.
    """
    kind, jobs = _kind_and_jobs(workspace, key)
    if kind is None:
        return Outcome.UNKNOWN
    with kind.turn:
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
            logger.warning("unit %s: no time was left to publish results; the next sweep publishes them", key)
    return outcome


def finish_jobs(
    ledger: Ledger,
    workspace: Workspace,
    key: str | None = None,
    *,
    out_of_time: type[Exception] | tuple[()] = (),
) -> None:
    """Update the states of the jobs that contain the unit `key`, and publish the results of finished jobs.

    By default, this is done for all jobs. This function may be called again at any time. An exception of the
    type `out_of_time` (see `execute_unit`) is passed on to the caller; the next sweep does the rest.
    """
    settled = ledger.settle(key)
    if key is not None and not settled:
        return
    publish_results(workspace, ledger, None if key is None else settled, out_of_time=out_of_time)


def _kind_and_jobs(workspace: Workspace, key: str) -> tuple[JobKind | None, dict[str, list[str]]]:
    """Return the kind of a unit (None if unknown here), and a log field with the ids of its jobs.

    The field is left out, and the jobs are not read, if the log would not show it.
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
        reason += "a less busy worker may be fast enough; else request more, smaller units or raise the limit"
        return _given_back(claim, ledger, heartbeat, reason)
    except DEPLOYMENT_FAULTS as error:  # an unreachable service, a full disk: it may pass
        return _given_back(claim, ledger, heartbeat, str(error))
    except (ArtifactError, NotFoundError) as error:
        return _without_input(claim, ledger, heartbeat, artifacts, error)
    except GroveError as error:
        return Outcome.FAILED if heartbeat.tell(ledger.fail, claim, str(error)) else Outcome.LOST
    except Exception as error:  # a defect of the kind: recorded with its job, and logged with the traceback
        logger.exception("unit %s of kind %s", claim.key, kind.name)
        told = heartbeat.tell(ledger.fail, claim, defect_text(error))
        return Outcome.FAILED if told else Outcome.LOST
    return Outcome.DONE if heartbeat.tell(ledger.commit, claim, digest, size) else Outcome.LOST


def _without_input(
    claim: Claim,
    ledger: Ledger,
    heartbeat: _Heartbeat,
    artifacts: ArtifactStore,
    error: ArtifactError | NotFoundError,
) -> Outcome:
    """End the attempt at a unit that could not read an input.

    Inputs that are missing or damaged are computed again, and the unit waits for them. A damaged file is not
    deleted: publishing its artifact again replaces it, and another worker may just have done so. Therefore,
    if all inputs are complete by now and this was the first attempt, the unit is tried once more. If it was a
    later attempt, or if the unit has no inputs, the unit fails. If the inputs cannot be checked, the unit is
    tried again later.
    """
    try:
        lost = [digest for digest in claim.inputs if not artifacts.is_whole(digest)]
    except OSError as fault:
        return _given_back(claim, ledger, heartbeat, str(fault))
    if lost:
        logger.warning("unit %s, attempt %d: %s; its input is recomputed", claim.key, claim.attempts, error)
        told = heartbeat.tell(ledger.inputs_lost, claim, lost, str(error))
        return Outcome.RELEASED if told else Outcome.LOST
    if claim.inputs and claim.attempts == 1:
        return _given_back(claim, ledger, heartbeat, str(error))
    return Outcome.FAILED if heartbeat.tell(ledger.fail, claim, str(error)) else Outcome.LOST


def _given_back(claim: Claim, ledger: Ledger, heartbeat: _Heartbeat, reason: str) -> Outcome:
    """Give the unit back to the ledger after a temporary fault; this counts as an attempt."""
    pause = RESEND_S[min(claim.attempts, len(RESEND_S)) - 1] * random.uniform(1.0, 1.25)
    logger.warning("unit %s, attempt %d: %s", claim.key, claim.attempts, reason)
    told = heartbeat.tell(ledger.release, claim, reason, delay_s=pause)
    return Outcome.RELEASED if told else Outcome.LOST


class _Heartbeat(threading.Thread):
    """Renews a claim until its unit ends, the claim is lost or no job wants the unit.

    An error of the ledger does not stop the renewals.
    """

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
        """Report to the ledger how the unit ended; return False if the claim is lost.

        While the ledger does not answer, the report is repeated. After `_TOLD_LEASES` times the length of a
        lease, the error of the ledger is raised.
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
                    logger.warning(
                        "unit %s: its outcome could not be recorded, and will be reported again: %s",
                        self._claim.key,
                        error,
                    )
                failed = True
            self._stopped.wait(self._lease_s / 30)
        return end(*args, **kwargs)  # perhaps it was reported after all, and only the answer was lost

    def give_back(self) -> bool:
        """Release the unit to other workers at once; return whether the ledger accepted it."""
        self._given_back = True
        try:
            return self._ledger.hand_back(self._claim)
        except DEPLOYMENT_FAULTS as error:
            logger.warning(
                "unit %s could not be returned to the ledger; it is free again when its lease ends: %s",
                self._claim.key,
                error,
            )
            return False

    def check(self) -> None:
        """Raise an error if the unit should stop.

        Raises
        ------
        UnwantedError
            If a heartbeat found that no job wants the unit.
        LeaseLostError
            If a heartbeat found that the claim is lost, or the unit was given back.
        """
        if self._given_back:
            raise LeaseLostError(
                f"unit {self._claim.key}: returned to the ledger, because its worker is stopping"
            )
        if self._beat is Beat.UNWANTED:
            raise UnwantedError(f"unit {self._claim.key}: no job needs it anymore")
        if self._beat is Beat.LOST:
            raise LeaseLostError(f"unit {self._claim.key}: another worker has its lease")

    def run(self) -> None:
        """Renew the claim three times per lease."""
        keep_renewed(
            self._renew, self._lease_s, self._stopped, f"unit {self._claim.key}: its heartbeat failed"
        )

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

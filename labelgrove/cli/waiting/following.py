"""Wait for a job that a command submitted."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import note
from labelgrove.cli.waiting.stopping import resumable

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job

__all__ = ["check_waitable", "follow", "result_of"]

_PATIENCE_S = 10.0
"""If no worker has claimed a job after this many seconds, probably no worker is running."""


def check_waitable(workspace: Workspace) -> None:
    """Raise an error if the broker does not answer, because then the user would wait for a job in vain."""
    from labelgrove.workers.celery_transport.broker_check import check_broker

    if workspace.settings.broker_url is not None:
        check_broker(workspace.settings.broker_url)


def follow(
    workspace: Workspace,
    job: Job,
    progress: Progress,
    *,
    publish: bool = True,
    go_on: str | None = None,
) -> Job:
    """Wait until `job` is done, failed or cancelled, and return it; meanwhile, show its progress on stderr.

    If stderr is a terminal, `progress` shows a bar; otherwise, each change of the progress is printed as a
    line. By default, wait also until the result of the job is in the graph and has the name that was
    requested for it, if any. With ``publish=False``, return as soon as the job has ended. If moreover there
    is no broker, so that this process runs the job, no lines of progress are printed. After Ctrl-C, `go_on`
    is printed as the command that continues the work; by default, this is ``grove jobs watch``.
    """
    from labelgrove.workers.client import wait
    from labelgrove.workers.ledger.states import State

    said, began, warned = "", time.monotonic(), False
    delays: set[str] = set()
    brokered = workspace.settings.broker_url is not None

    def told(job: Job) -> None:
        nonlocal said, warned
        untaken = brokered and job.state is State.PENDING and time.monotonic() - began >= _PATIENCE_S
        if untaken and not warned:
            warned = True
            note(f"no worker has taken job {job.id[:12]} yet; is one running? start one: grove worker")
        if job.delayed is not None and job.delayed not in delays:
            delays.add(job.delayed)
            note(f"job {job.id[:12]} is {job.state}, but its result could not be named yet: {job.delayed}")
        step = f"job {job.id[:12]} is {job.state}"
        done, total = job.units.get(State.DONE, 0), sum(job.units.values())
        progress(step, done, total)
        line = f"{step}: {done} of {total} units done"
        if line != said and not sys.stderr.isatty() and (publish or brokered):
            note(line)
        said = line

    if brokered and not job.finished:
        note(
            f"the workers run job {job.id[:12]}; Ctrl-C does not stop it; follow it with: grove jobs watch "
            f"{job.id[:12]}"
        )
    with resumable(f"job {job.id[:12]} is kept; go on with: {go_on or f'grove jobs watch {job.id[:12]}'}"):
        return wait(workspace, job.id, progress=told, publish=publish)


def result_of(job: Job) -> str:
    """Return the digest of the result of a finished job.

    Raises
    ------
    JobFailedError
        If the job failed or was cancelled, or if the result cannot get the name that was requested for it.
    ServiceError
        If the result could not get its name yet, for example because the disk is full; workers try again
        regularly.
    """
    from labelgrove.ontology.errors import JobFailedError, ServiceError

    if job.delayed is not None:
        raise ServiceError(
            f"job {job.id[:12]} is {job.state}, but its result could not be named yet: {job.delayed}; "
            f"workers try again regularly, and so does: grove jobs watch {job.id[:12]}"
        )

    if job.result_sha256 is None or job.error is not None:
        why = "" if job.error is None else f": {job.error}"
        raise JobFailedError(f"job {job.id[:12]} is {job.state}{why}; see `grove jobs logs {job.id[:12]}`")
    return job.result_sha256

"""Waiting for a job that a command asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelgrove.cli.common import Progress, note

if TYPE_CHECKING:
    from ontology.workspace import Workspace
    from workers.states import Job

__all__ = ["check_waitable", "follow"]


def check_waitable(workspace: Workspace) -> None:
    """End here where there is a broker and it is away: a job would only wait, and the user with it."""
    from workers.broker_check import check_broker

    if workspace.settings.broker_url is not None:
        check_broker(workspace.settings.broker_url)


def follow(workspace: Workspace, job: Job, progress: Progress) -> str:
    """Wait until `job` is finished and return the digest of its result.

    Raises
    ------
    JobFailedError
        If it failed or was cancelled, or its result could not be given its name.
    """
    from ontology.errors import JobFailedError
    from workers.client import wait
    from workers.states import State

    def told(job: Job) -> None:
        progress(f"job {job.id[:12]} is {job.state}", job.units.get(State.DONE, 0), sum(job.units.values()))

    if workspace.settings.broker_url is not None and not job.finished:
        note(f"the workers have it; Ctrl-C leaves it with them: grove jobs watch {job.id[:12]}")
    job = wait(workspace, job.id, progress=told)
    if job.result_sha256 is None or job.error is not None:
        why = "" if job.error is None else f": {job.error}"
        raise JobFailedError(f"job {job.id[:12]} is {job.state}{why}; see `grove jobs logs {job.id[:12]}`")
    return job.result_sha256

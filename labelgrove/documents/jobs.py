"""Describe jobs and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds import Description, JobResult
    from labelgrove.workers.ledger.states import Job, Unit

__all__ = ["describe_jobs", "describe_result", "describe_units", "done_result", "matching_jobs"]


def matching_jobs(
    workspace: Workspace, *, state: str | None, kind: str | None, stale: bool, limit: int
) -> tuple[list[Job], int]:
    """Return the newest jobs that match, newest first, and the number of all that match.

    Parameters
    ----------
    workspace : Workspace
    state, kind : str or None
        Only jobs in this state and of this kind; None for any.
    stale : bool
        Only done jobs about versions that are no longer current.
    limit : int
        Most jobs to return.

    Raises
    ------
    InputError
        For an unknown state, or one in which no job can be stale.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers import client
    from labelgrove.workers.ledger.states import State
    from labelgrove.workers.refresh import stale_jobs

    states = [one.value for one in State]
    if state is not None and state not in states:
        raise InputError(f"state: {state!r:.80} given; give one of {', '.join(states)}")
    wanted = None if state is None else State(state)
    if stale and wanted not in (None, State.DONE):
        raise InputError(f"state: {state!r} given, and only done jobs can be stale; leave out state or stale")
    if stale:
        found = stale_jobs(workspace, kind=kind)
        return found[:limit], len(found)
    found = client.list_jobs(workspace, limit=limit, state=wanted, kind=kind)
    return found, client.count_jobs(workspace, state=wanted, kind=kind)


def describe_jobs(workspace: Workspace, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Return what the ledger knows about each job; ``stale`` says that its version is no longer current."""
    from labelgrove.workers.refresh import is_stale

    currents = workspace.catalog.currents().values()
    return [
        asdict(job)
        | {
            "created_at": when(job.created_at),
            "finished_at": when(job.finished_at),
            "stale": is_stale(job, currents),
        }
        for job in jobs
    ]


def describe_units(units: Sequence[Unit]) -> list[dict[str, Any]]:
    """Return what the ledger knows about each unit; ``seconds`` is the duration of its last attempt."""
    described = []
    for unit in units:
        ends = (unit.claimed_at, unit.ended_at)
        times = {"claimed_at": when(unit.claimed_at), "ended_at": when(unit.ended_at)}
        taken = {"seconds": None if None in ends else round(ends[1] - ends[0], 3)}  # type: ignore[operator]
        described.append(asdict(unit) | {"lease_until": when(unit.lease_until or None)} | times | taken)
    return described


def done_result(workspace: Workspace, job: str) -> JobResult:
    """Return the result of a done job; nothing of it is read.

    Raises
    ------
    NotFoundError
        For an unknown job.
    ConflictError
        If the job has no result.
    """
    from labelgrove.ontology.errors import ConflictError
    from labelgrove.workers import client
    from labelgrove.workers.kinds import JobResult
    from labelgrove.workers.ledger.states import State

    found = client.status(workspace, job)
    if found.state is not State.DONE or found.result_sha256 is None:
        why = "" if found.error is None else f": {found.error}"
        ended = "logs" if found.finished else "watch"
        raise ConflictError(
            f"job {found.id[:12]} is {found.state}{why}; it has no result; see: "
            f"grove jobs {ended} {found.id[:12]}"
        )
    return JobResult(found.id, found.kind, found.parameters, found.result_sha256, workspace.artifacts)


def describe_result(workspace: Workspace, job: str) -> tuple[dict[str, Any], JobResult, Description]:
    """Return the document of the result of a done job, the result, and how its kind describes it.

    Errors are those of `done_result`.
    """
    from labelgrove.workers import client

    read = done_result(workspace, job)
    shown = client.describe(workspace, read)
    document = {"job": read.job_id, "kind": read.kind, "sha256": read.sha256} | {**shown.document}
    return document, read, shown

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

__all__ = [
    "describe_costs",
    "describe_jobs",
    "describe_result",
    "describe_strip",
    "describe_units",
    "done_result",
    "matching_jobs",
]


def matching_jobs(
    workspace: Workspace,
    *,
    state: str | None,
    kind: str | None,
    stale: bool,
    limit: int,
    ontology: str | None = None,
    asked_by: str | None = None,
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
    ontology, asked_by : str, optional
        Only jobs about versions of this ontology, and that this person or schedule requested first.

    Raises
    ------
    InputError
        For an unknown state, one in which no job can be stale, and for a NUL character.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers import client
    from labelgrove.workers.ledger.states import State
    from labelgrove.workers.refresh import stale_jobs

    for name, text in (("kind", kind), ("ontology", ontology), ("asked_by", asked_by)):
        if text is not None and "\0" in text:  # PostgreSQL has no texts with one
            raise InputError(f"{name}: {text!r:.80} has a NUL character; leave it out")
    states = [one.value for one in State]
    if state is not None and state not in states:
        raise InputError(f"state: {state!r:.80} given; give one of {', '.join(states)}")
    wanted = None if state is None else State(state)
    if stale and wanted not in (None, State.DONE):
        raise InputError(f"state: {state!r} given, and only done jobs can be stale; leave out state or stale")
    if stale:
        found = stale_jobs(workspace, kind=kind, ontology=ontology)
        found = [job for job in found if asked_by in (None, job.asked_by)]
        return found[:limit], len(found)
    asked: dict[str, Any] = {"state": wanted, "kind": kind, "ontology": ontology, "asked_by": asked_by}
    return client.list_jobs(workspace, limit=limit, **asked), client.count_jobs(workspace, **asked)


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


def describe_strip(workspace: Workspace, job: str, *, most: int) -> dict[str, Any]:
    """Return the units of a job as at most `most` cells of units that follow one another.

    ``state`` is the worst state in a cell, ``units`` the number of its units in each state.
    """
    from labelgrove.workers.progress import strip_of

    cells = strip_of(workspace, job, most=most)
    described = [
        {"first": cell.first, "n_units": sum(cell.units.values()), "state": cell.worst, "units": cell.units}
        for cell in cells
    ]
    return {"items": described, "total": sum(cell["n_units"] for cell in described)}


def describe_costs(workspace: Workspace, job: str) -> dict[str, Any]:
    """Return what was estimated for a job, None if nothing can be, next to what it used so far."""
    from labelgrove.workers.progress import costs_of

    found = costs_of(workspace, job)
    return {
        "estimated": None if found.estimated is None else asdict(found.estimated),
        "used": asdict(found.used) | {"seconds": round(found.used.seconds, 3)},
        "elapsed_s": None if found.elapsed_s is None else round(found.elapsed_s, 3),
    }


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

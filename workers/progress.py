"""Show how far a job is: pages of its units, a strip of them, and its costs next to what was estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import ArtifactError, InputError, NotFoundError
from labelgrove.ontology.sql.database import reading
from labelgrove.workers import client
from labelgrove.workers.kinds import find_kind
from labelgrove.workers.ledger.unitreading import Cell, Used, read_page, read_strip, read_used

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds import Estimate
    from labelgrove.workers.ledger.states import Job, Unit

__all__ = ["Costs", "costs_of", "strip_of", "units_page"]


@dataclass(frozen=True)
class Costs:
    """The costs of a job.

    Attributes
    ----------
    estimated : Estimate or None
        What the kind estimates for the parameters of the job; None if it makes no estimate, or if what it
        needs for one, such as the snapshot, is gone.
    used : Used
        What the units used so far.
    elapsed_s : float or None
        Seconds from the submission of the job to its end; None as long as it has not ended.
    """

    estimated: Estimate | None
    used: Used
    elapsed_s: float | None


def units_page(
    workspace: Workspace, job_id: str, *, limit: int = 100, errors: bool = False, after: str | None = None
) -> tuple[list[Unit], int, str | None]:
    """Return some units of a job; see `workers.ledger.unitreading.read_page`.

    Raises
    ------
    NotFoundError
        If there is no such job.
    """
    full_id = client.status(workspace, job_id).id
    with reading(workspace.engine) as connection:
        return read_page(connection, full_id, limit=limit, errors=errors, after=after)


def strip_of(workspace: Workspace, job_id: str, *, most: int) -> list[Cell]:
    """Return the units of a job as at most `most` cells; raise `NotFoundError` if there is no such job."""
    full_id = client.status(workspace, job_id).id
    with reading(workspace.engine) as connection:
        return read_strip(connection, full_id, most=most)


def costs_of(workspace: Workspace, job_id: str) -> Costs:
    """Return the costs of a job; raise `NotFoundError` if there is no such job."""
    job = client.status(workspace, job_id)
    estimated = _estimated(workspace, job)
    with reading(workspace.engine) as connection:
        used = read_used(connection, job.id)
    elapsed_s = None if job.finished_at is None else job.finished_at - job.created_at
    return Costs(estimated, used, elapsed_s)


def _estimated(workspace: Workspace, job: Job) -> Estimate | None:
    kind = find_kind(job.kind, job.version)
    if kind is None:
        return None
    try:
        complete = kind.complete(job.parameters, None)  # refuses what a damaged row has left
        return client.estimate(workspace, job.kind, complete)
    except (ArtifactError, InputError, NotFoundError):  # its snapshot is gone, for example
        return None

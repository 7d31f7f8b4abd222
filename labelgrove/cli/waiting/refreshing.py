"""Submit stale jobs again, for commands that offer to do so.

A job is stale if its result is about a version of an ontology that is no longer current.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import note
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.stopping import resumable

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["check_refreshed", "refresh_stale", "refresh_table"]


def refresh_stale(
    workspace: Workspace, ontology: str, *, dry_run: bool = False, wait: bool = True
) -> list[dict[str, Any]]:
    """Submit the stale jobs of `ontology` again; return a list with one dictionary for each stale job.

    A job is stale if its result is about a version that is no longer current. The new job has the same
    request for the current version. The dictionary says which job was submitted in place of the stale job,
    or why none was submitted. It has only values that JSON allows. If `wait` is set, wait for the submitted
    jobs. If `dry_run` is set, submit nothing.
    """
    from labelgrove.workers import client
    from labelgrove.workers.refresh import refresh

    found = refresh(workspace, ontology, dry_run=dry_run)
    for one in found:
        if one.reason is not None:
            note(f"job {one.stale_id[:12]} of kind {one.kind} cannot be refreshed: {one.reason}")
    asked = [] if dry_run else list(dict.fromkeys(one.job_id for one in found if one.job_id is not None))
    states = {}
    progress = Progress(f"refresh {ontology}")
    with resumable(f"the jobs are kept; go on with: grove jobs refresh {ontology}"), progress.shown():
        for done, job_id in enumerate(asked):
            progress("jobs", done, len(asked))
            job = client.wait(workspace, job_id) if wait else client.status(workspace, job_id)
            states[job_id] = (job.state.value, job.error)
    described = []
    for one in found:
        state, error = states.get(one.job_id or "", (None, None))
        described.append(
            {
                "stale_job": one.stale_id,
                "kind": one.kind,
                "job": one.job_id,
                "state": state,
                "targets": [dict(target) for target in one.targets],
                "reason": one.reason or error,
            }
        )
    return described


def refresh_table(described: list[dict[str, Any]]) -> str:
    """Return the rows of `refresh_stale` as a text table."""
    if not described:
        return "nothing is stale"
    columns = ("stale_job", "kind", "job", "state", "reason")
    return table(columns, [[one[c] for c in columns] for one in described])


def check_refreshed(described: list[dict[str, Any]]) -> None:
    """Raise an error if a submitted job failed; a job that could not be submitted is not an error."""
    from labelgrove.ontology.errors import JobFailedError, first_few

    broken = [one["job"][:12] for one in described if one["state"] in ("failed", "cancelled")]
    if broken:
        raise JobFailedError(
            f"{len(broken)} jobs ended without a result: {first_few(broken)}; see: "
            f"grove jobs logs {broken[0]}"
        )

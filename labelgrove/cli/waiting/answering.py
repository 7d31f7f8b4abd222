"""Answer a command with the result of a job; if the ledger already has the result, nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.waiting.following import check_waitable, follow, result_of

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job

__all__ = ["answer", "answering_job"]


def answer(workspace: Workspace, title: str, kind: str, parameters: Mapping[str, Any]) -> str:
    """Return the digest of the result of a job; submit the job and wait if the ledger has no result yet.

    The result may not be in the graph yet. In that case, a worker, or the next command that waits for a job,
    writes it into the graph.

    Parameters
    ----------
    workspace : Workspace
    title : str
        The title of the progress bar.
    kind, parameters
        The arguments of `workers.client.submit`.

    Raises
    ------
    InputError, JobFailedError, ServiceError
        As for `answering_job`.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers.client import submit

    try:
        job = answering_job(workspace, title, lambda: submit(workspace, kind, parameters, wait=False))
    except InputError as error:  # the command does not name the kind, and has options for its parameters
        error.args = (str(error).removeprefix(f"{kind}: "), *error.args[1:])
        raise
    return result_of(job)


def answering_job(
    workspace: Workspace, title: str, submit: Callable[[], Job], *, go_on: str | None = None
) -> Job:
    """Return a job that has a result; wait for it if the ledger has no result yet.

    Parameters
    ----------
    workspace : Workspace
    title : str
        The title of the progress bar.
    submit : callable
        Submits the job, and returns the job without waiting for it.
    go_on : str, optional
        The command that continues after Ctrl-C, as for `cli.waiting.following.follow`.

    Raises
    ------
    InputError
        If the job failed because the request cannot be met.
    JobFailedError
        If the job failed for another reason, or was cancelled.
    ServiceError
        If the ledger cannot be written, or the broker does not answer.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers.ledger.failures import is_of_request
    from labelgrove.workers.ledger.states import State

    check_waitable(workspace)
    with Progress(title).shown() as progress:
        job = submit()
        if not job.ended:
            job = follow(workspace, job, progress, publish=False, go_on=go_on)
    if job.state is State.FAILED and job.error is not None and is_of_request(job.error):
        raise InputError(job.error)
    result_of(job)  # raises the error of a job without a result
    return job

"""Answers that are results of jobs: computed once, and read from the ledger when asked for again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.waiting.following import check_waitable, follow, result_of

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["answer"]

_DEFECT = re.compile(r"\w+(Error|Exception|Warning): ")
"""How the error of a job begins where it is not one of ours, which say what to change in the request."""


def answer(
    workspace: Workspace,
    title: str,
    kind: str,
    ontology: str,
    options: Mapping[str, Any],
    *,
    keys: Mapping[str, Iterable[str] | Mapping[str, str] | None] | None = None,
    version: str | None = None,
) -> str:
    """Return the digest of the result of a job, submitted and waited for if the ledger does not have it yet.

    The next sweep shows it in the graph, so that the answer need not wait for that.

    Parameters
    ----------
    workspace : Workspace
    title : str
        What the progress bar is called.
    kind, ontology, options, keys, version
        As `workers.client.submit_for_ontology` takes them.

    Raises
    ------
    InputError
        For a request that cannot be met.
    JobFailedError
        Where the job failed for another reason, or was cancelled.
    ServiceError
        Where the ledger cannot be written, or the broker is away.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers.client import submit_for_ontology
    from labelgrove.workers.ledger.states import State

    check_waitable(workspace)
    with Progress(title).shown() as progress:
        job = submit_for_ontology(workspace, kind, ontology, options, keys=keys, version=version, wait=False)
        if not job.ended:
            job = follow(workspace, job, progress, publish=False)
    if job.state is State.FAILED and job.error is not None and not _DEFECT.match(job.error):
        raise InputError(job.error)
    return result_of(job)

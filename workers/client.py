"""Asking for work: submit, wait, status, list, cancel.

Nothing here is lost once `submit` returns: the job stands in the ledger. With a broker its units are sent to
the Celery workers; without one they run in this process while it waits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ontology.artifacts import check_name
from ontology.errors import ConflictError, InputError
from ontology.workspace import Workspace
from workers.kinds import find_kind, known_kinds
from workers.ledger import Ledger
from workers.plan import canonical_json, plan_job
from workers.pool import Pool
from workers.states import Job

__all__ = ["build_bundle_job", "cancel", "list_jobs", "status", "submit", "wait"]

_FIRST_POLL_S, _LAST_POLL_S = 0.05, 1.0


def submit(
    workspace: Workspace,
    kind: str,
    parameters: Mapping[str, Any],
    *,
    target: Mapping[str, str] | None = None,
    wait: bool = True,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Ask for a job; the same request again is the same job, computed once.

    Parameters
    ----------
    workspace : Workspace
        Where the job is recorded and its result kept.
    kind : str
        Name of a job kind.
    parameters : mapping
        What the kind asks for; digests instead of names, decimals as strings.
    target : mapping, optional
        The name to point at the result, as the kind understands it.
    wait : bool, default=True
        Whether to return when the job is finished. Without a broker, a job that nobody waits for is run by
        the next process that waits for one, or by ``grove worker``.
    progress : callable, optional
        Called with the job as it goes on, while waiting.

    Returns
    -------
    job : Job
        As it stands; a failed one says why in `Job.error`.

    Raises
    ------
    InputError
        For an unknown kind, or parameters that it refuses; nothing is recorded.
    """
    found = find_kind(kind)
    if found is None:
        known = ", ".join(known.name for known in known_kinds())
        raise InputError(f"job kind {kind!r} is not known here; known kinds: {known}")
    plan = plan_job(found, parameters)
    ledger = Ledger(workspace.engine)
    ledger.submit(plan, target=target)
    result = ledger.job(plan.id).result_sha256
    if result is not None and not workspace.artifacts.exists(result):
        ledger.recompute(plan.id)
    if wait:
        return _wait(workspace, plan.id, progress=progress)
    if workspace.settings.broker_url is not None:
        _send_due(workspace)
    return ledger.job(plan.id)


def wait(
    workspace: Workspace,
    job_id: str,
    *,
    timeout_s: float | None = None,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Wait until a job is finished, or for `timeout_s` seconds, and return it as it stands then.

    Raises
    ------
    NotFoundError
        If there is no such job.
    ConflictError
        If it waits for a kind or version that nothing here can run.
    """
    job = status(workspace, job_id)
    embedded = workspace.settings.broker_url is None
    if embedded and not job.finished and find_kind(job.kind, job.version) is None:
        raise ConflictError(
            f"job {job.id} needs version {job.version} of the job kind {job.kind!r}, which this installation "
            "does not have; run it with the version that submitted it, or submit it anew"
        )
    return _wait(workspace, job.id, timeout_s=timeout_s, progress=progress)


def status(workspace: Workspace, job_id: str) -> Job:
    """Return a job by its id or the beginning of it; `NotFoundError` where that names none or several."""
    return Ledger(workspace.engine).job(job_id)


def list_jobs(workspace: Workspace, *, limit: int = 100) -> list[Job]:
    """Return the newest jobs, newest first."""
    return Ledger(workspace.engine).jobs(limit=limit)


def cancel(workspace: Workspace, job_id: str) -> Job:
    """Cancel a job; a unit that runs for it alone stops within a third of its lease.

    Raises
    ------
    NotFoundError
        If there is no such job.
    ConflictError
        If it is done or failed already.
    """
    ledger = Ledger(workspace.engine)
    full_id = ledger.job(job_id).id
    ledger.cancel(full_id)
    return ledger.job(full_id)


def build_bundle_job(
    workspace: Workspace,
    ontology: str,
    bundle: str,
    observed: Iterable[str],
    *,
    metric: str = "auto",
    labels: str | Iterable[str] = "all",
    version: str | None = None,
    wait: bool = True,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Ask for a bundle of an ontology and let ``ontology/bundle`` name it once it is built.

    Parameters
    ----------
    workspace : Workspace
        Holds the ontology.
    ontology, bundle : str
        Name of the ontology, and the name the bundle gets.
    observed : iterable of str
        Keys of the labels that the classifier knows, in the order of its columns.
    metric : {"auto", "tree", "graph"}
        As for `ontology.geometry.metric_space`.
    labels : {"all", "leaves"} or iterable of str
        The labels that may be answered.
    version : str, optional
        Beginning of the digest of a version; the current one by default.
    wait, progress
        As for `submit`.

    Raises
    ------
    NotFoundError, UnknownLabelError
        If there is no such ontology or version, or a label is not in it; nothing is recorded.
    InputError
        For an observed label given twice, or a bundle name that breaks the rule.
    InputError
        For a name that no bundle may have; nothing is recorded.
    """
    check_name(bundle, "bundle")
    found = workspace.catalog.version(ontology, version)
    observed = list(observed)
    known = workspace.snapshot(found).keys
    known.indices(observed)
    repeated = [key for key, count in Counter(observed).items() if count > 1]
    if repeated:
        raise InputError(
            f"observed: {repeated[:5]!r} are given more than once; name each column's label once"
        )
    if not isinstance(labels, str):
        labels = list(labels)
        known.indices(labels)
    parameters = {
        "ontology": found.digest,
        "snapshot": found.snapshot_sha256,
        "observed": _put_keys(workspace, observed),
        "metric": metric,
        "labels": labels if isinstance(labels, str) else _put_keys(workspace, labels),
    }
    target = {"ontology": found.ontology, "bundle": bundle}
    return submit(workspace, "bundle", parameters, target=target, wait=wait, progress=progress)


def _put_keys(workspace: Workspace, keys: Iterable[str]) -> str:
    return workspace.artifacts.put_bytes(canonical_json(list(keys)).encode())


def _wait(
    workspace: Workspace,
    job_id: str,
    *,
    timeout_s: float | None = None,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    ledger = Ledger(workspace.engine)
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    job = ledger.job(job_id)

    def over() -> bool:
        nonlocal job
        job = ledger.job(job_id)
        if progress is not None:
            progress(job)
        return job.finished or (deadline is not None and time.monotonic() >= deadline)

    if workspace.settings.broker_url is not None:
        _send_due(workspace)
        pause = _FIRST_POLL_S
        while not over():
            time.sleep(pause)
            pause = min(2 * pause, _LAST_POLL_S)
    elif not over():
        with Pool(workspace) as pool:
            pool.run_until(over)
    return job


def _send_due(workspace: Workspace) -> None:
    """Send what is due to the workers; a broker that is away delays it until a worker's next sweep."""
    from workers.app import send_due

    send_due(workspace.settings, Ledger(workspace.engine))

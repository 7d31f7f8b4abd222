"""Submit, wait for, list, cancel and retry jobs.

Nothing is lost once `submit` returns, because the job is recorded in the ledger. With a broker, the units of
the job are sent to the Celery workers. Without a broker, the units run in this process while it waits for the
job.
"""

from __future__ import annotations

import math
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ArtifactError, ConflictError, InputError, NotFoundError, sized
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.sql.catalog import LEASE_SECONDS
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import Description, Estimate, JobKind, JobResult, Subject, find_kind, kind_named
from labelgrove.workers.kinds.describing import describe_artifact
from labelgrove.workers.kinds.inputs import open_graph, read_amounts, read_keys
from labelgrove.workers.kinds.parameters import is_digest
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import Job, State, Unit
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.requests.request import plan_request, record_lost
from labelgrove.workers.requests.targets import check_named, complete_target
from labelgrove.workers.requests.visible import refuse_unseen, versions_shown
from labelgrove.workers.running.pool import Pool

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult
    from labelgrove.ontology.versions.snapshots import Snapshot

__all__ = [
    "build_bundle_job",
    "cancel",
    "count_jobs",
    "describe",
    "estimate",
    "free_bytes",
    "list_jobs",
    "list_units",
    "retry",
    "status",
    "submit",
    "submit_ingest",
    "submit_rebuild",
    "wait",
]

_FIRST_POLL_S, _LAST_POLL_S = 0.05, 1.0

_NAMING_S = LEASE_SECONDS + 15.0
"""Seconds to wait for the name of a result while it cannot be given.

A process that holds the name of an ontology, even a dead one, releases it within this time. Waiting longer is
useless: a full disk, for instance, may stay full.
"""


def submit(
    workspace: Workspace,
    kind: str,
    parameters: Mapping[str, Any],
    *,
    target: Mapping[str, str] | None = None,
    wait: bool = True,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Submit a job; if the same request was made before, its job and its finished units are reused.

    Parameters
    ----------
    workspace : Workspace
        Where the job is recorded and its result kept.
    kind : str
        Name of a job kind.
    parameters : mapping
        The parameters of the kind; decimal numbers are given as strings. Names in them are resolved now, as
        `workers.requests.request.plan_request` describes.
    target : mapping, optional
        The name that the result gets, as a mapping whose keys the kind defines. If the key ``ontology`` is
        left out, its value is the ontology that `parameters` name.
    wait : bool, default=True
        Whether to wait until the job is finished. Without a broker, a job that nobody waits for is run by the
        next process that waits for a job, or by ``grove worker``.
    progress : callable, optional
        Called with the job repeatedly while waiting.

    Returns
    -------
    job : Job
        The job in its present state; `Job.error` says why a failed job failed.

    Raises
    ------
    InputError
        For an unknown kind, for parameters or a target that the kind refuses, and for results that do not fit
        into the artifact store. Nothing is recorded.
    NotFoundError, UnknownLabelError
        For an ontology, a version or a label that does not exist. Nothing is recorded.
    """
    known = kind_named(kind)
    check_named(known, target)
    plan = plan_request(workspace, known, parameters)
    completed = complete_target(workspace, known, plan, parameters, target)
    return _submit(workspace, known, plan, completed, wait=wait, progress=progress)


def wait(
    workspace: Workspace,
    job_id: str,
    *,
    timeout_s: float | None = None,
    progress: Callable[[Job], None] | None = None,
    publish: bool = True,
) -> Job:
    """Wait until a job is finished, but at most `timeout_s` seconds; return the job as it is then.

    With ``publish=False``, wait only until the job has ended (`Job.ended`). The next sweep
    (`workers.running.sweeper`) then names the result and shows it in the graph.

    If there is no broker, this process runs units while it waits: the units of any job or, with
    ``publish=False``, only those of this job.

    A job may be done while its result cannot get its name, because another process holds the lock of that
    name. This function then waits only as long as such a lock can be held, and `Job.delayed` of the returned
    job says what is wrong.

    Raises
    ------
    NotFoundError
        If there is no such job.
    ConflictError
        If the job needs a kind, or a version of its kind, that this installation does not have.
    """
    job = status(workspace, job_id)
    if not (job.finished if publish else job.ended):
        _check_runnable(workspace, job)
    return _wait(workspace, job.id, timeout_s=timeout_s, progress=progress, publish=publish)


def status(workspace: Workspace, job_id: str) -> Job:
    """Return the one job whose id begins with `job_id`; raise `NotFoundError` if none or several do."""
    return Ledger(workspace.engine).job(job_id, about=versions_shown(workspace))


def describe(workspace: Workspace, result: JobResult) -> Description:
    """Return a description of a result for people.

    Each kind of job describes its own results. If the kind is unknown or cannot describe results, the
    description lists the contents of the artifact.
    """
    kind = find_kind(result.kind)
    if kind is None or kind.describe is None:
        return describe_artifact(workspace, result)
    return kind.describe(workspace, result)


def list_jobs(
    workspace: Workspace,
    *,
    limit: int = 100,
    state: State | None = None,
    kind: str | None = None,
    ontology: str | None = None,
    asked_by: str | None = None,
) -> list[Job]:
    """Return the newest jobs, newest first; by default in any state, of any kind, about any ontology."""
    about = versions_shown(workspace, ontology)
    return Ledger(workspace.engine).jobs(limit=limit, state=state, kind=kind, asked_by=asked_by, about=about)


def count_jobs(
    workspace: Workspace,
    *,
    state: State | None = None,
    kind: str | None = None,
    ontology: str | None = None,
    asked_by: str | None = None,
) -> int:
    """Return the number of jobs that `list_jobs` would return without a limit."""
    about = versions_shown(workspace, ontology)
    return Ledger(workspace.engine).n_jobs(state=state, kind=kind, asked_by=asked_by, about=about)


def list_units(workspace: Workspace, job_id: str, *, limit: int = 100) -> list[Unit]:
    """Return the first `limit` units of a job, in an order in which they can be run."""
    return Ledger(workspace.engine).unit_records(status(workspace, job_id).id, limit=limit)


def cancel(workspace: Workspace, job_id: str) -> Job:
    """Cancel a job for everybody who submitted it.

    A running unit that belongs only to this job learns of the cancellation within a third of its lease and
    stops before the next part of its work. If the kind does its work in a single part, the unit runs to its
    end, but its result is not published.

    Raises
    ------
    NotFoundError
        If there is no such job.
    ConflictError
        If the job is already done or has failed.
    """
    ledger = Ledger(workspace.engine)
    full_id = status(workspace, job_id).id
    ledger.cancel(full_id)
    return ledger.job(full_id)


def estimate(workspace: Workspace, kind: str, parameters: Mapping[str, Any]) -> Estimate | None:
    """Return the estimated size and time of a job with complete parameters.

    Return None if the kind makes no estimate.

    Raises
    ------
    NotFoundError
        If the job is not about the ontologies to which the workspace is restricted.
    """
    known = kind_named(kind)
    refuse_unseen(workspace, kind, parameters, None)
    return _estimate(workspace, known, parameters)


def free_bytes(workspace: Workspace) -> int | None:
    """Return the free bytes on the disk of the artifact store; None if the store is not on this machine."""
    folder = workspace.artifacts.folder
    if folder is None:
        return None
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def retry(
    workspace: Workspace,
    job_id: str,
    *,
    wait: bool = True,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Try a failed or cancelled job again; units that are done are kept.

    Raises
    ------
    NotFoundError
        If there is no such job.
    ConflictError
        If the job did not fail and was not cancelled, or if this installation does not have the kind, or the
        version of the kind, that the job needs.
    """
    ledger = Ledger(workspace.engine)
    job = status(workspace, job_id)
    _check_runnable(workspace, job)
    ledger.retry(job.id)
    return _go_on(workspace, job.id, wait=wait, progress=progress)


def build_bundle_job(
    workspace: Workspace,
    ontology: str,
    bundle: str,
    observed: Iterable[str],
    *,
    metric: str = "auto",
    labels: str | Iterable[str] = "all",
    form: str = "auto",
    wait: bool = True,
) -> Job:
    """Submit a job that builds a bundle of an ontology and then gives it the name ``ontology/bundle``.

    Parameters
    ----------
    workspace : Workspace
        The workspace with the ontology.
    ontology, bundle : str
        Name of the ontology, and the name that the bundle gets.
    observed : iterable of str
        Keys of the labels that the classifier was trained on, in the order of its columns.
    metric : {"auto", "tree", "graph"}
        As for `ontology.geometry.metric_space`.
    labels : {"all", "leaves"} or iterable of str
        The labels that may be answered.
    form : {"auto", "tree", "block"}
        As for `adapter.build_bundle`.
    wait
        As for `submit`.

    Raises
    ------
    NotFoundError, UnknownLabelError
        If there is no such ontology, or a label is not in it; nothing is recorded.
    InputError
        For a label given twice, or a name that no bundle may have; nothing is recorded.
    """
    check_name(bundle, "bundle")
    parameters = {
        "ontology": ontology,
        "observed": list(observed),
        "metric": metric,
        "labels": labels if isinstance(labels, str) else list(labels),
        "form": form,
    }
    target = {"ontology": ontology, "bundle": bundle}
    return submit(workspace, "bundle", parameters, target=target, wait=wait)


def submit_ingest(
    workspace: Workspace,
    name: str,
    result: ReadResult | LabelGraph | Snapshot,
    *,
    source: str | None = None,
    shrink: bool = False,
    wait: bool = True,
    progress: Callable[[Job], None] | None = None,
) -> Job:
    """Store an ontology, and submit a job that loads it into the graph as the current version of `name`.

    Parameters
    ----------
    workspace : Workspace
        Where to store the ontology. Graph and database are contacted first; if one is unreachable, no job is
        submitted.
    name, result, source, shrink
        As for `ontology.versions.ingest.register`.
    wait, progress
        As for `submit`.

    Raises
    ------
    InputError
        For a name that no ontology may have; nothing is recorded.
    ShrinkError
        If `result` has less than half of the labels that the current version of `name` has, unless `shrink`
        is true; nothing is recorded. The check is repeated when the job is done: if the version that is
        current by then has more than twice as many labels as `result`, it stays current, and the job says
        why.
    DefectsError
        If `result` was read with defects that prevent an ingest; nothing is recorded.
    ServiceError
        If the database, artifact store or graph cannot be reached or written.

    Notes
    -----
    The previous version stays current until the job is done. Of several requests for one name, the last one
    wins.
    """
    from labelgrove.ontology.versions.ingest import announce, check_size
    from labelgrove.ontology.versions.snapshots import Snapshot, put_result, unpacked

    check_name(name)
    if workspace.only is not None and name not in workspace.only:
        workspace.catalog.version(name)  # answers as for an ontology that does not exist
    graph = result.graph if isinstance(result, Snapshot) else unpacked(result)[0]
    if not shrink:
        check_size(workspace, name, graph.n_labels)
    snapshot = put_result(workspace.artifacts, result, source)
    announce(workspace, name, snapshot)
    known = kind_named("ingest")
    parameters: Mapping[str, Any] = {
        "ontology": graph.digest,
        "snapshot": snapshot.arrays[0],
        "annotations": None if snapshot.annotations is None else snapshot.annotations[0],
        "shrink": shrink,
    }
    plan = plan_job(known, parameters, Subject.of(graph))
    completed = complete_target(workspace, known, plan, parameters, {"ontology": name})
    return _submit(workspace, known, plan, completed, wait=wait, progress=progress)


def submit_rebuild(workspace: Workspace, *, wait: bool = True) -> Job:
    """Submit a rebuild of the graph from the snapshots; every request is a separate job.

    The arguments are those of `submit`.
    """
    request = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {secrets.token_hex(8)}"
    return submit(workspace, "rebuild-graph", {"request": request}, wait=wait)


def _submit(
    workspace: Workspace,
    kind: JobKind,
    plan: PlannedJob,
    target: Mapping[str, str] | None,
    *,
    wait: bool,
    progress: Callable[[Job], None] | None,
) -> Job:
    ledger = Ledger(workspace.engine)
    refuse_unseen(workspace, kind.name, plan.parameters, target)
    _refuse_impossible(workspace, ledger, kind, plan)
    ledger.submit(plan, target=target, asked_by=workspace.asked_by)
    record_lost(workspace, ledger, plan.id)
    return _go_on(workspace, plan.id, wait=wait, progress=progress)


def _estimate(workspace: Workspace, kind: JobKind, parameters: Mapping[str, Any]) -> Estimate | None:
    if kind.estimate is None:
        return None
    if "snapshot" not in parameters:
        every = {v.digest: v for v in workspace.catalog.versions() if v.state == "ready"}.values()
        return kind.estimate(
            parameters, Subject(sum(v.n_labels for v in every), sum(v.n_edges for v in every))
        )
    artifacts = workspace.artifacts
    n_keys = {}
    for declared in kind.parameters:
        value = parameters.get(declared.name)
        if declared.keys and is_digest(value):
            n_keys[declared.name] = len(read_keys(artifacts, value))
        elif declared.amounts and is_digest(value):
            n_keys[declared.name] = len(read_amounts(artifacts, value) or ())
    graph = open_graph(artifacts, parameters)
    size = artifacts.size(parameters["snapshot"])
    return kind.estimate(parameters, Subject.of(graph, n_keys, snapshot_bytes=size))


def _refuse_impossible(workspace: Workspace, ledger: Ledger, kind: JobKind, plan: PlannedJob) -> None:
    """Raise `InputError` if the results of a job do not fit on the disk.

    A job is accepted if it is already done, or if its kind makes no estimate.
    """
    free = free_bytes(workspace)
    try:
        said = _estimate(workspace, kind, plan.parameters)
    except (ArtifactError, InputError, NotFoundError):  # its units report what cannot be read
        return
    if said is None or free is None or said.least_bytes <= free or _is_done(ledger, plan.id):
        return
    raise InputError(
        f"{plan.kind}: its results take at least {sized(said.least_bytes)}, but "
        f"{workspace.artifacts.where} has only {sized(free)} free; request a smaller result, or free disk "
        "space there (GROVE_ARTIFACTS_URL names the store)"
    )


def _is_done(ledger: Ledger, job_id: str) -> bool:
    try:
        return ledger.job(job_id).state is State.DONE
    except NotFoundError:
        return False


def _check_runnable(workspace: Workspace, job: Job) -> None:
    embedded = workspace.settings.broker_url is None
    if embedded and find_kind(job.kind, job.version) is None:
        raise ConflictError(
            f"job {job.id} needs version {job.version} of the job kind {job.kind!r}, which this installation "
            "does not have; run it with the installation that submitted it, or submit it again"
        )


def _go_on(workspace: Workspace, job_id: str, *, wait: bool, progress: Callable[[Job], None] | None) -> Job:
    if wait:
        return _wait(workspace, job_id, progress=progress)
    if workspace.settings.broker_url is not None:
        _send_due(workspace)
    return Ledger(workspace.engine).job(job_id)


def _wait(
    workspace: Workspace,
    job_id: str,
    *,
    timeout_s: float | None = None,
    progress: Callable[[Job], None] | None = None,
    publish: bool = True,
) -> Job:
    ledger = Ledger(workspace.engine)
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    naming_ends = math.inf
    job = ledger.job(job_id)

    def over() -> bool:
        nonlocal job, naming_ends
        job = ledger.job(job_id)
        if progress is not None:
            progress(job)
        now = time.monotonic()
        is_named = job.state is not State.DONE or job.delayed is None
        naming_ends = math.inf if is_named else min(naming_ends, now + _NAMING_S)
        return (job.finished if publish else job.ended) or now >= min(deadline, naming_ends)

    if workspace.settings.broker_url is not None:
        _send_due(workspace)
        pause = _FIRST_POLL_S
        while not over():
            time.sleep(pause)
            pause = min(2 * pause, _LAST_POLL_S)
    elif not over():
        with Pool(workspace) as pool:
            if publish:
                pool.run_until(over)
            else:
                pool.run_job(job_id, over)
    return job


def _send_due(workspace: Workspace) -> None:
    """Send due units to the workers; if the broker is unreachable, the next sweep of a worker sends them."""
    from labelgrove.workers.app import send_due

    send_due(workspace.settings, Ledger(workspace.engine))

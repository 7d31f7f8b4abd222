"""Find jobs done for earlier versions of an ontology, and repeat their requests for its current version.

A done job is **stale** if the version that it is about is not the current version of any ontology. Staleness
is computed on every call and stored nowhere; only a new current version changes it. An ingest is never stale,
because its result is the version itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import DEPLOYMENT_FAULTS, GroveError, InputError
from labelgrove.ontology.sql.database import reading
from labelgrove.workers.kinds import JobKind, Subject, find_kind
from labelgrove.workers.kinds.ingest import INGEST
from labelgrove.workers.kinds.inputs import open_graph
from labelgrove.workers.kinds.parameters import is_digest
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.records import ended_on_other_versions
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.requests.request import plan_request, record_lost

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["Refreshed", "is_stale", "refresh", "stale_jobs"]


@dataclass(frozen=True)
class Refreshed:
    """What `refresh` did about one stale job.

    Attributes
    ----------
    stale_id, kind : str
        The id of the job on an earlier version, and the name of its kind.
    job_id : str or None
        The id of the new job, with the same request for the current version; None if no request can be made.
    targets : tuple of mapping
        The names that moved to the new job.
    reason : str or None
        Why no request can be made; None if one can be made.
    """

    stale_id: str
    kind: str
    job_id: str | None
    targets: tuple[Mapping[str, str], ...]
    reason: str | None


def is_stale(job: Job, currents: Collection[str | None]) -> bool:
    """Return whether a job's result is about a version that is not in `currents`, the current versions."""
    version = job.parameters.get("ontology")
    about_one = job.state is State.DONE and job.kind != INGEST.name and is_digest(version)
    return about_one and version not in currents


def stale_jobs(
    workspace: Workspace, *, limit: int | None = None, kind: str | None = None, ontology: str | None = None
) -> list[Job]:
    """Return the newest stale jobs, newest first; by default those of every kind and every ontology."""
    currents = [digest for digest in workspace.catalog.currents().values() if digest is not None]
    with reading(workspace.engine) as connection:
        found = ended_on_other_versions(connection, currents, kind=kind)
    stale = [job for job in found if is_stale(job, currents)]
    if ontology is not None or workspace.only is not None:
        versions = {version.digest for version in workspace.catalog.versions(ontology)}
        stale = [job for job in stale if job.parameters["ontology"] in versions]
    return stale[:limit]


def refresh(workspace: Workspace, ontology: str, *, dry_run: bool = False) -> list[Refreshed]:
    """Repeat the request of every stale job of `ontology` for its current version, the oldest first.

    The labels of each request are looked up in the current version. Parameters that follow from sizes, such
    as the number of units, are computed again, but a value that the user chose is kept. The names of bundles
    move to the new jobs. A second call changes nothing. This function waits for no job.

    Parameters
    ----------
    workspace : Workspace
        The workspace with the ontology.
    ontology : str
        Name of the ontology.
    dry_run : bool, default=False
        Record no job; lists of labels are stored anyway, and garbage collection removes them.

    Returns
    -------
    refreshed : list of Refreshed
        One for each stale job. If a request cannot be made, because a label is gone or the kind of the job is
        unknown here, `Refreshed.reason` says why, and the other requests are made nevertheless.

    Raises
    ------
    NotFoundError
        For an unknown ontology.
    ServiceError
        If a service does not answer; recorded jobs stay, and a second call does the rest.
    """
    workspace.catalog.version(ontology)
    stale = stale_jobs(workspace, ontology=ontology)
    done = [_refreshed(workspace, ontology, job, dry_run=dry_run) for job in reversed(stale)]
    if not dry_run and workspace.settings.broker_url is not None:
        from labelgrove.workers.app import send_due

        send_due(workspace.settings, Ledger(workspace.engine))
    return done


def _refreshed(workspace: Workspace, ontology: str, job: Job, *, dry_run: bool) -> Refreshed:
    try:
        named = Ledger(workspace.engine).requested_names(job.id)
        kind = find_kind(job.kind)
        if kind is None:
            raise InputError(f"job kind {job.kind!r} is not known here")
        moving = [target for target in named if target.get("ontology", ontology) == ontology]
        targets = tuple(moving if kind.publish is not None else ())
        request = _original_request(workspace, kind, job) | {"ontology": ontology}
        plan = plan_request(workspace, kind, request)
    except DEPLOYMENT_FAULTS:  # an unreachable service
        raise
    except GroveError as error:
        return Refreshed(job.id, job.kind, None, (), str(error))
    if not dry_run:
        ledger = Ledger(workspace.engine)
        for target in targets or (None,):
            ledger.submit(plan, target=target, asked_by=workspace.asked_by)
        record_lost(workspace, ledger, plan.id)
    return Refreshed(job.id, job.kind, plan.id, targets, None)


def _original_request(workspace: Workspace, kind: JobKind, job: Job) -> dict[str, Any]:
    """Return the fewest parameters that would request this job on its own version.

    Labels are returned as lists, and amounts as dictionaries from labels to amounts, not as digests of
    artifacts. The caller uses the parameters to request a job on another version. Therefore a value that
    `JobKind.complete` would fill in is left out: for the other version, `JobKind.complete` fills in the value
    that fits that version.
    """
    given = dict(job.parameters)
    if "snapshot" not in given:
        raise InputError(
            f"the job's request names no snapshot; submit the job again: grove jobs submit {job.kind}"
        )
    version, snapshot = given.pop("ontology"), given.pop("snapshot")
    files = {parameter.name for parameter in kind.parameters if parameter.file}
    keys: dict[str, list[str] | dict[str, str]] = {}
    for name, value in job.parameters.items():
        if (
            name in given.keys() - files
            and is_digest(value)
            and (listed := _labels(workspace, value)) is not None
        ):
            keys[name] = listed
            del given[name]
    graph = open_graph(workspace.artifacts, job.parameters)
    subject = Subject.of(graph, {name: len(listed) for name, listed in keys.items()})
    fixed = {"ontology": version, "snapshot": snapshot} | {name: job.parameters[name] for name in keys}
    for name in sorted(given):
        fewer = {other: value for other, value in given.items() if other != name}
        try:
            same = kind.complete(fixed | fewer, subject) == job.parameters
        except InputError:  # it has to be given
            continue
        if same:
            given = fewer
    return {**given, **keys}


def _labels(workspace: Workspace, digest: str) -> list[str] | dict[str, str] | None:
    """Return the list of labels, or the dictionary from labels to amounts, that an artifact contains.

    Return None if it contains neither.
    """
    try:
        held = json.loads(workspace.artifacts.read_bytes(digest))
    except ValueError:
        return None
    if isinstance(held, list) and all(isinstance(key, str) for key in held):
        return held
    return held if isinstance(held, dict) else None

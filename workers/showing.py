"""Show results of done jobs in the graph, keep the newest there, and restore lost ones.

To *show* a result is to write it into the graph, as a node with relationships. The graph follows the ledger:
a row of the ledger requests that a result be shown (`workers.ledger.publications`), and stays until the
result is shown. So a crash or an unreachable graph only delays the result. Every function here can be called
again, and by any number of processes at once.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from labelgrove.adapter.loading.cache import through_cache
from labelgrove.ontology.errors import (
    DEPLOYMENT_FAULTS,
    GraphDamagedError,
    GroveError,
    InputError,
    NotFoundError,
    ServiceError,
    TransientError,
)
from labelgrove.workers.kinds import JobKind, JobResult, Naming, find_kind
from labelgrove.workers.ledger.failures import defect_text
from labelgrove.workers.ledger.publications import Publications, newest_first
from labelgrove.workers.ledger.specs import canonical_json
from labelgrove.workers.ledger.states import GRAPH, Publication

if TYPE_CHECKING:
    from labelgrove.ontology.settings import Settings
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.ledger import Ledger

__all__ = ["bring_back", "publish_results", "reshow", "reshow_once", "show_result"]

OutOfTime = type[Exception] | tuple[()]
"""The exception that the carrier raises in work that takes too long; an empty tuple if it raises none."""

logger = logging.getLogger(__name__)

_PATIENCE_S = 1.0
"""Seconds; a graph that takes longer to fail delays this whole process, so it is left alone for a while."""

_REST_S = 20.0
"""Seconds for which a graph that was slow to fail is not contacted."""

_resting: dict[Settings, tuple[float, str]] = {}
"""For each deployment with such a graph: the end of the rest, on the monotonic clock, and the error."""

_compared: set[Settings] = set()

_settling: dict[tuple[int, Settings, str, str], object] = {}
"""Publications that some thread of this process is carrying out, each with a mark unique to that thread."""


def publish_results(
    workspace: Workspace,
    ledger: Ledger,
    job_ids: Collection[str] | None = None,
    *,
    out_of_time: OutOfTime = (),
) -> None:
    """Publish the results of done jobs: give them the requested names, and write them into the graph.

    By default this is done for all jobs. If a temporary fault prevents a publication, the next sweep tries it
    again. A publication that cannot succeed is closed with its error. Results of a kind that is unknown here
    are left to a worker that knows it. If this call takes too long, an exception of the type `out_of_time` is
    raised inside it. The exception is passed on to the caller, and the publication that it interrupts stays
    open.
    """
    publications = Publications(workspace.engine)
    waiting = [(p, find_kind(p.kind, p.version)) for p in publications.pending(job_ids)]
    known = [(publication, kind) for publication, kind in waiting if kind is not None]
    for publication, kind in known:
        if not _is_shown(publication):
            name = partial(_name_result, workspace, ledger, kind, out_of_time)
            _settle(workspace, publications, publication, name, out_of_time)
    # after the names, so that an unreachable graph delays none of them
    shown = [(publication, kind) for publication, kind in known if _is_shown(publication)]
    for i, (publication, kind) in enumerate(shown):
        if kind.show is None:
            continue
        try:
            _reach_graph(workspace)
        except (OSError, GroveError) as error:
            logger.warning("%d results are not yet shown in the graph: %s", len(shown) - i, error)
            publications.postpone([late for late, _ in shown[i:]], str(error))
            return
        _settle(workspace, publications, publication, partial(show_result, workspace, kind), out_of_time)


def show_result(workspace: Workspace, kind: JobKind, publication: Publication) -> None:
    """Write one result into the graph if it is among the newest of its kind about its ontology version.

    The setting ``keep_results`` says how many of these the graph keeps. Older ones are dropped from the
    graph; their jobs and artifacts stay. A result whose job is not in the ledger counts as the oldest.

    Parameters
    ----------
    workspace : Workspace
        The workspace with the artifacts, the ledger and the graph.
    kind : JobKind
        A kind that shows results.
    publication : Publication
        The request to show the result; it names the job and the artifact.

    Raises
    ------
    NotFoundError
        If the version or the artifact is gone.
    ServiceError
        If the graph is unreachable, does not have the version yet, or was changed while the result was
        written.
    """
    publications = Publications(workspace.engine)
    kept, _ = _ranked(workspace, publications, publication)
    if kind.show is None or publication.job_id not in kept:
        return
    result = kind.show(_result(workspace, publication))
    asked = datetime.fromtimestamp(publications.created_at(publication.job_id), UTC)
    try:
        workspace.graph.write_result(replace(result, created=asked.isoformat(timespec="milliseconds")))
    except NotFoundError as error:
        raise _without_version(workspace, publication) from error
    except GraphDamagedError as error:  # another process drops the version or an equal result
        raise TransientError(f"{error}; the result will be written into the graph later") from error
    # again, as others may have shown theirs meanwhile
    _, outdated = _ranked(workspace, publications, publication)
    workspace.graph.drop_results(outdated)


def reshow(workspace: Workspace, ledger: Ledger, *, out_of_time: OutOfTime = ()) -> list[str]:
    """Find the results that the graph should contain but lacks, and write them into it.

    Return the ids of the jobs whose results were missing. Call this after the graph was deleted, rebuilt or
    damaged. It is fast if nothing is missing. `out_of_time` is as for `publish_results`.

    Raises
    ------
    ServiceError
        If the graph is unreachable.
    """
    publications = Publications(workspace.engine)
    wanted = publications.newest(workspace.settings.keep_results)
    if not wanted:
        return []
    _reach_graph(workspace)
    graph = workspace.graph
    graph.drop_results([])  # a process may have been killed while it dropped some
    ready = {row["digest"] for row in graph.versions() if row["state"] == "ready"}
    held = {row["job"] for row in graph.results()}
    lacking = [job_id for job_id, version in wanted.items() if version in ready and job_id not in held]
    if lacking:
        logger.warning("%d results are missing from the graph and are written into it again", len(lacking))
        publications.reopen(lacking)
        publish_results(workspace, ledger, lacking, out_of_time=out_of_time)
    return lacking


def reshow_once(workspace: Workspace, ledger: Ledger) -> None:
    """Call `reshow` once per process; if it fails, the next call tries again.

    An error is only logged, because it must not end the caller's sweep: units that need no graph are still
    waiting to be sent.
    """
    if workspace.settings in _compared:
        return
    try:
        reshow(workspace, ledger)
    except GroveError as error:
        logger.warning("the results in the graph are not yet compared with the ledger: %s", error)
    else:
        _compared.add(workspace.settings)


def bring_back(workspace: Workspace) -> None:
    """Call `reshow` for a workspace whose graph was just repaired.

    An error is only logged, because a graph without results can still be queried.
    """
    from labelgrove.workers.ledger.ledger import Ledger

    try:
        reshow(workspace, Ledger(workspace.engine))
    except ServiceError as error:
        logger.warning("results are missing from the graph: %s", error)


def _reach_graph(workspace: Workspace) -> None:
    """Raise an error if the graph does not answer; after a slow failure, do not contact it for a while.

    Call this before a transaction, which would be retried for minutes if the graph is unreachable. A refused
    connection fails at once here, so the next call contacts the graph again. If a failure took longer than
    `_PATIENCE_S` seconds, calls in the next `_REST_S` seconds raise a `ServiceError` without contacting the
    graph.
    """
    began = time.monotonic()
    until, reason = _resting.get(workspace.settings, (began, ""))
    if began < until:
        raise ServiceError(f"{reason}; the graph is tried again in {until - began:.0f} s")
    try:
        workspace.graph.describe()
    except (OSError, GroveError) as error:
        ended = time.monotonic()
        if ended - began > _PATIENCE_S:
            _resting[workspace.settings] = ended + _REST_S, str(error)
        raise
    _resting.pop(workspace.settings, None)


# ---- one publication -----------------------------------------------------------------------------------


def _is_shown(publication: Publication) -> bool:
    return publication.target_json == canonical_json({GRAPH: publication.job_id})


def _result(workspace: Workspace, publication: Publication) -> JobResult:
    return JobResult(
        publication.job_id,
        publication.kind,
        publication.parameters,
        publication.sha256,
        through_cache(workspace.artifacts, workspace.settings),
    )


def _name_result(
    workspace: Workspace, ledger: Ledger, kind: JobKind, out_of_time: OutOfTime, publication: Publication
) -> None:
    """Give a result its name; raise `InputError` if its kind names no results."""
    if kind.publish is None:
        raise InputError(
            f"results of the kind {kind.name} get no name; submit the job without the target "
            f"{dict(publication.target)}"
        )
    kind.publish(
        Naming(
            workspace,
            _result(workspace, publication),
            publication.target,
            recompute=partial(ledger.recompute, publication.job_id),
            reshow=partial(reshow, workspace, ledger, out_of_time=out_of_time),
        )
    )


def _settle(
    workspace: Workspace,
    publications: Publications,
    publication: Publication,
    act: Callable[[Publication], None],
    out_of_time: OutOfTime,
) -> None:
    """Carry out a publication and close it; after a temporary fault, leave it open.

    After a permanent error, the publication is closed with that error. If another thread of this process
    is carrying out the publication, do nothing.
    """
    with _one_thread(workspace.settings, publication) as is_mine:
        if is_mine:
            _carry_out(publications, publication, act, out_of_time)


@contextmanager
def _one_thread(settings: Settings, publication: Publication) -> Iterator[bool]:
    """Yield whether this thread may carry out a publication: False while another thread does so.

    When the last unit of a job ends, the thread that ran it and a sweep may start to publish the result at
    the same moment. Without this check, the second of them would find that its own process keeps the name
    locked.
    """
    this = os.getpid(), settings, publication.kind, publication.target_json  # a new fork carries out nothing
    mark = object()
    is_mine = _settling.setdefault(this, mark) is mark
    try:
        yield is_mine
    finally:
        if is_mine:
            del _settling[this]


def _carry_out(
    publications: Publications,
    publication: Publication,
    act: Callable[[Publication], None],
    out_of_time: OutOfTime,
) -> None:
    try:
        act(publication)
    except out_of_time:
        raise
    except DEPLOYMENT_FAULTS as error:  # an unreachable service or a full disk: still to be published
        if _is_shown(publication):
            publications.postpone([publication], str(error))
        elif not publications.delay(publication, str(error)):  # it was reported before
            return
        logger.warning("job %s: its result is not yet published: %s", publication.job_id, error)
    except GroveError as error:
        logger.error("job %s: its result cannot be published: %s", publication.job_id, error)  # noqa: TRY400
        publications.close(publication, error=str(error))
    except Exception as error:  # a defect of the kind: left pending, it would end every later sweep
        logger.exception("job %s: its result cannot be published", publication.job_id)
        publications.close(publication, error=defect_text(error))
    else:
        publications.close(publication)


def _without_version(workspace: Workspace, publication: Publication) -> GroveError:
    """Return the error that says why the graph lacks the version of a result."""
    digest = publication.parameters["ontology"]
    if any(version.digest == digest for version in workspace.catalog.versions()):  # it is being loaded again
        return TransientError(
            f"version {digest[:12]} is not ready in the graph; when it is ready, its results will be written"
            " into the graph"
        )
    return NotFoundError(
        f"version {digest[:12]} was deleted, so the result is not shown in the graph; ingest its source and "
        "submit the job again"
    )


def _ranked(
    workspace: Workspace, publications: Publications, publication: Publication
) -> tuple[frozenset[str], list[str]]:
    """Return the ids of the jobs whose results may stay in the graph, and the ids of the results to drop.

    Only results of the publication's kind about its ontology version are considered: those in the graph, and
    the one to publish.
    """
    rows = [
        row
        for row in workspace.graph.results(publication.parameters["ontology"])
        if row["kind"] == publication.kind
    ]
    jobs = [publication.job_id, *(row["job"] for row in rows)]
    kept = frozenset(newest_first(publications.finished_at(jobs), jobs)[: workspace.settings.keep_results])
    staying = {row["id"] for row in rows if row["job"] in kept}
    return kept, sorted({row["id"] for row in rows} - staying)

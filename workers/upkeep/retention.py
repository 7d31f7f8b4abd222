"""Retention: forget old finished jobs, and delete artifacts that nothing refers to.

An artifact is deleted only if nothing refers to it, and nothing has referred to it during a grace period
(`GRACE_S`, one day). Four rules prevent the deletion of an artifact that somebody is about to refer to:

1. Whoever publishes an artifact records a reference to it afterward. Publishing sets the modification time
   of the file to the current time, even if the same bytes already exist. The grace period therefore protects
   the artifact between publication and reference.
2. When the row of a unit is deleted from the database, the grace period of its artifact begins again, in the
   same transaction (`ontology.sql.garbage.let_go`). This also protects an artifact that passes from one
   reference to another, or that was requested again a moment ago.
3. Before each batch of deletions, every reference is read again. Just before a file is deleted, its
   modification time is compared with the beginning of the grace period. A store in a folder moves the file
   aside before the comparison: whoever publishes the artifact after that makes a new file, which stays. Other
   stores cannot do this, and leave a gap of milliseconds between comparison and deletion. The times of files
   are compared with the clock of the machine that runs the collection. The times of rows are compared with
   the clock of the database. It does not matter if these clocks differ by seconds; if they differed by hours,
   the grace period of a day would be shorter.
4. While old jobs are forgotten, a lock makes submitters of jobs wait. A job that is submitted meanwhile is
   therefore either kept with all its units, or forgotten first and then recorded again.

One case is not protected: a request that names an artifact by its digest, after nothing has referred to the
artifact for longer than the grace period. Whoever makes such a request has to publish the artifact again
first, as `workers.requests.request` does with every list of labels.

If a unit is recorded again after it was forgotten, its fence starts at zero again. This is safe, because only
ended units without a job are forgotten: a worker would have to hang for as long as jobs are kept before its
old fence could be valid again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from labelgrove.ontology.errors import GroveError, NotFoundError
from labelgrove.ontology.sql.database import now, patient, reading, writing
from labelgrove.ontology.sql.garbage import (
    forget_artifacts,
    let_go,
    let_go_since,
    serves_bundle,
    take_turn,
    unnamed_rows,
)
from labelgrove.workers.ledger.schema import (
    firing_table,
    job_table,
    job_unit_table,
    publication_table,
    unit_table,
)
from labelgrove.workers.ledger.states import GRAPH, State
from labelgrove.workers.upkeep.references import references

if TYPE_CHECKING:
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = [
    "DAY_S",
    "EVERY_S",
    "GRACE_S",
    "TEMPORARY_S",
    "Collection",
    "collect",
    "forget_jobs",
    "tidy",
]

logger = logging.getLogger(__name__)

EVERY_S = 600.0
"""Seconds between two collections; one process of the deployment does each of them."""

GRACE_S = 86_400.0
"""Seconds for which an artifact stays after it was published and after the last reference to it is gone."""

TEMPORARY_S = 3_600.0
"""Seconds for which an unfinished file of a killed writer stays after its last byte was written."""

_JOBS_PER_TURN = 1_000
_ARTIFACTS_PER_TURN = 5_000
_BATCH = 20
"""Number of jobs forgotten in one transaction, during which nobody can submit a job."""

_DELETED_TOGETHER = 2_000
"""Number of artifacts deleted between two readings of all references.

A reading takes 0.4 s for each 100,000 units, and a worker forks no child during a sweep. The number is large
so that a turn with the most deletions reads the references four times, not thirty.
"""

DAY_S = 86_400.0
_ENDS = (State.DONE, State.FAILED, State.CANCELLED)

_job, _unit, _job_unit, _publication, _firing = (
    t.c for t in (job_table, unit_table, job_unit_table, publication_table, firing_table)
)
_later = firing_table.alias("later")

_HELD = sa.select(_job_unit.job_id).where(_job_unit.unit_key == _unit.key).correlate(unit_table).exists()
_UNNAMED = (
    sa.select(_publication.job_id)
    .where(
        _publication.job_id == _job.id,
        _publication.state == State.PENDING,
        _job.state == State.DONE,
        ~_publication.target_json.startswith(f'{{"{GRAPH}":', autoescape=True),
    )
    .correlate(job_table)
    .exists()
)
"""Whether the current job row is done and its result waits for its name; the graph does not matter."""
_SCHEDULED = (
    sa.select(_firing.job_id)
    .where(
        _firing.job_id == _job.id,
        ~sa.select(_later.c.due_at)
        .where(_later.c.schedule == _firing.schedule, _later.c.due_at > _firing.due_at)
        .correlate(firing_table)
        .exists(),
    )
    .correlate(job_table)
    .exists()
)
"""Whether the current job row is the last job that some schedule requested."""


# ---- jobs ----------------------------------------------------------------------------------------------


def forget_jobs(
    engine: sa.Engine,
    *,
    keep_s: float,
    limit: int | None = None,
    clock: Callable[[], float] | None = None,
    dry_run: bool = False,
) -> int:
    """Forget jobs that ended more than `keep_s` seconds ago, and units without a job.

    Return the number of forgotten jobs. A job stays if it was requested again within the last `keep_s`
    seconds, if its result is a bundle with a name, if its result still waits for its name, or if it is the
    last job that a schedule requested.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The engine of the ledger.
    keep_s : float
        Seconds for which a finished job is kept.
    limit : int, optional
        Largest number of jobs to forget, the oldest first.
    clock : callable, optional
        As for `workers.ledger.ledger.Ledger`.
    dry_run : bool, default=False
        Count the jobs, and change nothing.
    """
    instant: Any = now() if clock is None else sa.literal(clock(), sa.Double)
    old = (
        _job.finished_at < instant - keep_s,  # null while it is not finished
        sa.func.coalesce(_job.asked_again_at, _job.finished_at) < instant - keep_s,
        ~serves_bundle(_job.result_sha256),
        ~_UNNAMED,
        ~_SCHEDULED,
    )
    if dry_run:
        with reading(engine) as connection:
            return int(connection.execute(sa.select(sa.func.count(_job.id)).where(*old)).scalar_one())
    forgotten = 0
    while limit is None or forgotten < limit:
        batch = _BATCH if limit is None else min(_BATCH, limit - forgotten)
        oldest = sa.select(_job.id).where(*old).order_by(_job.finished_at).limit(batch)
        with reading(engine) as connection:  # almost every turn ends here
            if connection.execute(oldest).first() is None:
                break
        with writing(engine) as connection:
            _keep_askers_waiting(connection)
            ids = list(connection.execute(oldest).scalars())
            with patient(connection):  # a job may have a million units
                for column in (_publication.job_id, _job_unit.job_id, _job.id):
                    connection.execute(sa.delete(column.table).where(column.in_(ids)))
        forgotten += len(ids)
    _forget_units(engine)
    return forgotten


def _forget_units(engine: sa.Engine) -> None:
    """Forget the ended units that belong to no job; the grace period of their artifacts begins."""
    unheld = (_unit.state.in_(_ENDS), ~_HELD)
    while True:
        with reading(engine) as connection:
            found = list(
                connection.execute(sa.select(_unit.key).where(*unheld).limit(_DELETED_TOGETHER)).scalars()
            )
        if not found:
            return
        with writing(engine) as connection:
            _keep_askers_waiting(connection)
            these = (_unit.key.in_(found), *unheld)
            let_go(connection, sa.select(_unit.sha256, _unit.size).where(*these))
            connection.execute(sa.delete(unit_table).where(*these))


def _keep_askers_waiting(connection: sa.Connection) -> None:
    """Prevent others from recording a job until this transaction ends.

    SQLite needs no lock for this, because nobody else can write to the database while this transaction does.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
        connection.execute(sa.text("LOCK TABLE job IN SHARE ROW EXCLUSIVE MODE"))


# ---- artifacts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collection:
    """The files that a collection deleted, or would delete.

    Attributes
    ----------
    artifacts, n_bytes : int
        Number of artifacts that nothing refers to, and their bytes.
    temporaries : int
        Number of unfinished files of writers that were killed.
    """

    artifacts: int
    n_bytes: int
    temporaries: int


def collect(
    workspace: Workspace, *, grace_s: float = GRACE_S, limit: int | None = None, dry_run: bool = False
) -> Collection:
    """Delete artifacts that nothing has referred to for `grace_s` seconds, and files of killed writers.

    Parameters
    ----------
    workspace : Workspace
        The workspace whose artifacts are examined.
    grace_s : float, default=GRACE_S
        Length of the grace period in seconds. Artifacts that are needed may be lost if this is shorter than
        the time between publishing an artifact and recording the row that names it.
    limit : int, optional
        Approximate largest number of artifacts to delete.
    dry_run : bool, default=False
        Count the files, and change nothing.

    Raises
    ------
    ServiceError
        If the database or the store does not answer.
    ArtifactError
        If a file of the static index is damaged, because then nobody knows which artifacts it names. In this
        index, adapters look up bundles by name.
    """
    store, since = workspace.artifacts, time.time() - grace_s
    temporaries = _clear_temporaries(store, time.time() - TEMPORARY_S, dry_run=dry_run)
    artifacts = n_bytes = 0
    for batch in _batches(_unreferenced(workspace, since)):
        freed = list(_delete(workspace, batch, since, grace_s, dry_run=dry_run))
        artifacts, n_bytes = artifacts + len(freed), n_bytes + sum(freed)
        if limit is not None and artifacts >= limit:
            break
    if not dry_run:
        _forget_rows(workspace, grace_s)
    return Collection(artifacts, n_bytes, temporaries)


def _unreferenced(workspace: Workspace, since: float) -> Iterator[str]:
    """Yield the artifacts published before `since` that nothing referred to when this call began."""
    known, store = references(workspace), workspace.artifacts
    for digest in store.digests():
        if digest not in known:
            try:
                old = store.modified(digest) < since
            except NotFoundError:  # another collection was faster
                continue
            if old:
                yield digest


def _delete(
    workspace: Workspace, batch: list[str], since: float, grace_s: float, *, dry_run: bool
) -> Iterator[int]:
    """Delete the artifacts of a batch that are still old and unreferenced; yield the size of each file."""
    store, known = workspace.artifacts, references(workspace)
    with reading(workspace.engine) as connection:
        spared = let_go_since(connection, batch, grace_s)
    for digest in batch:
        if digest in known or digest in spared:
            continue
        try:
            size = store.size(digest)
        except NotFoundError:
            continue
        if dry_run or store.delete_unless_modified(digest, since):
            yield size


def _batches(digests: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for digest in digests:
        batch.append(digest)
        if len(batch) == _DELETED_TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch


def _clear_temporaries(store: ArtifactStore, since: float, *, dry_run: bool) -> int:
    old = [path for path, modified in store.temporaries() if modified < since]
    if not dry_run:
        for path in old:
            path.unlink(missing_ok=True)
    return len(old)


def _forget_rows(workspace: Workspace, grace_s: float) -> None:
    """Delete the catalog rows of artifacts that no longer exist."""
    with reading(workspace.engine) as connection:
        rows = unnamed_rows(connection, grace_s)
    gone = [digest for digest in rows if not workspace.artifacts.exists(digest)]
    for batch in _batches(gone):
        with writing(workspace.engine) as connection:
            forget_artifacts(connection, batch, grace_s)


# ---- in every sweep ------------------------------------------------------------------------------------


def tidy(workspace: Workspace, *, clock: Callable[[], float] | None = None) -> bool:
    """Forget old jobs and delete unused artifacts if this is due and no other process is doing it.

    Return whether this process did it. Errors are logged, not raised, because they must not stop the caller,
    which also sends lost units again; this work is tried again when it is next due.
    """
    if not take_turn(workspace.engine, "retention", every_s=EVERY_S):
        return False
    try:
        keep_s = workspace.settings.keep_jobs_days * DAY_S
        jobs = forget_jobs(workspace.engine, keep_s=keep_s, limit=_JOBS_PER_TURN, clock=clock)
        found = collect(workspace, limit=_ARTIFACTS_PER_TURN)
    except GroveError as error:
        logger.warning("retention failed, and will be tried again: %s", error)
    except Exception:  # a defect here must not end every sweep from now on
        logger.exception("retention")
    else:
        if jobs or found.artifacts or found.temporaries:
            logger.info(
                "retention: %d jobs forgotten, %d artifacts of %d bytes and %d temporary files deleted",
                jobs,
                found.artifacts,
                found.n_bytes,
                found.temporaries,
            )
    return True

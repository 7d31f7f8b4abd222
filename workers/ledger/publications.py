"""Record which results of jobs are still to be published, under a name or in the graph, and which have been.

A row of the publication table is a request about the result of a job. If the target in the row is
``{"graph": ID OF THE JOB}``, the result is to be written into the graph. Any other target is the name that
the result is to get.
`Ledger.record` writes these rows with the job; `workers.showing` carries the requests out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import sqlalchemy as sa

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.sql.database import reading, writing
from labelgrove.workers.ledger.failures import shortened
from labelgrove.workers.ledger.schema import job_table, publication_table
from labelgrove.workers.ledger.specs import canonical_json, job_parameters
from labelgrove.workers.ledger.states import GRAPH, Publication, State

__all__ = ["Publications", "newest_first"]

_job, _publication = job_table.c, publication_table.c

_TOGETHER = 500
"""Number of rows that one statement names."""


class Publications:
    """The rows of one ledger that request that results be published.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The engine of the ledger.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    # ---- names and the graph -----------------------------------------------------------------------

    def pending(self, job_ids: Collection[str] | None = None) -> list[Publication]:
        """Return the pending publications of done jobs, the most recently done job first.

        Only the jobs in `job_ids` are considered; by default all jobs.
        """
        wanted = sa.true() if job_ids is None else _publication.job_id.in_(job_ids)
        query = (
            sa.select(publication_table, _job.kind_version, _job.result_sha256, _job.spec_json)
            .join_from(publication_table, job_table, _publication.job_id == _job.id)
            .where(_publication.state == State.PENDING, _job.state == State.DONE, wanted)
            .order_by(_job.finished_at.desc(), _publication.kind, _publication.target_json)
        )
        with reading(self._engine) as connection:
            rows = connection.execute(query).all()
        return [
            Publication(
                kind=row.kind,
                version=row.kind_version,
                target_json=row.target_json,
                job_id=row.job_id,
                sha256=row.result_sha256,
                spec_json=row.spec_json,
            )
            for row in rows
        ]

    def delay(self, publication: Publication, reason: str) -> bool:
        """Record why a result cannot get its name yet; return whether the reason is new.

        The request for the name stays pending.
        """
        shown = shortened(reason)
        this = (
            _publication.kind == publication.kind,
            _publication.target_json == publication.target_json,
            _publication.job_id == publication.job_id,
            _publication.state == State.PENDING,
            _publication.error.is_distinct_from(shown),
        )
        with writing(self._engine) as connection:
            return bool(
                connection.execute(sa.update(publication_table).where(*this).values(error=shown)).rowcount
            )

    def close(self, publication: Publication, *, error: str | None = None) -> None:
        """Mark a publication as done, or as failed with `error`.

        If another job has requested the same name meanwhile, the request of that job stays pending.
        """
        end = State.DONE if error is None else State.FAILED
        with writing(self._engine) as connection:
            connection.execute(
                sa.update(publication_table)
                .where(
                    _publication.kind == publication.kind,
                    _publication.target_json == publication.target_json,
                )
                .values(
                    state=sa.case((_publication.job_id == publication.job_id, end), else_=State.PENDING),
                    error=error and shortened(error),
                )
            )

    # ---- the graph alone ---------------------------------------------------------------------------

    def finished_at(self, job_ids: Iterable[str]) -> dict[str, float]:
        """Return a dictionary from ids of jobs to the times when the jobs were done, in seconds since 1970.

        An unknown job is left out.
        """
        found: dict[str, float] = {}
        with reading(self._engine) as connection:
            for some in _parts(job_ids):
                query = sa.select(_job.id, _job.finished_at).where(_job.id.in_(some))
                found |= {row.id: row.finished_at for row in connection.execute(query) if row.finished_at}
        return found

    def created_at(self, job_id: str) -> float:
        """Return when a job was first submitted, in seconds since 1970."""
        with reading(self._engine) as connection:
            found: float = connection.execute(
                sa.select(_job.created_at).where(_job.id == job_id)
            ).scalar_one()
        return found

    def newest(self, keep: int) -> dict[str, str]:
        """Return the jobs whose results should be in the graph now.

        Only jobs whose results were once written into it are considered. Of these, the newest `keep` jobs are
        returned for each pair of a kind and a version of an ontology.

        Returns
        -------
        dict of str to str
            For the id of each job, the digest of the version that its result is about.
        """
        shown = sa.literal(f'{{"{GRAPH}":"', sa.Text) + _job.id + '"}'
        query = (
            sa.select(_job.id, _job.kind, _job.spec_json)
            .join_from(publication_table, job_table, _publication.job_id == _job.id)
            .where(_publication.state == State.DONE, _job.state == State.DONE)
            .where(_publication.target_json == shown)
            .order_by(_job.finished_at.desc(), _job.id)
        )
        seen: Counter[tuple[str, str]] = Counter()
        found: dict[str, str] = {}
        with reading(self._engine) as connection:
            for row in connection.execute(query):
                try:
                    version: str = job_parameters(row.spec_json)["ontology"]
                except InputError:  # a damaged row: nothing of it can be shown again
                    continue
                seen[row.kind, version] += 1
                if seen[row.kind, version] <= keep:
                    found[row.id] = version
        return found

    def reopen(self, job_ids: Collection[str]) -> None:
        """Request again that the results of these jobs be written into the graph."""
        with writing(self._engine) as connection:
            for some in _parts(job_ids):
                targets = [canonical_json({GRAPH: job_id}) for job_id in some]
                reopened = sa.update(publication_table).where(
                    _publication.target_json.in_(targets), _publication.state == State.DONE
                )
                connection.execute(reopened.values(state=State.PENDING, error=None))

    def postpone(self, publications: Iterable[Publication], reason: str) -> None:
        """Record why results are not yet written into the graph.

        They will be written later, but `workers.client.wait` no longer waits for that.
        """
        targets = [publication.target_json for publication in publications]
        with writing(self._engine) as connection:
            for some in _parts(targets):
                waiting = _publication.target_json.in_(some), _publication.state == State.PENDING
                connection.execute(
                    sa.update(publication_table).where(*waiting).values(error=shortened(reason))
                )


def newest_first(finished_at: dict[str, float], job_ids: Iterable[str]) -> list[str]:
    """Return the ids of jobs, each once, with the most recently done job first.

    `finished_at` maps the id of a job to the time at which it was done. Jobs that are not in `finished_at`
    come last. Jobs that were done at the same time are ordered by id.

    >>> newest_first({"a": 1.0, "b": 2.0, "c": 2.0}, ["x", "a", "c", "b"])
    ['b', 'c', 'a', 'x']
    """
    return sorted(set(job_ids), key=lambda job_id: (-finished_at.get(job_id, 0.0), job_id))


def _parts(names: Iterable[str]) -> list[list[str]]:
    ordered = sorted(set(names))
    return [ordered[start : start + _TOGETHER] for start in range(0, len(ordered), _TOGETHER)]

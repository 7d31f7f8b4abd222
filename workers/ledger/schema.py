"""The SQL tables of the ledger; every time is in seconds since 1970, UTC."""

from __future__ import annotations

import sqlalchemy as sa

from labelgrove.ontology.sql.database import metadata
from labelgrove.workers.ledger.states import State

__all__ = [
    "LONGEST_NAME",
    "firing_table",
    "job_table",
    "job_unit_table",
    "publication_table",
    "schedule_table",
    "unit_table",
    "worker_table",
]

LONGEST_NAME = 320
"""Most characters of the name of who requested a job."""


def _one_of(*states: State) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"state IN ({', '.join(repr(state.value) for state in states)})", name="state")


job_table = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),  # the job key: the digest of the request
    sa.Column("kind", sa.String(64), nullable=False),
    sa.Column("kind_version", sa.Integer, nullable=False),
    sa.Column("spec_json", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("finished_at", sa.Double),
    sa.Column("result_sha256", sa.String(64)),
    sa.Column("error", sa.Text),
    sa.Column("last_unit", sa.String(64)),  # the unit whose artifact is the result
    sa.Column("asked_again_at", sa.Double),  # when it was last requested again
    _one_of(State.PENDING, State.DONE, State.FAILED, State.CANCELLED),
    sa.Column("asked_by", sa.String(LONGEST_NAME)),  # who requested it first
)

unit_table = sa.Table(
    "unit",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(64), nullable=False),
    sa.Column("kind_version", sa.Integer, nullable=False),
    sa.Column("stage", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("lease_until", sa.Double, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("sends", sa.Integer, nullable=False),  # times sent since it last became pending
    sa.Column("next_send_at", sa.Double, nullable=False),
    sa.Column("sha256", sa.String(64)),
    sa.Column("size", sa.BigInteger),
    sa.Column("error", sa.Text),
    sa.Column("claimed_at", sa.Double),  # when the last attempt began and ended
    sa.Column("ended_at", sa.Double),
    _one_of(*State),
    sa.Column("waits_for", sa.String(64), index=True),  # a unit of a lower stage not known to be done
    sa.Column("spec_json", sa.Text, nullable=False),  # may be megabytes, which SQLite reads to pass over it
    sa.Index(None, "state", "next_send_at", "key"),
)

job_unit_table = sa.Table(
    "job_unit",
    metadata,
    sa.Column("job_id", sa.String(64), sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("unit_key", sa.String(64), sa.ForeignKey("unit.key"), primary_key=True, index=True),
)

publication_table = sa.Table(  # the name that a job's result shall get: the last request for a name wins
    "publication",
    metadata,
    sa.Column("kind", sa.String(64), primary_key=True),
    sa.Column("target_json", sa.String(1024), primary_key=True),
    sa.Column("job_id", sa.String(64), sa.ForeignKey("job.id"), nullable=False, index=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    _one_of(State.PENDING, State.DONE, State.FAILED),
)

schedule_table = sa.Table(
    "schedule",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("cron", sa.String(200), nullable=False),
    sa.Column("kind", sa.String(64), nullable=False),
    sa.Column("parameters_json", sa.Text, nullable=False),  # as requested: names become digests when due
    sa.Column("target_json", sa.String(1024)),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("next_at", sa.Double, nullable=False, index=True),
)

firing_table = sa.Table(  # one row for each answered due time: its key makes each fire only once
    "firing",
    metadata,
    sa.Column(
        "schedule", sa.String(64), sa.ForeignKey("schedule.name", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("due_at", sa.Double, primary_key=True),
    sa.Column("fired_at", sa.Double, nullable=False),
    sa.Column("job_id", sa.String(64), sa.ForeignKey("job.id", ondelete="SET NULL"), index=True),
    sa.Column("error", sa.Text),  # why the request could not be made into a job
)

worker_table = sa.Table(  # see `workers.running.presence`
    "worker",
    metadata,
    sa.Column("name", sa.String(255), primary_key=True),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
)

"""Add schedules with their firings, and the times at which the last attempt of a unit began and ended."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("unit", sa.Column("claimed_at", sa.Double(), nullable=True))
    op.add_column("unit", sa.Column("ended_at", sa.Double(), nullable=True))
    op.create_table(
        "schedule",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("cron", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("parameters_json", sa.Text(), nullable=False),
        sa.Column("target_json", sa.String(length=1024), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_schedule")),
    )
    op.create_index(op.f("ix_schedule_next_at"), "schedule", ["next_at"], unique=False)
    op.create_table(
        "firing",
        sa.Column("schedule", sa.String(length=64), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("fired_at", sa.Double(), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_firing_job_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["schedule"], ["schedule.name"], name=op.f("fk_firing_schedule"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("schedule", "due_at", name=op.f("pk_firing")),
    )
    op.create_index(op.f("ix_firing_job_id"), "firing", ["job_id"], unique=False)


def downgrade() -> None:
    op.drop_table("firing")
    op.drop_table("schedule")
    op.drop_column("unit", "ended_at")
    op.drop_column("unit", "claimed_at")

"""Record the unit that a unit waits for, and the last unit of a job, so that a million units are not searched.

The specification of a unit, which may be megabytes, moves to the end of its row, because SQLite reads all
columns before the requested one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_LAST = """
UPDATE job SET last_unit = (
    SELECT job_unit.unit_key FROM job_unit JOIN unit ON unit.key = job_unit.unit_key
    WHERE job_unit.job_id = job.id ORDER BY unit.stage DESC LIMIT 1)
"""
_WAITS = """
UPDATE unit SET waits_for = (
    SELECT MIN(earlier.key) FROM job_unit AS mine
    JOIN job_unit AS other ON other.job_id = mine.job_id
    JOIN unit AS earlier ON earlier.key = other.unit_key
    WHERE mine.unit_key = unit.key AND earlier.stage < unit.stage AND earlier.state <> 'done')
WHERE stage > 0 AND state <> 'done'
"""


def upgrade() -> None:
    op.add_column("job", sa.Column("last_unit", sa.String(length=64), nullable=True))
    op.add_column("unit", sa.Column("waits_for", sa.String(length=64), nullable=True))
    op.add_column("unit", sa.Column("spec", sa.Text(), nullable=False, server_default=""))
    op.execute("UPDATE unit SET spec = spec_json")
    op.drop_column("unit", "spec_json")
    op.execute("ALTER TABLE unit RENAME COLUMN spec TO spec_json")
    op.execute(_LAST)
    op.execute(_WAITS)
    op.create_index(op.f("ix_unit_waits_for"), "unit", ["waits_for"], unique=False)
    op.create_index(
        op.f("ix_unit_state_next_send_at_key"), "unit", ["state", "next_send_at", "key"], unique=False
    )
    op.drop_index(op.f("ix_unit_state_next_send_at"), "unit")


def downgrade() -> None:
    op.create_index(op.f("ix_unit_state_next_send_at"), "unit", ["state", "next_send_at"], unique=False)
    op.drop_index(op.f("ix_unit_state_next_send_at_key"), "unit")
    op.drop_index(op.f("ix_unit_waits_for"), "unit")
    op.drop_column("unit", "waits_for")
    op.drop_column("job", "last_unit")

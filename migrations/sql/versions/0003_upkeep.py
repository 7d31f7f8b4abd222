"""Record when the upkeep that one process does for all processes is due next."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "upkeep",
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_upkeep")),
    )


def downgrade() -> None:
    op.drop_table("upkeep")

"""Record which workers are alive, so that commands can report that no worker is alive."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "worker",
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker")),
    )


def downgrade() -> None:
    op.drop_table("worker")

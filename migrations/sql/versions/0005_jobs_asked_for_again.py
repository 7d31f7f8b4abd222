"""Record when a job was last requested, so that an old job that is still requested is not forgotten."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("asked_again_at", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("job", "asked_again_at")

"""Record who requested a job first; nobody knows it of jobs that were requested before."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("asked_by", sa.String(length=320), nullable=True))


def downgrade() -> None:
    op.drop_column("job", "asked_by")

"""Record which reading of a source gave a version, so that an unchanged source is not read again."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("version", sa.Column("reading", sa.String(length=64), nullable=True))
    op.add_column("version", sa.Column("report_json", sa.Text(), nullable=True))
    op.add_column("version", sa.Column("read_at", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("version", "read_at")
    op.drop_column("version", "report_json")
    op.drop_column("version", "reading")

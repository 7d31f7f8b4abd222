"""Name the column of a version's annotations; until now its artifact held definitions alone.

Artifacts of definitions stay where they are, and are read as annotations that consist of definitions.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Both databases rename a column in place; copying the table would break the references to it.


def upgrade() -> None:
    op.execute("ALTER TABLE version RENAME COLUMN definitions_sha256 TO annotations_sha256")


def downgrade() -> None:
    op.execute("ALTER TABLE version RENAME COLUMN annotations_sha256 TO definitions_sha256")

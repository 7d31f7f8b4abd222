"""Add the tables of the catalog (labelgrove.ontology.sql.catalog) and the job ledger (labelgrove.workers.ledger.ledger)."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("touched_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_artifact")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("spec_json", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("result_sha256", sa.String(length=64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'done', 'failed', 'cancelled')", name=op.f("ck_job_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(op.f("ix_job_state"), "job", ["state"], unique=False)
    op.create_table(
        "ontology",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("current_version", sa.String(length=64), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=300), nullable=True),
        sa.Column("lease_since", sa.Double(), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_ontology")),
    )
    op.create_table(
        "unit",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("spec_json", sa.Text(), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sends", sa.Integer(), nullable=False),
        sa.Column("next_send_at", sa.Double(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_unit_state")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_unit")),
    )
    op.create_index(op.f("ix_unit_state_next_send_at"), "unit", ["state", "next_send_at"], unique=False)
    op.create_table(
        "job_unit",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("unit_key", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_unit_job_id")),
        sa.ForeignKeyConstraint(["unit_key"], ["unit.key"], name=op.f("fk_job_unit_unit_key")),
        sa.PrimaryKeyConstraint("job_id", "unit_key", name=op.f("pk_job_unit")),
    )
    op.create_index(op.f("ix_job_unit_unit_key"), "job_unit", ["unit_key"], unique=False)
    op.create_table(
        "publication",
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("target_json", sa.String(length=1024), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'done', 'failed')", name=op.f("ck_publication_state")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_publication_job_id")),
        sa.PrimaryKeyConstraint("kind", "target_json", name=op.f("pk_publication")),
    )
    op.create_index(op.f("ix_publication_job_id"), "publication", ["job_id"], unique=False)
    op.create_table(
        "version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("ontology", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("snapshot_sha256", sa.String(length=64), nullable=False),
        sa.Column("definitions_sha256", sa.String(length=64), nullable=True),
        sa.Column("n_labels", sa.Integer(), nullable=False),
        sa.Column("n_edges", sa.Integer(), nullable=False),
        sa.Column("layout", sa.String(length=64), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.CheckConstraint("state IN ('loading', 'ready')", name=op.f("ck_version_state")),
        sa.ForeignKeyConstraint(
            ["definitions_sha256"], ["artifact.sha256"], name=op.f("fk_version_definitions_sha256")
        ),
        sa.ForeignKeyConstraint(["ontology"], ["ontology.name"], name=op.f("fk_version_ontology")),
        sa.ForeignKeyConstraint(
            ["snapshot_sha256"], ["artifact.sha256"], name=op.f("fk_version_snapshot_sha256")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_version")),
        sa.UniqueConstraint("ontology", "digest", name=op.f("uq_version_ontology_digest")),
    )
    op.create_table(
        "bundle",
        sa.Column("ontology", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["ontology", "version"], ["version.ontology", "version.digest"], name=op.f("fk_bundle_ontology")
        ),
        sa.ForeignKeyConstraint(["sha256"], ["artifact.sha256"], name=op.f("fk_bundle_sha256")),
        sa.PrimaryKeyConstraint("ontology", "name", name=op.f("pk_bundle")),
    )
    op.create_table(
        "load_batch",
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.CheckConstraint("state IN ('pending', 'done')", name=op.f("ck_load_batch_state")),
        sa.ForeignKeyConstraint(
            ["version_id"], ["version.id"], name=op.f("fk_load_batch_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("version_id", "number", name=op.f("pk_load_batch")),
    )


def downgrade() -> None:
    op.drop_table("load_batch")
    op.drop_table("bundle")
    op.drop_table("version")
    op.drop_table("publication")
    op.drop_table("job_unit")
    op.drop_table("unit")
    op.drop_table("ontology")
    op.drop_table("job")
    op.drop_table("artifact")

"""``grove db``: the SQL schema of the catalog and the ledger."""

from __future__ import annotations

import click

from labelgrove.cli.printing.text import emit, json_option

__all__ = ["db"]


@click.group()
def db() -> None:
    """Upgrade the schema of the catalog and the ledger."""


@db.command()
@json_option
def upgrade(as_json: bool) -> None:
    """Upgrade the database at GROVE_DATABASE_URL to the current schema; running this again is harmless."""
    from labelgrove.ontology.settings import Settings, masked
    from labelgrove.ontology.sql.database import create_engine, upgrade

    url = Settings.from_env().database_url
    engine = create_engine(url)
    try:
        revision = upgrade(engine)
    finally:
        engine.dispose()
    emit({"database": masked(url), "revision": revision}, as_json, f"{masked(url)} is at revision {revision}")

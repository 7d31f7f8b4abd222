"""Find the folder of the numbered migrations: next to the package in a checkout, inside it when installed."""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.errors import MigrationError
from labelgrove.ontology.extras import upgrade_command

__all__ = ["migrations_folder"]


def migrations_folder() -> Path:
    """Return the folder that contains ``cypher/`` and ``sql/``.

    In a checkout it is ``migrations/`` next to the package, in a wheel ``labelgrove/_migrations``. If there
    is neither, `MigrationError` is raised.
    """
    package = Path(__file__).absolute().parents[1]
    folders = (package.parent / "migrations", package / "_migrations")
    for folder in folders:
        if (folder / "sql").is_dir():
            return folder
    raise MigrationError(
        f"the migrations are neither at {folders[0]} nor at {folders[1]}; "
        f"install labelgrove again with: {upgrade_command()} --force-reinstall"
    )

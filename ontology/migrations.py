"""Where the numbered migrations lie: beside the packages in a checkout, inside the wheel when installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ontology.errors import MigrationError
from ontology.extras import upgrade_command

__all__ = ["migrations_folder"]


def migrations_folder() -> Path:
    """Return the folder that holds ``cypher/`` and ``sql/``.

    A checkout keeps it as ``migrations/`` beside the packages, a wheel as ``labelgrove/_migrations``, which
    is found without importing labelgrove. An installation with neither raises `MigrationError`.
    """
    checkout = Path(__file__).resolve().parent.parent / "migrations"
    if (checkout / "sql").is_dir():
        return checkout
    spec = find_spec("labelgrove")
    for location in (spec.submodule_search_locations or []) if spec else []:
        installed = Path(location) / "_migrations"
        if installed.is_dir():
            return installed
    raise MigrationError(
        f"the migrations are neither at {checkout} nor inside the installed labelgrove; "
        f"install it again with: {upgrade_command()} --force-reinstall"
    )

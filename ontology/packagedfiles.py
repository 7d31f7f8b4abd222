"""Find what a wheel carries inside the package and a checkout has next to it: migrations, the cookbook."""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.errors import MigrationError
from labelgrove.ontology.extras import upgrade_command

__all__ = ["migrations_folder", "packaged"]


def packaged(name: str) -> Path:
    """Return the path of a file or folder that belongs to this installation.

    Parameters
    ----------
    name : str
        Its path in the repository. A wheel has ``docs/cypher.md`` as ``labelgrove/_docs/cypher.md``.

    Raises
    ------
    MigrationError
        If the installation lacks it.
    """
    package = Path(__file__).absolute().parents[1]
    places = (package / f"_{name}", package.parent / name)
    for place in places:
        if place.exists():
            return place
    raise MigrationError(
        f"{name}: neither at {places[0]} nor at {places[1]}; install labelgrove again with: "
        f"{upgrade_command()} --force-reinstall"
    )


def migrations_folder() -> Path:
    """Return the folder that contains ``cypher/`` and ``sql/``; errors are those of `packaged`."""
    return packaged("migrations")

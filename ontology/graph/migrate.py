"""Read the migrations of a graph's schema: numbered Cypher files, each applied once and recorded by checksum.

``migrations/cypher/<dialect>/V0001__what_it_does.cypher`` holds statements that end with semicolons. A store
records version and checksum of every file it has applied as ``(:_Migration {version, checksum})``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labelgrove.ontology.errors import MigrationError
from labelgrove.ontology.graph.cyphertokens import statements
from labelgrove.ontology.migrations import migrations_folder

__all__ = ["Migration", "changed_versions", "migrations", "pending"]

_NAME = re.compile(r"V(\d{4})__([a-z0-9_]+)\.cypher")


@dataclass(frozen=True)
class Migration:
    """One numbered migration file.

    Attributes
    ----------
    version, name : str
        ``"0001"`` and the words after it.
    checksum : str
        sha256 of the file's text with line feeds as line endings.
    statements : tuple of str
        Statements to run, in order.
    """

    version: str
    name: str
    checksum: str
    statements: tuple[str, ...]

    def record(self) -> dict[str, str]:
        """Return the graph's record of the migration: the parameters of ``record_migration``."""
        return {"version": self.version, "name": self.name, "checksum": self.checksum}


def migrations(dialect: str) -> list[Migration]:
    """Return the migrations of `dialect` in order; gaps, repeats and foreign names raise `MigrationError`."""
    folder = migrations_folder() / "cypher" / dialect
    found: list[Migration] = []
    for path in sorted(folder.glob("*.cypher")):
        match = _NAME.fullmatch(path.name)
        if not match:
            raise MigrationError(f"{path}: a migration must be named like V0001__what_it_does.cypher")
        if int(match[1]) != len(found) + 1:
            raise MigrationError(
                f"{path}: number {match[1]} follows {len(found):04}; number them without gaps"
            )
        text = path.read_text(encoding="utf-8")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found.append(Migration(match[1], match[2], checksum, tuple(statements(text))))
    if not found:
        raise MigrationError(f"{folder} contains no migrations; reinstall labelgrove")
    return found


def pending(dialect: str, recorded: Mapping[str, str], *, where: str) -> list[Migration]:
    """Return the migrations that a graph with the `recorded` checksums still lacks.

    A recorded version that is unknown here raises `MigrationError`: a newer labelgrove wrote the graph.
    """
    known = migrations(dialect)
    unknown = sorted(recorded.keys() - {m.version for m in known})
    if unknown:
        raise MigrationError(
            f"graph {where}: migration {unknown[-1]} was applied by a newer labelgrove (this one knows up to "
            f"{known[-1].version}); upgrade labelgrove, or point GROVE_GRAPH_URL at another graph"
        )
    return [m for m in known if m.version not in recorded]


def changed_versions(dialect: str, recorded: Mapping[str, str]) -> list[str]:
    """Return the versions whose file has changed since it was applied."""
    return [m.version for m in migrations(dialect) if recorded.get(m.version, m.checksum) != m.checksum]

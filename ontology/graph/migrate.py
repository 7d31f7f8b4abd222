"""Read the migrations of a graph's schema: numbered Cypher files, each applied once and recorded by checksum.

``migrations/cypher/<dialect>/V0001__what_it_does.cypher`` contains statements that end with semicolons. A
store records every file that it has applied as a node ``(:_Migration {version, checksum})``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labelgrove.ontology.errors import MigrationError
from labelgrove.ontology.graph.cyphertokens import statements
from labelgrove.ontology.packagedfiles import migrations_folder

__all__ = ["Migration", "changed_versions", "migrations", "pending"]

_NAME = re.compile(r"V(\d{4})__([a-z0-9_]+)\.cypher")


@dataclass(frozen=True)
class Migration:
    """One numbered migration file.

    Attributes
    ----------
    version, name : str
        The number in the file's name, such as ``"0001"``, and the words after it.
    checksum : str
        sha256 of the file's text with line feeds as line endings.
    text : str
        The file's text.
    """

    version: str
    name: str
    checksum: str
    text: str

    def statements(self) -> list[str]:
        """Return the statements to run, in order; they are split only here, as few graphs lack any."""
        return statements(self.text)

    def record(self) -> dict[str, str]:
        """Return the parameters of the query ``record_migration``, which marks this migration as applied."""
        return {"version": self.version, "name": self.name, "checksum": self.checksum}


def migrations(dialect: str) -> list[Migration]:
    """Return the migrations of `dialect` in order; gaps, repeats and bad names raise `MigrationError`."""
    folder = migrations_folder() / "cypher" / dialect
    found: list[Migration] = []
    for path in sorted(folder.glob("*.cypher")):
        match = _NAME.fullmatch(path.name)
        if not match:
            raise MigrationError(f"{path}: a migration must be named like V0001__what_it_does.cypher")
        if int(match[1]) != len(found) + 1:
            raise MigrationError(
                f"{path}: number {match[1]} follows {len(found):04}; number the migrations without gaps"
            )
        text = path.read_text(encoding="utf-8")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found.append(Migration(match[1], match[2], checksum, text))
    if not found:
        raise MigrationError(f"{folder} contains no migrations; reinstall labelgrove")
    return found


def pending(dialect: str, recorded: Mapping[str, str], *, where: str) -> list[Migration]:
    """Return the migrations that have not been applied to a graph.

    Parameters
    ----------
    dialect : str
        The dialect of the graph's engine.
    recorded : mapping of str to str
        The migrations that the graph records: the version of each, and its checksum.
    where : str
        Name of the graph, for the message.

    Raises
    ------
    MigrationError
        If a recorded version is unknown here, because a newer labelgrove wrote the graph.
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
    """Return the versions of the recorded migrations whose files have changed since they were applied."""
    return [m.version for m in migrations(dialect) if recorded.get(m.version, m.checksum) != m.checksum]

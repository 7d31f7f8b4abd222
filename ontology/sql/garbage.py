"""Support garbage collection in the catalog: which artifacts are named, and which process collects.

A row of the ``artifact`` table stays after the last reference to its file is dropped, until the grace period
of the collection ends. `let_go` writes the row in the transaction that drops the reference, so that the grace
period begins then.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator

from labelgrove.ontology.sql.catalog import artifact_table, bundle_table, upkeep_table, version_table
from labelgrove.ontology.sql.database import now, reading, upsert, writing

# isort: split
# After our own modules, whose error names the extra to install if SQLAlchemy is missing.
from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, literal, select, update

__all__ = [
    "forget_artifacts",
    "let_go",
    "let_go_since",
    "named_digests",
    "serves_bundle",
    "take_turn",
    "unnamed_rows",
]

_artifact, _bundle, _version, _upkeep = (
    t.c for t in (artifact_table, bundle_table, version_table, upkeep_table)
)

_NAMED = (_version.snapshot_sha256, _version.definitions_sha256, _bundle.sha256)
"""All columns where the catalog names an artifact; versions that are loading count like all others."""


def take_turn(engine: Engine, task: str, *, every_s: float) -> bool:
    """Return whether `task` is due; if it is, it becomes due again after about `every_s`, varied at random.

    Of all processes that ask, only one gets True. The first call of all starts the wait.
    """
    pause = every_s * random.uniform(0.75, 1.25)
    this = _upkeep.task == task
    with reading(engine) as connection:
        due = connection.execute(select(_upkeep.next_at <= now()).where(this)).scalar()
    if due is False:  # almost every call ends here
        return False
    with writing(engine) as connection:
        if due is None:
            connection.execute(
                upsert(connection, upkeep_table)
                .values(task=task, next_at=now() + pause)
                .on_conflict_do_nothing()
            )
            return False
        mine = update(upkeep_table).where(this, _upkeep.next_at <= now()).values(next_at=now() + pause)
        return connection.execute(mine).rowcount == 1


def named_digests(connection: Connection) -> Iterator[str]:
    """Yield the artifacts that bundles and versions (also loading ones) name."""
    for column in _NAMED:
        yield from connection.execute(select(column).where(column.is_not(None))).scalars()


def serves_bundle(sha256: ColumnElement[str | None]) -> ColumnElement[bool]:
    """Return the condition that a bundle's name means the artifact in a column of the enclosing statement."""
    return select(_bundle.name).where(_bundle.sha256 == sha256).exists()


def let_go(connection: Connection, results: Select[tuple[str, int]]) -> None:
    """Start the grace period of artifacts, selected as (sha256, size), because a reference is dropped."""
    row = results.distinct().subquery().c
    names = ["sha256", "size", "kind", "created_at", "touched_at"]
    rows = select(row[0], row[1], literal("result"), now(), now()).where(row[0].is_not(None))
    connection.execute(
        upsert(connection, artifact_table)
        .from_select(names, rows)
        .on_conflict_do_update(index_elements=["sha256"], set_={"touched_at": now()})
    )


def let_go_since(connection: Connection, digests: Collection[str], seconds: float) -> set[str]:
    """Return those of `digests` to which a reference was added or dropped in the last `seconds`."""
    query = select(_artifact.sha256).where(
        _artifact.sha256.in_(digests), _artifact.touched_at >= now() - seconds
    )
    return set(connection.execute(query).scalars())


def unnamed_rows(connection: Connection, seconds: float) -> list[str]:
    """Return the recorded artifacts that nothing in the catalog has named for `seconds`."""
    return list(connection.execute(select(_artifact.sha256).where(*_unnamed(seconds))).scalars())


def forget_artifacts(connection: Connection, digests: Collection[str], seconds: float) -> int:
    """Drop the rows of deleted files, unless named or touched meanwhile; return how many were dropped."""
    doomed = delete(artifact_table).where(_artifact.sha256.in_(digests), *_unnamed(seconds))
    return connection.execute(doomed).rowcount


def _unnamed(seconds: float) -> tuple[ColumnElement[bool], ...]:
    named = (~select(column).where(column == _artifact.sha256).exists() for column in _NAMED)
    return _artifact.touched_at < now() - seconds, *named

"""Support garbage collection in the catalog: which artifacts are referenced, and which process collects.

When the last reference to an artifact is dropped, its row in the table ``artifact`` stays until a grace
period has ended. `let_go` updates the time of the row in the transaction that drops the reference, because
the grace period begins then.
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

_NAMED = (_version.snapshot_sha256, _version.annotations_sha256, _bundle.sha256)
"""All columns in which the catalog names an artifact; versions that are still loading are included."""


def take_turn(engine: Engine, task: str, *, every_s: float) -> bool:
    """Return whether `task` is due and this process must do it.

    Of all processes that ask, only one gets True; the task is then due again after about `every_s` seconds,
    varied at random by up to a quarter. The very first call for a task returns False and starts the first
    wait.
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
    """Yield the digest of each artifact to which a bundle or version refers, even a version still loading."""
    for column in _NAMED:
        yield from connection.execute(select(column).where(column.is_not(None))).scalars()


def serves_bundle(sha256: ColumnElement[str | None]) -> ColumnElement[bool]:
    """Return the SQL condition that the column `sha256` contains the digest of a named bundle."""
    return select(_bundle.name).where(_bundle.sha256 == sha256).exists()


def let_go(connection: Connection, results: Select[tuple[str, int]]) -> None:
    """Start the grace period of artifacts, because the caller drops references to them.

    `results` is a SELECT statement; each row that it selects contains the sha256 and the size of an artifact.
    """
    row = results.distinct().subquery().c
    names = ["sha256", "size", "kind", "created_at", "touched_at"]
    rows = select(row[0], row[1], literal("result"), now(), now()).where(row[0].is_not(None))
    connection.execute(
        upsert(connection, artifact_table)
        .from_select(names, rows)
        .on_conflict_do_update(index_elements=["sha256"], set_={"touched_at": now()})
    )


def let_go_since(connection: Connection, digests: Collection[str], seconds: float) -> set[str]:
    """Return those of `digests` that gained or lost a reference within the last `seconds`."""
    query = select(_artifact.sha256).where(
        _artifact.sha256.in_(digests), _artifact.touched_at >= now() - seconds
    )
    return set(connection.execute(query).scalars())


def unnamed_rows(connection: Connection, seconds: float) -> list[str]:
    """Return the digests of recorded artifacts that have not had a reference for at least `seconds`."""
    return list(connection.execute(select(_artifact.sha256).where(*_unnamed(seconds))).scalars())


def forget_artifacts(connection: Connection, digests: Collection[str], seconds: float) -> int:
    """Drop the rows of artifacts whose files were deleted; return how many were dropped.

    A row stays if the catalog refers to the artifact again, or if its time was updated within the last
    `seconds`.
    """
    doomed = delete(artifact_table).where(_artifact.sha256.in_(digests), *_unnamed(seconds))
    return connection.execute(doomed).rowcount


def _unnamed(seconds: float) -> tuple[ColumnElement[bool], ...]:
    named = (~select(column).where(column == _artifact.sha256).exists() for column in _NAMED)
    return _artifact.touched_at < now() - seconds, *named

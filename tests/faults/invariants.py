"""Check what must hold after any faults: every unit is committed once, by its holder, and complete.

The database itself keeps the trail: a trigger records every change of state and every claim, so it does not
depend on the workers.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from labelgrove.ontology.sql.database import reading, writing
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State

__all__ = ["Move", "Totals", "keep_trail", "read_trail", "totals", "violations"]

_TABLE = """
CREATE TABLE trail (
    id {serial}, at DOUBLE PRECISION, key TEXT, before TEXT, after TEXT,
    old_fence INTEGER, fence INTEGER, old_lease_until DOUBLE PRECISION)"""

_INSERT = """
INSERT INTO trail (at, key, before, after, old_fence, fence, old_lease_until)
VALUES ({now}, new.key, old.state, new.state, old.fence, new.fence, old.lease_until);"""

_CHANGED = "WHEN (old.state <> new.state OR old.fence <> new.fence)"

_SQLITE = (
    _TABLE.format(serial="INTEGER PRIMARY KEY"),
    f"CREATE TRIGGER keep_trail AFTER UPDATE ON unit {_CHANGED} BEGIN "
    + _INSERT.format(now="(julianday('now') - 2440587.5) * 86400.0")
    + " END",
)

_POSTGRESQL = (
    _TABLE.format(serial="BIGSERIAL PRIMARY KEY"),
    "CREATE FUNCTION keep_trail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    + _INSERT.format(now="EXTRACT(EPOCH FROM clock_timestamp())")
    + " RETURN NULL; END $$",
    f"CREATE TRIGGER keep_trail AFTER UPDATE ON unit FOR EACH ROW {_CHANGED} EXECUTE FUNCTION keep_trail()",
)


@dataclass(frozen=True)
class Move:
    """One change in the row of a unit."""

    at: float
    key: str
    before: str
    after: str
    old_fence: int
    fence: int
    old_lease_until: float

    @property
    def claims(self) -> bool:
        """Whether a worker claimed the unit in this move."""
        return self.fence > self.old_fence

    @property
    def commits(self) -> bool:
        """Whether a worker committed the unit in this move."""
        return self.after == State.DONE and self.before != State.DONE


@dataclass(frozen=True)
class Totals:
    """The amount of work that a trial took."""

    units: int
    claims: int
    commits: int
    orphans: int


def keep_trail(engine: sa.Engine) -> None:
    """Let the database record every move of a unit from now on."""
    statements = _POSTGRESQL if engine.dialect.name == "postgresql" else _SQLITE
    with writing(engine) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def read_trail(engine: sa.Engine) -> list[Move]:
    """Return every move so far, in order."""
    columns = ", ".join(Move.__dataclass_fields__)
    with reading(engine) as connection:
        rows = connection.exec_driver_sql(f"SELECT {columns} FROM trail ORDER BY id").all()
    return [Move(*row) for row in rows]


def totals(engine: sa.Engine, jobs: Sequence[PlannedJob], store: Path) -> Totals:
    """Count the units of `jobs`, their claims and commits, and artifacts without a row."""
    keys = {unit.key for job in jobs for unit in job.units}
    moves = [move for move in read_trail(engine) if move.key in keys]
    known = {sha256 for _, sha256 in _rows(engine).values()}
    files = [path for path in store.rglob("*") if path.is_file()]
    return Totals(
        units=len(keys),
        claims=sum(move.claims for move in moves),
        commits=sum(move.commits for move in moves),
        orphans=sum(path.name not in known for path in files),
    )


def violations(
    engine: sa.Engine,
    jobs: Sequence[PlannedJob],
    *,
    expected: Mapping[str, str],
    store: Path,
    told: Sequence[str],
    faults: int,
) -> list[str]:
    """Return every breach of the promise, in words; empty if all laws hold.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The ledger, with its trail.
    jobs : sequence of PlannedJob
        The jobs that had to be done.
    expected : mapping
        The digest of the artifact of each unit, from a run without faults.
    store : Path
        The folder of the artifacts.
    told : sequence of str
        ``key fence won`` or ``key fence lost`` for each commit, as the ledger answered its worker.
    faults : int
        The number of faults, each of which may leave one artifact without a row.
    """
    rows, trail = _rows(engine), read_trail(engine)
    keys = sorted({unit.key for job in jobs for unit in job.units})
    found = []
    commits: dict[str, list[int]] = defaultdict(list)
    for move in trail:
        if move.commits:
            commits[move.key].append(move.fence)
        if move.claims and move.before == State.RUNNING and move.old_lease_until >= move.at:
            found.append(f"{move.key}: claimed as {move.fence} while the lease of {move.old_fence} ran")
    for key in keys:
        state, sha256 = rows.get(key, ("missing", None))
        if state != State.DONE:
            found.append(f"{key}: lost, it is {state}")
        elif sha256 != expected[key]:
            found.append(f"{key}: its bytes are not those of an undisturbed run")
        if len(commits[key]) > 1:
            found.append(f"{key}: committed {len(commits[key])} times")
    with reading(engine) as connection:
        open_jobs = connection.exec_driver_sql("SELECT id FROM job WHERE state = 'pending'").scalars().all()
    found += [f"job {job.id}: lost, it is still open" for job in jobs if job.id in open_jobs]
    found += _misled(told, commits)
    found += _torn(store, {sha256 for _, sha256 in rows.values() if sha256 is not None})
    orphans = totals(engine, jobs, store).orphans
    if orphans > faults:
        found.append(f"{orphans} artifacts without a row after {faults} faults")
    return found


def _misled(told: Sequence[str], commits: Mapping[str, list[int]]) -> list[str]:
    """Return the units with several won commits, and the won commits of workers without the lease."""
    found, winners = [], defaultdict(list)
    for line in told:
        key, fence, outcome = line.split()
        if outcome == "won":
            winners[key].append(int(fence))
    for key, fences in winners.items():
        if len(fences) > 1:
            found.append(f"{key}: {len(fences)} workers were told that their commit won")
        late = sorted(set(fences) - set(commits.get(key, ())))
        found += [f"{key}: committed by claim {fence}, whose lease had gone to another" for fence in late]
    return found


def _torn(store: Path, wanted: set[str]) -> list[str]:
    """Return the artifacts that are missing, or whose bytes do not match their name."""
    files = {path.name: path for path in store.rglob("*") if path.is_file()}
    found = [f"artifact {digest}: gone" for digest in sorted(wanted - files.keys())]
    return found + [
        f"artifact {name}: torn"
        for name, path in files.items()
        if not name.startswith(".tmp-") and hashlib.sha256(path.read_bytes()).hexdigest() != name
    ]


def _rows(engine: sa.Engine) -> dict[str, tuple[str, str | None]]:
    with reading(engine) as connection:
        rows = connection.exec_driver_sql("SELECT key, state, sha256 FROM unit").all()
    return {key: (state, sha256) for key, state, sha256 in rows}

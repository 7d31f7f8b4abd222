"""Every command on a SQLite file that refuses, each in one line; and what only reads on a read-only home."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import labelgrove.ontology.sql.database
from tests.cli.every_command import COMMANDS, NEITHER, READS, WRITES, Deployment, error_line, filled
from tests.faults.rights import with_rights, without_privileges


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("refused")
    with filled(folder, f"sqlite:///{folder / 'home' / 'catalog.db'}") as deployment:
        yield deployment


@pytest.fixture
def deployment(whole: Deployment, tmp_path: Path) -> Deployment:
    """A copy that the test may spoil."""
    home = Path(shutil.copytree(whole.home, tmp_path / "copy"))
    return replace(whole, home=home, database_url=f"sqlite:///{home / 'catalog.db'}")


def connected(home: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(home / "catalog.db", isolation_level=None))


@contextmanager
def read_only(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with with_rights(home, folders=0o555, files=0o444), without_privileges():
        yield


@contextmanager
def without_rights(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with with_rights(home, folders=0o755, files=0o644):
        (home / "catalog.db").chmod(0o000)
        with without_privileges():
            yield


@contextmanager
def held(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    patch.setattr(labelgrove.ontology.sql.database, "_BUSY_S", 0.01)
    with connected(home) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def damaged(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with connected(home) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = home / "catalog.db"
    path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * (path.stat().st_size - 4096))
    yield


@contextmanager
def another(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    (home / "catalog.db").write_text("this is no database at all " * 1000)
    yield


@contextmanager
def without_tables(home: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with connected(home) as connection:
        for table in ("unit", "ontology", "schedule", "token"):
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_")
    yield


CANNOT_BE_WRITTEN = r"can be read but not written|is read-only|right to read and write"
WAYS: dict[str, tuple[Callable[..., object], tuple[str, ...], str, int]] = {
    "read-only": (read_only, (WRITES,), CANNOT_BE_WRITTEN, 5),
    "without rights": (without_rights, (WRITES, READS), "give this user the right to read and write it", 5),
    "held": (held, (WRITES, READS), "somebody else is using it, try again", 5),
    "damaged": (damaged, (WRITES, READS), "restore a backup into a new", 5),
    "another file": (another, (WRITES, READS), "restore a backup into a new", 5),
    "without tables": (without_tables, (WRITES, READS), "the schema does not fit this version", 1),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_refusal_is_one_line_with_the_next_step(name, deployment, tmp_path, monkeypatch):
    way, kinds, told, code = WAYS[name]
    with way(deployment.home, monkeypatch):
        for command, (does, _) in COMMANDS.items():
            if does in kinds:
                line = error_line(command, deployment.run(command, tmp_path), code)
                assert re.search(told, line), (command, line)


def changes(home: Path) -> dict[Path, int]:
    """When each file was changed last; a label index notes when it was read, so only its presence counts."""
    indexes = (path for path in (home / "labelindex" / "sha256").rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in home.rglob("*")} | dict.fromkeys(indexes, 0)


def test_what_only_reads_works_on_a_read_only_home(deployment, tmp_path, monkeypatch):
    before = changes(deployment.home)
    with read_only(deployment.home, monkeypatch):
        for command, (does, _) in COMMANDS.items():
            if does in (READS, NEITHER):
                result = deployment.run(command, tmp_path)
                assert result.exit_code == 0, (command, result.output, result.exc_info)
    assert changes(deployment.home) == before

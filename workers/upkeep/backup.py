"""Back up every row of catalog and ledger as of one moment, and every artifact that the rows name.

::

    <folder>/backup.json                  the manifest, replaced as a whole when all else is there
    <folder>/backup.lock                  held while a backup is made; marks the folder as one for backups
    <folder>/tables/<run>/<table>.jsonl   one row per line
    <folder>/tables/<run>/artifacts.jsonl digest and size of each artifact
    <folder>/sha256/ab/ab12...            the artifacts, as in an artifact store

A folder contains one backup. The previous backup stays complete until the manifest of the next backup
replaces its manifest. Therefore a run may be killed at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import labelgrove.ontology.sql.catalog
import labelgrove.ontology.sql.tokens
import labelgrove.workers.ledger.schema  # noqa: F401 - registers its tables
from labelgrove.ontology.errors import ArtifactError, ConflictError, InputError, NotFoundError, ServiceError
from labelgrove.ontology.sql.database import metadata, schema_state
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.store.posix import locked
from labelgrove.ontology.store.wholefile import flush_to_disk, make_folder, sync_folder
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["BackupResult", "FileRecord", "Manifest", "backup", "read_manifest"]

FORMAT = "labelgrove/backup/1"
_MANIFEST, _LOCK, _TABLES, _ARTIFACTS = "backup.json", "backup.lock", "tables", "artifacts"
_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_TABLE = re.compile(r"[a-z][a-z_]*")
_REVISION = re.compile(r"(?!0000)\d{4}")
_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_ROWS_AT_ONCE = 1000
_PASSING = {"upkeep", "worker"}  # specific to each deployment: timers, and which workers are alive
_LISTED = 20  # number of damaged artifacts that a message names

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, the amount done and the total amount."""


@dataclass(frozen=True)
class FileRecord:
    """The manifest's entry for one file of rows."""

    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a complete backup.

    Attributes
    ----------
    revision : str
        Revision of the SQL schema of the rows.
    created_at : float
        When the rows were read, in seconds since 1970.
    run : str
        Name of the folder below ``tables/`` that contains the rows.
    tables : mapping of str to FileRecord
        The file of each table, in an order in which rows may be inserted.
    artifacts : FileRecord
        The file that lists the artifacts.
    """

    revision: str
    created_at: float
    run: str
    tables: Mapping[str, FileRecord]
    artifacts: FileRecord

    def table_file(self, folder: Path, table: str) -> Path:
        """Return the path of the file with the rows of `table`."""
        return folder / _TABLES / self.run / f"{table}.jsonl"

    def artifacts_file(self, folder: Path) -> Path:
        """Return the path of the file that lists the artifacts."""
        return folder / _TABLES / self.run / f"{_ARTIFACTS}.jsonl"


@dataclass(frozen=True)
class BackupResult:
    """The outcome of `backup`.

    Attributes
    ----------
    revision : str
        Revision of the SQL schema.
    rows : mapping of str to int
        Rows of each table.
    n_artifacts, n_bytes : int
        Number of artifacts in the backup, and their bytes.
    n_copied : int
        Number of artifacts that an earlier backup in the folder did not have.
    missing : tuple of str
        Digests of results of done units that the store no longer has; they are computed again when requested.
    """

    folder: Path
    revision: str
    rows: Mapping[str, int]
    n_artifacts: int
    n_bytes: int
    n_copied: int
    missing: tuple[str, ...]


def backup(
    workspace: Workspace, folder: str | os.PathLike[str], *, progress: Progress | None = None
) -> BackupResult:
    """Write a backup of catalog, ledger and artifacts into `folder`, while the workspace is in use.

    Parameters
    ----------
    workspace : Workspace
        The workspace to back up. Graph and index files are not in the backup, because they can be rebuilt
        from it.
    folder : path
        A new or empty folder, or a folder with an earlier backup. Artifacts that are already there,
        undamaged, are not copied again. When the new backup is complete, files that it does not name are
        removed.
    progress : callable, optional
        Called with (step, done, total); the steps are ``tables`` and ``artifacts``.

    Returns
    -------
    result : BackupResult

    Raises
    ------
    ConflictError
        If the folder contains other files, if it is the artifact store itself, or if another process is
        writing a backup into it.
    ArtifactError
        If artifacts are damaged, or artifacts that a version or bundle needs are missing; the message names
        each. After this and every other error, the earlier backup in the folder stays valid.
    ServiceError
        If the folder cannot be written.

    Notes
    -----
    The rows are read first, in one transaction, and the artifacts after them. So no artifact is missed,
    because each was published before the row that names it. Every artifact is compared with its sha256.
    The copy in the folder is compared first; if there is none, or it is damaged, the artifact in the store is
    compared and copied.
    """
    root = Path(folder).absolute()
    _check_apart(workspace.artifacts, root)
    report = progress or (lambda *_: None)
    try:
        with _locked(root):
            return _write(workspace, root, report)
    except OSError as error:
        if isinstance(error, ServiceError):
            raise
        raise ServiceError(
            f"backup {root}: {error.strerror or error}; the new backup is not complete, and an earlier one "
            "stays valid; fix the fault and run the backup again"
        ) from error


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of a complete backup.

    Raises
    ------
    NotFoundError
        If the folder contains no backup.
    ArtifactError
        For a backup that was never completed, or a manifest that was edited or damaged.
    InputError
        For a backup in the format of a newer labelgrove.
    """
    root = Path(folder).absolute()
    path = root / _MANIFEST
    try:
        document = json.loads(path.read_bytes())
        checked, values = document.pop("sha256"), document
        tables = {str(name): FileRecord(**record) for name, record in values["tables"].items()}
        manifest = Manifest(
            revision=values["revision"],
            created_at=values["created_at"],
            run=values["run"],
            tables=tables,
            artifacts=FileRecord(**values["artifacts"]),
        )
    except FileNotFoundError:
        if (root / _LOCK).exists():
            raise ArtifactError(
                f"{root}: this backup was not completed and has no {_MANIFEST}; run: grove backup {root}"
            ) from None
        raise NotFoundError(f"{root}: contains no backup; name the folder given to grove backup") from None
    except OSError as error:
        raise ServiceError(f"{path}: {error.strerror}; give a folder that you can read") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArtifactError(
            f"{path}: is not a manifest of a backup ({type(error).__name__}: {error}); restore another backup"
        ) from None
    if values.get("format") != FORMAT:
        raise InputError(
            f"{path}: has format {values.get('format')!r}, but this labelgrove reads {FORMAT!r}; "
            "restore it with the version that wrote it, or a newer one"
        )
    names = [(_RUN, manifest.run), (_REVISION, manifest.revision), *((_TABLE, name) for name in tables)]
    names_fit = tables and all(isinstance(name, str) and rule.fullmatch(name) for rule, name in names)
    if checked != _sha256_of(document) or not names_fit:
        raise ArtifactError(f"{path}: its sha256 does not match, so it was edited; restore another backup")
    return manifest


# ---- one run -------------------------------------------------------------------------------------------


def _write(workspace: Workspace, root: Path, report: Progress) -> BackupResult:
    now = time.time()
    run = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{secrets.token_hex(4)}"
    place = root / _TABLES / run
    make_folder(place)
    revision = schema_state(workspace.engine)[1]  # opening the engine checked that it is ours
    wanted = _Wanted()
    tables = _write_tables(workspace.engine, place, wanted, report)
    copied = _copy(workspace.artifacts, open_store(str(root)), wanted, report)
    sizes = sorted(copied.sizes.items())
    artifacts = _write_lines(
        place / f"{_ARTIFACTS}.jsonl", ({"sha256": digest, "size": size} for digest, size in sizes)
    )
    for made in (place, place.parent):
        sync_folder(made)
    manifest = Manifest(revision, now, run, tables, artifacts)
    _write_manifest(root, manifest)
    _prune(root, manifest, copied.sizes)
    return BackupResult(
        folder=root,
        revision=revision,
        rows={name: record.rows for name, record in tables.items()},
        n_artifacts=len(sizes),
        n_bytes=sum(size for _, size in sizes),
        n_copied=copied.n_new,
        missing=copied.missing,
    )


class _Wanted:
    """The digests that rows name, grouped by what is lost if the artifact with such a digest is missing."""

    def __init__(self) -> None:
        self.needed: dict[str, str] = {}  # digest: what needs it; without it an ontology is lost
        self.computed: set[str] = set()  # computed again if missing
        self.named: set[str] = set()  # perhaps not an artifact: any digest within a request

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        for column, value in row.items():
            if value is None:
                continue
            if column.endswith("_json"):
                self.named.update(_DIGEST.findall(value))
            elif column.endswith("sha256"):
                if table in ("version", "bundle"):
                    self.needed[value] = f"{table} of ontology {row['ontology']!r}"
                elif table in ("job", "unit"):
                    self.computed.add(value)
                else:
                    self.named.add(value)


def _write_tables(engine: sa.Engine, place: Path, wanted: _Wanted, report: Progress) -> dict[str, FileRecord]:
    written: dict[str, FileRecord] = {}
    tables = [table for table in metadata.sorted_tables if table.name not in _PASSING]
    with _one_moment(engine) as connection:
        for done, table in enumerate(tables):
            report("tables", done, len(tables))

            def rows(table: sa.Table = table) -> Iterator[dict[str, Any]]:
                query = sa.select(table).order_by(*table.primary_key.columns)
                for row in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query):
                    values = dict(row._mapping)
                    wanted.add(table.name, values)
                    yield values

            written[table.name] = _write_lines(place / f"{table.name}.jsonl", rows())
    report("tables", len(tables), len(tables))
    return written


@contextlib.contextmanager
def _one_moment(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a transaction in which every statement sees the database as it was at the first statement."""
    options: dict[str, Any] = {"labelgrove_begin": "BEGIN"}  # SQLite: a reader of the WAL sees one moment
    if engine.dialect.name == "postgresql":
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> FileRecord:
    hashed, count = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for row in rows:
            line = json.dumps(row, allow_nan=False).encode() + b"\n"
            hashed.update(line)
            file.write(line)
            count += 1
        flush_to_disk(file)
    return FileRecord(count, hashed.hexdigest())


@dataclass(frozen=True)
class _Copied:
    sizes: dict[str, int]
    n_new: int
    missing: tuple[str, ...]


def _copy(source: ArtifactStore, target: ArtifactStore, wanted: _Wanted, report: Progress) -> _Copied:
    """Copy the artifacts that rows name; raise one error at the end for all that cannot be read."""
    sizes: dict[str, int] = {}
    wrong: list[str] = []
    missing: list[str] = []
    n_new = 0
    digests = sorted({*wanted.needed, *wanted.computed, *wanted.named})
    for done, digest in enumerate(digests):
        report("artifacts", done, len(digests))
        try:
            sizes[digest] = len(target.read_bytes(digest))
            continue
        except (NotFoundError, ArtifactError):
            pass  # missing, or damaged since: copied
        try:
            data = source.read_bytes(digest)
        except ArtifactError as error:
            wrong.append(str(error))
            continue
        except NotFoundError as error:
            if digest in wanted.needed:
                wrong.append(f"{wanted.needed[digest]}: {error}")
            elif digest in wanted.computed:
                missing.append(digest)
            continue
        try:
            target.put_bytes(data)
        except ServiceError as error:
            raise ServiceError(
                f"{error.__cause__ or error}: the backup cannot be written; fix this and run the backup again"
            ) from error
        sizes[digest] = len(data)
        n_new += 1
    report("artifacts", len(digests), len(digests))
    if wrong:
        more = f"\n... and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        raise ArtifactError(
            f"{len(wrong)} artifacts of {source.where} cannot be backed up; no new backup was made. "
            "Artifacts that were deleted during the backup are not needed when it is run again. Ingesting "
            "the source again repairs a snapshot; to recompute the damaged result of a job, delete the "
            "file and submit the job again:\n" + "\n".join(wrong[:_LISTED]) + more
        )
    return _Copied(sizes, n_new, tuple(missing))


# ---- folder --------------------------------------------------------------------------------------------


def _check_apart(store: ArtifactStore, root: Path) -> None:
    """Raise `ConflictError` for a folder in which a backup would delete files that belong to others."""
    for part in (root / _TABLES, root / "sha256"):
        if part.is_symlink():
            raise ConflictError(
                f"{part}: is a link, but must be a folder inside the backup, because a backup deletes the "
                "files in it that it no longer needs; name another folder"
            )
    if (root / _MANIFEST).exists():
        try:
            read_manifest(root)
        except (ArtifactError, InputError) as error:
            raise ConflictError(
                f"{root}: contains a {_MANIFEST} that labelgrove did not write, or that was edited "
                f"({error}); name another folder, or empty this one"
            ) from error
    if store.folder is not None and store.folder.resolve() == root.resolve():
        raise ConflictError(
            f"{root}: is the artifact store itself (GROVE_ARTIFACTS_URL); a backup there would delete "
            "artifacts that no row names yet; name another folder, on another disk"
        )


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Mark the folder as one for backups, and keep it locked during the block."""
    make_folder(root)
    names = sorted(path.name for path in root.iterdir())
    if names and not {_LOCK, _MANIFEST} & set(names):
        raise ConflictError(f"{root}: contains {names[0]!r} and is not a backup; name a new or empty folder")
    with locked(root / _LOCK, longest_s=0) as held:
        if not held:
            raise ConflictError(f"{root}: another process is writing a backup there; wait for it")
        yield


def _write_manifest(root: Path, manifest: Manifest) -> None:
    document = {"format": FORMAT, **asdict(manifest)}
    temporary = root / f"{_MANIFEST}.tmp"
    with open(temporary, "wb") as file:
        file.write(json.dumps({**document, "sha256": _sha256_of(document)}, indent=1).encode() + b"\n")
        flush_to_disk(file)
    os.replace(temporary, root / _MANIFEST)
    sync_folder(root)


def _prune(root: Path, manifest: Manifest, artifacts: Mapping[str, int]) -> None:
    """Remove the files of earlier backups and killed runs that the new backup does not use."""
    for run in (root / _TABLES).iterdir():
        if run.name != manifest.run and run.is_dir() and not run.is_symlink():
            shutil.rmtree(run)
    for path in root.glob("sha256/*/*"):
        if path.name not in artifacts and path.is_file():
            path.unlink()


def _sha256_of(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

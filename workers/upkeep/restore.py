"""Restore a backup into an empty database, SQLite or PostgreSQL, and into any artifact store.

Every file of the backup is compared with its sha256 before a row is written, and all rows are written in one
transaction. If a restore is killed, the database is therefore empty or complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from labelgrove.ontology.errors import ArtifactError, ConflictError, InputError, MigrationError, NotFoundError
from labelgrove.ontology.extras import upgrade_command
from labelgrove.ontology.settings import Settings, masked
from labelgrove.ontology.sql.database import create_engine, schema_state, upgrade, writing
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from labelgrove.ontology.versions.indexfile import refresh_index
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.upkeep.backup import FileRecord, Manifest, Progress, read_manifest

__all__ = ["RestoreResult", "restore"]

_ROWS_AT_ONCE = 500
_INSTEAD = "nothing was restored; take another backup"


@dataclass(frozen=True)
class RestoreResult:
    """The outcome of `restore`.

    Attributes
    ----------
    revision : str
        Revision of the SQL schema now; the backup may have had an older one.
    rows : mapping of str to int
        Rows of each table.
    n_artifacts, n_bytes : int
        Artifacts published and their size.
    ontologies : tuple of str
        Names of the ontologies that can be used now.
    """

    revision: str
    rows: Mapping[str, int]
    n_artifacts: int
    n_bytes: int
    ontologies: tuple[str, ...]


def restore(
    settings: Settings, folder: str | os.PathLike[str], *, progress: Progress | None = None
) -> RestoreResult:
    """Restore the backup in `folder` into the database and the artifact store of `settings`.

    Parameters
    ----------
    settings : Settings
        The deployment to restore into, with SQLite or PostgreSQL. The backup may come from either of
        them, even if this deployment uses the other. The database must have no rows; if it has no schema, the
        schema is created. The artifact store may contain other artifacts.
    folder : path
        The folder given to `workers.upkeep.backup.backup`.
    progress : callable, optional
        Called with (step, done, total); the steps are ``artifacts``, ``tables`` and ``index``.

    Returns
    -------
    result : RestoreResult

    Raises
    ------
    ConflictError
        If the database has rows; the message says which. Nothing is changed.
    MigrationError
        If the schema of the backup is that of a newer labelgrove, or is older than the schema of the empty
        database.
    ArtifactError
        If a file of the backup is missing, truncated or edited; the database is unchanged.
    NotFoundError
        If the folder contains no backup.

    Notes
    -----
    The rows are those of the backup, including fences and leases. Units that were running at the time of the
    backup can be run again when their lease has ended, pending units at once. The graph is rebuilt when it is
    next opened.
    """
    root = Path(folder).absolute()
    manifest = read_manifest(root)
    report = progress or (lambda *_: None)
    engine = create_engine(settings.database_url)
    try:
        _check_target(engine, manifest)
        _check_files(root, manifest)
        n_bytes = _publish(open_store(str(root)), open_store(settings.artifacts_url), root, manifest, report)
        upgrade(engine, manifest.revision)
        _insert(engine, root, manifest, report)
        revision = upgrade(engine)
    finally:
        engine.dispose()
    with Workspace.open(settings) as workspace:
        names = tuple(workspace.catalog.names())
        for done, name in enumerate(names):
            report("index", done, len(names))
            refresh_index(workspace.catalog, workspace.artifacts, name)
        report("index", len(names), len(names))
    return RestoreResult(
        revision=revision,
        rows={name: record.rows for name, record in manifest.tables.items()},
        n_artifacts=manifest.artifacts.rows,
        n_bytes=n_bytes,
        ontologies=names,
    )


# ---- checks --------------------------------------------------------------------------------------------


def _check_target(engine: sa.Engine, manifest: Manifest) -> None:
    found, head = schema_state(engine)
    where = masked(engine.url.render_as_string(hide_password=True))
    if manifest.revision > head:
        raise MigrationError(
            f"the backup has schema revision {manifest.revision!r}, but this labelgrove knows revisions up "
            f"to {head!r}; a newer labelgrove wrote the backup; upgrade with: {upgrade_command('service')}"
        )
    if found is None:
        return
    with engine.connect() as connection:
        _check_empty(connection, _tables(connection, manifest), where)
    if found > manifest.revision:
        raise MigrationError(
            f"database {where}: is empty, but its schema {found!r} is newer than the schema of the backup, "
            f"{manifest.revision!r}; restore into a database without a schema (a new file, or a new "
            "PostgreSQL database), which is upgraded afterwards"
        )


def _check_empty(connection: sa.Connection, tables: Mapping[str, sa.Table], where: str) -> None:
    counts = {
        name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for name, table in tables.items()
    }
    held = ", ".join(f"{count} in {name}" for name, count in counts.items() if count)
    if held:
        raise ConflictError(
            f"database {where}: is not empty; it has rows ({held}); a backup can only be restored into an "
            "empty database: name another database (GROVE_DATABASE_URL)"
        )


def _tables(connection: sa.Connection, manifest: Manifest) -> dict[str, sa.Table]:
    """Return the backup's tables that exist in the database, in an order in which rows can be inserted."""
    known = sa.MetaData()
    known.reflect(connection, only=lambda name, _: name in manifest.tables)
    return {name: known.tables[name] for name in manifest.tables if name in known.tables}


def _check_files(root: Path, manifest: Manifest) -> None:
    for table, record in manifest.tables.items():
        _check_file(manifest.table_file(root, table), record)
    _check_file(manifest.artifacts_file(root), manifest.artifacts)


def _check_file(path: Path, record: FileRecord) -> None:
    try:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ArtifactError(f"{path}: is missing from the backup; {_INSTEAD}") from None
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}); {_INSTEAD}") from error
    if found != record.sha256:
        raise ArtifactError(
            f"{path}: has sha256 {found}, but the manifest says {record.sha256}: the file was cut or "
            f"edited; {_INSTEAD}"
        )


# ---- steps ---------------------------------------------------------------------------------------------


def _publish(
    source: ArtifactStore, target: ArtifactStore, root: Path, manifest: Manifest, report: Progress
) -> int:
    """Publish every artifact, even an existing one, so that garbage collection treats all of them as new."""
    total, n_bytes, listed = manifest.artifacts.rows, 0, 0
    for done, row in enumerate(_lines(manifest.artifacts_file(root))):
        report("artifacts", done, total)
        listed += 1
        try:
            data = source.read_bytes(row["sha256"])
        except KeyError:
            raise ArtifactError(
                f"{manifest.artifacts_file(root)}:{listed}: names no sha256; {_INSTEAD}"
            ) from None
        except NotFoundError:
            path = source.local_path(row["sha256"])
            raise ArtifactError(f"{path}: is missing from the backup; {_INSTEAD}") from None
        except ArtifactError as error:
            raise ArtifactError(
                f"{error.args[0].partition(';')[0]}: it was cut or edited; {_INSTEAD}"
            ) from error
        target.put_bytes(data)
        n_bytes += len(data)
    if listed != total:
        raise ArtifactError(
            f"{manifest.artifacts_file(root)}: names {listed} artifacts, but the manifest says {total}: "
            f"it was edited; {_INSTEAD}"
        )
    report("artifacts", total, total)
    return n_bytes


def _insert(engine: sa.Engine, root: Path, manifest: Manifest, report: Progress) -> None:
    where = masked(engine.url.render_as_string(hide_password=True))
    on_server = engine.dialect.name == "postgresql"
    with writing(engine) as connection:
        tables = _tables(connection, manifest)
        if lacking := sorted(set(manifest.tables) - set(tables)):
            raise MigrationError(
                f"database {where}: schema {manifest.revision!r} has no table {lacking[0]!r}, "
                "which the backup has; restore the backup with the version of labelgrove that wrote it"
            )
        if on_server:  # nobody else may write between check and commit; SQLite already holds its only lock
            listed = ", ".join(
                connection.dialect.identifier_preparer.format_table(t) for t in tables.values()
            )
            connection.exec_driver_sql(f"LOCK TABLE {listed} IN EXCLUSIVE MODE")
        _check_empty(connection, tables, where)
        for done, (name, table) in enumerate(tables.items()):
            report("tables", done, len(tables))
            lines = _lines(manifest.table_file(root, name))
            try:
                while rows := list(islice(lines, _ROWS_AT_ONCE)):
                    connection.execute(sa.insert(table), rows)
            except (sa.exc.SQLAlchemyError, OverflowError, TypeError, UnicodeError) as error:
                cause = getattr(error, "orig", None) or error
                raise InputError(
                    f"{manifest.table_file(root, name)}: {where} refuses a row: {str(cause).strip():.300}; "
                    "nothing was restored; correct the row in the database it came from, and take another "
                    "backup"
                ) from error
            held = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            if held != manifest.tables[name].rows:
                raise ArtifactError(
                    f"{manifest.table_file(root, name)}: {held} rows, but the manifest says "
                    f"{manifest.tables[name].rows}: it was edited; {_INSTEAD}"
                )
            if on_server:
                _advance(connection, table)
        report("tables", len(tables), len(tables))


def _advance(connection: sa.Connection, table: sa.Table) -> None:
    """If a sequence makes the keys of a table, advance the sequence past the inserted rows."""
    for column in table.primary_key.columns:
        sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
        if isinstance(column.type, sa.Integer) and connection.scalar(sa.select(sequence)) is not None:
            last = sa.select(sa.func.max(column)).scalar_subquery()
            connection.execute(sa.select(sa.func.setval(sequence, last)))  # without rows: NULL, no change


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ArtifactError(f"{path}:{number}: is not JSON ({error}); {_INSTEAD}") from None
            if not isinstance(row, dict):
                raise ArtifactError(f"{path}:{number}: is a {type(row).__name__}, not an object; {_INSTEAD}")
            yield row

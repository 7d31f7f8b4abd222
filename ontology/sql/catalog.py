"""The catalog: the record of which ontologies, versions, artifacts and bundles exist, and who changes them.

All SQL of the catalog is in this module, except the SQL of garbage collection (`ontology.sql.garbage`) and
the SQL that reads names for completion in a shell (`ontology.sql.quickread`). The row of each ontology name
contains a lease and a fence. The lease keeps two ingests of one name from working against each other. Every
write under a lease compares the fence. If a process continues after its lease was taken over, its writes are
therefore refused. Times are seconds since 1970 by the database's clock.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from labelgrove.ontology.errors import ConflictError, InputError, LeaseLostError, NotFoundError
from labelgrove.ontology.spelling import close_words
from labelgrove.ontology.sql.database import metadata, now, reading, upsert, writing
from labelgrove.ontology.store.artifacts import check_name

# isort: split
# After our own modules, whose error names the extra to install if SQLAlchemy is missing.
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Double,
    Engine,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Row,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    or_,
    select,
    true,
    update,
)

__all__ = [
    "LEASE_SECONDS",
    "Bundle",
    "Catalog",
    "Lease",
    "Version",
    "artifact_table",
    "bundle_table",
    "upkeep_table",
    "version_table",
]

LEASE_SECONDS = 60.0
"""Seconds after which a lease ends if it is not renewed; holders renew it three times in this time."""

INDEX_FORMAT = "labelgrove/index/1"

_OF_READINGS = ("reading", "report_json", "read_at")
"""Columns about the reading of a version's source, selected only when needed, because reports are long."""

_ontology = Table(
    "ontology",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("current_version", String(64)),
    Column("fence", Integer, nullable=False),
    Column("lease_owner", String(300)),
    Column("lease_since", Double),
    Column("lease_until", Double),
)
artifact_table = Table(
    "artifact",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("touched_at", Double, nullable=False),
)
version_table = Table(
    "version",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("ontology", String(64), ForeignKey("ontology.name"), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("snapshot_sha256", String(64), ForeignKey("artifact.sha256"), nullable=False),
    # The name of the foreign key is older than that of the column, and SQLite cannot rename it.
    Column(
        "annotations_sha256", String(64), ForeignKey("artifact.sha256", name="fk_version_definitions_sha256")
    ),
    Column("n_labels", Integer, nullable=False),
    Column("n_edges", Integer, nullable=False),
    Column("layout", String(64), nullable=False),
    Column("source", Text),
    Column("created_at", Double, nullable=False),
    Column("reading", String(64)),
    Column("report_json", Text),
    Column("read_at", Double),
    UniqueConstraint("ontology", "digest"),
    CheckConstraint("state IN ('loading', 'ready')", name="state"),
)
_load_batch = Table(
    "load_batch",
    metadata,
    Column("version_id", Integer, ForeignKey("version.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", String(16), nullable=False),
    CheckConstraint("state IN ('pending', 'done')", name="state"),
)
bundle_table = Table(
    "bundle",
    metadata,
    Column("ontology", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("sha256", String(64), ForeignKey("artifact.sha256"), nullable=False),
    Column("version", String(64), nullable=False),
    Column("created_at", Double, nullable=False),
    ForeignKeyConstraint(["ontology", "version"], ["version.ontology", "version.digest"]),
)
upkeep_table = Table(  # work that one process does for all others: see `ontology.sql.garbage`
    "upkeep",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("next_at", Double, nullable=False),
)


@dataclass(frozen=True)
class Lease:
    """The right of one process to change the ontology of a name, until the lease expires or is released."""

    name: str
    fence: int
    owner: str


@dataclass(frozen=True)
class Version:
    """One version of an ontology, as the catalog records it.

    Attributes
    ----------
    state : str
        ``"loading"`` until its ingest commits, then ``"ready"``.
    current : bool
        Whether this is the current version of its ontology.
    snapshot_sha256, annotations_sha256 : str, str or None
        The sha256 of the artifact with the arrays of the label graph, and of the artifact with the
        annotations of its labels. `annotations_sha256` is None if there are no annotations.
    """

    id: int
    ontology: str
    digest: str
    state: str
    snapshot_sha256: str
    annotations_sha256: str | None
    n_labels: int
    n_edges: int
    layout: str
    source: str | None
    created_at: float
    current: bool


@dataclass(frozen=True)
class Bundle:
    """A named bundle: an adapter that opens ``ontology/name`` loads the artifact `sha256`."""

    ontology: str
    name: str
    sha256: str
    version: str
    created_at: float


class Catalog:
    """The record of ontologies, versions, artifacts and bundles; every method is one transaction.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The open database, from `ontology.sql.database.create_engine`; its schema must have been checked.
    only : collection of str, optional
        The only ontologies that reading methods find, as if there were no others; by default all.
    """

    def __init__(self, engine: Engine, *, only: Collection[str] | None = None) -> None:
        self.engine = engine
        self._only = None if only is None else sorted(only)

    # ---- reading -----------------------------------------------------------------------------------

    def currents(self) -> dict[str, str | None]:
        """Return a dictionary from every ontology name ever used to the digest of its current version.

        The names are sorted. The digest is None if the name does not have a current version.
        """
        with reading(self.engine) as connection:
            rows = connection.execute(select(_ontology).where(*self._seen()).order_by(_ontology.c.name))
            return {row.name: row.current_version for row in rows}

    def names(self) -> list[str]:
        """Return the names of the ontologies that have a current version, sorted."""
        return [name for name, digest in self.currents().items() if digest is not None]

    def current(self, name: str) -> str | None:
        """Return the digest of the current version of `name`; None if there is none."""
        with reading(self.engine) as connection:
            this = select(_ontology.c.current_version).where(_ontology.c.name == name, *self._seen())
            return connection.scalar(this)

    def versions(self, name: str | None = None) -> list[Version]:
        """Return every version, of one ontology or of all ontologies, oldest first."""
        with reading(self.engine) as connection:
            named = [] if name is None else [version_table.c.ontology == name]
            return _versions(connection, *named, *self._seen())

    def version(self, name: str, digest: str | None = None) -> Version:
        """Return the version of `name` whose digest begins with `digest`; by default, the current version.

        Raises
        ------
        NotFoundError
            If the name has no current version, or no version with that digest; the message lists what exists.
        InputError
            If `digest` is not 4 to 64 hexadecimal digits, or several digests begin with it.
        """
        check_name(name)
        if digest is not None and not re.fullmatch(r"[0-9a-f]{4,64}", digest):
            raise InputError(f"version {digest!r}: give 4 to 64 hexadecimal digits of its digest")
        found = self.versions(name)
        if digest is None:
            fitting = [v for v in found if v.current]
        else:
            fitting = [v for v in found if v.digest.startswith(digest)]
        if len(fitting) > 1:
            raise InputError(
                f"version {digest!r} of {name!r} matches {len(fitting)} digests; give more digits"
            )
        if fitting:
            return fitting[0]
        if digest is not None and found:
            known = ", ".join(v.digest[:12] for v in found)
            raise NotFoundError(
                f"ontology {name!r} has no version {digest!r}, only {known}; choose one of these, or ingest "
                "the missing one"
            )
        if found:
            raise NotFoundError(f"ontology {name!r} is not complete yet; wait for its ingest, or repeat it")
        names = ", ".join(self.names()) or "none yet"
        near = close_words(name, self.names(), 1)
        meant = f"did you mean {near[0]}? If not, " if near else ""
        raise NotFoundError(
            f"ontology {name!r} is not in the catalog (known: {names}); {meant}ingest it with: "
            f"grove ingest {name} FILE"
        )

    def read_before(self, name: str, fingerprint: str) -> tuple[Version, str, float] | None:
        """Return the version of `name` that came from an earlier reading of a source.

        `fingerprint` identifies the reading: the source, the options and the version of the readers. Return
        a tuple of the version, the report of the reading (as JSON) and the time of the reading, or None if no
        ready version came from it. A version records only the last reading that gave it. A reading before
        that one is therefore not found.
        """
        columns = version_table.c
        this = (columns.ontology == name, columns.reading == fingerprint, columns.state == "ready")
        with reading(self.engine) as connection:
            row = connection.execute(
                select(columns.digest, columns.report_json, columns.read_at).where(*this).limit(1)
            ).one_or_none()
            if row is None:
                return None
            (version,) = _versions(connection, *this[:1], columns.digest == row.digest)
        return version, row.report_json, row.read_at

    def bundles(self, name: str | None = None) -> list[Bundle]:
        """Return the named bundles of one ontology or of all ontologies, sorted by name."""
        statement = select(bundle_table).order_by(bundle_table.c.ontology, bundle_table.c.name)
        if self._only is not None:
            statement = statement.where(bundle_table.c.ontology.in_(self._only))
        if name is not None:
            statement = statement.where(bundle_table.c.ontology == name)
        with reading(self.engine) as connection:
            return [Bundle(**row._mapping) for row in connection.execute(statement)]

    def _seen(self) -> list[ColumnElement[bool]]:
        """Return the conditions under which this catalog finds a row of the table of ontologies."""
        return [] if self._only is None else [_ontology.c.name.in_(self._only)]

    def index_document(self, name: str) -> dict[str, Any] | None:
        """Return the content of ``index/<name>.json`` (docs/artifact-format.md).

        Return None if `name` has no current version.
        """
        with reading(self.engine) as connection:
            found = _versions(
                connection,
                version_table.c.ontology == name,
                _ontology.c.current_version == version_table.c.digest,
            )
            if not found:
                return None
            bundles = connection.execute(
                select(bundle_table).where(bundle_table.c.ontology == name).order_by(bundle_table.c.name)
            )
            return {
                "format": INDEX_FORMAT,
                "name": name,
                "version": found[0].digest,
                "snapshot": found[0].snapshot_sha256,
                "annotations": found[0].annotations_sha256,
                "layout": found[0].layout,
                "n_labels": found[0].n_labels,
                "n_edges": found[0].n_edges,
                "bundles": {row.name: {"sha256": row.sha256, "version": row.version} for row in bundles},
            }

    # ---- leases ------------------------------------------------------------------------------------

    def acquire(self, name: str, *, above: int = 0) -> Lease:
        """Take the lease of `name`, and increase the fence of `name`.

        The new fence is one more than the larger of two numbers: the old fence and `above`.

        An expired lease is taken over. So is a lease whose holder was a process of this host that has ended.

        Raises
        ------
        ConflictError
            If somebody else has the lease; the message names the host and process, and says since when.
        """
        check_name(name)
        owner = f"{socket.gethostname()}:{os.getpid()}"
        this = _ontology.c.name == name
        with writing(self.engine) as connection:
            connection.execute(
                upsert(connection, _ontology).values(name=name, fence=0).on_conflict_do_nothing()
            )
            row = connection.execute(select(_ontology).where(this).with_for_update()).one()
            free = or_(_ontology.c.lease_until.is_(None), _ontology.c.lease_until < now())
            if row.lease_owner is not None and _is_gone(row.lease_owner):
                free = true()
            fence = connection.scalar(
                update(_ontology)
                .where(this, free)
                .values(
                    fence=max(row.fence, above) + 1,
                    lease_owner=owner,
                    lease_since=now(),
                    lease_until=now() + LEASE_SECONDS,
                )
                .returning(_ontology.c.fence)
            )
        if fence is None:
            since = datetime.fromtimestamp(row.lease_since, UTC).isoformat(timespec="seconds")
            own = " (another thread of this process)" if row.lease_owner == owner else ""
            raise ConflictError(
                f"ontology {name!r} is being changed by {row.lease_owner}{own}, which began at {since}; wait "
                f"until it has finished; if it has died, its lease ends within {LEASE_SECONDS:.0f} s"
            )
        return Lease(name, fence, owner)

    def renew(self, lease: Lease) -> None:
        """Extend `lease`; a lease that was taken over raises `LeaseLostError`."""
        with writing(self.engine) as connection:
            _hold(connection, lease)

    def release(self, lease: Lease) -> None:
        """Give `lease` back; a lease that was taken over is left alone."""
        with writing(self.engine) as connection:
            connection.execute(
                update(_ontology)
                .where(_ontology.c.name == lease.name, _ontology.c.fence == lease.fence)
                .values(lease_owner=None, lease_since=None, lease_until=None)
            )

    # ---- changes under a lease ---------------------------------------------------------------------

    def open_version(
        self,
        lease: Lease,
        *,
        digest: str,
        snapshot: tuple[str, int],
        annotations: tuple[str, int] | None,
        n_labels: int,
        n_edges: int,
        layout: str,
        source: str | None,
        n_batches: int,
        read_by: tuple[str, str] | None = None,
    ) -> Version:
        """Record a version as loading, and its load batches as pending.

        A load batch is a part of the version that is loaded into the graph in one step. A version that is
        already recorded keeps its state.

        `snapshot` and `annotations` are pairs: the sha256 and the size in bytes of an artifact. The digest of
        a version does not depend on the annotations and the source. If annotations or a source are given,
        they replace those that an earlier ingest of the same content recorded. `read_by` is a pair: the
        fingerprint of the reading of the source, and the report of that reading as JSON. If `read_by` is not
        given and the annotations change, the record of an earlier reading is removed, because that reading
        gave other annotations.
        """
        key = {"ontology": lease.name, "digest": digest}
        with writing(self.engine) as connection:
            _hold(connection, lease)
            _record(connection, *snapshot, "snapshot")
            extra: dict[str, Any] = {} if source is None else {"source": source}
            if annotations is not None:
                _record(connection, *annotations, "annotations")
                extra["annotations_sha256"] = annotations[0]
            extra |= _reading_values(connection, key, annotations, read_by)
            values = key | extra | {"state": "loading", "snapshot_sha256": snapshot[0], "created_at": now()}
            values |= {"n_labels": n_labels, "n_edges": n_edges, "layout": layout}
            insertion = upsert(connection, version_table).values(values)
            columns = ["ontology", "digest"]
            connection.execute(
                insertion.on_conflict_do_update(
                    index_elements=columns, set_={"snapshot_sha256": snapshot[0]} | extra
                )
            )
            (found,) = _versions(
                connection, version_table.c.ontology == lease.name, version_table.c.digest == digest
            )
            if found.state == "loading":
                _add_batches(connection, found.id, n_batches)
            return found

    def pending_batches(self, version: Version) -> list[int]:
        """Return the numbers of the load batches that are not yet recorded as done, in ascending order."""
        statement = select(_load_batch.c.number).where(
            _load_batch.c.version_id == version.id, _load_batch.c.state == "pending"
        )
        with reading(self.engine) as connection:
            return sorted(connection.execute(statement).scalars())

    def batch_done(self, lease: Lease, version: Version, number: int) -> None:
        """Record load batch `number` of `version` as done."""
        with writing(self.engine) as connection:
            _hold(connection, lease)
            connection.execute(
                update(_load_batch)
                .where(_load_batch.c.version_id == version.id, _load_batch.c.number == number)
                .values(state="done")
            )

    def restart_batches(self, lease: Lease, version: Version, n_batches: int) -> None:
        """Record every load batch of `version` as pending, because the graph has lost batches."""
        with writing(self.engine) as connection:
            _hold(connection, lease)
            connection.execute(delete(_load_batch).where(_load_batch.c.version_id == version.id))
            _add_batches(connection, version.id, n_batches)

    def commit(self, lease: Lease, version: Version) -> str | None:
        """Make `version` ready and current, in one transaction that compares the fence.

        This is the moment when an ingest takes effect. Return the digest of the version that was current
        before; None if there was none.
        """
        with writing(self.engine) as connection:
            _hold(connection, lease)
            before: str | None = connection.scalar(
                select(_ontology.c.current_version).where(_ontology.c.name == lease.name)
            )
            connection.execute(
                update(version_table).where(version_table.c.id == version.id).values(state="ready")
            )
            connection.execute(delete(_load_batch).where(_load_batch.c.version_id == version.id))
            connection.execute(
                update(_ontology).where(_ontology.c.name == lease.name).values(current_version=version.digest)
            )
            return before

    def forget_version(self, lease: Lease, version: Version) -> None:
        """Remove the record of a version that is not current, and of the bundles made from it."""
        with writing(self.engine) as connection:
            _hold(connection, lease)
            connection.execute(
                delete(bundle_table).where(
                    bundle_table.c.ontology == lease.name, bundle_table.c.version == version.digest
                )
            )
            connection.execute(delete(version_table).where(version_table.c.id == version.id))

    def forget_ontology(self, lease: Lease) -> None:
        """Remove every version and bundle of the name.

        The row of the name stays, so that its fence never decreases.
        """
        with writing(self.engine) as connection:
            _hold(connection, lease)
            connection.execute(
                update(_ontology).where(_ontology.c.name == lease.name).values(current_version=None)
            )
            connection.execute(delete(bundle_table).where(bundle_table.c.ontology == lease.name))
            connection.execute(delete(version_table).where(version_table.c.ontology == lease.name))

    def set_bundle(self, name: str, bundle: str, *, sha256: str, size: int, version: str) -> None:
        """Make ``name/bundle`` the name of the artifact `sha256`, which has `size` bytes.

        `version` is the digest of the version from which the bundle was made; the catalog must contain it.
        """
        check_name(bundle, "bundle")
        values = {"sha256": sha256, "version": version, "created_at": now()}
        with writing(self.engine) as connection:
            if not _versions(connection, version_table.c.ontology == name, version_table.c.digest == version):
                raise NotFoundError(
                    f"ontology {name!r} no longer has version {version[:12]}; build the bundle again"
                )
            _record(connection, sha256, size, "bundle")
            insertion = upsert(connection, bundle_table).values(ontology=name, name=bundle, **values)
            connection.execute(
                insertion.on_conflict_do_update(index_elements=["ontology", "name"], set_=values)
            )


# ---- building blocks -----------------------------------------------------------------------------------


def _versions(connection: Connection, *conditions: Any) -> list[Version]:
    is_current = (_ontology.c.current_version == version_table.c.digest).label("current")
    columns = [column for column in version_table.c if column.name not in _OF_READINGS]
    statement = select(*columns, is_current).join(_ontology, _ontology.c.name == version_table.c.ontology)
    rows = connection.execute(statement.where(*conditions).order_by(version_table.c.id))
    return [_as_version(row) for row in rows]


def _reading_values(
    connection: Connection,
    key: Mapping[str, str],
    annotations: tuple[str, int] | None,
    read_by: tuple[str, str] | None,
) -> dict[str, Any]:
    """Return new values for the columns that record how a version's source was read.

    The result is a dictionary from the name of a column to its new value. It is empty if the columns keep
    their old values.
    """
    columns = version_table.c
    before = connection.execute(
        select(columns.annotations_sha256, columns.reading).where(
            columns.ontology == key["ontology"], columns.digest == key["digest"]
        )
    ).one_or_none()
    if read_by is not None:
        is_new = before is None or before.reading != read_by[0]
        return {"reading": read_by[0], "report_json": read_by[1], "read_at": now()} if is_new else {}
    if before is None or annotations is None or before.annotations_sha256 == annotations[0]:
        return {}
    return dict.fromkeys(_OF_READINGS)


def _as_version(row: Row[*tuple[Any, ...]]) -> Version:
    values = dict(row._mapping)
    return Version(**values | {"current": bool(values["current"])})


def _hold(connection: Connection, lease: Lease) -> None:
    """Extend `lease` in the caller's transaction; raise `LeaseLostError` if the lease was taken over.

    This locks the row of the ontology's name until the transaction ends.
    """
    held = connection.execute(
        update(_ontology)
        .where(
            _ontology.c.name == lease.name,
            _ontology.c.fence == lease.fence,
            _ontology.c.lease_owner == lease.owner,
        )
        .values(lease_until=now() + LEASE_SECONDS)
    )
    if held.rowcount != 1:
        raise LeaseLostError(
            f"ontology {lease.name!r}: another process took over the lease of {lease.owner} (fence "
            f"{lease.fence}); nothing was published; start the work again if you still need its result"
        )


def _record(connection: Connection, sha256: str, size: int, kind: str) -> None:
    insertion = upsert(connection, artifact_table).values(
        sha256=sha256, size=size, kind=kind, created_at=now(), touched_at=now()
    )
    connection.execute(insertion.on_conflict_do_update(index_elements=["sha256"], set_={"touched_at": now()}))


def _add_batches(connection: Connection, version_id: int, n_batches: int) -> None:
    rows = [{"version_id": version_id, "number": number, "state": "pending"} for number in range(n_batches)]
    connection.execute(upsert(connection, _load_batch).on_conflict_do_nothing(), rows)


def _is_gone(owner: str) -> bool:
    """Return whether `owner` was a process of this host and has ended; any other owner counts as alive."""
    host, _, pid = owner.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's process, which is alive
        return False
    return False

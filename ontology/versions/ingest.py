"""Registering an ontology: from a label graph to a version that every part of the workspace answers with.

The order is fixed, and each step may be repeated:

1. ``snapshot``: the arrays, and the definitions, as artifacts
2. ``version``: the catalogue records the version as loading, with its load batches
3. ``batches``: the graph takes the batches, each recorded when done
4. ``counts``: what the graph holds is counted and compared with the snapshot
5. ``commit``: one fenced SQL transaction makes the version ready and current
6. ``publish``: the graph's CURRENT follows
7. ``index``: the static index file follows

Before the commit a reader sees the previous version, whatever happens; after it the last two steps are made
up for by whoever opens the workspace next. A run that was killed is completed by running it again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ArtifactError, ConflictError, NotFoundError, ServiceError, ShrinkError
from labelgrove.ontology.graph.errors import GraphDamagedError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.ontology.versions.export import export_ontology
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.loading import (
    NAMELESS,
    STEPS,
    Progress,
    Steps,
    drop_from_graph,
    go_live,
    load,
)
from labelgrove.ontology.versions.snapshots import Snapshot, put_result, put_snapshot, unpacked
from labelgrove.ontology.versions.workspace import Workspace

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult
    from labelgrove.ontology.sql.catalog import Lease, Version

__all__ = [
    "STEPS",
    "Progress",
    "RegisterResult",
    "announce",
    "check_size",
    "delete_ontology",
    "empty_graph",
    "export_ontology",
    "register",
    "repair",
    "restore_graph",
    "snapshot_graph",
    "verify_graph",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RegisterResult:
    """What `register` did.

    Attributes
    ----------
    created : bool
        False where the same content was registered before under this name: no new version.
    replaced : str or None
        Digest of the version that was current until now; None where there was none, or it was this one.
    seconds : mapping of str to float
        Wall-clock seconds of each step of `STEPS`.
    """

    name: str
    digest: str
    created: bool
    n_labels: int
    n_edges: int
    seconds: Mapping[str, float]
    replaced: str | None = None


def register(
    workspace: Workspace,
    name: str,
    result: ReadResult | LabelGraph | Snapshot,
    *,
    source: str | None = None,
    shrink: bool = False,
    progress: Progress | None = None,
) -> RegisterResult:
    """Make `result` the current version of the ontology `name`.

    Parameters
    ----------
    workspace : Workspace
        Where to; its catalogue, artifacts and graph are all written.
    name : str
        1 to 64 of ``a-z 0-9 . _ -``, the first a letter or digit.
    result : ReadResult, LabelGraph or Snapshot
        From `ontology.read` or `ontology.versions.sources.read_once`, or a graph made otherwise, which has no
        definitions.
    source : str, optional
        Where it came from, for the record; by default what the reader's report says.
    shrink : bool, default=False
        Whether it may have less than half of the labels that the name has now.
    progress : callable, optional
        Called with (step, done, total), see `STEPS`.

    Raises
    ------
    DefectsError
        For a read result whose defects stop it.
    ShrinkError
        If it has less than half of the labels that the name has now, unless `shrink` is given. Nothing was
        changed.
    ConflictError
        When somebody else is changing `name`; the message names the holder. Nothing was changed.
    ServiceError
        When database, artifact store or graph cannot be reached or written: the previous version goes on
        serving, and running it again completes it.

    Notes
    -----
    The same content again makes no new version; it makes up for whatever of the steps is missing. Definitions
    and source are outside the digest: given, they replace those recorded with the version.
    """
    check_name(name)
    graph = result.graph if isinstance(result, Snapshot) else unpacked(result)[0]
    steps = Steps(progress)
    with holding(workspace, name) as lease:
        if not shrink:
            check_size(workspace, name, graph.n_labels)
        with steps.step("snapshot"):
            snapshot = put_result(workspace, result, source)
        return _make_current(workspace, lease, snapshot, steps)


def check_size(workspace: Workspace, name: str, n_labels: int) -> None:
    """Raise `ShrinkError` where `n_labels` is less than half of the labels that `name` has now."""
    current = next((version for version in workspace.catalog.versions(name) if version.current), None)
    if current is not None and 2 * n_labels < current.n_labels:
        raise ShrinkError(
            f"ontology {name!r} has {current.n_labels:,} labels, and would have {n_labels:,}, less than half "
            f"of them; its version {current.digest[:12]} stays. If that is meant, ask for it with --shrink "
            "(of a job: --param shrink=true; in Python: shrink=True)"
        )


def announce(workspace: Workspace, name: str, snapshot: Snapshot) -> None:
    """Record that `snapshot` is to be loaded for `name`, by somebody else and later: step 2 alone.

    Until then its artifacts are kept, and what is loaded of it is known to be wanted. A name that somebody is
    changing is left as it is: `register` records the same.
    """
    try:
        with holding(workspace, name) as lease:
            _open_version(workspace, lease, snapshot)
    except ConflictError as error:
        _log.info("version %s of %s is not announced: %s", snapshot.graph.digest[:12], name, error)


def _make_current(workspace: Workspace, lease: Lease, snapshot: Snapshot, steps: Steps) -> RegisterResult:
    with steps.step("version"):
        version = _open_version(workspace, lease, snapshot)
        _drop_abandoned(workspace, lease, version)
    load(workspace, lease, version, steps)
    before = go_live(workspace, lease, version, steps)
    graph = snapshot.graph
    return RegisterResult(
        lease.name,
        graph.digest,
        version.state == "loading",
        graph.n_labels,
        graph.n_edges,
        steps.seconds,
        before if before != graph.digest else None,
    )


def _open_version(workspace: Workspace, lease: Lease, snapshot: Snapshot) -> Version:
    graph, reading = snapshot.graph, snapshot.reading
    return workspace.catalog.open_version(
        lease,
        digest=graph.digest,
        snapshot=snapshot.arrays,
        definitions=snapshot.definitions,
        n_labels=graph.n_labels,
        n_edges=graph.n_edges,
        layout=graph.layout,
        source=snapshot.source,
        n_batches=workspace.graph.batch_count(graph),
        read_by=None if reading is None else (reading.fingerprint, json.dumps(reading.report.to_dict())),
    )


# ---- upkeep ------------------------------------------------------------------------------------


def repair(workspace: Workspace) -> list[str]:
    """Bring graph and index files in line with the catalogue; return the names that needed it.

    A name that somebody is changing is left to its holder. A damaged embedded graph is removed and rebuilt.

    Notes
    -----
    Cheap when nothing is amiss: a few questions to catalogue, graph and index for each name. What the graph
    holds beyond the catalogue's names is left alone: it may belong to somebody else.
    """
    try:
        workspace.graph.migrate()
        return _repair_names(workspace)
    except GraphDamagedError as error:
        if workspace.graph.dialect != "embedded":
            raise
        _log.warning("the embedded graph is made again from the snapshots: %s", error)
        _wipe(workspace)
        return _repair_names(workspace)


def empty_graph(workspace: Workspace) -> list[str]:
    """Drop every version from the graph, to be restored from its snapshot; return their digests.

    What a user edited in the graph by hand is lost unless `snapshot_graph` kept it before. A name that
    somebody is changing raises `ConflictError`, a snapshot that is damaged or gone `ArtifactError` or
    `NotFoundError`, before anything is dropped: the graph may hold the last copy.
    """
    with ExitStack() as leases:  # every name is held before anything is dropped: all of the graph, or none
        for name in workspace.catalog.names():
            leases.enter_context(holding(workspace, name))
        versions = _ready(workspace)
        for version in versions:
            workspace.snapshot(version)
        if workspace.graph.dialect == "embedded":
            _wipe(workspace)
        else:
            for version in versions:
                drop_from_graph(workspace, version.digest)
    return _digests(versions)


def restore_graph(workspace: Workspace, *, progress: Progress | None = None) -> list[str]:
    """Load what the graph lacks, bring every name in line, and return the digests of the versions in it.

    Batches that are done are recorded: one that was cut short goes on from there. A name that somebody is
    changing raises `ConflictError` after all the others are in line.
    """
    busy = []
    for name in workspace.catalog.names():
        with ExitStack() as held:
            try:
                lease = held.enter_context(holding(workspace, name))
            except ConflictError as error:
                busy.append(str(error))
            else:
                _restore(workspace, lease, Steps(progress))
    if busy:
        raise ConflictError("; ".join(busy))
    return _digests(_ready(workspace))


def verify_graph(workspace: Workspace, *, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Compare every ready version with its snapshot: what the graph holds, who is current, the index file.

    Returns
    -------
    list of dict
        ``ontology, digest, current, n_labels, n_edges, problems, same``; ``problems`` says in words what
        differs, ``same`` is whether nothing does.

    Notes
    -----
    Reads every version whole; from the embedded graph piece by piece, so that little is in memory at a time.
    """
    ready = _ready(workspace)
    steps, findings = Steps(progress), []
    with steps.step("verify", len(ready)):
        for done, version in enumerate(ready, start=1):
            problems = list(_differences(workspace, version))
            findings.append(
                {
                    "ontology": version.ontology,
                    "digest": version.digest,
                    "current": version.current,
                    "n_labels": version.n_labels,
                    "n_edges": version.n_edges,
                    "problems": problems,
                    "same": not problems,
                }
            )
            if done < len(ready):
                steps.report("verify", done, len(ready))
    return findings


def delete_ontology(workspace: Workspace, name: str, *, version: str | None = None) -> list[str]:
    """Delete an ontology, or one version of it that is not current; return the digests that went.

    Artifacts stay for garbage collection: another name, or a bundle in use, may need them.

    Raises
    ------
    NotFoundError
        For an unknown name or version.
    ConflictError
        For the current version on its own, or a name that somebody is changing.
    """
    if version is not None:
        doomed = workspace.catalog.version(name, version)
        if doomed.current:
            raise ConflictError(
                f"version {doomed.digest[:12]} is the current one of {name!r}; ingest another one first, "
                "or delete the ontology"
            )
        with holding(workspace, name) as lease:
            workspace.catalog.forget_version(lease, doomed)
            _clear(workspace, name)
        return [doomed.digest]
    workspace.catalog.version(name)
    with holding(workspace, name) as lease:
        digests = [v.digest for v in workspace.catalog.versions(name)]
        workspace.catalog.forget_ontology(lease)  # from here on it is gone; the rest follows, now or later
        _clear(workspace, name)
    return digests


def snapshot_graph(
    workspace: Workspace, name: str, *, shrink: bool = False, progress: Progress | None = None
) -> RegisterResult:
    """Make a new version of what somebody edited in the graph of `name`, and put the old version back.

    Definitions of labels that stay are taken over. A graph that was not edited makes no new version.

    Raises
    ------
    ShrinkError
        If less than half of the labels are left, unless `shrink` is given; the graph stays as it was edited.
    """
    version = workspace.catalog.version(name)
    found = workspace.graph.read_back(version.digest)
    edited = found.digest != version.digest
    graph = _canonical(found) if edited else found
    table = workspace.definitions(name)
    definitions = {} if table is None else dict(zip(workspace.snapshot(version).keys, table, strict=True))
    source = f"edited in the graph of {version.digest}" if edited else version.source
    snapshot = put_snapshot(workspace, graph, definitions, source)
    result = register(workspace, name, snapshot, shrink=shrink, progress=progress)
    if not edited:
        return result
    with holding(workspace, name) as lease:
        drop_from_graph(workspace, version.digest)
        load(workspace, lease, version, Steps())
    return result


# ---- building blocks -----------------------------------------------------------------------------------


def _drop_abandoned(workspace: Workspace, lease: Lease, keep: Version) -> None:
    """Drop what earlier ingests of the name began and nobody will end: the lease says that they are dead."""
    for version in workspace.catalog.versions(lease.name):
        if version.state == "loading" and version.digest != keep.digest:
            workspace.catalog.forget_version(lease, version)
            if version.digest not in {other.digest for other in workspace.catalog.versions()}:
                drop_from_graph(workspace, version.digest)


def _differences(workspace: Workspace, version: Version) -> Iterator[str]:
    store, wanted, snapshot = workspace.graph, (version.n_labels, version.n_edges), None
    try:
        snapshot = workspace.snapshot(version)
    except (ArtifactError, NotFoundError) as error:
        yield f"snapshot: {error}"
    found = store.counts(version.digest)
    if found != wanted:
        yield f"graph: holds {found[0]} labels and {found[1]} edges, expected {wanted[0]} and {wanted[1]}"
    else:
        try:
            difference = store.difference(version.digest, snapshot)
        except (GraphDamagedError, NotFoundError) as error:
            yield f"graph: {error}"
        else:
            if difference:
                yield f"graph: {difference}"
    states = {row["digest"]: row["state"] for row in store.versions()}
    if states.get(version.digest) == "loading":
        yield "graph: the version is loading, expected ready"
    if version.current and store.current(version.ontology) != version.digest:
        yield f"graph: CURRENT is {store.current(version.ontology)}"
    document = workspace.catalog.index_document(version.ontology)
    if version.current and not workspace.index_is(version.ontology, document):
        yield "index file: differs from the catalogue"


def _repair_names(workspace: Workspace) -> list[str]:
    repaired = []
    for name in workspace.catalog.currents():
        if _in_line(workspace, name):
            continue
        try:
            _mend(workspace, name, Steps())
        except ConflictError:
            continue  # somebody is changing it, and brings it in line
        except (ArtifactError, NotFoundError) as error:  # one snapshot must not close the graph to all names
            _log.warning("the graph of %s stays out of date: %s", name, error)
            continue
        except ServiceError as error:  # a full disk: what the graph holds can be read all the same
            _log.warning("the graph of %s and of names after it may be out of date: %s", name, error)
            break
        repaired.append(name)
    return repaired


def _in_line(workspace: Workspace, name: str) -> bool:
    """Whether graph and index have what the catalogue says of `name`; nothing is counted."""
    document = workspace.catalog.index_document(name)
    current = None if document is None else document["version"]
    if workspace.graph.current(name) != current or not workspace.index_is(name, document):
        return False
    held = {row["digest"] for row in workspace.graph.versions() if row["state"] == "ready"}
    return all(v.digest in held for v in workspace.catalog.versions(name) if v.state == "ready")


def _mend(workspace: Workspace, name: str, steps: Steps) -> None:
    """Bring graph and index in line for one name."""
    with holding(workspace, name) as lease:
        _restore(workspace, lease, steps)


def _restore(workspace: Workspace, lease: Lease, steps: Steps) -> None:
    """Load what the graph lacks of a name that is held, and let it go live."""
    versions = [v for v in workspace.catalog.versions(lease.name) if v.state == "ready"]
    for version in versions:
        load(workspace, lease, version, steps)
    for version in versions:
        if version.current:
            go_live(workspace, lease, version, steps)
    if not any(version.current for version in versions):
        _clear(workspace, lease.name)


def _ready(workspace: Workspace) -> list[Version]:
    return [version for version in workspace.catalog.versions() if version.state == "ready"]


def _digests(versions: list[Version]) -> list[str]:
    return sorted({version.digest for version in versions})


def _wipe(workspace: Workspace) -> None:
    from labelgrove.ontology.graph.embedded.store import EmbeddedStore

    if isinstance(workspace.graph, EmbeddedStore):
        workspace.graph.wipe()
        workspace.graph.migrate()


def _clear(workspace: Workspace, name: str) -> None:
    """Drop from graph and index what the catalogue no longer has under `name`, and versions nobody has."""
    if workspace.catalog.current(name) is None:
        workspace.graph.drop_ontology(name)
    held = workspace.graph.versions()  # first: what an ingest begins after this is not among them
    kept = {version.digest for version in workspace.catalog.versions()}
    ours = workspace.catalog.currents()
    for row in held:
        if row["ontology"] in {NAMELESS, *ours} and row["digest"] not in kept:
            drop_from_graph(workspace, row["digest"])
    workspace.refresh_index(name)


def _canonical(graph: LabelGraph) -> LabelGraph:
    """Return the graph with labels and edges in canonical order: edits come in any."""
    edges = list(graph.edges())
    return LabelGraph.from_edges(
        [(child, parent) for child, parent, _, _ in edges],
        weights=[weight for _, _, weight, _ in edges],
        ranks=[rank for _, _, _, rank in edges],
        names=dict(zip(graph.keys, graph.names, strict=True)),
        directed=graph.directed,
        labels=list(graph.keys),
    )

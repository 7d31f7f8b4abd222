"""Skip reading an unchanged source: the catalog already has its version.

A version remembers the last reading that it came from: the sha256 over the bytes of its source, the options
and the version of the readers (`ontology.readers.fingerprint`), and the report of that reading.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ArtifactError, NotFoundError
from labelgrove.ontology.readers.defects import Report
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.ontology.versions.snapshots import Reading, Snapshot, open_snapshot

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["read_once"]


def read_once(
    workspace: Workspace, name: str, path: str | os.PathLike[str], **options: Any
) -> ReadResult | Snapshot:
    """Read a source, unless `name` has a version that came from the same reading.

    Parameters
    ----------
    workspace : Workspace
        Where the versions are.
    name : str
        Name of the ontology that the source is for; it need not exist yet.
    path, **options
        As for `ontology.read`.

    Returns
    -------
    ReadResult or Snapshot
        The new reading. If an earlier reading had the same source, options and version of the readers, its
        snapshot from the store, with its report in `Snapshot.reading`. `ontology.versions.ingest.register`
        and `workers.client.submit_ingest` take either. A version whose artifacts are damaged or missing does
        not count: its source is read again, which repairs them.

    Raises
    ------
    DefectsError, NotFoundError, InputError
        As for `ontology.read`.
    ServiceError
        If the catalog or the artifact store cannot be reached.

    Notes
    -----
    An unchanged source takes one pass over its bytes and one over the artifacts. Its version is found whether
    it is current or not; registering the version makes it current.
    """
    from labelgrove.ontology.readers import fingerprint, read

    check_name(name)
    before = fingerprint(path, **options)
    earlier = _earlier(workspace, name, before)
    if earlier is not None:
        return earlier
    result = read(path, **options)
    if result.graph is None or fingerprint(path, **options) != before:
        return result
    return replace(result, reading=(before, result.graph.digest))


def _earlier(workspace: Workspace, name: str, fingerprint: str) -> Snapshot | None:
    """Return the snapshot from an earlier reading; None if there was none, or if parts of it are missing."""
    found = workspace.catalog.read_before(name, fingerprint)
    if found is None:
        return None
    version, report, read_at = found
    try:
        snapshot = open_snapshot(workspace.artifacts, version.snapshot_sha256, version.definitions_sha256)
    except (ArtifactError, NotFoundError):
        return None
    if snapshot.graph.digest != version.digest:
        return None
    reading = Reading(fingerprint, Report.from_dict(json.loads(report)), read_at)
    return replace(snapshot, source=version.source, reading=reading)

"""Read a source only if it has changed since the catalog recorded a version from it.

For each version, the catalog records two facts about the last reading that gave it. One is the fingerprint of
the reading: the sha256 over the bytes of the source, the options and the version of the readers
(`ontology.readers.fingerprint`). The other is the report.
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
    """Read a source, unless a version of `name` already came from the same source, read in the same way.

    Parameters
    ----------
    workspace : Workspace
        The workspace with the versions.
    name : str
        Name of the ontology that the source is for; it need not exist yet.
    path, **options
        As for `ontology.read`.

    Returns
    -------
    ReadResult or Snapshot
        The result of reading the source. If a version came from the same source, options and version of the
        readers, the stored snapshot is returned instead, with the earlier report in `Snapshot.reading`; the
        source is read only for its fingerprint. `ontology.versions.ingest.register` and
        `workers.client.submit_ingest` accept both types. If artifacts of that version are damaged or
        missing, the source is read again; registering the result repairs them.

    Raises
    ------
    DefectsError, NotFoundError, InputError
        As for `ontology.read`.
    ServiceError
        If the catalog or the artifact store cannot be reached.

    Notes
    -----
    For an unchanged source, its bytes and the artifacts are read once. The version that is found need not be
    the current one; registering it makes it current.
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
    """Return the stored snapshot that an earlier reading gave; None if it is absent or damaged."""
    found = workspace.catalog.read_before(name, fingerprint)
    if found is None:
        return None
    version, report, read_at = found
    try:
        snapshot = open_snapshot(workspace.artifacts, version.snapshot_sha256, version.annotations_sha256)
    except (ArtifactError, NotFoundError):
        return None
    if snapshot.graph.digest != version.digest:
        return None
    reading = Reading(fingerprint, Report.from_dict(json.loads(report)), read_at)
    return replace(snapshot, source=version.source, reading=reading)

"""Sources that were read before: what an unchanged one gave stands in the catalog, and is not read again.

A version remembers the last reading that gave it: the sha256 over the bytes of its source, the options and
the version of the readers (`ontology.readers.fingerprint`), and what that reading reported.
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
    """Read a source, unless `name` has a version that the same reading gave.

    Parameters
    ----------
    workspace : Workspace
        Where the versions are.
    name : str
        Name of the ontology that the source is for; it need not be there yet.
    path, **options
        As for `ontology.read`.

    Returns
    -------
    ReadResult or Snapshot
        What was read; or, where source, options and version of the readers are those of an earlier reading,
        what is stored of it, with its report in `Snapshot.reading`. `ontology.versions.ingest.register` and
        `workers.client.submit_ingest` take either. A version whose artifacts are damaged or gone does not
        count: its source is read again, which repairs them.

    Raises
    ------
    DefectsError, NotFoundError, InputError
        As `ontology.read` does.
    ServiceError
        If the catalog or the artifact store cannot be reached.

    Notes
    -----
    An unchanged source takes one pass over its bytes and one over the artifacts. Whichever version it gave is
    found, current or not; registering it makes it current.
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
    """Return what an earlier reading gave; None where there was none, or not all of it is left."""
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

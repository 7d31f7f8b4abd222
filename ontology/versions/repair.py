"""Make the graph and the index files match the catalog again.

The catalog and the snapshots are always right: versions that the graph lacks are loaded from snapshots,
versions that the catalog no longer has are dropped, and other annotations than those of the catalog are
replaced. A workspace does this whenever it opens its graph.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from labelgrove.ontology.errors import (
    ArtifactError,
    ConflictError,
    GraphDamagedError,
    NotFoundError,
    ServiceError,
)
from labelgrove.ontology.sql.catalog import Lease
from labelgrove.ontology.versions.graphannotations import annotations_to_show
from labelgrove.ontology.versions.graphloading import NAMELESS, Steps, drop_from_graph, go_live, load
from labelgrove.ontology.versions.indexfile import index_is, refresh_index
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.stores import Stores

__all__ = ["clear", "repair", "restore"]

_log = logging.getLogger(__name__)


def repair(stores: Stores) -> list[str]:
    """Make graph and index files match the catalog; return the names of the ontologies that were repaired.

    An ontology that somebody is changing is skipped. A damaged embedded graph is removed and rebuilt.

    Notes
    -----
    If there is nothing to repair, this takes a few queries to catalog, graph and index file for each name.
    Versions in the graph under names that the catalog does not have are left alone, because they may belong
    to another deployment.
    """
    try:
        stores.graph.migrate()
        return _repair_names(stores)
    except GraphDamagedError as error:
        if not stores.graph.wipe():
            raise
        _log.warning("the graph is rebuilt from the snapshots: %s", error)
        return _repair_names(stores)


def restore(stores: Stores, lease: Lease, steps: Steps) -> None:
    """Load missing ready versions of a name, show their annotations, and publish its current version.

    `lease` is the lease of the name. A name without a current version is removed from the graph.
    """
    versions = [v for v in stores.catalog.versions(lease.name) if v.state == "ready"]
    for version in versions:
        load(stores, lease, version, steps)
    for version in versions:
        if version.current:
            go_live(stores, lease, version, steps)
    if not any(version.current for version in versions):
        clear(stores, lease.name)


def clear(stores: Stores, name: str) -> None:
    """Make graph and index file of `name` match the catalog after a deletion.

    If the catalog has no current version of `name`, the name is removed from the graph. Each version that
    is in the graph but not in the catalog is dropped, unless the graph records it under an ontology name that
    the catalog does not have; such a version may belong to another deployment.
    """
    if stores.catalog.current(name) is None:
        stores.graph.drop_ontology(name)
    held = stores.graph.versions()  # read first, so that a version that an ingest begins later is not in it
    kept = {version.digest for version in stores.catalog.versions()}
    ours = stores.catalog.currents()
    for row in held:
        if row["ontology"] in {NAMELESS, *ours} and row["digest"] not in kept:
            drop_from_graph(stores, row["digest"])
    refresh_index(stores.catalog, stores.artifacts, name)


def _repair_names(stores: Stores) -> list[str]:
    repaired = []
    shown = annotations_to_show(stores.catalog.versions())
    for name in stores.catalog.currents():
        if _in_line(stores, name, shown):
            continue
        try:
            with holding(stores, name) as lease:
                restore(stores, lease, Steps())
        except ConflictError:
            continue  # somebody is changing the name, and will complete it
        except (ArtifactError, NotFoundError) as error:  # one bad snapshot must not block all names
            _log.warning("the graph of %s stays out of date: %s", name, error)
            continue
        except ServiceError as error:  # for example a full disk: the graph can still be read
            _log.warning("the graph may be out of date for %s and all names sorted after it: %s", name, error)
            break
        repaired.append(name)
    return repaired


def _in_line(stores: Stores, name: str, shown: Mapping[str, str]) -> bool:
    """Return whether graph and index file of `name` name the versions of the catalog; labels are not read.

    `shown` is the result of `annotations_to_show` for the whole catalog.
    """
    document = stores.catalog.index_document(name)
    current = None if document is None else document["version"]
    if stores.graph.current(name) != current or not index_is(stores.artifacts, name, document):
        return False
    held = {row["digest"]: row["annotations"] for row in stores.graph.versions() if row["state"] == "ready"}
    ours = [v.digest for v in stores.catalog.versions(name) if v.state == "ready"]
    return all(digest in held and held[digest] == shown.get(digest) for digest in ours)

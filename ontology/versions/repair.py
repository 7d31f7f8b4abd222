"""Bringing the graph and the index files in line with the catalog, whatever left them behind.

The catalog and the snapshots are the truth: what the graph lacks is loaded from them, what the catalog no
longer has is dropped. A workspace does so whenever it opens its graph.
"""

from __future__ import annotations

import logging

from labelgrove.ontology.errors import (
    ArtifactError,
    ConflictError,
    GraphDamagedError,
    NotFoundError,
    ServiceError,
)
from labelgrove.ontology.sql.catalog import Lease
from labelgrove.ontology.versions.graphloading import NAMELESS, Steps, drop_from_graph, go_live, load
from labelgrove.ontology.versions.indexfile import index_is, refresh_index
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.stores import Stores

__all__ = ["clear", "repair", "restore"]

_log = logging.getLogger(__name__)


def repair(stores: Stores) -> list[str]:
    """Bring graph and index files in line with the catalog; return the names that needed it.

    A name that somebody is changing is left to its holder. A damaged embedded graph is removed and rebuilt.

    Notes
    -----
    Cheap when nothing is amiss: a few questions to catalog, graph and index for each name. What the graph
    holds beyond the catalog's names is left alone: it may belong to somebody else.
    """
    try:
        stores.graph.migrate()
        return _repair_names(stores)
    except GraphDamagedError as error:
        if not stores.graph.wipe():
            raise
        _log.warning("the graph is made again from the snapshots: %s", error)
        return _repair_names(stores)


def restore(stores: Stores, lease: Lease, steps: Steps) -> None:
    """Load what the graph lacks of a name that is held, and let it go live."""
    versions = [v for v in stores.catalog.versions(lease.name) if v.state == "ready"]
    for version in versions:
        load(stores, lease, version, steps)
    for version in versions:
        if version.current:
            go_live(stores, lease, version, steps)
    if not any(version.current for version in versions):
        clear(stores, lease.name)


def clear(stores: Stores, name: str) -> None:
    """Drop from graph and index what the catalog no longer has under `name`, and versions nobody has."""
    if stores.catalog.current(name) is None:
        stores.graph.drop_ontology(name)
    held = stores.graph.versions()  # first: what an ingest begins after this is not among them
    kept = {version.digest for version in stores.catalog.versions()}
    ours = stores.catalog.currents()
    for row in held:
        if row["ontology"] in {NAMELESS, *ours} and row["digest"] not in kept:
            drop_from_graph(stores, row["digest"])
    refresh_index(stores.catalog, stores.artifacts, name)


def _repair_names(stores: Stores) -> list[str]:
    repaired = []
    for name in stores.catalog.currents():
        if _in_line(stores, name):
            continue
        try:
            with holding(stores, name) as lease:
                restore(stores, lease, Steps())
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


def _in_line(stores: Stores, name: str) -> bool:
    """Whether graph and index have what the catalog says of `name`; nothing is counted."""
    document = stores.catalog.index_document(name)
    current = None if document is None else document["version"]
    if stores.graph.current(name) != current or not index_is(stores.artifacts, name, document):
        return False
    held = {row["digest"] for row in stores.graph.versions() if row["state"] == "ready"}
    return all(v.digest in held for v in stores.catalog.versions(name) if v.state == "ready")

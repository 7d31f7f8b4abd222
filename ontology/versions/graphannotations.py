"""Find the annotations of versions that the graph must show: names, definitions and deprecated labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import ArtifactError, NotFoundError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.snapshots import opened_annotations
from labelgrove.ontology.versions.stores import Stores

if TYPE_CHECKING:
    from labelgrove.ontology.graph.annotationtables import ShownAnnotations
    from labelgrove.ontology.sql.catalog import Version

__all__ = ["annotations_to_show", "readable_annotations", "shown_annotations"]

_log = logging.getLogger(__name__)


def annotations_to_show(versions: Iterable[Version]) -> dict[str, str]:
    """Return which annotations the graph must show: a dictionary from digests of versions to sha256.

    `versions` are those of the whole catalog, oldest first. Names with the same content share one version in
    the graph. If their annotations differ, it shows those of the name that has had the version the longest.
    A version without annotations has the empty text.
    """
    shown: dict[str, str] = {}
    for version in versions:
        shown[version.digest] = shown.get(version.digest) or version.annotations_sha256 or ""
    return shown


def shown_annotations(stores: Stores, graph: LabelGraph, given: str | None = None) -> ShownAnnotations:
    """Return what the graph must show of the annotations of a version.

    `given` is the artifact to show if the catalog has none for the version. Errors are those of
    `ontology.versions.snapshots.stored_annotations`.
    """
    from labelgrove.ontology.graph.annotationtables import NO_ANNOTATIONS, ShownAnnotations

    sha256 = annotations_to_show(stores.catalog.versions()).get(graph.digest) or given
    if not sha256:
        return ShownAnnotations(graph, None, NO_ANNOTATIONS)
    annotations = opened_annotations(stores.artifacts, sha256, n_labels=graph.n_labels, digest=graph.digest)
    return ShownAnnotations(graph, annotations, sha256)


def readable_annotations(
    stores: Stores, graph: LabelGraph, given: str | None = None
) -> ShownAnnotations | None:
    """Return `shown_annotations`; None, with a warning, if the artifact is damaged or missing.

    Labels and edges can be used without it.
    """
    try:
        return shown_annotations(stores, graph, given)
    except (ArtifactError, NotFoundError) as error:
        _log.warning(
            "version %s is in the graph without its names and definitions: %s", graph.digest[:12], error
        )
        return None

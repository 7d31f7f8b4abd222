"""Keep label indexes as files on this machine; one that is missing or damaged is built again.

The files are a store of artifacts of their own, in the folder ``labelindex`` of ``GROVE_HOME``: content named
by its sha256, which is checked whenever a file is opened, and for each version a small document that names
its content. They are made from snapshots alone, so they can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.browse.labelindex import INDEX_FORMAT, LabelIndex
from labelgrove.ontology.errors import ArtifactError, NotFoundError, ServiceError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store

__all__ = ["MOST_KEPT", "IndexCache"]

MOST_KEPT = 64
"""Most versions whose indexes are kept; the indexes that were opened least recently are removed first."""

_BEING_WRITTEN_S = 60.0  # another process may have written content that its document does not name yet

_OF_VERSION = 32  # hexadecimal digits of a name that are those of the version

_log = logging.getLogger(__name__)


def _none() -> Annotations | None:
    return None


class IndexCache:
    """The label indexes of a folder.

    Parameters
    ----------
    folder : Path
        Created when the first index is written.

    Examples
    --------
    >>> import tempfile
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = IndexCache(Path(folder) / "labelindex")
    ...     index = cache.open(graph)
    ...     cache.holds(graph), [hit.text for hit in index.search.find("oak").items]
    (True, ['oak'])
    """

    def __init__(self, folder: Path) -> None:
        self._store: ArtifactStore = open_store(str(folder))

    @property
    def where(self) -> str:
        """The folder of the indexes."""
        return self._store.where

    def open(
        self,
        graph: LabelGraph,
        annotations: Callable[[], Annotations | None] = _none,
        annotations_id: str = "",
    ) -> LabelIndex:
        """Return the index of a version, from its file if there is one that can be used.

        Parameters
        ----------
        graph : LabelGraph
            The version.
        annotations : callable, optional
            Returns the annotations of the version; called only to build the index.
        annotations_id : str, optional
            Identifies these annotations, for example by the sha256 of their artifact. An index that was built
            from others is not used.

        Notes
        -----
        If the folder cannot be written, the index is kept in memory alone, and a warning is logged.
        """
        found = self._stored(graph, annotations_id)
        return self.build(graph, annotations, annotations_id) if found is None else found

    def build(
        self,
        graph: LabelGraph,
        annotations: Callable[[], Annotations | None] = _none,
        annotations_id: str = "",
    ) -> LabelIndex:
        """Build the index of a version, write its file, and return it; arguments are as for `open`."""
        arrays, metadata = LabelIndex.to_arrays(graph, annotations())
        try:
            sha256 = self._store.put_arrays(arrays, metadata)
            document = {"format": INDEX_FORMAT, "annotations": annotations_id, "sha256": sha256}
            self._store.write_index(_name(graph.digest, annotations_id), document)
            self._remove_oldest()
            arrays, metadata = self._store.open_arrays(sha256)  # from now on, from the memory map
        except (ArtifactError, NotFoundError, ServiceError) as error:
            _log.warning("the label index of %s is kept in memory: %s", graph.digest[:12], error)
        return LabelIndex.from_arrays(arrays, metadata, graph)

    def holds(self, graph: LabelGraph, annotations_id: str = "") -> bool:
        """Return whether there is a file of the version that can be used."""
        return self._stored(graph, annotations_id) is not None

    def drop(self, digest: str) -> None:
        """Remove the indexes of a version, whatever its annotations; an absent index is not an error."""
        try:
            for name in self._store.index_names():
                if name.startswith(digest[:_OF_VERSION]):
                    document = self._store.read_index(name)
                    self._store.delete_index(name)
                    if document is not None:
                        self._store.delete(str(document.get("sha256")))
        except (ArtifactError, ServiceError, ValueError) as error:
            _log.warning("the label index of %s is not removed: %s", digest[:12], error)

    def _stored(self, graph: LabelGraph, annotations_id: str) -> LabelIndex | None:
        try:
            document = self._store.read_index(_name(graph.digest, annotations_id))
            if document is None or (document.get("format"), document.get("annotations")) != (
                INDEX_FORMAT,
                annotations_id,
            ):
                return None
            sha256 = str(document.get("sha256"))
            found = LabelIndex.from_arrays(*self._store.open_arrays(sha256), graph)
            self._touch(sha256)
        except NotFoundError:
            return None
        except (ArtifactError, ServiceError, ValueError) as error:
            _log.warning("the label index of %s is built again: %s", graph.digest[:12], error)
            return None
        return found

    def _touch(self, sha256: str) -> None:
        """Record that an index was opened now; a folder that cannot be written keeps its order."""
        try:
            self._store.touch(sha256)
        except ServiceError as error:
            _log.debug("%s", error)

    def _remove_oldest(self) -> None:
        """Remove the indexes opened least recently, and content that no document names."""
        used: dict[str, float] = {}
        content_of = {}
        for name in self._store.index_names():
            try:
                sha256 = str((self._store.read_index(name) or {}).get("sha256"))
                used[sha256] = max(self._store.modified(sha256), used.get(sha256, 0.0))
                content_of[name] = sha256
            except (ArtifactError, NotFoundError, ValueError):
                self._store.delete_index(name)
        recently = max(used.values(), default=0.0) - _BEING_WRITTEN_S
        kept = set(sorted(used, key=lambda sha256: -used[sha256])[:MOST_KEPT])
        for name, sha256 in content_of.items():
            if sha256 not in kept:
                self._store.delete_index(name)
        for sha256 in set(self._store.digests()) - kept:
            self._store.delete_unless_modified(sha256, recently)


def _name(digest: str, annotations_id: str) -> str:
    """Return the name of an index: ontologies with the same labels may have different annotations."""
    return digest[:_OF_VERSION] + hashlib.sha256(annotations_id.encode()).hexdigest()[:_OF_VERSION]

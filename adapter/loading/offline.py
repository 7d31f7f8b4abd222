"""Load bundles without a network, from copies and index documents that were kept earlier.

The index document of an ontology is the file of a store that lists the bundles of the ontology. Next to the
artifacts, the cache keeps each index document as it was last read from a store, in
``names/<store>/index/<ontology>.json``. ``<store>`` is the beginning of the sha256 of the store's address.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path
from typing import Any

from labelgrove.adapter.loading.foldercache import FolderCache
from labelgrove.ontology.errors import ArtifactError, NotFoundError
from labelgrove.ontology.store.artifacts import ArtifactStore
from labelgrove.ontology.store.localfolder import LocalFolder

__all__ = ["OfflineStore", "seen_names"]


def seen_names(cache: FolderCache, where: str) -> ArtifactStore:
    """Return a store in the folder of `cache`; it keeps copies of index documents for `OfflineStore`.

    The copies are the documents that were last read from the artifact store at the address `where`.
    """
    name = hashlib.sha256(where.encode()).hexdigest()[:16]
    return ArtifactStore(LocalFolder(cache.folder / "names" / name))


class OfflineStore:
    """The store at `where`, read without a network: it contains only what `cache` has copies of."""

    def __init__(self, cache: FolderCache, where: str) -> None:
        self.where = where
        self._cache = cache
        self._names = seen_names(cache, where)

    def local_path(self, digest: str) -> Path:
        """Return the path at which the copy of an artifact is kept; there may be no file."""
        return self._cache.local_path(digest)

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the copy of an artifact on this machine, or raise an error if there is no good copy."""
        try:
            return self._cache.copies.content(digest)
        except NotFoundError:
            raise NotFoundError(
                f"offline: artifact {digest} of {self.where} is not kept in {self._cache.folder}; "
                "load it once while online (offline=False, GROVE_OFFLINE unset)"
            ) from None
        except ArtifactError as error:
            raise ArtifactError(
                f"offline: the copy of artifact {digest} in {self._cache.folder} is damaged ({error}); load "
                "it once while online, to replace the copy"
            ) from None

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return the index document of the ontology `name` as it was last read.

        Raises `NotFoundError` if it was never read on this machine.
        """
        document = self._names.read_index(name)
        if document is None:
            known = ", ".join(map(repr, self.index_names())) or "none"
            raise NotFoundError(
                f"offline: ontology {name!r} of {self.where} was never requested from this machine (known "
                f"here: {known}); load a bundle of it once while online, or give the digest of a bundle"
            )
        return document

    def index_names(self) -> list[str]:
        """Return the names of the ontologies whose index documents were read before, sorted."""
        return self._names.index_names()

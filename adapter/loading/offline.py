"""Loading without a network: from copies and index documents that were kept earlier.

Next to the artifacts, the cache keeps ``names/<store>/index/<ontology>.json``, the index document of a store
as it was last read. ``<store>`` is the beginning of the sha256 of the store's address.
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
    """Return the store within `cache` that keeps the index of the store at `where` as it was last read."""
    name = hashlib.sha256(where.encode()).hexdigest()[:16]
    return ArtifactStore(LocalFolder(cache.folder / "names" / name))


class OfflineStore:
    """The part of the store at `where` that `cache` has copies of; nothing else is read."""

    def __init__(self, cache: FolderCache, where: str) -> None:
        self.where = where
        self._cache = cache
        self._names = seen_names(cache, where)

    def local_path(self, digest: str) -> Path:
        """Return the path of the copy of an artifact, which may not exist."""
        return self._cache.local_path(digest)

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the copy on this machine; no other place is read."""
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
                "it once while online, which replaces it"
            ) from None

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return the index document of `name` as it was last read; `NotFoundError` if it was never read."""
        document = self._names.read_index(name)
        if document is None:
            known = ", ".join(map(repr, self.index_names())) or "none"
            raise NotFoundError(
                f"offline: ontology {name!r} of {self.where} was never requested from this machine (seen: "
                f"{known}); load a bundle of it once while online, or give the digest of a bundle"
            )
        return document

    def index_names(self) -> list[str]:
        """Return the names whose documents were read before, sorted."""
        return self._names.index_names()

"""Without a network: copies that were kept before, and the index documents last seen.

The cache keeps ``names/<store>/index/<ontology>.json`` beside the artifacts: what the index of a store said
when it was last asked. ``<store>`` is the beginning of the sha256 of the store's address.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import ArtifactError, NotFoundError, ServiceError
from labelgrove.ontology.settings import masked
from labelgrove.ontology.store.artifacts import LocalStore, open_store

__all__ = ["FetchedStore", "OfflineStore", "fetched_file", "seen_names"]


def seen_names(folder: Path, where: str) -> LocalStore:
    """Return the store in the cache at `folder` whose index is what that of the store `where` last said."""
    return LocalStore(folder / "names" / hashlib.sha256(where.encode()).hexdigest()[:16])


class OfflineStore(LocalStore):
    """What the cache at `folder` holds of the store `where`; nothing else is asked."""

    def __init__(self, folder: Path, where: str) -> None:
        super().__init__(folder)
        self.where = where
        self._names = seen_names(folder, where)

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the copy that is kept on this machine; there is no other place to ask."""
        try:
            return super().content(digest)
        except NotFoundError:
            raise NotFoundError(
                f"offline: artifact {digest} of {self.where} is not kept in {self.root}; "
                "load it once while online (offline=False, GROVE_OFFLINE unset)"
            ) from None
        except ArtifactError as error:
            raise ArtifactError(
                f"offline: the copy of artifact {digest} in {self.root} is damaged ({error}); load it once "
                "while online, which replaces it"
            ) from None

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return what the index said of `name` when it was last asked; never asked is `NotFoundError`."""
        document = self._names.read_index(name)
        if document is None:
            known = ", ".join(map(repr, self._names.index_names())) or "none"
            raise NotFoundError(
                f"offline: ontology {name!r} of {self.where} was never asked for from this machine (seen: "
                f"{known}); load a bundle of it once while online, or give the digest of a bundle"
            )
        return document


class FetchedStore(OfflineStore):
    """One artifact that `fetch` gets from `where`; what it gets is compared with its digest."""

    def __init__(self, folder: Path, where: str, fetch: Callable[[], bytes]) -> None:
        super().__init__(folder, where)
        self._fetch = fetch

    def content(self, digest: str) -> bytes:
        """Return what `fetch` gets, once its digest is the one asked for."""
        data = self._fetch()
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            raise ArtifactError(
                f"{self.where}: its {len(data)} bytes have sha256 {found}, expected {digest}; the file is "
                "another one or damaged: give the digest of what lies there, or publish the right file again"
            )
        return data


def fetched_file(url: str) -> bytes:
    """Return the bytes of one file at a URL that fsspec reads.

    Raises
    ------
    NotFoundError, ServiceError
        Where there is no such file, and where it cannot be asked for.
    MissingExtraError, InputError
        For a URL whose driver is not installed, or that fsspec does not know.
    """
    folder, _, name = url.rpartition("/")
    shown = masked(url)
    store = open_store(folder)
    try:
        return store.read_file(name)
    except NotFoundError:
        raise NotFoundError(f"{shown}: there is no such file; check bucket and path") from None
    except ServiceError as error:
        raise ServiceError(
            f"{shown}: cannot be read ({masked(str(error.__cause__ or error))}); check the network, and what "
            "this user may read"
        ) from error

"""Loading without a network: from copies and index documents that were kept earlier.

Next to the artifacts, the cache keeps ``names/<store>/index/<ontology>.json``, the index document of a store
as it was last read. ``<store>`` is the beginning of the sha256 of the store's address.
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
    """Return the store in the cache at `folder` that has the last read index of the store `where`."""
    return LocalStore(folder / "names" / hashlib.sha256(where.encode()).hexdigest()[:16])


class OfflineStore(LocalStore):
    """The part of the store `where` that the cache at `folder` holds; nothing else is read."""

    def __init__(self, folder: Path, where: str) -> None:
        super().__init__(folder)
        self.where = where
        self._names = seen_names(folder, where)

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the copy on this machine; no other place is read."""
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
        """Return the index document of `name` as it was last read; `NotFoundError` if it was never read."""
        document = self._names.read_index(name)
        if document is None:
            known = ", ".join(map(repr, self._names.index_names())) or "none"
            raise NotFoundError(
                f"offline: ontology {name!r} of {self.where} was never asked for from this machine (seen: "
                f"{known}); load a bundle of it once while online, or give the digest of a bundle"
            )
        return document


class FetchedStore(OfflineStore):
    """One artifact that `fetch` gets from `where`, compared with its digest."""

    def __init__(self, folder: Path, where: str, fetch: Callable[[], bytes]) -> None:
        super().__init__(folder, where)
        self._fetch = fetch

    def content(self, digest: str) -> bytes:
        """Return the bytes that `fetch` gets, or raise if they do not have the requested digest."""
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
        If the file does not exist, and if the service cannot be reached.
    MissingExtraError, InputError
        For a URL whose driver is not installed, or whose form fsspec does not know.
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

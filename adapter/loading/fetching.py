"""Fetch a file by its address, check that its bytes match the requested digest, and keep a copy."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

from labelgrove.adapter.loading.foldercache import FolderCache
from labelgrove.ontology.errors import NotFoundError, ServiceError
from labelgrove.ontology.settings import masked
from labelgrove.ontology.store.artifacts import check_digest, open_store

__all__ = ["FetchedFile", "fetched_file"]


class FetchedFile:
    """A single artifact, read from `cache` if there is a copy and otherwise fetched from its address.

    Parameters
    ----------
    where : str
        Address of the file, without passwords.
    fetch : callable
        Called without arguments; returns the content of the file.
    cache : FolderCache
        Keeps the content after a check that it matches its digest.
    """

    def __init__(self, where: str, fetch: Callable[[], bytes], cache: FolderCache) -> None:
        self.where = where
        self._fetch = fetch
        self._cache = cache

    def local_path(self, digest: str) -> Path:
        """Return the path at which the cache keeps the copy; there may be no file yet."""
        return self._cache.local_path(digest)

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the content of the file, or raise an error if it does not have the requested digest."""
        return self._cache.content(digest, lambda: self._fetched(digest))

    def _fetched(self, digest: str) -> bytes:
        data = self._fetch()
        advice = "this is another file or it is damaged: give its digest, or publish the right file again"
        check_digest(data, digest, self.where, advice)
        return data


def fetched_file(url: str) -> bytes:
    """Return the bytes of one file at a URL that fsspec reads.

    Raises
    ------
    NotFoundError, ServiceError
        `NotFoundError` if the file does not exist; `ServiceError` if the service cannot be reached or refuses
        to let the file be read.
    MissingExtraError, InputError
        `MissingExtraError` if the driver for the URL is not installed; `InputError` if fsspec does not know
        this form of URL.
    """
    folder, _, name = url.rpartition("/")
    shown = masked(url)
    store = open_store(folder)
    try:
        return store.read_file(name)
    except NotFoundError:
        raise NotFoundError(f"{shown}: there is no such file; check the bucket and the path") from None
    except ServiceError as error:
        raise ServiceError(
            f"{shown}: cannot be read ({masked(str(error.__cause__ or error))}); check the network, and "
            "that this user may read the file"
        ) from error

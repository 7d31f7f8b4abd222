"""Caches in front of the artifact store: a folder on this machine, and Redis.

An artifact is read from the folder, otherwise from Redis, otherwise from the store. If a copy in the folder
or in Redis is missing, damaged or out of reach, the next of the three is read, and a missing or damaged copy
is replaced. Errors of the store are always raised. A fault of a cache never raises an error; it only logs a
warning (`adapter.loading.cachefaults`). If the file of a bundle has not changed since it was checked,
`adapter.loading.source` does not check it again (`adapter.loading.stamps`).

A store that is a folder is read in place unless ``GROVE_CACHE_URL`` is set; any other store is cached in the
folder ``$GROVE_HOME/cache``.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.adapter.loading.cachefaults import warn_once
from labelgrove.adapter.loading.foldercache import FolderCache
from labelgrove.adapter.loading.offline import seen_names
from labelgrove.adapter.loading.rediscache import RedisCache, redis_cache
from labelgrove.ontology.errors import ArtifactError, GroveError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, Copies

__all__ = ["local_cache", "through_cache"]


def local_cache(settings: Settings) -> FolderCache:
    """Return the cache in the folder ``$GROVE_HOME/cache``."""
    return FolderCache(settings.home / "cache")


def through_cache(store: ArtifactStore, settings: Settings) -> ArtifactStore:
    """Return `store` with the caches of `settings` in front of it; nothing is connected or created yet.

    The result is a store like any other. Only artifacts are read through the caches; everything else is
    read and written directly in the place where `store` keeps it: for example, the index documents, which
    name the current version and the bundles of each ontology. The arrays of an artifact are views of a
    read-only memory map of its local copy, or are in memory if that copy cannot be written.

    Raises
    ------
    MissingExtraError
        If ``GROVE_CACHE_URL`` is set and redis or pyarrow (for zstd) is not installed.
    SettingsError
        For a ``GROVE_CACHE_URL`` that is not a Redis URL.

    Examples
    --------
    >>> from labelgrove.ontology.store.artifacts import open_store
    >>> settings = Settings.from_env({"GROVE_HOME": "/tmp/grove"})
    >>> folder = open_store("/tmp/grove/artifacts")
    >>> through_cache(folder, settings) is folder  # a folder on this machine needs no cache
    True
    """
    if settings.cache_url is None and store.folder is not None:
        return store
    redis = None if settings.cache_url is None else redis_cache(settings.cache_url)
    return ArtifactStore(store.storage, _Caches(local_cache(settings), redis, store.where))


class _Caches(Copies):
    """The caches in front of the store at `where`: the local folder, and Redis if there is one."""

    def __init__(self, folder: FolderCache, redis: RedisCache | None, where: str) -> None:
        self._folder = folder
        self._redis = redis
        self._names = seen_names(folder, where)

    def local_path(self, digest: str) -> Path:
        return self._folder.local_path(digest)

    def content(self, digest: str, fetch: Callable[[], bytes | mmap.mmap]) -> bytes | mmap.mmap:
        if self._redis is not None:
            fetch = partial(self._redis.content, digest, fetch)
        return self._folder.content(digest, fetch)

    def keep_index(self, name: str, document: Mapping[str, Any] | None) -> None:
        """Keep a copy of `document`, the index document of the ontology `name`, for use without a network.

        An index document names the current version and the bundles of an ontology. If `document` is None,
        delete the copy that was kept.
        """
        try:
            if document is None:
                self._names.delete_index(name)
            elif document != self._kept_index(name):
                self._names.write_index(name, document)
        except (GroveError, OSError) as error:
            warn_once(str(self._folder.folder), f"{error}; names cannot be resolved offline")

    def _kept_index(self, name: str) -> dict[str, Any] | None:
        """Return the index document that was kept for `name`; None if there is none or it cannot be read."""
        try:
            return self._names.read_index(name)
        except ArtifactError:
            return None

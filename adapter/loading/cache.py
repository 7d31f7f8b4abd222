"""Caches of artifacts: read from a folder on this machine, then from Redis, then from the artifact store.

Each copy is compared with its sha256 when it arrives and whenever it is read through this module;
`adapter.loading.source` does not check a bundle again whose file has not changed since it was checked
(`adapter.loading.stamps`). A copy that is missing, damaged or out of reach is a miss: the next place is read,
and its copy replaces the bad one. Errors of the store are always raised. A fault of a cache is never an
error, only a warning in the log, one per place and process.

A store that is a folder is read in place unless ``GROVE_CACHE_URL`` is set; any other store is cached in the
folder ``$GROVE_HOME/cache``. An entry in Redis has the key ``grove:zstd:<sha256>`` and holds the length as
eight bytes, little-endian, then one zstd frame.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import mmap
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from labelgrove.adapter.loading.offline import FetchedStore, seen_names
from labelgrove.adapter.loading.stamps import mark_used, settle
from labelgrove.ontology.errors import (
    ArtifactError,
    GroveError,
    MissingExtraError,
    NotFoundError,
    PlatformError,
    ServiceError,
    SettingsError,
)
from labelgrove.ontology.settings import Settings, is_this_host, masked
from labelgrove.ontology.store.artifacts import ArtifactStore, LocalStore
from labelgrove.ontology.store.posix import try_lock
from labelgrove.ontology.store.wholefile import make_folder, open_private

if TYPE_CHECKING:
    import redis

__all__ = [
    "FOLDER_CAP",
    "VALUE_CAP",
    "CachedStore",
    "answers_anyone",
    "cache_facts",
    "check_cache",
    "for_client",
    "redis_advice",
    "redis_entry",
    "through_cache",
]

VALUE_CAP = 64 * 2**20
"""Bytes; a larger artifact is not kept in Redis. At 1 Gbit/s this much takes half a second, uncompressed."""
FOLDER_CAP = 10 * 2**30
"""Bytes that the folder may hold, or a quarter of its disk if less; old copies are deleted by last use."""

_CONNECT_S, _ANSWER_S = 1.0, 2.0
_REST_S = 10.0  # wait before trying a Redis again that did not answer
_TURN_S = 120.0  # the turn only saves work: a frozen holder must not stop the others
_POLL_S = 0.01
_LENGTH_BYTES = 8
_LARGEST_ENTRY = VALUE_CAP + VALUE_CAP // 128
"""Most bytes read of an entry: a zstd frame is at most so much longer than its content."""

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


def through_cache(store: ArtifactStore, settings: Settings) -> ArtifactStore:
    """Return `store` with the caches of `settings` in front of it; nothing is connected or created yet.

    The result is a store like any other. Reading an artifact goes through the caches; everything else,
    including the index, goes straight to `store`. Arrays are views of a read-only memory map of the local
    copy; if that cannot be written, they are in memory.

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
    >>> through_cache(folder, settings) is folder  # as near as can be
    True
    """
    if settings.cache_url is None:
        in_place = store.local_path("0" * 64) is not None
        return store if in_place else CachedStore(store, settings.home / "cache", None)
    return CachedStore(store, settings.home / "cache", _redis_at(settings.cache_url))


def redis_entry(url: str, digest: str, settings: Settings) -> CachedStore:
    """Return a store that holds one artifact: the entry of `digest` in the Redis at `url`, and local copies.

    Reading it raises `NotFoundError` if there is no such entry, `ArtifactError` for an entry with other
    bytes, and `ServiceError` if Redis does not answer.

    Raises
    ------
    MissingExtraError, SettingsError
        As `through_cache`.
    """
    cache = _redis_at(url)
    folder = settings.home / "cache"
    return CachedStore(FetchedStore(folder, cache.where, lambda: cache.entry(digest)), folder, None)


def check_cache(settings: Settings) -> str:
    """Check that the cache in use is fit to be a cache, and return a line that describes it.

    Raises
    ------
    SettingsError
        As `cache_facts`, and if the Redis of ``GROVE_CACHE_URL`` has no limit on its memory or refuses new
        entries instead of dropping old ones; the message names the fix.
    ServiceError
        If it does not answer.
    """
    if settings.cache_url is None:
        return f"artifacts in a folder are read in place, others kept in {settings.home / 'cache'}"
    cache, facts = _redis_at(settings.cache_url), cache_facts(settings)
    policy, limit = facts["maxmemory_policy"], int(facts["maxmemory"])
    if not str(policy).startswith("allkeys-"):
        raise SettingsError(
            f"cache {cache.where}: maxmemory-policy is {policy!r}, under which a full cache takes no more; "
            "set it to allkeys-lru (redis-cli CONFIG SET maxmemory-policy allkeys-lru)"
        )
    if limit == 0:
        raise SettingsError(
            f"cache {cache.where}: has no limit on its memory and would fill the machine; set one "
            "(redis-cli CONFIG SET maxmemory 1gb)"
        )
    return f"Redis {facts['redis_version']} answers, {policy}, limit {limit / 2**20:.0f} MiB"


def cache_facts(settings: Settings) -> dict[str, str]:
    """Return the facts that the Redis of ``GROVE_CACHE_URL``, which must be set, reports.

    Raises
    ------
    SettingsError
        If it is the Redis of the broker, or other hosts can reach it without a password.
    ServiceError
        If it does not answer.
    """
    cache = _redis_at(str(settings.cache_url))
    facts = cache.facts()
    if settings.broker_url is not None and _runs_as(settings.broker_url) == facts["run_id"]:
        raise SettingsError(
            f"GROVE_CACHE_URL {cache.where} and GROVE_BROKER_URL are one Redis: its databases share a limit "
            "on memory, so that cached bytes crowd out job messages; give the cache a Redis of its own"
        )
    if answers_anyone(str(settings.cache_url)):
        raise SettingsError(
            f"cache {cache.where}: asks for no password, and other hosts can reach it; set one in its "
            "redis.conf (requirepass) and in GROVE_CACHE_URL (redis://:password@host:6379/0)"
        )
    return facts


def answers_anyone(url: str) -> bool:
    """Return whether a Redis that other hosts can reach answers without the password of its URL."""
    if is_this_host(url):
        return False
    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    import redis

    options = {"socket_connect_timeout": _CONNECT_S, "socket_timeout": _ANSWER_S}
    try:
        with redis.Redis.from_url(bare, **options) as client:
            client.ping()
    except redis.RedisError:  # it needs a password; another check finds whether it runs at all
        return False
    return True


class CachedStore(ArtifactStore):
    """An artifact store with a local folder and perhaps Redis in front of it; see `through_cache`."""

    def __init__(self, store: ArtifactStore, folder: Path, redis_cache: RedisCache | None) -> None:
        self.where = store.where
        self._store = store
        self._folder = folder
        self._local = LocalStore(folder)
        self._redis = redis_cache
        self._names = seen_names(folder, store.where)

    def copy_path(self, digest: str) -> Path | None:
        """Return the path of the local copy, which may not exist."""
        return self._local.local_path(digest)

    def keep(self, data: bytes) -> str:
        """Keep a local copy of `data` and return its digest."""
        digest = hashlib.sha256(data).hexdigest()
        with self._turn(digest):
            if self._held(digest) is None:
                self._kept(digest, data)
        return digest

    def read_index(self, name: str) -> dict[str, Any] | None:
        """Return the store's index document of `name`, and keep it for use without a network."""
        document = self._store.read_index(name)
        try:
            if document is None:
                self._names.delete_index(name)
            elif document != self._names.read_index(name):
                self._names.write_index(name, document)
        except (GroveError, OSError) as error:
            _warn_once(str(self._folder), f"{error}; names cannot be resolved offline")
        return document

    def content(self, digest: str) -> bytes | mmap.mmap:
        """Return the bytes of an artifact from the nearest good copy, and keep them locally."""
        held = self._held(digest)
        if held is None:
            with self._turn(digest):
                held = self._held(digest)  # another thread may have fetched it during the wait
                if held is None:
                    held = self._kept(digest, self._fetched(digest))
        return held

    def _held(self, digest: str) -> bytes | mmap.mmap | None:
        """Return the local copy, or None if it is missing or damaged."""
        try:
            data = self._local.content(digest)
        except (LookupError, ArtifactError, ServiceError):
            return None
        mark_used(self._folder / "sha256" / digest[:2] / digest)
        return data

    def _fetched(self, digest: str) -> bytes:
        data = self._redis.get(digest) if self._redis else None
        if data is None:
            data = self._store.read_bytes(digest)
            if self._redis:
                self._redis.put(digest, data)
        return data

    def _kept(self, digest: str, data: bytes) -> bytes | mmap.mmap:
        """Publish `data` in the folder and return it from there, or return `data` if that fails."""
        try:
            if self._make_room(len(data)):
                self._local.put_bytes(data)
                settle(self._folder / "sha256" / digest[:2] / digest)
                return self._local.content(digest)
        except (GroveError, OSError) as error:
            _warn_once(str(self._folder), f"{error}; artifacts are kept in memory instead")
        return data

    def _make_room(self, size: int) -> bool:
        """Delete the least recently used copies until `size` more bytes fit; return whether they fit."""
        make_folder(self._folder)
        cap = min(FOLDER_CAP, shutil.disk_usage(self._folder).total // 4)
        found = []
        for path in self._folder.glob("sha256/*/*"):
            with contextlib.suppress(FileNotFoundError):  # another process may make room too
                status = path.stat()
                used = max(status.st_atime_ns, status.st_mtime_ns)
                found.append((used, status.st_size, path))
        excess = size + sum(length for _, length, _ in found) - cap
        for _, length, path in sorted(found):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)  # memory maps of it stay valid
            (self._folder / "checked" / path.name).unlink(missing_ok=True)
            excess -= length
        return excess <= 0

    @contextlib.contextmanager
    def _turn(self, digest: str) -> Iterator[None]:
        """Wait while another thread or process of this machine fetches a digest that begins alike."""
        locks = self._folder / "locks"
        with contextlib.ExitStack() as stack:
            try:
                make_folder(locks)
                handle = stack.enter_context(open(locks / digest[:2], "ab", opener=open_private))
                deadline = time.monotonic() + _TURN_S
                while not _locked(handle.fileno()) and time.monotonic() < deadline:
                    time.sleep(_POLL_S)
            except OSError as error:
                _warn_once(str(self._folder), f"{error}; an artifact may be fetched more than once")
            yield

    # ---- passed on to the store --------------------------------------------------------------------

    def local_path(self, digest: str) -> Path | None:
        """Return the path at which the store keeps the file on this machine, or None."""
        return self._store.local_path(digest)

    def _write(self, path: PurePosixPath, chunks: Sequence[memoryview]) -> None:
        self._store._write(path, chunks)

    def _read(self, path: PurePosixPath) -> bytes | mmap.mmap:
        return self._store._read(path)

    def _size(self, path: PurePosixPath) -> int:
        return self._store._size(path)

    def _modified(self, path: PurePosixPath) -> float:
        return self._store._modified(path)

    def _delete_unless_modified(self, path: PurePosixPath, since: float) -> bool:
        return self._store._delete_unless_modified(path, since)

    def _touch(self, path: PurePosixPath) -> None:
        self._store._touch(path)

    def _delete(self, path: PurePosixPath) -> None:
        self._store._delete(path)

    def _list(self, folder: str) -> Iterable[str]:
        return self._store._list(folder)


class RedisCache:
    """Artifacts in one Redis, read with short timeouts and checked by sha256; faults are not errors.

    Each request makes a new connection. That costs two or three milliseconds, compared with tens of them for
    a value of megabytes, and leaves no state that a fork, an idle hour or a restarted server could break.
    """

    def __init__(self, url: str) -> None:
        purpose = "the cache (GROVE_CACHE_URL)"
        try:
            import redis
        except ImportError as error:
            raise MissingExtraError.of("redis", "service", purpose) from error
        try:
            import pyarrow
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "service", f"{purpose}, for zstd,") from error
        self.where = masked(url)
        self._url = url
        self._redis = redis
        self._arrow = pyarrow
        self._rests_until = 0.0
        try:
            with self._client() as client:
                client.connection_pool.make_connection()  # does not connect, only checks the options
        except (TypeError, ValueError, redis.RedisError) as error:
            raise SettingsError(
                f"GROVE_CACHE_URL: {self.where!r} is not a Redis URL ({masked(str(error))}); "
                "write redis://:password@host:6379/0"
            ) from None

    def get(self, digest: str) -> bytes | None:
        """Return the artifact, or None if no good copy can be read at once."""

        def begin_of_entry(client: redis.Redis) -> bytes | None:
            with client.pipeline(transaction=False) as pipe:
                pipe.exists(_key(digest))
                pipe.getrange(_key(digest), 0, _LARGEST_ENTRY)
                there, begin = pipe.execute()
            return begin if there else None

        stored = self._ask(begin_of_entry)
        if stored is None:
            return None
        data = self._unpacked(stored) if isinstance(stored, bytes) else None
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            _warn_once(self.where, f"its entry {_key(digest)} holds other bytes than its name promises")
            return None
        return data

    def entry(self, digest: str) -> bytes:
        """Return the artifact, or raise an error that says why it cannot be read."""
        data = self.get(digest)
        if data is not None:
            return data
        self.facts()
        if self._ask(lambda client: client.exists(_key(digest))):
            raise ArtifactError(
                f"{self.where}: its entry {_key(digest)} holds other bytes than its name promises; delete "
                "it, and load the bundle from the artifact store"
            )
        raise NotFoundError(
            f"{self.where}: no entry {_key(digest)}; a cache may drop what it holds, and keeps nothing above "
            f"{VALUE_CAP >> 20} MiB: load the digest from the artifact store (artifacts_url)"
        )

    def put(self, digest: str, data: bytes) -> None:
        """Keep a copy of `data`, unless it is larger than `VALUE_CAP`."""
        if len(data) <= VALUE_CAP:
            frame = self._arrow.compress(data, codec="zstd", asbytes=True)
            value = len(data).to_bytes(_LENGTH_BYTES, "little") + frame
            self._ask(lambda client: client.set(_key(digest), value))

    def facts(self) -> dict[str, str]:
        """Return the server's report on itself and its memory; `ServiceError` if it does not answer."""
        try:
            with self._client() as client:
                return {**client.info("server"), **client.info("memory")}
        except (self._redis.RedisError, OSError, ValueError) as error:
            advice = redis_advice(error, "GROVE_CACHE_URL")
            raise ServiceError(f"cache {self.where}: {masked(str(error))}; {advice}") from error

    def _ask(self, question: Callable[[redis.Redis], _Answer]) -> _Answer | None:
        if time.monotonic() < self._rests_until:
            return None
        try:
            with self._client() as client:
                return question(client)
        except self._redis.ResponseError as error:  # it answers: out of memory, or no permission
            _warn_once(self.where, str(error))
        except (self._redis.RedisError, OSError, ValueError) as error:  # ValueError: not a Redis server
            self._rests_until = time.monotonic() + _REST_S
            _warn_once(self.where, str(error))
        return None

    def _client(self) -> redis.Redis:
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return self._redis.Redis.from_url(
            for_client(self._url),
            socket_connect_timeout=_CONNECT_S,
            socket_timeout=_ANSWER_S,
            retry=Retry(NoBackoff(), 0),
        )

    def _unpacked(self, stored: bytes) -> bytes | None:
        length = int.from_bytes(stored[:_LENGTH_BYTES], "little")
        if length > VALUE_CAP:  # checked before so much memory is allocated
            return None
        try:
            unpacked: bytes = self._arrow.decompress(
                stored[_LENGTH_BYTES:], decompressed_size=length, codec="zstd", asbytes=True
            )
        except (OSError, ValueError):  # not a zstd frame, or one of another length
            return None
        return unpacked


@functools.lru_cache(maxsize=8)
def _redis_at(url: str) -> RedisCache:
    """Return one object for each URL, so that all callers avoid a server that does not answer."""
    return RedisCache(url)


def _runs_as(url: str) -> str | None:
    """Return the identity of the running server at `url`; None if it does not answer."""
    try:
        return RedisCache(url).facts()["run_id"]
    except (ServiceError, SettingsError):  # the broker has another check
        return None


def for_client(url: str) -> str:
    """Return the URL as the client expects it: settings also accept Celery's spelling of a socket file."""
    if not url.startswith("redis+socket:"):
        return url
    return "unix:" + url.removeprefix("redis+socket:").replace("?virtual_host=", "?db=")


def redis_advice(error: Exception, variable: str) -> str:
    """Return the next step after a fault of the Redis that `variable` names."""
    from redis import exceptions

    if isinstance(error, exceptions.AuthenticationError):
        return f"user or password is wrong; {variable} holds both"
    if isinstance(error, exceptions.NoPermissionError):
        return f"its user may not do that: grant it (ACL SETUSER), or name another user in {variable}"
    if isinstance(error, exceptions.ReadOnlyError):
        return f"it is a replica, which takes no writes: name the primary in {variable}"
    return f"check that Redis runs and {variable} is right"


def _key(digest: str) -> str:
    return f"grove:zstd:{digest}"


def _locked(descriptor: int) -> bool:
    try:
        return try_lock(descriptor)
    except PlatformError:  # without a lock an artifact may be fetched more than once
        return True


_warned: dict[str, object] = {}


def _warn_once(place: str, trouble: str) -> None:
    mine = object()
    if _warned.setdefault(place, mine) is not mine:  # setdefault is atomic: one thread warns
        return
    _log.warning("cache %s: %s (said once; what it cannot give comes from the store)", place, masked(trouble))

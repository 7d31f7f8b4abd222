"""The cache of artifacts in Redis, and checks of the settings of its Redis server.

An entry has the key ``grove:zstd:<sha256>`` and contains the length of the artifact as eight bytes,
little-endian, then one zstd frame. The artifact is compared with its sha256 whenever the entry is read.
"""

from __future__ import annotations

import functools
import hashlib
import mmap
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from labelgrove.adapter.loading.cachefaults import warn_once
from labelgrove.ontology.errors import (
    ArtifactError,
    MissingExtraError,
    NotFoundError,
    ServiceError,
    SettingsError,
)
from labelgrove.ontology.settings import Settings, is_this_host, masked

if TYPE_CHECKING:
    import redis

__all__ = [
    "VALUE_CAP",
    "RedisCache",
    "answers_anyone",
    "cache_facts",
    "check_cache",
    "for_client",
    "redis_advice",
    "redis_cache",
]

VALUE_CAP = 64 * 2**20
"""Most bytes of an artifact that is kept in Redis; at 1 Gbit/s they take half a second, uncompressed."""

_CONNECT_S, _ANSWER_S = 1.0, 2.0
_REST_S = 10.0  # wait before trying a Redis again that did not answer
_LENGTH_BYTES = 8
_LARGEST_ENTRY = VALUE_CAP + VALUE_CAP // 128
"""Most bytes that are read of an entry: a zstd frame may be a little longer than its content."""

_Answer = TypeVar("_Answer")


def check_cache(settings: Settings) -> str:
    """Check that the settings of the cache are safe, and return a line that describes it.

    Raises
    ------
    SettingsError
        As for `cache_facts`. Also if the Redis of ``GROVE_CACHE_URL`` has no memory limit, or if it refuses
        new entries when it is full instead of dropping old ones. The message says how to fix it.
    ServiceError
        If this Redis does not answer.
    """
    if settings.cache_url is None:
        return f"artifacts in a folder are read in place, others kept in {settings.home / 'cache'}"
    cache, facts = redis_cache(settings.cache_url), cache_facts(settings)
    policy, limit = facts["maxmemory_policy"], int(facts["maxmemory"])
    if not str(policy).startswith("allkeys-"):
        raise SettingsError(
            f"cache {cache.where}: maxmemory-policy is {policy!r}, so it refuses new entries when "
            "it is full; set it to allkeys-lru (redis-cli CONFIG SET maxmemory-policy allkeys-lru)"
        )
    if limit == 0:
        raise SettingsError(
            f"cache {cache.where}: its memory has no limit, so it could fill the machine; set one "
            "(redis-cli CONFIG SET maxmemory 1gb)"
        )
    return f"Redis {facts['redis_version']} answers, {policy}, limit {limit / 2**20:.0f} MiB"


def cache_facts(settings: Settings) -> dict[str, str]:
    """Return what the Redis of ``GROVE_CACHE_URL`` reports about itself.

    The caller must make sure that ``GROVE_CACHE_URL`` is set.

    Raises
    ------
    SettingsError
        If this Redis is also the job broker (``GROVE_BROKER_URL``), or if other hosts can reach it without a
        password.
    ServiceError
        If this Redis does not answer.
    """
    cache = redis_cache(str(settings.cache_url))
    facts = cache.facts()
    if settings.broker_url is not None and _runs_as(settings.broker_url) == facts["run_id"]:
        raise SettingsError(
            f"GROVE_CACHE_URL {cache.where} and GROVE_BROKER_URL are the same Redis: its databases share one "
            "memory limit, so cached artifacts crowd out job messages; use a separate Redis for the cache"
        )
    if answers_anyone(str(settings.cache_url)):
        raise SettingsError(
            f"cache {cache.where}: asks for no password, and other hosts can reach it; set one in its "
            "redis.conf (requirepass) and in GROVE_CACHE_URL (redis://:password@host:6379/0)"
        )
    return facts


def answers_anyone(url: str) -> bool:
    """Return whether other hosts can reach the Redis at `url` and it answers without a password."""
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


class RedisCache:
    """Copies of artifacts in one Redis, read with short timeouts and checked by sha256.

    A fault of the cache is logged and counts as a missing copy; only `entry` and `facts` raise errors.

    Each request makes a new connection. Connecting takes two or three milliseconds; reading a value of
    several megabytes takes tens of milliseconds. Because no connection stays open, none can be broken by a
    fork, an idle hour or a restart of the server.
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
        """Return the artifact; None if Redis has no undamaged copy or does not answer in time."""

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
            warn_once(self.where, f"the bytes of its entry {_key(digest)} do not match the digest")
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
                f"{self.where}: the bytes of its entry {_key(digest)} do not match the digest; delete "
                "the entry, and load the bundle from the artifact store"
            )
        raise NotFoundError(
            f"{self.where}: no entry {_key(digest)}; the cache may have dropped it, and keeps none above "
            f"{VALUE_CAP >> 20} MiB; load the digest from the artifact store (artifacts_url)"
        )

    def put(self, digest: str, data: bytes) -> None:
        """Keep a copy of `data` in Redis, unless it is larger than `VALUE_CAP` bytes."""
        if len(data) <= VALUE_CAP:
            frame = self._arrow.compress(data, codec="zstd", asbytes=True)
            value = len(data).to_bytes(_LENGTH_BYTES, "little") + frame
            self._ask(lambda client: client.set(_key(digest), value))

    def content(self, digest: str, fetch: Callable[[], bytes | mmap.mmap]) -> bytes:
        """Return the artifact; if it is not in Redis, call `fetch`, put a copy into Redis and return it."""
        data = self.get(digest)
        if data is None:
            data = bytes(fetch())
            self.put(digest, data)
        return data

    def facts(self) -> dict[str, str]:
        """Return what Redis reports about its server and memory (``INFO``).

        Raises `ServiceError` if it does not answer.
        """
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
            warn_once(self.where, str(error))
        except (self._redis.RedisError, OSError, ValueError) as error:  # ValueError: not a Redis server
            self._rests_until = time.monotonic() + _REST_S
            warn_once(self.where, str(error))
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
def redis_cache(url: str) -> RedisCache:
    """Return the cache at `url`; calls with the same URL return the same object.

    So all callers share its state: after a fault, none of them asks the server again for a while.
    """
    return RedisCache(url)


def _runs_as(url: str) -> str | None:
    """Return the ``run_id`` of the Redis process at `url`; None if it does not answer."""
    try:
        return RedisCache(url).facts()["run_id"]
    except (ServiceError, SettingsError):  # the broker has another check
        return None


def for_client(url: str) -> str:
    """Return the URL as the Redis client expects it.

    Settings also accept a socket file in Celery's form, ``redis+socket:``, which the client does not know.
    """
    if not url.startswith("redis+socket:"):
        return url
    return "unix:" + url.removeprefix("redis+socket:").replace("?virtual_host=", "?db=")


def redis_advice(error: Exception, variable: str) -> str:
    """Return advice for the user after `error` from the Redis whose URL is in the setting `variable`."""
    from redis import exceptions

    if isinstance(error, exceptions.AuthenticationError):
        return f"user or password is wrong; {variable} holds both"
    if isinstance(error, exceptions.NoPermissionError):
        return f"its user may not do that: grant it (ACL SETUSER), or name another user in {variable}"
    if isinstance(error, exceptions.ReadOnlyError):
        return f"it is a replica, which cannot be written: name the primary in {variable}"
    return f"check that Redis runs and {variable} is right"


def _key(digest: str) -> str:
    return f"grove:zstd:{digest}"

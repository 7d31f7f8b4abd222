"""Before a Celery worker starts, check that the deployment can neither lose work nor mix up messages."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labelgrove.adapter.loading.rediscache import answers_anyone, cache_facts, for_client, redis_advice
from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.settings import Settings, is_this_host, masked
from labelgrove.workers.kinds import DEFAULT_QUEUE, queue_names

if TYPE_CHECKING:
    import redis

__all__ = ["KEY_PREFIX", "Broker", "check_broker", "check_deployment", "for_celery", "rename_foreign_keys"]

logger = logging.getLogger(__name__)

KEY_PREFIX = "labelgrove:"
"""The beginning of every key of this package in the broker."""

_PRIORITIES = ("", "\x06\x163", "\x06\x166", "\x06\x169")  # kombu reads a list for each
_TYPES = {
    "unacked": "hash",
    "unacked_index": "zset",
    "unacked_mutex": "string",
    f"_kombu.binding.{DEFAULT_QUEUE}": "set",
    f"_kombu.binding_permanent.{DEFAULT_QUEUE}": "set",
}
_ASIDE = f"{KEY_PREFIX}aside:"


@dataclass(frozen=True)
class Broker:
    """What a broker that is fit for workers reports about itself.

    Attributes
    ----------
    version : str
        Version of Redis.
    durable : bool
        Whether the broker keeps waiting messages on disk.
    seconds : float
        The time on the broker's clock, in seconds since 1970.
    """

    version: str
    durable: bool
    seconds: float


def check_deployment(settings: Settings, *, mend: bool = False) -> Broker:
    """Check that the settings are fit for Celery workers; return what the broker says about itself.

    A cache that does not answer is not an error. If `mend` is true, `rename_foreign_keys` is called first: it
    renames the keys of this package under which another program stored data.

    Raises
    ------
    SettingsError
        If no broker is set; if the graph is the embedded one; if the database is SQLite, but the broker is
        not on this host; if the broker may evict messages; if another program stored data under a key of
        this package; if broker and cache are the same Redis; or if a Redis answers other hosts without a
        password. The message names the variable to set.
    ServiceError
        If the broker does not answer.
    """
    broker = settings.broker_url
    if broker is None:
        raise SettingsError(
            "GROVE_BROKER_URL is not set: Celery workers need a Redis broker; set it to redis://host:6379/0, "
            "or use the embedded workers, which need no broker: grove worker"
        )
    if settings.graph_is_embedded:
        raise SettingsError(
            f"GROVE_GRAPH_URL is {settings.graph_url!r}: the embedded graph serves only one process, but "
            "Celery runs several; set GROVE_GRAPH_URL to a Neo4j server, or unset GROVE_BROKER_URL"
        )
    if settings.database_url.startswith("sqlite") and not is_this_host(broker):
        raise SettingsError(
            f"GROVE_DATABASE_URL is {settings.database_url!r}, a file on one host, but the broker "
            f"{masked(broker)} serves several hosts; set GROVE_DATABASE_URL to PostgreSQL "
            "(postgresql+psycopg://user:password@host/name)"
        )
    if mend:
        rename_foreign_keys(broker)
    found = check_broker(broker)
    if settings.cache_url is not None:
        with contextlib.suppress(ServiceError):
            cache_facts(settings)
    return found


def for_celery(url: str) -> str:
    """Return the URL of a broker as Celery writes it; a socket file becomes ``redis+socket:///path``.

    For a TLS connection (``rediss:``), the broker's certificate is checked unless the URL says otherwise.

    >>> for_celery("unix:///run/redis.sock?db=1")
    'redis+socket:///run/redis.sock?virtual_host=1'
    >>> for_celery("rediss://broker:6379/0")
    'rediss://broker:6379/0?ssl_cert_reqs=required'
    """
    if url.startswith("rediss:") and "ssl_cert_reqs=" not in url:  # or anybody could read the password
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    if not url.startswith("unix:"):
        return url
    return "redis+socket:" + url.removeprefix("unix:").replace("?db=", "?virtual_host=")


def check_broker(url: str) -> Broker:
    """Check that the Redis at `url` answers, requires its password, and never evicts a message.

    Another program may have stored data under a key of this package. If the Redis type of these data is not
    the type that Celery uses there, no message can be delivered: `SettingsError` is raised and names the key.
    """
    with _client_of(url) as client:
        facts = client.info()
        seconds, microseconds = client.time()
        foreign = [said for _, said in _foreign_keys(client)]
    if facts["maxmemory_policy"] != "noeviction":
        raise SettingsError(
            f"broker {masked(url)}: maxmemory-policy is {facts['maxmemory_policy']!r}, which drops waiting "
            "messages when memory is short; set it to noeviction (redis-cli CONFIG SET maxmemory-policy "
            "noeviction) and keep the cache (GROVE_CACHE_URL) in a separate Redis"
        )
    if foreign:
        raise SettingsError(
            f"broker {masked(url)}: {', '.join(foreign)}; something else writes to this Redis: set "
            "GROVE_BROKER_URL to another Redis or to another database of this one (redis://host:6379/1), "
            "or delete the key (redis-cli DEL); a worker renames such a key when it sweeps, and the "
            "waiting units are then sent again"
        )
    if answers_anyone(url):
        raise SettingsError(
            f"broker {masked(url)}: asks for no password, but other hosts can reach it; set a password in "
            "its redis.conf (requirepass) and in GROVE_BROKER_URL (redis://:password@host:6379/0)"
        )
    return Broker(
        version=str(facts["redis_version"]),
        durable=bool(facts["aof_enabled"]),
        seconds=seconds + microseconds / 1e6,
    )


def rename_foreign_keys(url: str) -> list[str]:
    """Rename keys of this package under which another program stored its data; return their new names.

    The data is not deleted. The messages that should have waited under these keys are sent again from the
    ledger.

    Raises
    ------
    SettingsError, ServiceError
        `SettingsError` for a malformed URL, `ServiceError` if the broker does not answer.
    """
    import redis

    aside = []
    with _client_of(url) as client:
        for key, said in _foreign_keys(client):
            new = f"{_ASIDE}{key.removeprefix(KEY_PREFIX)}:{time.time():.0f}"
            with contextlib.suppress(redis.ResponseError):  # gone meanwhile, perhaps by another worker
                client.rename(key, new)
                logger.error("broker %s: %s; the key is renamed to %r", masked(url), said, new)
                aside.append(new)
    return aside


@contextmanager
def _client_of(url: str) -> Iterator[redis.Redis]:
    """Yield a client of the broker; raise its errors as errors of this package."""
    import redis

    try:
        with redis.Redis.from_url(for_client(url), socket_connect_timeout=5, socket_timeout=10) as client:
            yield client
    except ValueError as error:
        raise SettingsError(
            f"GROVE_BROKER_URL: {masked(url)!r} is not a Redis URL ({masked(str(error))}); "
            "write redis://:password@host:6379/0"
        ) from None
    except redis.RedisError as error:
        advice = redis_advice(error, "GROVE_BROKER_URL")
        raise ServiceError(f"broker {masked(url)}: {masked(str(error))}; {advice}") from error


def _foreign_keys(client: redis.Redis) -> list[tuple[str, str]]:
    """Find the keys of this package whose values do not have the Redis type that Celery uses there.

    Return a pair for each: the key, and a text that names the type found and the type that Celery uses.
    """
    lists = {f"{queue}{priority}": "list" for queue in queue_names() for priority in _PRIORITIES}
    expected = {KEY_PREFIX + name: kept for name, kept in {**lists, **_TYPES}.items()}
    with client.pipeline(transaction=False) as pipe:
        for key in expected:
            pipe.type(key)
        found = [kept.decode() for kept in pipe.execute()]
    return [
        (key, f"key {key!r} is a {kept}, not a {wanted}")
        for (key, wanted), kept in zip(expected.items(), found, strict=True)
        if kept not in (wanted, "none")
    ]

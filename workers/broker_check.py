"""What must hold before a Celery worker starts: a deployment in which nothing can be lost or torn apart."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from adapter.cache import answers_anyone, cache_facts, for_client
from ontology.errors import ServiceError, SettingsError
from ontology.settings import Settings, is_this_host, masked

__all__ = ["Broker", "check_broker", "check_deployment", "for_celery"]


@dataclass(frozen=True)
class Broker:
    """A fit broker, as it describes itself.

    Attributes
    ----------
    version : str
        Of Redis.
    durable : bool
        Whether it keeps waiting messages on disk.
    seconds : float
        The time it has, since 1970.
    """

    version: str
    durable: bool
    seconds: float


def check_deployment(settings: Settings) -> Broker:
    """Return what the broker says of itself once the settings are fit for Celery workers.

    A cache that does not answer is no obstacle: work goes on without it.

    Raises
    ------
    SettingsError
        For no broker, the embedded graph, SQLite with a broker that other hosts can reach, a broker that may
        evict messages, one Redis as broker and cache, or a Redis that answers other hosts without a password;
        the message names the variable to set.
    ServiceError
        If the broker does not answer.
    """
    broker = settings.broker_url
    if broker is None:
        raise SettingsError(
            "GROVE_BROKER_URL is not set: Celery workers need a Redis broker; set it to redis://host:6379/0, "
            "or use the embedded workers, which need none: grove worker"
        )
    if settings.graph_is_embedded:
        raise SettingsError(
            f"GROVE_GRAPH_URL is {settings.graph_url!r}: the embedded graph belongs to one process and "
            "Celery workers are many; set GROVE_GRAPH_URL to a Neo4j server, or unset GROVE_BROKER_URL"
        )
    if settings.database_url.startswith("sqlite") and not is_this_host(broker):
        raise SettingsError(
            f"GROVE_DATABASE_URL is {settings.database_url!r}, a file of one host, and the broker "
            f"{masked(broker)} serves several; set GROVE_DATABASE_URL to PostgreSQL "
            "(postgresql+psycopg://user:password@host/name)"
        )
    found = check_broker(broker)
    if settings.cache_url is not None:
        with contextlib.suppress(ServiceError):
            cache_facts(settings)
    return found


def for_celery(url: str) -> str:
    """Return a broker's URL as Celery spells it: a socket file is ``redis+socket:///path?virtual_host=0``.

    Over TLS the certificate is checked unless the URL says otherwise.

    >>> for_celery("unix:///run/redis.sock?db=1")
    'redis+socket:///run/redis.sock?virtual_host=1'
    >>> for_celery("rediss://broker:6379/0")
    'rediss://broker:6379/0?ssl_cert_reqs=required'
    """
    if url.startswith("rediss:") and "ssl_cert_reqs=" not in url:  # it would show anybody the password
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    if not url.startswith("unix:"):
        return url
    return "redis+socket:" + url.removeprefix("unix:").replace("?db=", "?virtual_host=")


def check_broker(url: str) -> Broker:
    """Make sure that the Redis at `url` answers, nobody without its password, and never evicts a message."""
    import redis

    try:
        with redis.Redis.from_url(for_client(url), socket_connect_timeout=5, socket_timeout=10) as client:
            facts = client.info()
            seconds, microseconds = client.time()
    except ValueError as error:
        raise SettingsError(
            f"GROVE_BROKER_URL: {masked(url)!r} is no Redis URL ({masked(str(error))}); "
            "write redis://:password@host:6379/0"
        ) from None
    except redis.RedisError as error:
        raise ServiceError(
            f"broker {masked(url)}: {masked(str(error))}; check that Redis runs and GROVE_BROKER_URL is right"
        ) from error
    if facts["maxmemory_policy"] != "noeviction":
        raise SettingsError(
            f"broker {masked(url)}: maxmemory-policy is {facts['maxmemory_policy']!r}, which drops waiting "
            "messages when memory is short; set it to noeviction (redis-cli CONFIG SET maxmemory-policy "
            "noeviction) and keep the cache (GROVE_CACHE_URL) in a Redis of its own"
        )
    if answers_anyone(url):
        raise SettingsError(
            f"broker {masked(url)}: asks for no password, and other hosts can reach it; set one in its "
            "redis.conf (requirepass) and in GROVE_BROKER_URL (redis://:password@host:6379/0)"
        )
    return Broker(
        version=str(facts["redis_version"]),
        durable=bool(facts["aof_enabled"]),
        seconds=seconds + microseconds / 1e6,
    )

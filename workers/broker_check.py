"""What must hold before a Celery worker starts: a deployment in which nothing can be lost or torn apart."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ontology.errors import ServiceError, SettingsError
from ontology.settings import Settings, masked

__all__ = ["check_broker", "check_deployment", "for_celery"]


def check_deployment(settings: Settings) -> str:
    """Return the broker's URL once the settings are fit for Celery workers.

    Raises
    ------
    SettingsError
        For no broker, the embedded graph, SQLite with a broker that other hosts can reach, or a broker that
        may evict messages; the message names the variable to set.
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
    if settings.database_url.startswith("sqlite") and not _is_this_host(broker):
        raise SettingsError(
            f"GROVE_DATABASE_URL is {settings.database_url!r}, a file of one host, and the broker "
            f"{masked(broker)} serves several; set GROVE_DATABASE_URL to PostgreSQL "
            "(postgresql+psycopg://user:password@host/name)"
        )
    check_broker(broker)
    return broker


def for_celery(url: str) -> str:
    """Return a broker's URL as Celery spells it: a socket file is ``redis+socket:///path?virtual_host=0``.

    >>> for_celery("unix:///run/redis.sock?db=1")
    'redis+socket:///run/redis.sock?virtual_host=1'
    """
    if not url.startswith("unix:"):
        return url
    return "redis+socket:" + url.removeprefix("unix:").replace("?db=", "?virtual_host=")


def check_broker(url: str) -> None:
    """Make sure that the Redis at `url` answers and never evicts a message to make room."""
    import redis

    spelled = url
    if url.startswith("redis+socket:"):  # the client's own spelling of a socket file
        spelled = "unix:" + url.removeprefix("redis+socket:").replace("?virtual_host=", "?db=")
    try:
        with redis.Redis.from_url(spelled, socket_connect_timeout=5, socket_timeout=10) as client:
            policy = client.info("memory")["maxmemory_policy"]
    except ValueError as error:
        raise SettingsError(
            f"GROVE_BROKER_URL: {masked(url)!r} is no Redis URL ({masked(str(error))}); "
            "write redis://:password@host:6379/0"
        ) from None
    except redis.RedisError as error:
        raise ServiceError(
            f"broker {masked(url)}: {masked(str(error))}; check that Redis runs and GROVE_BROKER_URL is right"
        ) from error
    if policy != "noeviction":
        raise SettingsError(
            f"broker {masked(url)}: maxmemory-policy is {policy!r}, which drops waiting messages when memory "
            "is short; set it to noeviction (redis-cli CONFIG SET maxmemory-policy noeviction) and keep "
            "the cache (GROVE_CACHE_URL) in a Redis of its own"
        )


def _is_this_host(url: str) -> bool:
    """Whether a Redis URL names a socket file or a loopback address."""
    parts = urlsplit(url)
    if parts.scheme in ("unix", "redis+socket"):
        return True
    host = parts.hostname or "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Connect to a Neo4j server, check its migrations, and translate its errors into labelgrove's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import neo4j
import neo4j.exceptions
import neo4j.graph

from labelgrove.ontology.errors import (
    GroveError,
    MigrationError,
    QueryFailedError,
    QueryTimeoutError,
    ServiceError,
    SettingsError,
    TransientError,
)
from labelgrove.ontology.graph.answer import Rows, plain_value
from labelgrove.ontology.graph.migrate import Migration, changed_versions, pending
from labelgrove.ontology.graph.namedqueries import query_text
from labelgrove.ontology.settings import masked

__all__ = ["DIALECT", "STOPPED_AT_A_LOCK", "TIMED_OUT", "Server", "fetched", "plain_rows"]

DIALECT = "neo4j"
"""The dialect of the queries and migrations of this engine."""

TIMED_OUT = "TransactionTimedOut"
"""Part of the error code of a transaction that ran too long."""

STOPPED_AT_A_LOCK = "LockClientStopped"
"""Part of the error code of a transaction that was stopped while it waited for a lock.

The server stops it because it ran too long, because somebody ended it, or because the server shuts down.
"""

_DATABASE = "neo4j"

_INHERITED: list[neo4j.Driver] = []  # a forked child keeps its parent's driver and never closes its sockets


class Server:
    """A Neo4j server, reached on first use.

    Parameters
    ----------
    url : str
        ``bolt://user:password@host:7687``. In place of ``bolt``, ``neo4j`` is also allowed, and either may be
        followed by ``+s`` or ``+ssc``. For a server that does not require user and password, leave them out.

    Attributes
    ----------
    url, where : str
        The given URL, and the same URL with the password masked.

    Notes
    -----
    Several threads may use one instance. After a fork, the parent keeps its connections, and the child opens
    its own.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = masked(url)
        self._bare_url, self._auth = _split(url)
        self._lock = threading.Lock()
        self._driver: neo4j.Driver | None = None
        self._process = 0

    def agent(self) -> str:
        """Return the name and version that the server reports, such as ``Neo4j/5.26.0``."""
        with self._translated():
            return str(self.reach().get_server_info().agent)

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None and self._process == os.getpid():
            driver.close()

    @contextmanager
    def session(self, access: str = neo4j.WRITE_ACCESS, fetch_size: int = 10_000) -> Iterator[neo4j.Session]:
        """Yield a session of the driver; errors of the driver are translated into labelgrove's own."""
        driver = self.reach()
        with (
            self._translated(),
            driver.session(database=_DATABASE, default_access_mode=access, fetch_size=fetch_size) as session,
        ):
            yield session

    @contextmanager
    def streamed(
        self, cypher: str, params: Mapping[str, Any], *, timeout_s: float, fetch_size: int
    ) -> Iterator[tuple[Sequence[str], Iterator[tuple[Any, ...]]]]:
        """Run one statement with read access; yield its column names and an iterator over its rows.

        Rows consist of plain values. The server stops the statement after `timeout_s` seconds, and sends
        `fetch_size` rows at a time.
        """
        with self.session(neo4j.READ_ACCESS, fetch_size) as session:
            result = session.run(neo4j.Query(cypher, timeout=timeout_s), dict(params))
            yield result.keys(), plain_rows(result)

    def reach(self) -> neo4j.Driver:
        """Return the driver of this process; the first call connects and checks the migrations."""
        with self._lock:
            if self._process != os.getpid():
                if self._driver is not None:
                    _INHERITED.append(self._driver)
                self._driver, self._process = None, os.getpid()
            if self._driver is not None:
                return self._driver
            with self._translated():
                driver = neo4j.GraphDatabase.driver(
                    self._bare_url,
                    auth=self._auth,
                    connection_timeout=10,
                    connection_acquisition_timeout=15,  # includes the handshake: a silent server is away
                    max_transaction_retry_time=120,
                    liveness_check_timeout=30,
                    max_connection_lifetime=600,
                    notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
                )
                try:
                    driver.verify_connectivity()
                except BaseException:
                    driver.close()
                    raise
            self._driver = driver
        try:
            self.missing()
        except MigrationError:
            self.close()
            raise
        return driver

    def missing(self) -> list[Migration]:
        """Return the migrations that the graph lacks.

        A migration whose file has changed since it was applied raises `MigrationError`.
        """
        query = query_text(DIALECT, "recorded_migrations", {})
        with self.session(neo4j.READ_ACCESS) as session:
            recorded = dict(session.execute_read(lambda tx: fetched(tx.run(query))).rows)
        missing = pending(DIALECT, recorded, where=self.where)
        changed = changed_versions(DIALECT, recorded)
        if changed:
            raise MigrationError(
                f"graph {self.where}: migration {', '.join(changed)} has changed since it was applied; "
                "restore its file and put the changes into a new migration, or point GROVE_GRAPH_URL at an "
                "empty graph"
            )
        return missing

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate the driver's errors into labelgrove's own; messages show the URL without its password."""
        where = f"graph {self.where}"
        try:
            yield
        except GroveError:  # already ours; a ServiceError is an OSError too
            raise
        except neo4j.exceptions.AuthError as error:
            raise ServiceError(f"{where}: user or password is wrong; GROVE_GRAPH_URL holds both") from error
        except neo4j.exceptions.ConfigurationError as error:
            raise SettingsError(f"GROVE_GRAPH_URL: {masked(str(error))}") from error
        except neo4j.exceptions.Neo4jError as error:
            code, text = str(error.code), str(error.message)
            if TIMED_OUT in code:
                raise QueryTimeoutError(
                    f"{where}: the query ran past its time limit and was stopped"
                ) from error
            temporary = (neo4j.exceptions.TransientError, neo4j.exceptions.DatabaseUnavailable)
            if isinstance(error, temporary) or STOPPED_AT_A_LOCK in code:
                raise TransientError(f"{where}: {text}; try again") from error
            raise QueryFailedError(f"{where}: {text} ({code})") from error
        except (neo4j.exceptions.SessionExpired, neo4j.exceptions.IncompleteCommit) as error:
            raise TransientError(f"{where}: {masked(str(error))}; try again") from error
        except (neo4j.exceptions.DriverError, OSError) as error:
            raise ServiceError(
                f"{where} cannot be reached: {masked(str(error))}; check that Neo4j runs and that "
                "GROVE_GRAPH_URL names it (`grove doctor` tries it)"
            ) from error


def _split(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return two values: the URL without user and password, and the pair (user, password).

    If the URL has no user, the second value is None.
    """
    from urllib.parse import unquote, urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError(f"GROVE_GRAPH_URL: {masked(url)!r} is not a URL ({error})") from None
    if not host:
        raise SettingsError(
            f"GROVE_GRAPH_URL: {masked(url)!r} names no host; write bolt://user:password@host:7687"
        )
    shown = f"[{host}]" if ":" in host else host
    bare = urlunsplit((parts.scheme, f"{shown}:{port}" if port else shown, "", parts.query, ""))
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return bare, auth


def fetched(result: neo4j.Result) -> Rows:
    """Return an answer of the driver as `Rows` of plain values."""
    return Rows(tuple(result.keys()), list(plain_rows(result)))


def plain_rows(result: neo4j.Result) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an answer of the driver, as tuples of plain values."""
    for record in result:
        yield tuple(_plain(value) for value in record.values())


def _plain(value: Any) -> Any:
    """Return a value of an answer as plain values: numbers, texts and the like, in lists and dictionaries.

    Nodes, edges and paths become dictionaries of the same form as in answers of the embedded engine.
    """
    if isinstance(value, neo4j.graph.Node):
        return {"_label": next(iter(value.labels), ""), **{k: _plain(v) for k, v in value.items()}}
    if isinstance(value, neo4j.graph.Relationship):
        return {"_label": value.type, **{k: _plain(v) for k, v in value.items()}}
    if isinstance(value, neo4j.graph.Path):
        return {
            "_nodes": [_plain(n) for n in value.nodes],
            "_edges": [_plain(e) for e in value.relationships],
        }
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return plain_value(value)

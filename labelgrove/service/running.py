"""Run the service and the worker beside it until a signal arrives."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import logging
import re
import signal
import socket
import time
from collections.abc import Callable
from typing import NoReturn

import uvicorn
import uvicorn.supervisors
from fastapi import FastAPI

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.disk_faults import disk_advice
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access import audit
from labelgrove.service.access.guards import LOOPBACK_NAMES
from labelgrove.service.access.sessions import Sessions
from labelgrove.service.app import make_app
from labelgrove.service.connections import Connection
from labelgrove.service.kept.readiness import ask_store
from labelgrove.service.limits import Limits
from labelgrove.service.metering import ServiceMetrics
from labelgrove.service.processes.beside import ENDING_S, worker_beside
from labelgrove.workers.running import metricsport

__all__ = [
    "address",
    "app_of_environment",
    "bare_address",
    "check",
    "check_who_may",
    "configured",
    "is_local",
    "listening",
    "new_link",
    "serve",
]

_WAITING = 1_024
"""Most connections that wait to be accepted."""

_IDLE_S = 75
"""Seconds for which a connection waits for a further request; proxies keep theirs for up to a minute."""

_STUCK_S = 30
"""Seconds after which one of several processes that says nothing is replaced, also one that is starting."""

_LOOK_S = 0.05


def app_of_environment(host: str = "127.0.0.1", *, processes: int = 1) -> FastAPI:
    """Return an application over the workspace of the environment; each server process makes its own.

    `host` is the address on which the server listens, and `processes` the number of them.
    """
    from labelgrove.workers.running.logs import configure_logging
    from labelgrove.workers.running.process import exempt_imports
    from labelgrove.workers.showing import bring_back

    exempt_imports()
    settings = Settings.from_env()
    configure_logging(settings.log_format, level=logging.WARNING)
    for telling in (audit, metricsport):
        logging.getLogger(telling.__name__).setLevel(logging.INFO)
    workspace = Workspace(settings, on_repair=bring_back)
    return make_app(
        workspace,
        hosts=_hosts(settings, host),
        local=is_local(settings, host),
        metrics=ServiceMetrics.of(settings, processes=processes),
    )


def is_local(settings: Settings, host: str) -> bool:
    """Return whether only people on this machine reach a service that listens on `host`.

    Whoever sets further names of the service, a proxy, or an issuer of tokens, lets others reach it, also
    through a loopback address.
    """
    others = settings.serve_hosts or settings.serve_proxy_header or settings.serve_jwt_issuer
    return _is_loopback(host) and not others


def check_who_may(settings: Settings, host: str) -> None:
    """Refuse to serve others as long as nobody among them could show who they are.

    Raises
    ------
    SettingsError
        If others reach the service, and there is neither a live token nor a proxy nor an issuer of tokens.
    """
    if is_local(settings, host) or settings.serve_proxy_header or settings.serve_jwt_issuer:
        return
    from labelgrove.ontology.sql.tokens import Tokens

    with Workspace.open(settings) as workspace:
        if Tokens(workspace.engine).any_live():
            return
    raise SettingsError(
        f"host: {host!r} can be reached by other machines, and there is no token with which they could show "
        "who they are; create one with: grove token create NAME --scope read,score (or set "
        "GROVE_SERVE_PROXY_HEADER or GROVE_SERVE_JWT_ISSUER, see docs/service.md)"
    )


def _hosts(settings: Settings, host: str) -> tuple[str, ...]:
    own = f"[{host}]" if ":" in host else host
    return (*LOOPBACK_NAMES, own, *settings.serve_hosts)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


def check(settings: Settings, *, processes: int = 1) -> None:
    """Refuse settings with which `processes` could not answer any request about an ontology.

    Raises
    ------
    ServiceError
        If the database or the artifact store cannot be reached or read.
    MigrationError
        If its schema is not that of this release.
    SettingsError
        If the ports of metrics cannot be used.
    """
    metrics = ServiceMetrics.of(settings, processes=processes)
    if metrics is not None:
        metrics.check()
    with Workspace(settings) as workspace:
        workspace.catalog.currents()
        ask_store(workspace)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address of this machine.

    Raises
    ------
    SettingsError
        For a host that is neither ``localhost`` nor an address.
    ServiceError
        If the port is in use.
    """
    bare = bare_address(host)
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # Only with the protocol named does asyncio send answers at once, and not 40 ms later (TCP_NODELAY).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((bare, port))
        bound.listen(_WAITING)  # two servers that begin at once can both bind, but not both listen
    except OSError as error:
        bound.close()
        raise ServiceError(
            f"port {port} of {host} cannot be used ({error.strerror}); give another one with --port"
        ) from error
    bound.set_inheritable(True)
    return bound


def bare_address(host: str) -> str:
    """Return an address without brackets.

    >>> bare_address("[::1]"), bare_address("localhost")
    ('::1', 'localhost')
    """
    if host == "localhost":
        return host
    try:
        bracketed = re.fullmatch(r"\[(.*:.*)\]", host)
        return str(ipaddress.ip_address(bracketed[1] if bracketed else host))
    except ValueError as error:
        raise SettingsError(
            f"host: {host!r} is not an address of this machine; give one such as 127.0.0.1 or 0.0.0.0, and "
            "the names that clients use in GROVE_SERVE_HOSTS"
        ) from error


def new_link(settings: Settings, host: str, port: int) -> str:
    """Return a link that signs the owner in once.

    Raises
    ------
    ServiceError
        If the home cannot be written.
    """
    try:
        code = Sessions(settings.home).new_link_code()
    except OSError as error:
        advice = disk_advice(error, "the home", "GROVE_HOME", otherwise="see `grove doctor`")
        raise ServiceError(
            f"{settings.home / 'service'}: cannot be written ({error.strerror}); {advice}"
        ) from error
    return f"{address(host, port)}/enter?code={code}"


def address(host: str, port: int) -> str:
    """Return the URL of a service; an address of IPv6 gets brackets.

    >>> address("127.0.0.1", 8321), address("::1", 8321)
    ('http://127.0.0.1:8321', 'http://[::1]:8321')
    """
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def configured(make: Callable[[], FastAPI], *, processes: int = 1) -> uvicorn.Config:
    """Return how `processes` servers run, each of which answers with an application that `make` returns."""
    return uvicorn.Config(
        make,
        factory=True,
        http=Connection,
        ws="none",
        backlog=_WAITING,
        timeout_keep_alive=_IDLE_S,
        h11_max_incomplete_event_size=Limits().head_bytes,
        proxy_headers=False,  # the guards judge the real address of a client
        workers=processes,
        timeout_worker_healthcheck=_STUCK_S,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=ENDING_S,
    )


def serve(
    bound: socket.socket,
    host: str,
    *,
    processes: int = 1,
    worker: bool = True,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until SIGTERM or SIGINT; requests that are being answered may end first.

    Parameters
    ----------
    bound : socket
        As `listening` returns it.
    host : str
        The address on which it listens, as `bare_address` returns it.
    processes : int
        Number of processes that answer requests.
    worker : bool
        Whether to run a worker for background jobs beside them.
    started : callable
        Called when the socket accepts requests.
    """
    signal.signal(signal.SIGTERM, _end)
    config = configured(functools.partial(app_of_environment, host, processes=processes), processes=processes)
    with worker_beside() if worker else contextlib.nullcontext():
        started()
        if processes == 1:
            _Server(config).run(sockets=[bound])
        else:
            uvicorn.supervisors.Multiprocess(config, sockets=[bound]).run()


class _Server(uvicorn.Server):
    """A server that says it is not ready as soon as it is told to end, and ends once running requests ended.

    Until then it takes connections, because whoever sends requests on may learn only by asking
    ``/readyz`` that this process wants no more.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the requests that are being answered, and stop."""
        self.lifespan.state["readiness"].drain()
        running = set(self.server_state.tasks)
        until = time.monotonic() + ENDING_S
        while not self.force_exit and time.monotonic() < until and not all(one.done() for one in running):
            await asyncio.sleep(_LOOK_S)
        self.config.timeout_graceful_shutdown = max(1, round(until - time.monotonic()))
        await super().shutdown(sockets)


def _end(*_: object) -> NoReturn:
    raise SystemExit(0)

"""Run the service and the worker beside it until a signal arrives."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

import uvicorn
import uvicorn.supervisors
from fastapi import FastAPI

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.disk_faults import disk_advice
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.beside import ENDING_S, worker_beside
from labelgrove.service.guards import LOOPBACK_NAMES
from labelgrove.service.identity import Owner

__all__ = ["address", "app_of_environment", "check", "listening", "new_link", "serve"]

_WAITING = 2_048
"""Most connections that wait to be accepted."""

_NO_DIGEST = "0" * 64


def app_of_environment() -> FastAPI:
    """Return an application over the workspace of the environment; each server process makes its own."""
    from labelgrove.workers.showing import bring_back

    return make_app(Workspace(Settings.from_env(), on_repair=bring_back))


def check(settings: Settings) -> None:
    """Refuse settings with which no request about an ontology could be answered.

    Raises
    ------
    ServiceError
        If the database or the artifact store cannot be reached or read.
    MigrationError
        If its schema is not that of this release.
    """
    with Workspace(settings) as workspace:
        workspace.catalog.currents()
        workspace.artifacts.exists(_NO_DIGEST)  # whether it can be asked at all


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address of this machine.

    Raises
    ------
    SettingsError
        For an address that other machines can reach.
    ServiceError
        If the port is in use.
    """
    if host not in (*LOOPBACK_NAMES, "::1"):
        raise SettingsError(
            f"host: {host!r} can be reached by other machines, and this release cannot tell them apart; "
            "use 127.0.0.1, and let a proxy on this machine check who asks (docs/service.md)"
        )
    bare = host.strip("[]")
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


def new_link(settings: Settings, host: str, port: int) -> str:
    """Return a link that signs the owner in once.

    Raises
    ------
    ServiceError
        If the home cannot be written.
    """
    try:
        code = Owner(settings.home).new_link_code()
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
    return f"http://{f'[{host}]' if host == '::1' else host}:{port}"


def serve(
    bound: socket.socket,
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
    processes : int
        Number of processes that answer requests.
    worker : bool
        Whether to run a worker for background jobs beside them.
    started : callable
        Called when the socket accepts requests.
    """
    signal.signal(signal.SIGTERM, _end)
    config = uvicorn.Config(
        "labelgrove.service.running:app_of_environment",
        factory=True,
        workers=processes,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=ENDING_S,
    )
    with worker_beside() if worker else contextlib.nullcontext():
        started()
        server = uvicorn.Server(config)
        if processes == 1:
            server.run(sockets=[bound])
        else:
            uvicorn.supervisors.Multiprocess(config, sockets=[bound]).run()


def _end(*_: object) -> NoReturn:
    raise SystemExit(0)

"""Run the service and the worker beside it until a signal arrives."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

import uvicorn
import uvicorn.supervisors
from fastapi import FastAPI

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.guards import LOOPBACK_NAMES
from labelgrove.service.identity import Owner

__all__ = ["address", "app_of_environment", "listening", "new_link", "serve"]

logger = logging.getLogger(__name__)

_ENDING_S = 10
"""Seconds that requests have to end after a signal, and then the worker."""

_WAITING = 2_048
"""Most connections that wait to be accepted."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


def app_of_environment() -> FastAPI:
    """Return an application over the workspace of the environment; each server process makes its own."""
    from labelgrove.workers.showing import bring_back

    return make_app(Workspace(Settings.from_env(), on_repair=bring_back))


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
    """Return a link that signs the owner in once."""
    return f"{address(host, port)}/enter?code={Owner(settings.home).new_link_code()}"


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
        timeout_graceful_shutdown=_ENDING_S,
    )
    with _worker_beside() if worker else contextlib.nullcontext():
        started()
        server = uvicorn.Server(config)
        if processes == 1:
            server.run(sockets=[bound])
        else:
            uvicorn.supervisors.Multiprocess(config, sockets=[bound]).run()


def _end(*_: object) -> NoReturn:
    raise SystemExit(0)


@contextlib.contextmanager
def _worker_beside() -> Iterator[None]:
    """Keep a worker running in a child process; start it again if it dies, at ever longer intervals."""
    ending = threading.Event()
    child: list[subprocess.Popen[bytes]] = []

    def keep_running() -> None:
        pause_s = _FIRST_PAUSE_S
        while not ending.is_set():
            with subprocess.Popen(
                [sys.executable, "-m", "labelgrove.service.child"], stdin=subprocess.PIPE
            ) as one:
                child[:] = [one]
                if ending.is_set():
                    one.terminate()
                one.wait()
            if not ending.wait(pause_s):
                logger.warning("the worker ended with status %d and is started again", one.returncode)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    keeper = threading.Thread(target=keep_running, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ending.set()
        for one in child:
            one.terminate()
            try:
                one.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                one.kill()
        keeper.join()

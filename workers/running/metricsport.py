"""Serve the metrics of one process to Prometheus, on a port of their own."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from labelgrove.ontology.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["MetricsPort"]

logger = logging.getLogger(__name__)


class MetricsPort:
    """Context manager that serves the metrics of a registry at an address.

    Parameters
    ----------
    address : str
        Where to listen.
    ports : sequence of int
        The first one that is free is used; 0 stands for any free port.
    setting : str
        The variable that gives the ports; messages name it.

    Attributes
    ----------
    client : module
        ``prometheus_client``.
    registry : prometheus_client.CollectorRegistry
        Has the metrics of the process, such as its memory, and the release.
    port : int or None
        Where it listens; None until it has begun.

    Raises
    ------
    MissingExtraError
        If prometheus-client is not installed.
    """

    def __init__(self, address: str, ports: Sequence[int], setting: str) -> None:
        try:
            import prometheus_client
        except ImportError as error:
            raise MissingExtraError.of("prometheus-client", "service", setting) from error
        self._address, self._ports, self._setting = address, ports, setting
        self.client: ModuleType = prometheus_client
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        build = prometheus_client.Info("labelgrove_build", "The version.", registry=self.registry)
        build.info({"version": _version()})
        self._server: Any = None
        self.port: int | None = None

    def start(self) -> None:
        """Begin to serve metrics; raise `SettingsError` if no port can be used."""
        for port in self._ports:
            try:
                self._server, _ = self.client.start_http_server(port, self._address, self.registry)
                break
            except OSError as error:
                refusal = self._refusal(port, error)
        else:
            raise refusal
        self.port = self._server.server_port
        # A child would keep the port taken after this process has ended.
        os.register_at_fork(after_in_child=self._close_socket)
        logger.info("metrics at http://%s:%d/metrics", self._address, self.port)

    def check(self) -> None:
        """Raise `SettingsError` unless all ports can be used at this moment."""
        with contextlib.ExitStack() as held:
            for port in self._ports:
                try:
                    family, *_, where = socket.getaddrinfo(self._address, None, type=socket.SOCK_STREAM)[0]
                    bound = held.enter_context(socket.socket(family))
                    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    bound.bind((where[0], port))
                    bound.listen()
                except (OSError, OverflowError) as error:  # of several ports, the last may be too large
                    raise self._refusal(port, error) from error

    def stop(self) -> None:
        """Stop serving metrics."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _refusal(self, port: int, error: Exception) -> SettingsError:
        reason = getattr(error, "strerror", None) or error
        return SettingsError(
            f"{self._setting}: cannot listen at {self._address}:{port} ({reason}); choose another port, or 0 "
            "for any free port; GROVE_METRICS_ADDRESS must be an address of this host"
        )

    def _close_socket(self) -> None:
        if self._server is not None:
            self._server.socket.close()


def _version() -> str:
    from importlib import metadata

    return metadata.version("labelgrove")

"""Tell Prometheus what the requests of one process are, how long they take, and what waits.

Routes are named by their templates, so that nobody can make new time series by asking for other addresses.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.service.connections import Connections
from labelgrove.service.state import State
from labelgrove.workers.running.metricsport import MetricsPort

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ["BUCKETS_S", "Metered", "ServiceMetrics"]

logger = logging.getLogger(__name__)

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
"""Upper ends of the histogram bins for durations, in seconds."""

_METHODS = frozenset(("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"))
_STATIC = "/static/"
_STREAM = "/events"

_GONE = 499
"""Status of a request whose client went before it was answered, as proxies count it."""


class ServiceMetrics(MetricsPort):
    """Context manager that serves the metrics of a process of the service at an address.

    Parameters
    ----------
    settings : Settings
        Its `metrics_address` and `serve_metrics_port` say where to listen.
    processes : int
        How many processes answer requests: each takes the first free one of as many ports, or of all if
        `serve_metrics_port` is 0.

    Raises
    ------
    MissingExtraError
        If prometheus-client is not installed.
    """

    def __init__(self, settings: Settings, *, processes: int = 1) -> None:
        first = settings.serve_metrics_port or 0
        ports = range(first, first + processes) if first else (0,)
        super().__init__(settings.metrics_address, ports, "GROVE_SERVE_METRICS_PORT")
        self._requests = self.client.Counter(
            "labelgrove_requests",
            "Requests that were answered, by the template of their route.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = self.client.Histogram(
            "labelgrove_request_seconds",
            "Seconds from the head of a request to the end of its answer, without streams of events.",
            ("route",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._in_flight = self.client.Gauge(
            "labelgrove_requests_in_flight",
            "Requests that are being answered, with streams of events.",
            registry=self.registry,
        )

    @classmethod
    def of(cls, settings: Settings, *, processes: int = 1) -> Self | None:
        """Return the metrics of a process; None if the settings name no port."""
        return None if settings.serve_metrics_port is None else cls(settings, processes=processes)

    def start(self) -> None:
        """Begin to serve metrics; without a free port the process goes on, because people wait for answers.

        `check` refuses ports that are taken before the service begins.
        """
        try:
            super().start()
        except SettingsError as error:
            logger.warning("this process has no metrics: %s", error)

    def watch(self, shared: State, connections: Connections) -> None:
        """Measure also what the process shares between its requests, and its connections."""
        self.registry.register(_Shared(shared, connections))

    def begun(self) -> None:
        """Count a request that is being answered."""
        self._in_flight.inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered, or whose client has gone."""
        self._in_flight.dec()
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        if not route.endswith(_STREAM):
            self._seconds.labels(route).observe(seconds)


class _Shared:
    """Reads what a process shares between its requests when metrics are requested."""

    def __init__(self, shared: State, connections: Connections) -> None:
        self._shared, self._connections = shared, connections

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        scorers, watcher, connections = self._shared.scorers, self._shared.watcher, self._connections
        for name, text, measured in (
            ("score_places", "Requests for scores that may wait or be scored.", scorers.n_places),
            ("score_places_taken", "Requests for scores that wait or are scored.", scorers.n_taken),
            ("watchers_limit", "Streams of events that there may be.", self._shared.limits.watchers),
            ("watchers", "Streams of events that are being sent.", watcher.n_watching),
            ("connections_limit", "Connections that there may be.", connections.most),
            ("connections", "Open connections.", connections.n_open),
        ):
            yield GaugeMetricFamily(f"labelgrove_{name}", text, measured)
        yield CounterMetricFamily("labelgrove_scored_rows", "Rows that were scored.", scorers.n_scored)


class Metered:
    """An ASGI application that measures how another one answers.

    Parameters
    ----------
    app : callable
        The application that answers. It leaves the template of the route in the state of the request, as
        `route`.
    metrics : ServiceMetrics
    """

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        self._metrics.begun()
        try:
            await self._app(scope, receive, sending)
        except Exception:
            status = status or 500  # the server answers in its place
            raise
        finally:
            route = state.get("route") or (_STATIC if scope["path"].startswith(_STATIC) else "none")
            seconds = time.perf_counter() - began
            self._metrics.ended(route, scope["method"], status or _GONE, seconds)

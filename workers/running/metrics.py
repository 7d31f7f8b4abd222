"""Serve metrics of a worker for Prometheus: numbers from the ledger, and the work of this process.

The child processes of a worker run its units, and another process answers Prometheus. They share no memory,
and need none, because the ledger records the work and is read when metrics are requested. Therefore the
numbers from the ledger are gauges, and equal on every worker. The numbers about sweeps are only about this
process.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import now, reading
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.records import in_state
from labelgrove.workers.ledger.schema import job_table, unit_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.metricsport import MetricsPort

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ["BUCKETS_S", "Metrics"]

logger = logging.getLogger(__name__)

BUCKETS_S = (0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 600.0)
"""Upper ends of the histogram bins for durations, in seconds; units are stopped at 660 s by default."""

_SHARE = 10
"""What was read from the ledger is used for 10 times as long as reading took: at most 1/10 of one core."""

_job, _unit = job_table.c, unit_table.c


class Metrics(MetricsPort):
    """Context manager that serves the metrics of a worker to Prometheus at an address.

    Parameters
    ----------
    settings : Settings
        The deployment whose ledger is read; `metrics_address` and `metrics_port` say where to listen.
    guard : context manager
        Held while the ledger is read, so that no process is forked during that time. It is entered
        repeatedly.

    Raises
    ------
    MissingExtraError
        If prometheus-client is not installed.
    """

    def __init__(self, settings: Settings, *, guard: AbstractContextManager[Any] | None = None) -> None:
        super().__init__(settings.metrics_address, (settings.metrics_port or 0,), "GROVE_METRICS_PORT")
        self._expiries = self.client.Counter(
            "labelgrove_lease_expiries",
            "Expired leases found by the sweeps of this process: units of lost workers, freed or failed.",
            registry=self.registry,
        )
        self._last_sweep = self.client.Gauge(
            "labelgrove_last_sweep_timestamp_seconds",
            "When this process last finished a sweep.",
            registry=self.registry,
        )
        self.registry.register(_LedgerCollector(settings, guard or contextlib.nullcontext()))

    @classmethod
    def of(cls, settings: Settings, *, guard: AbstractContextManager[Any] | None = None) -> Metrics | None:
        """Return the metrics of a deployment; None if its settings name no port for them."""
        return None if settings.metrics_port is None else cls(settings, guard=guard)

    def swept(self, expiries: int) -> None:
        """Record a finished sweep, and how many leases had expired."""
        self._expiries.inc(expiries)
        self._last_sweep.set_to_current_time()


class _LedgerCollector:
    """Reads jobs and units when metrics are requested, but not so often that it burdens a huge ledger."""

    def __init__(self, settings: Settings, guard: AbstractContextManager[Any]) -> None:
        self._settings = settings
        self._guard = guard
        self._lock = threading.Lock()
        self._families: list[Metric] = []
        self._fresh_until = 0.0

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering this collector does not read the ledger."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families; if the ledger does not answer, only a metric that says so."""
        from prometheus_client.core import GaugeMetricFamily

        up = GaugeMetricFamily("labelgrove_ledger_up", "Whether the ledger could be read for these metrics.")
        with self._lock:
            began = time.monotonic()
            if began >= self._fresh_until:
                self._families = []
                try:
                    self._families = self._measure()
                except GroveError as error:
                    logger.warning("metrics: %s", error)
                ended = time.monotonic()
                self._fresh_until = ended + _SHARE * (ended - began)
            up.add_metric([], float(bool(self._families)))
            families = self._families
        yield up
        yield from families

    def _measure(self) -> list[Metric]:
        # A workspace for each reading: no connection to SQL is open when a pool forks its next child.
        with (
            self._guard,
            Workspace.open(self._settings) as workspace,
            reading(workspace.engine) as connection,
        ):
            return [*_of_units(connection), _of_jobs(connection), *_of_the_queue(connection)]


def _of_units(connection: sa.Connection) -> Iterator[Metric]:
    """Yield the metrics about units; one query reads all units."""
    from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily

    took = _unit.ended_at - _unit.claimed_at
    within = [sa.func.sum(sa.case((took <= end, 1), else_=0)) for end in BUCKETS_S]
    query = sa.select(
        _unit.kind,
        _unit.state,
        sa.func.count(),
        sa.func.sum(_unit.fence),
        sa.func.coalesce(sa.func.sum(_unit.size), 0),
        sa.func.count(took),
        sa.func.coalesce(sa.func.sum(took), 0.0),
        *within,
    ).group_by(_unit.kind, _unit.state)
    units = GaugeMetricFamily("labelgrove_units", "Units by kind and state.", labels=("kind", "state"))
    attempts = GaugeMetricFamily(
        "labelgrove_unit_attempts", "Number of claims of the units in the ledger, by kind.", labels=("kind",)
    )
    size = GaugeMetricFamily(
        "labelgrove_artifact_bytes", "Bytes of the artifacts of done units, by kind.", labels=("kind",)
    )
    seconds = GaugeHistogramMetricFamily(
        "labelgrove_unit_seconds",
        "Seconds that the last attempt of each unit took, by kind and by the state of the unit after that "
        "attempt.",
        labels=("kind", "outcome"),
    )
    claims: dict[str, int] = {}
    published: dict[str, int] = {}
    for kind, state, number, fences, stored, ended, total, *counts in connection.execute(query):
        units.add_metric((kind, state), number)
        claims[kind] = claims.get(kind, 0) + fences
        published[kind] = published.get(kind, 0) + int(stored)
        if ended:
            buckets = [*zip(map(str, BUCKETS_S), map(float, counts), strict=True), ("+Inf", float(ended))]
            seconds.add_metric((kind, state), buckets, total)
    for family, values in ((attempts, claims), (size, published)):
        for kind, value in values.items():
            family.add_metric((kind,), value)
    yield from (units, attempts, size, seconds)


def _of_jobs(connection: sa.Connection) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    state = sa.case((in_state(State.RUNNING), State.RUNNING.value), else_=_job.state)
    shown = sa.select(_job.kind, state.label("state")).subquery().c
    query = sa.select(shown.kind, shown.state, sa.func.count()).group_by(shown.kind, shown.state)
    jobs = GaugeMetricFamily("labelgrove_jobs", "Jobs by kind and state.", labels=("kind", "state"))
    for kind, value, number in connection.execute(query):
        jobs.add_metric((kind, value), number)
    return jobs


def _of_the_queue(connection: sa.Connection) -> Iterator[Metric]:
    """Yield the two metrics about units to be sent; the query for each needs only an index."""
    from prometheus_client.core import GaugeMetricFamily

    pending = _unit.state == State.PENDING
    oldest = (
        sa.select(now() - _unit.next_send_at)
        .where(pending, _unit.next_send_at <= now(), _unit.waits_for.is_(None))
        .order_by(_unit.next_send_at)
        .limit(1)
    )
    out = sa.select(sa.func.count()).where(pending, _unit.sends > 0, _unit.next_send_at > now())
    age = connection.execute(oldest).scalar_one_or_none()
    yield GaugeMetricFamily(
        "labelgrove_queue_age_seconds",
        "Seconds that the oldest due unit has waited to be sent; 0 if no unit is due.",
        value=max(0.0, age or 0.0),
    )
    yield GaugeMetricFamily(
        "labelgrove_messages_out",
        "Messages sent that no worker has claimed yet.",
        value=connection.execute(out).scalar_one(),
    )

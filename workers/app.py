"""The Celery application; it only carries the keys of units from process to process.

It uses no result backend, chords, countdowns, revocation or beat. Only the ledger decides what has to be
done. A message contains nothing but the 64-digit key of a unit. If a message is lost, the sweeper, a thread
in every worker, sends the unit again. Start workers with ``grove worker`` or with ``celery -A
labelgrove.workers.app worker --without-gossip --without-mingle``. They read their settings from environment
variables (`ontology.settings`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import celery
import celery.signals
from celery import bootsteps
from celery.app.log import Logging
from celery.utils.nodenames import node_format
from kombu.entity import Queue

from labelgrove.ontology.errors import GroveError, ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.celery_transport.broker_check import (
    KEY_PREFIX,
    check_deployment,
    for_celery,
    rename_foreign_keys,
)
from labelgrove.workers.celery_transport.events import EventsWithoutRetry, Gathering
from labelgrove.workers.celery_transport.tasks import UnitTask, sender
from labelgrove.workers.celery_transport.transport import TASK
from labelgrove.workers.kinds import DEFAULT_QUEUE, queue_names
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.running.logs import configure_logging
from labelgrove.workers.running.metrics import Metrics
from labelgrove.workers.running.presence import Presence
from labelgrove.workers.running.process import ENDING_S, await_database, end_on_sigterm, exempt_imports
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT, Sweeper, dispatch, sweep

__all__ = ["make_app", "run_celery_worker", "run_sweeper", "send_due"]

logger = logging.getLogger(__name__)

_TO_GIVE_BACK_S = 60
"""Seconds that a unit has after its time limit to give itself back; then its process is killed."""

_no_fork = threading.RLock()
"""Held during a sweep: a child forked then would inherit locks that nothing in it ever releases."""


def make_app(settings: Settings, *, lease_s: float = 60.0, sweep_s: float = 5.0) -> celery.Celery:
    """Return the Celery application that carries the keys of units between a deployment's processes.

    Parameters
    ----------
    settings : Settings
        Broker, database and artifacts of the deployment.
    lease_s : float
        Length of the lease of a unit, in seconds; the unit of a lost worker is run again when its lease ends.
    sweep_s : float
        Seconds between two sweeps of one worker (`workers.running.sweeper`).
    """
    app = celery.Celery(
        "labelgrove",
        broker=None if settings.broker_url is None else for_celery(settings.broker_url),
        log=_Logging,
        events=EventsWithoutRetry,
        set_as_current=False,
    )
    hard_limit_s = settings.unit_time_limit_s + _TO_GIVE_BACK_S
    app.conf.update(
        broker_transport="labelgrove.workers.celery_transport.transport:Transport",
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_publish_retry=False,  # fails at once: the row is safe and the sweeper sends it later
        task_soft_time_limit=settings.unit_time_limit_s,
        task_time_limit=hard_limit_s,
        task_default_queue=DEFAULT_QUEUE,
        task_queues=[Queue(name) for name in queue_names()],  # type: ignore[no-untyped-call]
        worker_disable_prefetch=True,  # each message that is taken gets a free slot
        # Without a limit of the transport: it counts a message whose acknowledgement failed with a dead
        # broker as taken forever. A worker that lost as many as it has slots would take no more messages.
        worker_prefetch_multiplier=0,
        worker_pool="labelgrove.workers.celery_transport.children:TaskPool",
        worker_max_tasks_per_child=200,
        worker_max_memory_per_child=2_000_000,  # KiB, checked after each unit
        worker_soft_shutdown_timeout=20,
        worker_enable_remote_control=False,
        worker_send_task_events=True,  # for listeners such as Flower; nobody can reply
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a key of another type ends no worker: the sweep sets it aside
        broker_transport_options={
            "global_keyprefix": KEY_PREFIX,
            "visibility_timeout": max(3600, 3 * hard_limit_s),
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,  # the main process meets several silent connections one by one
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
        },
    )
    task = UnitTask()
    task.settings, task.lease_s, task.sweep_s = settings, lease_s, sweep_s
    app.register_task(task)
    app.steps["worker"].update((_Preflight, _Measuring, _Sweeping))
    app.steps["consumer"].add(Gathering)
    # A second signal may interrupt the first while it notifies its receivers; with a plain lock the thread
    # would wait for itself.
    celery.signals.worker_shutting_down.lock = threading.RLock()
    return app


def run_celery_worker(settings: Settings, *, concurrency: int | None = None, log_level: str = "INFO") -> None:
    """Run a Celery worker until a signal ends this process; see `workers.worker.run_worker`."""
    check_deployment(settings, mend=True)
    await_database(settings, before_waiting=partial(configure_logging, settings.log_format, level=log_level))
    arguments = ["worker", f"--loglevel={log_level}", "--without-gossip", "--without-mingle"]
    if settings.log_format == "json":
        arguments.insert(0, "--quiet")  # no banner among the log lines
    if concurrency is not None:
        arguments.append(f"--concurrency={concurrency}")
    told_by = []

    def told(sig: str, **_: object) -> None:
        told_by.append(sig)

    celery.signals.worker_shutting_down.connect(told)
    exempt_imports()
    make_app(settings).worker_main(arguments)
    if "SIGINT" in told_by:  # a Celery worker treats it like any other signal to stop
        raise KeyboardInterrupt


def run_sweeper(settings: Settings, *, log_level: str = "INFO") -> None:
    """Sweep until a signal ends this process, and run no units.

    Without a broker, nothing is sent: workers find in the ledger what they can run.

    Raises
    ------
    SettingsError, ServiceError, MigrationError, KeyboardInterrupt
        As `workers.worker.run_worker`.
    """
    if settings.broker_url is not None:
        check_deployment(settings, mend=True)
    configure_logging(settings.log_format, level=log_level)
    end_on_sigterm()
    await_database(settings)
    window = 0 if settings.broker_url is None else WINDOW_PER_SLOT * (os.cpu_count() or 1)
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(make_app(settings))
        metrics = Metrics.of(settings, guard=_no_fork)
        swept = None if metrics is None else stack.enter_context(metrics).swept
        sweeper = _sweeper(app, Presence(0), window=window, swept=swept)
        sweeper.start()
        stack.callback(sweeper.stop, within_s=ENDING_S)
        logger.info("ready: this process sweeps, and runs no units")
        threading.Event().wait()  # signals come to this thread, and must not interrupt a sweep


def send_due(settings: Settings, ledger: Ledger) -> int:
    """Send due units to the workers from a process that is not a worker; return how many were sent."""
    with make_app(settings) as app:
        return dispatch(ledger, sender(app), window=WINDOW_PER_SLOT * (os.cpu_count() or 1))


class _Preflight(bootsteps.Step):  # type: ignore[misc]
    """Ends a starting worker at once if the settings or services are not fit for Celery workers."""

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        try:
            settings = worker.app.tasks[TASK].settings
            check_deployment(settings, mend=True)
            await_database(settings)
        except GroveError as error:
            raise SystemExit(f"labelgrove: {error}") from error


class _Logging(Logging):  # type: ignore[misc]
    """Makes a worker log as `workers.running.logs` defines, whichever command started the worker."""

    def setup_logging_subsystem(
        self, loglevel: Any = None, logfile: Any = None, hostname: Any = None, **_: Any
    ) -> None:
        if self.already_setup:
            return
        Logging._setup = True
        if isinstance(logfile, str) and hostname:
            logfile = node_format(logfile, hostname)
        configure_logging(self.app.tasks[TASK].settings.log_format, level=loglevel or "INFO", file=logfile)


class _Measuring(bootsteps.StartStopStep):  # type: ignore[misc]
    """Serves the metrics for Prometheus in the worker's main process if the settings name a port."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        worker.metrics = None
        super().__init__(worker, **options)

    def create(self, worker: Any) -> Metrics | None:
        """Return the metrics server, which Celery starts and stops; None if the settings name no port."""
        metrics = worker.metrics = Metrics.of(worker.app.tasks[TASK].settings, guard=_no_fork)
        return metrics

    def start(self, worker: Any) -> None:
        """Begin to serve metrics; end the worker if their address cannot be used."""
        try:
            super().start(worker)
        except SettingsError as error:
            logger.critical("%s", error)
            raise SystemExit(1) from error


class _Sweeping(bootsteps.StartStopStep):  # type: ignore[misc]
    """Runs a thread that sweeps (see `workers.running.sweeper`) in the main process of a worker.

    The thread starts after the worker's pool of child processes, and ends with the worker.
    """

    requires = (_Measuring,)

    def create(self, worker: Any) -> Sweeper:
        """Return the thread that sweeps; Celery starts and stops it with the worker."""
        task = worker.app.tasks[TASK]
        window = WINDOW_PER_SLOT * worker.concurrency
        task.window = window  # units that end in a child send the next ones within it
        swept = None if worker.metrics is None else worker.metrics.swept
        return _sweeper(worker.app, Presence(worker.concurrency), window=window, swept=swept)


def _sweeper(
    app: celery.Celery, presence: Presence, *, window: int, swept: Callable[[int], None] | None
) -> Sweeper:
    """Return a thread that sweeps; `swept` is told how many ended leases each sweep found."""
    _guard_forks()
    task, send = app.tasks[TASK], sender(app)

    def once() -> None:
        # A workspace for each sweep: no connection to SQL is open when a pool forks its next child.
        with _no_fork, Workspace.open(task.settings) as workspace:
            if task.settings.broker_url is not None:
                with contextlib.suppress(ServiceError):  # an absent broker is reported when units are sent
                    rename_foreign_keys(task.settings.broker_url)
            expired = sweep(workspace, Ledger(workspace.engine), send, window=window, presence=presence)
        if swept is not None:
            swept(expired)

    def leave() -> None:
        with _no_fork, Workspace.open(task.settings) as workspace:
            presence.leave(workspace.engine)

    return Sweeper(once, period_s=task.sweep_s, leave=leave)


@cache
def _guard_forks() -> None:
    os.register_at_fork(
        before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release
    )


@cache
def _default_app() -> celery.Celery:
    return make_app(Settings.from_env())


def __getattr__(name: str) -> Any:
    if name == "app":  # the attribute that `celery -A labelgrove.workers.app` reads
        return _default_app()
    raise AttributeError(f"module 'labelgrove.workers.app' has no attribute {name!r}")

"""Run a worker: through Celery if the settings name a broker, otherwise in threads of this process.

Only a worker with a broker imports Celery, which would add a third to the processor time that any other
worker needs to start.
"""

from __future__ import annotations

import contextlib
import logging
import os

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.running.logs import configure_logging
from labelgrove.workers.running.metrics import Metrics
from labelgrove.workers.running.pool import Pool
from labelgrove.workers.running.process import ENDING_S, await_database, end_on_sigterm, exempt_imports

__all__ = ["run_worker"]

logger = logging.getLogger(__name__)


def run_worker(settings: Settings, *, concurrency: int | None = None, log_level: str = "INFO") -> None:
    """Run units until a signal ends this process.

    Parameters
    ----------
    settings : Settings
        The deployment; without a broker, units run in threads of this process.
    concurrency : int, optional
        Number of units that run at the same time.
    log_level : str

    Raises
    ------
    SettingsError, ServiceError
        If the deployment is not fit for Celery workers; see
        `workers.celery_transport.broker_check.check_deployment`.
    MigrationError
        If the database does not have the schema of this version of labelgrove.
    KeyboardInterrupt
        On SIGINT; a Celery worker first shuts down in its usual way.
    """
    if settings.broker_url is None:
        configure_logging(settings.log_format, level=log_level)
        _serve_here(settings, concurrency)
        return
    from labelgrove.workers.app import run_celery_worker

    run_celery_worker(settings, concurrency=concurrency, log_level=log_level)


def _serve_here(settings: Settings, concurrency: int | None) -> None:
    """Run units in threads of this process until a signal arrives.

    Then return unfinished units to the ledger.
    """
    end_on_sigterm()
    exempt_imports()
    with contextlib.ExitStack() as stack:
        metrics = Metrics.of(settings)
        swept = None if metrics is None else stack.enter_context(metrics).swept
        await_database(settings)
        workspace = stack.enter_context(Workspace.open(settings))
        pool = Pool(workspace, threads=concurrency, swept=swept)
        logger.info("ready: units run in this process, %d at a time", pool.slots)
        try:
            pool.serve()
        except (SystemExit, KeyboardInterrupt) as told:
            if not pool.give_back(within_s=ENDING_S):  # a unit of a single part never checks
                if isinstance(told, SystemExit):
                    logging.shutdown()
                    os._exit(0)
                stack.pop_all()  # after Ctrl-C, say how to continue, and wait for no thread
            raise

"""Run background jobs: plan them, record their units in the ledger, and run them here or through Celery.

Each part imports only the parts listed below it. This holds for lazy imports too.

    client, refresh        the functions that users call
    worker                 a process that runs units, until it is told to end
    app                    the Celery application
    celery_transport       how Celery carries the key of a unit
    running                claiming and computing units; the sweep that frees units of lost workers
    schedules, upkeep      requests made at set times; retention, backup and restore
    showing, requests      naming results and showing them in the graph; turning requests into jobs and units
    kinds                  the computations that a job can request
    ledger                 jobs and units as SQL rows, and the texts stored in them
"""

import importlib.util

from labelgrove.ontology import errors

try:
    if importlib.util.find_spec("sqlalchemy") is None:  # not imported, because completion must be fast
        raise ModuleNotFoundError("sqlalchemy")
except ImportError as error:
    raise errors.MissingExtraError.of("sqlalchemy", "service", "the job ledger") from error

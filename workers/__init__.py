"""Run background jobs: plan them, record their units in the ledger, and run them here or through Celery.

Each part imports only parts below it, in lazy imports too:

    client, refresh        what people call
    app                    the Celery application
    celery_transport       how Celery carries a key
    running                one unit after the other, and the sweep
    schedules, upkeep      due requests; retention, backup and restore
    showing, requests      results in the graph and under names; from a request to a job and its units
    kinds                  the computations that a job can request
    ledger                 jobs and units as SQL rows, and the texts stored in them
"""

import importlib

from labelgrove.ontology import errors

try:
    importlib.import_module("sqlalchemy")
except ImportError as error:
    raise errors.MissingExtraError.of("sqlalchemy", "service", "the job ledger") from error

"""Background jobs: plan, ledger of units with leases and fences, execution embedded or through Celery.

Imports go down only, lazy ones included:

    client, refresh        what people ask for
    app                    the Celery application
    celery_transport       how Celery carries a key
    running                one unit after the other, and the sweep
    schedules, upkeep      what is due; what is kept, backed up and restored
    showing, requests      results in the graph and under names; from a request to a job and its units
    kinds                  what can be computed
    ledger                 jobs and units as SQL rows, and the texts that stand in them
"""

import importlib

from labelgrove.ontology import errors

try:
    importlib.import_module("sqlalchemy")
except ImportError as error:
    raise errors.MissingExtraError.of("sqlalchemy", "service", "the job ledger") from error

"""Background jobs: plan, ledger of units with leases and fences, execution embedded or through Celery."""

import importlib

from labelgrove.ontology import errors

try:
    importlib.import_module("sqlalchemy")
except ImportError as error:
    raise errors.MissingExtraError.of("sqlalchemy", "service", "the job ledger") from error

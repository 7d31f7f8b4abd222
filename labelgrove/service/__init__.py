"""The HTTP service and the explorer: browse, search, ingest and read results over HTTP and in a browser."""

import importlib.util

from labelgrove.ontology.errors import MissingExtraError

__all__: list[str] = []

for _package in ("fastapi", "jinja2", "limits", "uvicorn"):
    try:
        if importlib.util.find_spec(_package) is None:  # not imported, because the worker beside needs none
            raise ModuleNotFoundError(_package)
    except ImportError as error:
        raise MissingExtraError.of(_package, "web", "the HTTP service") from error

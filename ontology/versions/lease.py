"""Holding an ontology's name while it is changed: a lease kept alive by a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from labelgrove.ontology.errors import GroveError, LeaseLostError
from labelgrove.ontology.heartbeat import beat
from labelgrove.ontology.sql.catalog import LEASE_SECONDS, Lease
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["holding"]

_log = logging.getLogger(__name__)


@contextmanager
def holding(workspace: Workspace, name: str) -> Iterator[Lease]:
    """Hold the lease of `name` for the length of a block, renewed three times in its span.

    A holder that loses it learns so from its next write to the catalogue, which raises `LeaseLostError`. The
    fence passes the one the graph has seen last, also when the graph outlived an older catalogue.

    Raises
    ------
    ConflictError
        When somebody else holds it; the message names the holder.
    """
    catalog = workspace.catalog
    published = workspace.graph.run_named("published", name=name).dicts()
    lease = catalog.acquire(name, above=published[0]["fence"] if published else 0)
    ended = threading.Event()

    def renew() -> bool:
        try:
            catalog.renew(lease)
        except LeaseLostError:
            return False
        return True

    def missed(error: Exception) -> None:  # only a second worker is risked
        text = "the lease of %s could not be renewed, trying again: %s"
        _log.warning(text, name, error, exc_info=not isinstance(error, GroveError))

    beats = (renew, ended, LEASE_SECONDS, missed)
    thread = threading.Thread(target=beat, args=beats, name=f"lease of {name}", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        ended.set()
        thread.join()
        catalog.release(lease)

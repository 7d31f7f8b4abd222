"""Hold the lease of an ontology's name while the ontology is changed; a background thread renews it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from labelgrove.ontology.errors import LeaseLostError
from labelgrove.ontology.heartbeat import keep_renewed
from labelgrove.ontology.sql.catalog import LEASE_SECONDS, Lease
from labelgrove.ontology.versions.stores import Stores

__all__ = ["holding"]


@contextmanager
def holding(stores: Stores, name: str) -> Iterator[Lease]:
    """Hold the lease of `name` while a block runs; a thread renews it after each third of its duration.

    If the lease is lost, the holder's next write to the catalog raises `LeaseLostError`. The fence of the
    lease is above the fence that the graph recorded last, even if an older copy of the catalog was restored.

    Raises
    ------
    ConflictError
        If somebody else has the lease; the message names the holder.
    """
    catalog = stores.catalog
    published = stores.graph.run_named("published", name=name).dicts()
    lease = catalog.acquire(name, above=published[0]["fence"] if published else 0)
    ended = threading.Event()

    def renew() -> bool:
        try:
            catalog.renew(lease)
        except LeaseLostError:
            return False
        return True

    warning = f"the lease of {name} could not be renewed, trying again"
    beat = threading.Thread(
        target=keep_renewed, args=(renew, LEASE_SECONDS, ended, warning), name=f"lease of {name}", daemon=True
    )
    beat.start()
    try:
        yield lease
    finally:
        ended.set()
        beat.join()
        catalog.release(lease)

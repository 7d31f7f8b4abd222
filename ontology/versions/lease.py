"""Hold an ontology's name while it is changed, by a lease that a separate thread keeps alive."""

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
    """Hold the lease of `name` for the length of a block, and renew it three times in its duration.

    A holder that loses the lease learns this from its next write to the catalog, which raises
    `LeaseLostError`. The lease's fence is higher than the last one in the graph, even if the graph outlived
    an older catalog.

    Raises
    ------
    ConflictError
        If somebody else holds it; the message names the holder.
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

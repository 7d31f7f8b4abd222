"""Run one user query on a server, in the process that `ontology.graph.userqueries.sandbox` starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from labelgrove.ontology.graph.neo4j.server import Server
from labelgrove.ontology.graph.userqueries import sandbox

__all__ = ["reached"]


@contextmanager
def reached(place: Mapping[str, Any], timeout_s: float, max_rows: int) -> Iterator[sandbox.Query]:
    """Connect to a server, and yield the function that answers one query, read-only, within `timeout_s`.

    `place` is a mapping with one key, ``url``; its value is the URL of the server.
    """
    sandbox.limit_memory()
    fetch_size = min(max_rows + 1, sandbox.FETCHED_TOGETHER)
    with closing(Server(place["url"])) as server:
        server.reach()  # connect now, because the time of the query begins after this
        yield partial(server.streamed, timeout_s=timeout_s, fetch_size=fetch_size)


if __name__ == "__main__":
    sandbox.answer(reached)

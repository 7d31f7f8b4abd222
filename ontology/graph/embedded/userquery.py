"""Run one user query on a graph file, in the process that `ontology.graph.userqueries.sandbox` starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import GraphDamagedError, QueryFailedError, ServiceError
from labelgrove.ontology.graph.embedded.ladybugfile import (
    Connection,
    Streamed,
    connected,
    open_database,
    streamed,
)
from labelgrove.ontology.graph.userqueries import sandbox

__all__ = ["reached"]


@contextmanager
def reached(place: Mapping[str, Any], timeout_s: float, _max_rows: int) -> Iterator[sandbox.Query]:
    """Open a graph file, read-only and with one thread, and yield the function that answers one query.

    `place` is a mapping with two keys: ``path`` of the file, and ``pool_bytes``, the size of the buffer pool.
    """
    path, pool_bytes = Path(place["path"]), int(place["pool_bytes"])
    reserve = 1 << max(30, (4 * path.stat().st_size - 1).bit_length())  # the engine reserves it twice
    sandbox.limit_memory(2 * reserve + pool_bytes)
    database = open_database(path, read_only=True, buffer_bytes=pool_bytes, max_bytes=reserve, threads=1)
    try:
        with connected(database) as connection:
            connection.set_query_timeout(max(1, math.ceil(1000 * timeout_s)))
            yield partial(_streamed_answer, connection)
    finally:
        database.close()


@contextmanager
def _streamed_answer(connection: Connection, cypher: str, params: Mapping[str, Any]) -> Iterator[Streamed]:
    try:
        with streamed(connection, cypher, params) as answer:
            yield answer
    except (GraphDamagedError, ServiceError) as error:
        # the file was opened, so the engine failed at the query
        raise QueryFailedError(
            f"the engine failed to run the query: {error.__cause__}; make the query smaller; if small "
            "queries fail too, run: grove graph verify"
        ) from error


if __name__ == "__main__":
    sandbox.answer(reached)

"""Find the artifacts in use: those named by catalog, ledger, requests, schedules or the static index.

The static index consists of the files in which adapters look up the bundles of an ontology by name. In JSON,
the digest of an artifact is always a whole string, so a search for quoted digests finds every reference.
No artifact names another artifact: a result names its ontology by the digest of the version.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from labelgrove.ontology.sql.database import reading
from labelgrove.ontology.sql.garbage import named_digests
from labelgrove.workers.ledger.schema import job_table, schedule_table, unit_table

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["References", "references"]

_DIGEST = re.compile(r'"([0-9a-f]{64})"')  # a separate JSON string

_job, _unit, _schedule = (t.c for t in (job_table, unit_table, schedule_table))


class References:
    """The digests of the artifacts that something refers to, stored in 8 bytes each.

    Only the first 16 of the 64 digits of a digest are stored. If two digests agree in these, an unused
    artifact may be kept, but an artifact in use is never lost.

    Examples
    --------
    >>> found = References(["ab" * 32])
    >>> "ab" * 32 in found, "cd" * 32 in found
    (True, False)
    """

    def __init__(self, digests: Iterable[str]) -> None:
        found = array("Q", (int(digest[:16], 16) for digest in digests))
        self._found = array("Q", np.unique(np.frombuffer(found, dtype=np.uint64)).tobytes())

    def __contains__(self, digest: str) -> bool:
        wanted = int(digest[:16], 16)
        place = bisect_left(self._found, wanted)
        return place < len(self._found) and self._found[place] == wanted

    def __len__(self) -> int:
        return len(self._found)


def references(workspace: Workspace) -> References:
    """Return the artifacts to which catalog, ledger, schedules and the static index refer now."""
    return References(_referenced(workspace))


def _referenced(workspace: Workspace) -> Iterator[str]:
    artifacts = workspace.artifacts
    for name in artifacts.index_names():  # they may lag behind the catalog, and adapters read them
        yield from _DIGEST.findall(json.dumps(artifacts.read_index(name)))
    with reading(workspace.engine) as connection:
        yield from named_digests(connection)
        for column in (_unit.sha256, _job.result_sha256):
            for digests in _partitions(connection, column):
                yield from digests
        for column in (_unit.spec_json, _job.spec_json, _schedule.parameters_json):
            for texts in _partitions(connection, column):
                yield from {digest for text in texts for digest in _DIGEST.findall(text)}


def _partitions(connection: sa.Connection, column: sa.ColumnElement[Any]) -> Iterator[list[str]]:
    """Yield the values of a column, some thousands at a time."""
    query = sa.select(column).where(column.is_not(None))
    rows = connection.execute(query, execution_options={"yield_per": 2_000})
    for partition in rows.scalars().partitions():
        yield list(partition)

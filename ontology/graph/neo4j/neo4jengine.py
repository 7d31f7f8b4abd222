"""Run the graph on a Neo4j server, through the official driver.

Many rows are sent in batches, each in its own transaction. Every write must be safe to repeat, because the
driver repeats writes after temporary faults, and this module repeats a commit whose outcome is unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

import neo4j
import neo4j.exceptions

from labelgrove.ontology.errors import GraphDamagedError, TransientError
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.engine import Engine, Progress, Removal, Run, shown_by
from labelgrove.ontology.graph.labeltables import (
    ROWS_TOGETHER,
    edge_columns,
    label_columns,
    no_graph,
    rows_of_columns,
)
from labelgrove.ontology.graph.namedqueries import query_text
from labelgrove.ontology.graph.neo4j import userquery
from labelgrove.ontology.graph.neo4j.annotating import replace_annotations
from labelgrove.ontology.graph.neo4j.server import (
    DIALECT,
    STOPPED_AT_A_LOCK,
    TIMED_OUT,
    Server,
    fetched,
    plain_rows,
)
from labelgrove.ontology.graph.results import GraphResult, result_tables
from labelgrove.ontology.graph.userqueries import sandbox
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["EDGES_PER_BATCH", "LABELS_PER_BATCH", "Neo4jEngine"]

Result = TypeVar("Result")

LABELS_PER_BATCH = 5_000
EDGES_PER_BATCH = 10_000
_BATCH_TIMEOUT_S = 120.0
_UNKNOWN_OUTCOMES = 5
_IN_PARTS = "IN TRANSACTIONS"
"""Occurs in each statement that divides its work into transactions, which cannot run inside another one."""
_AWAIT = "CALL db.awaitIndexes"
_AWAITED_S = 10.0
_AWAITED_IN_ALL_S = 600.0
_MADE_MEANWHILE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
"""Error code of a ``CREATE ... IF NOT EXISTS`` if another process creates the same index at that moment."""


class Neo4jEngine(Engine):
    """The engine on a Neo4j server.

    Parameters
    ----------
    url : str
        As for `Server`.
    """

    dialect = DIALECT

    def __init__(self, url: str) -> None:
        self.server = Server(url)

    def migrate(self) -> list[str]:
        """Apply the missing migrations; see `Engine.migrate`.

        A migration file that has changed since it was applied raises `MigrationError`.
        """
        missing = self.server.missing()
        for step in missing:
            for statement in step.statements():  # schema and data cannot share a transaction
                self._execute(statement)
            self.transact(lambda run, step=step: run("record_migration", **step.record()))  # type: ignore[misc]
        return [m.version for m in missing]

    def _execute(self, statement: str) -> None:
        """Run one statement of a migration, even if another process runs it at the same time.

        A process that waits for indexes holds locks that the process which creates the indexes may need. The
        server does not recognize this as a deadlock. Therefore the wait is divided into parts, and the locks
        are released between the parts.
        """
        waits = _AWAIT in statement

        @neo4j.unit_of_work(timeout=_AWAITED_S if waits else None)
        def execute(transaction: neo4j.ManagedTransaction) -> None:
            transaction.run(statement).consume()

        until = time.monotonic() + _AWAITED_IN_ALL_S
        with self.server.session() as session:
            if _IN_PARTS in statement:
                session.run(statement).consume()
                return None
            while True:
                try:
                    return session.execute_write(execute)  # repeated after a deadlock
                except neo4j.exceptions.Neo4jError as error:
                    if error.code == _MADE_MEANWHILE:
                        return None
                    stopped = any(code in str(error.code) for code in (TIMED_OUT, STOPPED_AT_A_LOCK))
                    if not stopped or time.monotonic() > until:
                        raise

    def describe(self) -> dict[str, Any]:
        """Return a dictionary with ``engine``, ``version`` and ``where``, the masked URL of the server."""
        version = self.server.agent().rpartition("/")[2]
        return {"engine": "neo4j", "version": version, "where": self.server.where}

    def close(self) -> None:
        """Close the connections of this process."""
        self.server.close()

    def wipe(self) -> bool:
        """Remove nothing, because a server may also contain other data and edits by hand; return False."""
        return False

    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches: first batches of 5,000 labels, then batches of 10,000 edges."""
        return -(-graph.n_labels // LABELS_PER_BATCH) + -(-graph.n_edges // EDGES_PER_BATCH)

    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i`, which contains labels or edges; see `batch_count` and `Engine.load_batch`."""
        of_labels = -(-graph.n_labels // LABELS_PER_BATCH)
        if i < of_labels:
            name = str(self.known_version(graph.digest)["ontology"])
            start = i * LABELS_PER_BATCH
            rows = rows_of_columns(label_columns(graph, name, start, start + LABELS_PER_BATCH))
            self.transact(lambda run: run("load_labels", rows=rows))
        else:
            start = (i - of_labels) * EDGES_PER_BATCH
            rows = rows_of_columns(edge_columns(graph, start, start + EDGES_PER_BATCH))
            self.transact(lambda run: run("load_edges", rows=rows))

    def annotate(self, shown: ShownAnnotations, progress: Progress, *, ready: bool = False) -> None:
        """Replace the annotations that a version shows, in batches; see `Engine.annotate`."""
        replace_annotations(self.transact, self._table, shown, progress, ready=ready)

    def annotation_differences(self, shown: ShownAnnotations) -> list[str]:
        """Describe how the annotations in the graph differ; see `Engine.annotation_differences`."""
        tables = (self._table(name, shown.graph.digest) for name in ("all_names", "all_descriptions"))
        return list(shown.differences(0, shown.graph.n_labels, *tables))

    # ---- running -----------------------------------------------------------------------------------

    def read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        """Run one of labelgrove's own queries with read access."""
        with self.server.session(neo4j.READ_ACCESS) as session:
            return session.execute_read(lambda tx: fetched(tx.run(cypher, dict(params))))

    def read_version(self, digest: str) -> tuple[Any, Any]:
        """Return the labels and the edges of a version as Arrow tables; see `Engine.read_version`."""
        labels, edges = (self._table(name, digest) for name in ("all_labels", "all_edges"))
        return labels.append_column("place", labels["key"]), edges  # labels drawn by hand have keys

    def _table(self, name: str, digest: str) -> Any:
        query = query_text(DIALECT, name, {"version": digest})
        with self.server.session(neo4j.READ_ACCESS) as session:
            return session.execute_read(lambda tx: _table_of(tx.run(query, version=digest), digest))

    def transact(self, work: Callable[[Run], Result]) -> Result:
        """Run `work` in one transaction; see `Engine.transact`."""

        @neo4j.unit_of_work(timeout=_BATCH_TIMEOUT_S)
        def once(transaction: neo4j.ManagedTransaction) -> Result:
            def run(name: str, /, **params: Any) -> Rows:
                return fetched(transaction.run(query_text(DIALECT, name, params), params))

            return work(run)

        with self.server.session(neo4j.WRITE_ACCESS) as session:
            for _ in range(_UNKNOWN_OUTCOMES):
                try:
                    return session.execute_write(once)
                except neo4j.exceptions.IncompleteCommit:
                    continue  # perhaps committed; our writes are safe to repeat, but the driver does not know
            raise TransientError(
                f"graph {self.server.where}: the connection broke during {_UNKNOWN_OUTCOMES} commits in a "
                "row; try again"
            )

    def write_result(self, result: GraphResult) -> None:
        """Write a checked result; see `Engine.write_result`."""
        if not shown_by(self.run_named, result):
            properties = {"version": result.graph.digest, **result.properties}
            self.transact(
                lambda run: run("load_result", label=result.label, id=result.id, properties=properties)
            )
            for table in result_tables(result):
                for start in range(0, table.n_rows, EDGES_PER_BATCH):
                    rows = rows_of_columns(table.columns(start, start + EDGES_PER_BATCH))
                    self._load_links(result, table.type, rows)
        self.transact(lambda run: _join(run, result))

    def _load_links(self, result: GraphResult, kind: str, rows: list[dict[str, Any]]) -> None:
        loaded = self.transact(lambda run: run(f"load_{kind.lower()}", rows=rows).rows[0][0])
        if loaded != len(rows):
            raise _half_gone(result, f"only {loaded} of {len(rows)} {kind} edges have both ends in the graph")

    def remove(self, steps: Iterable[Removal]) -> None:
        """Run each removal query until it finds nothing more to remove; see `Engine.remove`."""
        for name, params in steps:
            removed = LABELS_PER_BATCH
            while removed == LABELS_PER_BATCH:
                removed = self._remove_batch(name, params)

    def _remove_batch(self, name: str, params: Mapping[str, Any]) -> int:
        return self.transact(lambda run: int(run(name, **params, limit=LABELS_PER_BATCH).rows[0][0]))

    def run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        """Run a user's statement in a separate process; see `userqueries.sandbox`."""
        self.server.reach()  # raises faults of server, password and schema before a process starts
        place = {"url": self.server.url}
        return sandbox.run(userquery.__name__, place, cypher, params, timeout_s=timeout_s, max_rows=max_rows)


def _join(run: Run, result: GraphResult) -> None:
    """Link a result to its job.

    If the result is no longer in the graph, `GraphDamagedError` is raised and nothing is written.
    """
    run("note_job", job=result.job, kind=result.kind, created=result.created)
    joined = run("load_produced", version=result.graph.digest, job=result.job, id=result.id).rows[0][0]
    if joined != 1:
        raise _half_gone(result, "it is not in the graph, so it cannot be linked to its job")


def _half_gone(result: GraphResult, what: str) -> GraphDamagedError:
    return GraphDamagedError(
        f"{result.label} {result.id[:12]} of version {result.graph.digest[:12]}: {what}; it or "
        "its version was removed meanwhile: write the result again, or run: grove graph rebuild"
    )


def _table_of(result: neo4j.Result, digest: str) -> Any:
    """Return a long answer as an Arrow table; only some rows at a time become Python objects."""
    import pyarrow

    types = {"idx": "float64", "weight": "float64", "rank": "int64"}
    types |= {"belongs": "bool", "deprecated": "bool"}
    names = result.keys()
    schema = pyarrow.schema([(name, types.get(name, "string")) for name in names])
    rows, pieces = plain_rows(result), [schema.empty_table()]
    while piece := list(islice(rows, ROWS_TOGETHER)):
        columns = zip(schema, zip(*piece, strict=True), strict=True)
        try:
            arrays = [pyarrow.array(values, type=field.type) for field, values in columns]
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise no_graph(digest, error) from error
        pieces.append(pyarrow.table(arrays, schema=schema))
    return pyarrow.concat_tables(pieces)

"""Run the embedded graph on the database engine ladybug; the graph is one file, in immutable generations.

The graph can always be rebuilt from the snapshots. Rows are loaded with the statement COPY. If COPY is
misused, the graph gives wrong answers without any error. Three rules prevent this: keys are unique, both ends
of an edge are loaded before the edge, and COPY reads only Parquet files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from labelgrove.ontology.errors import ConflictError, GraphDamagedError, ServiceError, counted
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.embedded import userquery
from labelgrove.ontology.graph.embedded.bulkremoval import thin_out
from labelgrove.ontology.graph.embedded.graphfile import DIALECT, GraphFile
from labelgrove.ontology.graph.embedded.ladybugfile import (
    VERSION,
    Connection,
    Database,
    connected,
    fetch,
    result_of,
)
from labelgrove.ontology.graph.embedded.parquetfiles import (
    description_rows,
    name_rows,
    path_literal,
    result_columns,
    write_parquet,
)
from labelgrove.ontology.graph.engine import (
    Engine,
    MakeShown,
    Progress,
    Removal,
    Run,
    announcement,
    shown_by,
)
from labelgrove.ontology.graph.labeltables import edge_arrays, is_part, label_arrays, uid_array
from labelgrove.ontology.graph.namedqueries import named_query, query_text
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.graph.userqueries import sandbox
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["EmbeddedEngine"]

Result = TypeVar("Result")

_LABELS_TOGETHER = 25_000
"""Number of labels read at a time; even with the longest keys and names, they fit in the smallest pool."""
_ALL_ROWS = 2**62

_MOST_ROWS_AT_ONCE = 200_000
"""Labels and edges of the largest version that is loaded, annotated and marked ready in one write.

Opening the file takes longer than a step of a small version. A large one takes as long in steps, which hold
the lock of the graph and the memory for its rows for a shorter time each.
"""

_COPY_NAMES = (
    "COPY Name FROM (LOAD FROM {} RETURN uid, version, text, folded, language, kind)",
    "COPY NAMES FROM (LOAD FROM {} RETURN uid, label)",
)
_DESCRIBE = (
    "LOAD FROM {} MATCH (l:Label {{uid: uid}}) SET l.definition = definition, l.deprecated = deprecated"
)


class EmbeddedEngine(Engine):
    """The engine that stores the graph in a local file and needs no server.

    Parameters
    ----------
    folder, pool_bytes
        As for `GraphFile`.
    """

    dialect = DIALECT

    def __init__(self, folder: Path, pool_bytes: int | None = None) -> None:
        self.file = GraphFile(folder, pool_bytes)

    def migrate(self) -> list[str]:
        """Apply the missing migrations; see `GraphFile.migrate`."""
        return self.file.migrate()

    def describe(self) -> dict[str, Any]:
        """Return a dictionary that describes the engine and the newest generation.

        The keys are ``engine`` (its name), ``version``, ``where`` (the folder), ``generation`` (its number),
        ``bytes`` (size of its file) and ``pool_mb`` (largest size of a reader's buffer pool, in MiB).
        """
        self.run_named("versions")
        folder, number = self.file.folder, self.file.generations.newest()
        size = (folder / f"g{number}.lbug").stat().st_size
        return {
            "engine": "ladybug",
            "version": VERSION,
            "where": str(folder),
            "generation": number,
            "bytes": size,
            "pool_mb": self.file.reader_pool(size) >> 20,
        }

    def close(self) -> None:
        """Close the generation that is open for reading."""
        self.file.close()

    def wipe(self) -> bool:
        """Remove the whole graph and return True, because a local graph belongs only to this engine."""
        self.file.wipe()
        return True

    # ---- loading -----------------------------------------------------------------------------------

    def batch_count(self, graph: LabelGraph) -> int:
        """Return 1, because a new generation contains either the whole graph or nothing of it."""
        return 1

    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load the whole graph; safe to repeat. See `Engine.load_batch`."""
        held = self.counts(graph.digest)
        if held == (graph.n_labels, graph.n_edges):
            return
        if held != (0, 0):  # a generation holds either all of a version or nothing of it
            raise GraphDamagedError(
                f"graph {self.file.folder}: version {graph.digest[:12]} contains "
                f"{counted(held[0], 'label')} instead of {graph.n_labels:,} and {counted(held[1], 'edge')} "
                f"instead of {graph.n_edges:,}; run: grove graph rebuild"
            )
        name = str(self.known_version(graph.digest)["ontology"])
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
            copies = _label_copies(Path(folder), graph, name)
            with self.file.writing(graph.n_labels + graph.n_edges) as connection:
                if _runner(connection)("count_labels", version=graph.digest).rows[0][0]:
                    return  # another process loaded it before this one had the lock
                for statement in copies:
                    fetch(connection, statement)

    def load_whole(self, name: str, graph: LabelGraph, shown: MakeShown) -> bool:
        """Load a version that is absent and not large, all in one generation; see `Engine.load_whole`."""
        digest, wanted = graph.digest, (graph.n_labels, graph.n_edges)
        if sum(wanted) > _MOST_ROWS_AT_ONCE or self.version(digest) is not None:
            return False
        annotations = shown()
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
            copies, n_rows = _label_copies(Path(folder), graph, name), sum(wanted)
            if annotations is not None:
                copies += _annotation_copies(Path(folder), annotations)
                n_rows += _n_annotation_rows(annotations)
            with self.file.writing(n_rows) as connection:
                run = _runner(connection)
                if run("version", version=digest).rows or run("count_labels", version=digest).rows[0][0]:
                    return False  # another process loads it, or labels without a version are in the way
                run("begin_version", **announcement(name, graph))
                for statement in copies:
                    fetch(connection, statement)
                held = self._counted(digest, connection.database)
                if held != wanted:
                    raise ServiceError(
                        f"graph {self.file.folder}: the engine wrote {counted(held[0], 'label')} and "
                        f"{counted(held[1], 'edge')} of version {digest[:12]} instead of {wanted[0]:,} and "
                        f"{wanted[1]:,}; nothing was kept: run the command again"
                    )
                if annotations is not None:
                    run("set_annotations", version=digest, annotations=annotations.sha256)
                run("mark_ready", version=digest)
        return True

    def annotate(self, shown: ShownAnnotations, progress: Progress, *, ready: bool = False) -> None:
        """Replace the annotations that a version shows, all in one generation; see `Engine.annotate`."""
        progress(0, 1)
        digest = shown.graph.digest
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
            copies = _annotation_copies(Path(folder), shown)
            with self.file.writing(_n_annotation_rows(shown)) as connection:
                run = _runner(connection)
                run("drop_names", version=digest, limit=_ALL_ROWS)
                run("unload_descriptions", version=digest)
                for statement in copies:
                    fetch(connection, statement)
                if not run("set_annotations", version=digest, annotations=shown.sha256).rows[0][0]:
                    raise ConflictError(f"version {digest[:12]} was dropped meanwhile; load it again")
                if ready:
                    run("mark_ready", version=digest)

    # ---- running -----------------------------------------------------------------------------------

    def counts(self, digest: str) -> tuple[int, int]:
        """Count the labels and edges of a version in the graph."""
        return self.file.read(partial(self._counted, digest))

    def _counted(self, digest: str, database: Database) -> tuple[int, int]:
        with connected(database) as connection:
            n_labels = int(_runner(connection)("count_labels", version=digest).rows[0][0])
        edges = self._by_ranges(database, "count_edges_between", digest, n_labels)
        return n_labels, sum(int(table["edges"][0].as_py()) for table in edges)

    def read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        """Run one of labelgrove's own queries with read access."""

        def answered(database: Database) -> Rows:
            with connected(database) as connection:
                return fetch(connection, cypher, params)

        return self.file.read(answered)

    def read_version(self, digest: str) -> tuple[Any, Any]:
        """Return the labels and the edges of a version as Arrow tables; see `Engine.read_version`."""
        import pyarrow

        def tables(database: Database) -> tuple[Any, Any]:
            labels, edges = (
                pyarrow.concat_tables(self._by_ranges(database, name, digest, n_labels))
                for name in ("labels_between", "edges_between")
            )
            return labels.append_column("place", labels["idx"]), edges

        n_labels = int(self.run_named("count_labels", version=digest).rows[0][0])
        return self.file.read(tables)

    def difference(self, digest: str, graph: LabelGraph | None = None) -> str:
        """Describe how a stored version differs from what was loaded; see `GraphStore.difference`.

        If `graph` is given, it is compared with the stored version part by part, which takes little memory.
        """
        if graph is None:
            return super().difference(digest)
        self.known_version(digest)
        return self.file.read(partial(self._compared, graph))

    def annotation_differences(self, shown: ShownAnnotations) -> list[str]:
        """Describe how the annotations in the graph differ, part by part; see `Engine`."""
        return self.file.read(partial(self._annotations_compared, shown))

    def _annotations_compared(self, shown: ShownAnnotations, database: Database) -> list[str]:
        digest, n_labels = shown.graph.digest, shown.graph.n_labels
        names, labels = (
            self._by_ranges(database, name, digest, n_labels)
            for name in ("names_between", "descriptions_between")
        )
        starts = range(0, n_labels, _LABELS_TOGETHER)
        return [
            difference
            for start, *part in zip(starts, names, labels, strict=False)
            for difference in shown.differences(start, min(start + _LABELS_TOGETHER, n_labels), *part)
        ]

    def _compared(self, graph: LabelGraph, database: Database) -> str:
        labels, edges = (
            self._by_ranges(database, name, graph.digest, graph.n_labels)
            for name in ("labels_between", "edges_between")
        )
        for start, *part in zip(count(0, _LABELS_TOGETHER), labels, edges, strict=False):
            stop = min(start + _LABELS_TOGETHER, graph.n_labels)
            if not is_part(graph, start, stop, *part):
                return f"labels {start:,} to {stop - 1:,}, or their edges to parents, differ"
        return ""

    def _by_ranges(self, database: Database, name: str, digest: str, n_labels: int) -> Iterator[Any]:
        """Yield the answers to a query about labels ``$start`` to ``$stop`` (exclusive), range by range.

        Ranges are needed because the engine collects a whole answer in its buffer pool before it returns the
        first row. The bounds are written into the query as numbers, because the engine learns the value of a
        parameter too late to skip parts of the file. Each range has a new connection, because a connection
        keeps the text of every query that it has run, and the memory that the query took from the pool.
        """
        text = named_query(self.dialect, name).text
        for start in range(0, max(n_labels, 1), _LABELS_TOGETHER):
            part = text.replace("$start", str(start)).replace("$stop", str(start + _LABELS_TOGETHER))
            with (
                connected(database) as connection,
                result_of(connection, part, {"version": digest}) as result,
            ):
                yield result.get_as_arrow()

    def transact(self, work: Callable[[Run], Result]) -> Result:
        """Run `work` in one transaction; see `Engine.transact`."""
        with self.file.writing() as connection:
            return work(_runner(connection))

    def write_result(self, result: GraphResult) -> None:
        """Write a checked result; see `Engine.write_result`."""
        with (
            tempfile.TemporaryDirectory(prefix="labelgrove-") as folder,
            self.file.writing() as connection,
        ):
            run = _runner(connection)
            shown = shown_by(run, result)  # checked again, because now no other process writes
            if result.job in shown:
                return
            if not shown:
                for table, n_rows, columns in result_columns(result):
                    path = Path(folder, f"{table}.parquet")
                    write_parquet(path, n_rows, columns)
                    fetch(connection, f"COPY {table} FROM {path_literal(path)}")
            run("note_job", job=result.job, kind=result.kind, created=result.created)
            path = Path(folder, "PRODUCED.parquet")
            write_parquet(path, 1, lambda *_: {"job": [result.job], "id": [result.id]})
            fetch(connection, f"COPY PRODUCED FROM {path_literal(path)} (from='Job', to='{result.label}')")

    def remove(self, steps: Iterable[Removal]) -> None:
        """Run the removal queries in one transaction, once each; see `Engine.remove`.

        No limit is set on the number of rows that a query removes, so a second run would find nothing.
        """
        with self.file.writing() as connection:
            run = _runner(connection)
            for name, params in steps:
                thin_out(name, partial(fetch, connection))
                run(name, **params, limit=_ALL_ROWS)

    def run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        """Run a user's statement in a separate process; see `userqueries.sandbox`."""
        self.run_named("versions")  # opens and checks the generation, and makes it if necessary
        with self.file.generations.reading() as held:
            if held is None:
                raise GraphDamagedError(f"graph {self.file.folder} is gone; run: grove graph rebuild")
            path = held[1]
            place = {"path": str(path), "pool_bytes": self.file.reader_pool(path.stat().st_size)}
            return sandbox.run(
                userquery.__name__,
                *(place, cypher, params),
                timeout_s=timeout_s,
                max_rows=max_rows,
                folder=path.parent,
            )


def _label_copies(folder: Path, graph: LabelGraph, name: str) -> list[str]:
    """Write the labels and edges of a version to files in `folder`; return the statements that load them."""
    labels, edges = folder / "labels.parquet", folder / "edges.parquet"
    uids = uid_array(graph)
    write_parquet(labels, graph.n_labels, lambda start, stop: label_arrays(graph, uids, name, start, stop))
    copies = [f"COPY Label FROM {path_literal(labels)}"]
    if graph.n_edges:
        write_parquet(edges, graph.n_edges, partial(edge_arrays, graph, uids))
        copies.append(f"COPY IS_A FROM {path_literal(edges)}")
    return copies


def _annotation_copies(folder: Path, shown: ShownAnnotations) -> list[str]:
    """Write what a version shows to files in `folder`; return the statements that load it."""
    names, described = folder / "names.parquet", folder / "described.parquet"
    labels, copies = shown.described(), []
    if shown.n_names:
        write_parquet(names, shown.n_names, partial(name_rows, shown))
        copies += [statement.format(path_literal(names)) for statement in _COPY_NAMES]
    if len(labels):
        write_parquet(described, len(labels), partial(description_rows, shown, labels))
        copies.append(_DESCRIBE.format(path_literal(described)))
    return copies


def _n_annotation_rows(shown: ShownAnnotations) -> int:
    return 2 * shown.n_names + len(shown.described())


def _runner(connection: Connection) -> Run:
    def run(name: str, /, **params: Any) -> Rows:
        return fetch(connection, query_text(DIALECT, name, params), params)

    return run

"""Define `Engine`: the few operations of a Cypher database that `GraphStore` needs."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.labeltables import graph_from_tables
from labelgrove.ontology.graph.namedqueries import query_text
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Engine", "MakeShown", "Progress", "Removal", "Run", "announcement", "shown_by"]

Result = TypeVar("Result")

Run = Callable[..., Rows]
"""Runs a named query inside a transaction: ``run(name, **parameters)``."""

Progress = Callable[[int, int], None]
"""Called with (done, total) before each batch of some work; it ends the work by raising an error."""

MakeShown = Callable[[], ShownAnnotations | None]
"""Returns the annotations of a version, which are read only if it is called; None if it shows none."""

Removal = tuple[str, Mapping[str, Any]]
"""A pair: the name of a query that removes at most ``$limit`` rows, and its parameters other than ``limit``.

The query returns how many rows it has removed.
"""


class Engine(abc.ABC):
    """A Cypher database that contains versions of ontologies and results of jobs.

    Arguments and results are plain values: strings, numbers, lists and dictionaries, never objects of a
    driver. Several threads may use one engine. After a fork, parent and child may both continue to use it;
    the child opens its own connections.
    """

    dialect: ClassVar[str]
    """``"neo4j"`` or ``"embedded"``."""

    # ---- operations that each engine implements ----------------------------------------------------

    @abc.abstractmethod
    def migrate(self) -> list[str]:
        """Apply the missing migrations and return their version numbers; ``[]`` if none is missing.

        Raises `MigrationError` if a newer labelgrove wrote the graph.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Connect to the engine, and return a dictionary that describes it.

        The keys are ``engine`` (its name), ``version`` and ``where`` (the folder of an embedded engine, or
        the URL of a server with the password masked). An engine may add more keys.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Close connections and files; the next use opens them again."""

    @abc.abstractmethod
    def wipe(self) -> bool:
        """If the graph belongs only to this engine, remove everything and return True.

        Otherwise remove nothing and return False. After a removal, the next use creates an empty graph.
        """

    @abc.abstractmethod
    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches that `graph` is divided into for loading."""

    @abc.abstractmethod
    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i` of `graph`; safe to repeat. `GraphStore.begin_version` must be called before."""

    @abc.abstractmethod
    def annotate(self, shown: ShownAnnotations, progress: Progress, *, ready: bool = False) -> None:
        """Replace the annotations that a version shows; safe to repeat. See `GraphStore.annotate`.

        With `ready`, the last write also declares the version complete.
        """

    @abc.abstractmethod
    def annotation_differences(self, shown: ShownAnnotations) -> list[str]:
        """Describe how the annotations in the graph differ; see `GraphStore.annotation_differences`."""

    @abc.abstractmethod
    def write_result(self, result: GraphResult) -> None:
        """Write a result that `check_result` has accepted; safe to repeat.

        The relationship from the job to the result is written last. Raises `NotFoundError` if the result's
        version is not ready.
        """

    @abc.abstractmethod
    def remove(self, steps: Iterable[Removal]) -> None:
        """Run removal queries in the given order; run each one until it finds nothing more to remove."""

    @abc.abstractmethod
    def read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        """Run one of labelgrove's own queries with read access."""

    @abc.abstractmethod
    def read_version(self, digest: str) -> tuple[Any, Any]:
        """Return the labels and the edges of a version as Arrow tables, with rows in any order.

        Labels have the columns ``place``, ``idx``, ``key`` and ``name``; edges have ``child``, ``parent``,
        ``weight`` and ``rank``. ``place`` identifies the label within the table; ``child`` and ``parent``
        contain the ``place`` of the two ends.
        """

    @abc.abstractmethod
    def transact(self, work: Callable[[Run], Result]) -> Result:
        """Run `work` in one transaction, all or nothing; `work` may be run more than once."""

    @abc.abstractmethod
    def run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        """Run a user's statement that passed `ontology.graph.userqueries.guard`."""

    # ---- operations with a default, which an engine may override -----------------------------------

    def load_whole(self, name: str, graph: LabelGraph, shown: MakeShown) -> bool:
        """Load a version that is absent in one write, if the engine can; see `GraphStore.load_whole`."""
        del name, graph, shown
        return False

    def run_named(self, name: str, /, **params: Any) -> Rows:
        """Run a query of `ontology.graph.namedqueries`; missing or unused parameters raise `InputError`."""
        return self.read(query_text(self.dialect, name, params), params)

    def version(self, digest: str) -> dict[str, Any] | None:
        """Return the properties of a version in the graph, or None if it is absent."""
        found = self.run_named("version", version=digest).dicts()
        return found[0] if found else None

    def known_version(self, digest: str) -> dict[str, Any]:
        """Return the properties of a version in the graph; an absent version raises `NotFoundError`."""
        version = self.version(digest)
        if version is None:
            raise NotFoundError(f"version {digest[:12]} is not in the graph; run: grove graph rebuild")
        return version

    def counts(self, digest: str) -> tuple[int, int]:
        """Count the labels and edges of a version in the graph."""
        labels = self.run_named("count_labels", version=digest).rows[0][0]
        edges = self.run_named("count_edges", version=digest).rows[0][0]
        return int(labels), int(edges)

    def read_back(self, digest: str) -> LabelGraph:
        """Return the stored graph of a version; see `GraphStore.read_back`."""
        layout = str(self.known_version(digest)["layout"])
        return graph_from_tables(digest, layout, *self.read_version(digest))

    def difference(self, digest: str, graph: LabelGraph | None = None) -> str:
        """Describe how a stored version differs from what was loaded; see `GraphStore.difference`."""
        found = self.read_back(digest).digest
        return "" if found == digest else f"the stored graph has digest {found}"


def announcement(name: str, graph: LabelGraph) -> dict[str, Any]:
    """Return the parameters of ``begin_version``, which records that `graph` is being loaded for `name`."""
    return {
        "version": graph.digest,
        "ontology": name,
        "n_labels": graph.n_labels,
        "n_edges": graph.n_edges,
        "layout": graph.layout,
        "directed": graph.directed,
    }


def shown_by(run: Run, result: GraphResult) -> list[str]:
    """Return the ids of the jobs that are linked to a result in the graph.

    A result is complete if at least one job is linked to it. Raises `NotFoundError` if the result's version
    is not ready.
    """
    digest = result.graph.digest
    states = [row["state"] for row in run("version", version=digest).dicts()]
    if states != ["ready"]:
        raise NotFoundError(
            f"version {digest[:12]} is {states[0] if states else 'absent'} in the graph; the graph "
            "shows results only for a version that is ready: load it first, or run: grove graph rebuild"
        )
    return [job for (job,) in run("producers", id=result.id).rows]

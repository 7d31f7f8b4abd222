"""Engine: the few operations of a database that answers Cypher, on which `GraphStore` is built."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.graph.answer import Rows
from labelgrove.ontology.graph.labeltables import graph_from_tables
from labelgrove.ontology.graph.namedqueries import query_text
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Engine", "Removal", "Run", "shown_by"]

Result = TypeVar("Result")

Run = Callable[..., Rows]
"""Runs a named query inside a transaction: ``run(name, **parameters)``."""

Removal = tuple[str, Mapping[str, Any]]
"""A named query that removes up to ``$limit`` rows and returns how many, and its other parameters."""


class Engine(abc.ABC):
    """A database that answers Cypher, which holds versions of labels and results of jobs.

    Values go in and come out plain: strings, numbers, lists and dictionaries, never a driver's own objects.
    Safe for threads. A process that forks goes on using its engine; the child opens connections of its own.
    """

    dialect: ClassVar[str]
    """``"neo4j"`` or ``"embedded"``."""

    may_be_edited: ClassVar[bool]
    """Whether somebody can change a version by hand, beside this engine."""

    # ---- what each engine supplies -----------------------------------------------------------------

    @abc.abstractmethod
    def migrate(self) -> list[str]:
        """Apply the migrations that are missing and return their versions; again: nothing, ``[]``.

        Raises `MigrationError` when a newer labelgrove wrote the graph.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return ``engine``, ``version`` and ``where`` (passwords masked), after reaching the engine."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of connections and files; they are opened again when used again."""

    @abc.abstractmethod
    def wipe(self) -> bool:
        """Remove everything where the graph is this engine's alone, and return whether it was.

        The next use begins an empty one.
        """

    @abc.abstractmethod
    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches in which `graph` is loaded."""

    @abc.abstractmethod
    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i` of `graph`; harmless when repeated. The version must have begun."""

    @abc.abstractmethod
    def write_result(self, result: GraphResult) -> None:
        """Write a result that has been checked, what joins it to its job last; harmless when repeated.

        Raises `NotFoundError` when its version is not ready.
        """

    @abc.abstractmethod
    def remove(self, steps: Iterable[Removal]) -> None:
        """Run each step until nothing is left of what it removes, in the order given."""

    @abc.abstractmethod
    def read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        """Run a query of ours with read access."""

    @abc.abstractmethod
    def read_version(self, digest: str) -> tuple[Any, Any]:
        """Return the labels and the edges of a version as Arrow tables, rows in any order.

        Labels have ``place``, by which edges name their ends, ``idx``, ``key`` and ``name``; edges ``child``,
        ``parent``, ``weight`` and ``rank``.
        """

    @abc.abstractmethod
    def parents_of(self, uids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the edges up from labels: ``below``, ``uid``, ``weight``, and what the label above is."""

    @abc.abstractmethod
    def transact(self, work: Callable[[Run], Result]) -> Result:
        """Run `work` in one transaction, all or nothing; it may be run more than once."""

    @abc.abstractmethod
    def run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        """Run a statement that the guard has let through."""

    # ---- what follows from it, unless an engine knows better ---------------------------------------

    def run_named(self, name: str, /, **params: Any) -> Rows:
        """Answer a named query; parameters that are missing or not used raise `InputError`."""
        return self.read(query_text(self.dialect, name, params), params)

    def version(self, digest: str) -> dict[str, Any] | None:
        """Return what the graph says of a version, None where it is not there."""
        found = self.run_named("version", version=digest).dicts()
        return found[0] if found else None

    def known_version(self, digest: str) -> dict[str, Any]:
        """Return what the graph says of a version; an absent one raises `NotFoundError`."""
        version = self.version(digest)
        if version is None:
            raise NotFoundError(f"version {digest[:12]} is not in the graph; run: grove graph rebuild")
        return version

    def counts(self, digest: str) -> tuple[int, int]:
        """Return how many labels and edges the graph holds for a version, counted now."""
        labels = self.run_named("count_labels", version=digest).rows[0][0]
        edges = self.run_named("count_edges", version=digest).rows[0][0]
        return int(labels), int(edges)

    def read_back(self, digest: str) -> LabelGraph:
        """Return the graph of a version as it is held; see `GraphStore.read_back`."""
        layout = str(self.known_version(digest)["layout"])
        return graph_from_tables(digest, layout, *self.read_version(digest))

    def difference(self, digest: str, graph: LabelGraph | None = None) -> str:
        """Say how a version differs from the one that was loaded; see `GraphStore.difference`."""
        found = self.read_back(digest).digest
        return "" if found == digest else f"read back, it has digest {found}"


def shown_by(run: Run, result: GraphResult) -> list[str]:
    """Return the jobs that a result is shown for; it is whole where there is one.

    Raises `NotFoundError` when its version is not ready.
    """
    digest = result.graph.digest
    states = [row["state"] for row in run("version", version=digest).dicts()]
    if states != ["ready"]:
        raise NotFoundError(
            f"version {digest[:12]} is {states[0] if states else 'absent'} in the graph; a result is shown "
            "beside a version that is ready: load it first, or run: grove graph rebuild"
        )
    return [job for (job,) in run("producers", id=result.id).rows]

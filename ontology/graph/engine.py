"""What each engine supplies to a graph store, and the few questions that all else is built on."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.graph.named import check_parameters, named_query
from labelgrove.ontology.graph.results import GraphResult
from labelgrove.ontology.graph.rows import Rows
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Engine", "Removal", "Run"]

Result = TypeVar("Result")

Run = Callable[..., Rows]
"""Runs a named query inside a transaction: ``run(name, **parameters)``."""

Removal = tuple[str, Mapping[str, Any]]
"""A named query that removes up to ``$limit`` rows and returns how many, and its other parameters."""


class Engine(abc.ABC):
    """A database that answers Cypher, seen from the methods that are the same for all of them."""

    dialect: ClassVar[str]
    """``"neo4j"`` or ``"embedded"``."""

    may_be_edited: ClassVar[bool]
    """Whether somebody can change a version by hand, beside this store."""

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
        """Let go of connections and files; the store opens them again when used again."""

    @abc.abstractmethod
    def wipe(self) -> bool:
        """Remove everything where the graph is this store's alone, and return whether it was.

        The next use begins an empty one.
        """

    @abc.abstractmethod
    def batch_count(self, graph: LabelGraph) -> int:
        """Return the number of batches in which `graph` is loaded."""

    @abc.abstractmethod
    def load_batch(self, graph: LabelGraph, i: int) -> None:
        """Load batch `i` of `graph`; harmless when repeated. The version must have begun."""

    @abc.abstractmethod
    def _write_result(self, result: GraphResult) -> None:
        """Write a result that has been checked, what joins it to its job last; harmless when repeated.

        Raises `NotFoundError` when its version is not ready.
        """

    @abc.abstractmethod
    def _remove(self, steps: Iterable[Removal]) -> None:
        """Run each step until nothing is left of what it removes, in the order given."""

    @abc.abstractmethod
    def _read(self, cypher: str, params: Mapping[str, Any]) -> Rows:
        """Run a query of ours with read access."""

    @abc.abstractmethod
    def _read_version(self, digest: str) -> tuple[Any, Any]:
        """Return the labels and the edges of a version as Arrow tables, rows in any order.

        Labels have ``place``, by which edges name their ends, ``idx``, ``key`` and ``name``; edges ``child``,
        ``parent``, ``weight`` and ``rank``.
        """

    @abc.abstractmethod
    def _parents_of(self, uids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the edges up from labels: ``below``, ``uid``, ``weight``, and what the label above is."""

    @abc.abstractmethod
    def _transact(self, work: Callable[[Run], Result]) -> Result:
        """Run `work` in one transaction, all or nothing; it may be run more than once."""

    @abc.abstractmethod
    def _run_guarded(self, cypher: str, params: Mapping[str, Any], timeout_s: float, max_rows: int) -> Rows:
        """Run a statement that the guard has let through."""

    # ---- what follows from it ----------------------------------------------------------------------

    def run_named(self, name: str, /, **params: Any) -> Rows:
        """Answer a named query; parameters that are missing or not used raise `InputError`."""
        query = named_query(self.dialect, name)
        check_parameters(query.parameters, params.keys(), where=f"query {name!r}")
        return self._read(query.text, params)

    def _version(self, digest: str) -> dict[str, Any] | None:
        found = self.run_named("version", version=digest).dicts()
        return found[0] if found else None

    def _known_version(self, digest: str) -> dict[str, Any]:
        version = self._version(digest)
        if version is None:
            raise NotFoundError(f"version {digest[:12]} is not in the graph; run: grove graph rebuild")
        return version

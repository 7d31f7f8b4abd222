"""Describe results of jobs as nodes and relationships; check these against the schema of the graph."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.graph.labeltables import uid
from labelgrove.ontology.graph.resultschema import result_schema
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = [
    "GraphResult",
    "Links",
    "ResultTable",
    "Supernodes",
    "check_result",
    "result_tables",
]

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Links:
    """Relationships of one type from a result to labels.

    Attributes
    ----------
    type : str
        Type of the relationships, such as ``REACHES``.
    index : ndarray of shape (n,), dtype=int64
        Index of each label in canonical order; all different.
    properties : mapping of str to ndarray of shape (n,)
        For each property that the schema declares for this type, its values, one for each relationship.
    """

    type: str
    index: NDArray[np.int64]
    properties: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Supernodes:
    """The supernodes of a summary, and the edges between them.

    Attributes
    ----------
    size : ndarray of shape (n_supernodes,), dtype=int64
        Number of labels in each supernode.
    of : ndarray of shape (n_labels,), dtype=int64
        For each label, the index (from 0) of the supernode that contains it.
    ends : ndarray of shape (n_adjacent, 2), dtype=int64
        The indices of each pair of adjacent supernodes, the smaller index first.
    weight : ndarray of shape (n_adjacent,), dtype=float64
        For each row of `ends`, the length of the edge between the two supernodes.
    """

    size: NDArray[np.int64]
    of: NDArray[np.int64]
    ends: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class GraphResult:
    """The result of one job.

    Attributes
    ----------
    job, kind : str
        Id of the job (64 hexadecimal digits), and its kind.
    graph : LabelGraph
        The ontology version from which the result was computed.
    label : str
        Label of the node, one of the schema's labels for results, such as ``Locus``.
    id : str
        Digest of the artifact with the result; jobs with the same result share one node.
    properties : mapping
        Properties of the node, exactly those that the schema declares in addition to ``id`` and ``version``.
    links : sequence of Links
        Relationships to labels.
    supernodes : Supernodes, optional
        Required if the schema declares supernodes for `label`, and refused otherwise.
    created : str, optional
        Time when the job was requested, as ISO 8601 in UTC.
    """

    job: str
    kind: str
    graph: LabelGraph
    label: str
    id: str
    properties: Mapping[str, str | int | float | bool]
    links: tuple[Links, ...] = ()
    supernodes: Supernodes | None = None
    created: str | None = None


@dataclass(frozen=True)
class ResultTable:
    """Relationships of one type that start at a result or at one of its supernodes.

    Attributes
    ----------
    type : str
        Type of the relationships. Rows of ``HAS`` also contain the properties of the supernodes.
    n_rows : int
        Number of relationships.
    """

    type: str
    n_rows: int
    _result: GraphResult
    _links: Links | None = None

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return rows `start` to `stop` (exclusive), as one list for each column.

        The columns are ``source``, ``target`` and the properties.
        """
        stop = min(stop, self.n_rows)
        part, digest = slice(start, stop), self._result.graph.digest
        if self._links is not None:
            return {
                "source": [self._result.id] * (stop - start),
                "target": self._labels(self._links.index[part]),
                **{name: self._links.properties[name][part].tolist() for name in self._properties()},
            }
        if self.type == "OF":
            return {"source": [self._result.id], "target": [digest]}
        supernodes = self._result.supernodes
        if supernodes is None:
            return {}
        if self.type == "HAS":
            return {
                "source": [self._result.id] * (stop - start),
                "target": self._supernodes(np.arange(start, stop)),
                "version": [digest] * (stop - start),
                "size": supernodes.size[part].tolist(),
            }
        if self.type == "CONTAINS":
            return {
                "source": self._supernodes(supernodes.of[part]),
                "target": self._labels(np.arange(start, stop)),
            }
        smaller, larger = supernodes.ends[part].T
        return {
            "source": self._supernodes(smaller),
            "target": self._supernodes(larger),
            "weight": supernodes.weight[part].tolist(),
        }

    def _properties(self) -> Iterable[str]:
        """Return the names of the relationships' properties, in the order of the schema's declaration."""
        return result_schema().links[self._result.label][self.type]

    def _labels(self, index: NDArray[np.integer]) -> list[str]:
        graph = self._result.graph
        return [uid(graph.digest, key) for key in graph.keys.take(index)]

    def _supernodes(self, index: NDArray[np.integer]) -> list[str]:
        return [uid(self._result.id, str(i)) for i in index.tolist()]


def result_tables(result: GraphResult) -> Iterator[ResultTable]:
    """Yield the relationships of a result, one table for each type of relationship.

    Supernodes (``HAS``) come before the relationships that start at supernodes.
    """
    for links in result.links:
        yield ResultTable(links.type, len(links.index), result, links)
    if result.label in result_schema().of_version:
        yield ResultTable("OF", 1, result)
    if result.supernodes is not None:
        yield ResultTable("HAS", len(result.supernodes.size), result)
        yield ResultTable("CONTAINS", len(result.supernodes.of), result)
        yield ResultTable("ADJACENT", len(result.supernodes.weight), result)


# ---- checks --------------------------------------------------------------------------------------------


def check_result(result: GraphResult) -> None:
    """Raise `InputError` for a result that does not fit the graph's schema."""
    for what, digest in (("id of the job", result.job), ("id", result.id)):
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"result: the {what} is {digest!r}, expected 64 hexadecimal digits")
    where = f"{result.label} {result.id[:12]}"
    schema = result_schema()
    if result.label not in schema.properties:
        raise InputError(
            f"{where}: the graph has no such node label; choose from: {', '.join(schema.properties)}"
        )
    wanted, wanted_links = schema.properties[result.label], schema.links[result.label]
    _check_names(f"{where}: properties", result.properties, wanted)
    for name, value in result.properties.items():
        if type(value) is not wanted[name] or (isinstance(value, float) and not math.isfinite(value)):
            raise InputError(
                f"{where}: property {name} is {value!r} of type {type(value).__name__}, "
                f"expected {'a finite ' if wanted[name] is float else ''}{wanted[name].__name__}"
            )
    _check_names(f"{where}: links", [links.type for links in result.links], wanted_links)
    for links in result.links:
        _check_links(f"{where}: {links.type}", links, wanted_links[links.type], result.graph.n_labels)
    if (result.supernodes is not None) != (result.label in schema.with_supernodes):
        with_them = " or ".join(sorted(schema.with_supernodes))
        raise InputError(f"{where}: a {with_them} must have supernodes; any other result must not")
    if result.supernodes is not None:
        _check_supernodes(f"{where}: supernodes", result.supernodes, result.graph.n_labels)


def _check_names(where: str, given: Collection[str], wanted: Collection[str]) -> None:
    if sorted(given) != sorted(wanted):
        found, expected = (", ".join(sorted(names)) or "none" for names in (given, wanted))
        raise InputError(f"{where} are {found}, expected {expected}")


def _check_links(where: str, links: Links, wanted: Mapping[str, type], n_labels: int) -> None:
    _check_index(where, links.index, n_labels)
    if len(np.unique(links.index)) != len(links.index):
        raise InputError(f"{where}: a label occurs twice in its index; each may occur only once")
    _check_names(f"{where}: properties", links.properties, wanted)
    for name, values in links.properties.items():
        kind = "b" if wanted[name] is bool else "iu"
        if values.shape != links.index.shape or values.dtype.kind not in kind:
            raise InputError(
                f"{where}: {name} is {values.dtype} of shape {values.shape}, expected "
                f"{'bool' if kind == 'b' else 'integers'} of shape {links.index.shape}"
            )


def _check_supernodes(where: str, supernodes: Supernodes, n_labels: int) -> None:
    n = len(supernodes.size)
    _check_index(f"{where}: of", supernodes.of, n)
    if len(supernodes.of) != n_labels:
        raise InputError(f"{where}: `of` has {len(supernodes.of)} entries, but there are {n_labels} labels")
    if not np.array_equal(np.bincount(supernodes.of, minlength=n), supernodes.size):
        raise InputError(f"{where}: `size` is not the number of labels that `of` puts in each supernode")
    ends, weight = supernodes.ends, supernodes.weight
    if weight.ndim != 1 or ends.shape != (len(weight), 2):
        raise InputError(
            f"{where}: `ends` of shape {ends.shape} does not fit `weight` of shape {weight.shape}"
        )
    _check_index(f"{where}: ends", ends.reshape(-1), n)
    smaller, larger = ends.T
    if not (smaller < larger).all() or len(np.unique(smaller * n + larger)) != len(ends):
        raise InputError(
            f"{where}: `ends` contains a pair twice, or a pair whose first number is not the smaller one"
        )
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise InputError(f"{where}: a weight is not positive and finite")


def _check_index(where: str, index: NDArray[Any], n: int) -> None:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise InputError(f"{where}: {index.dtype} of shape {index.shape}, expected integers in one dimension")
    if len(index) and not (index.min() >= 0 and index.max() < n):
        raise InputError(f"{where}: an index is outside 0..{n - 1}")

"""Mark the labels that the result of a job speaks of: on the map, and on the page of a label."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.documents.jobs import done_result
from labelgrove.ontology.browse.structure.marks import Marks
from labelgrove.ontology.errors import ConflictError, InputError
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.ledger.states import State

if TYPE_CHECKING:
    from labelgrove.ontology.browse.answers import Answers
    from labelgrove.ontology.browse.structure.order import Order
    from labelgrove.ontology.geometry.loci.members import Locus
    from labelgrove.ontology.graph.results import Links
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds import JobResult

__all__ = ["CONTAINING", "MarkedLabels", "MarkedResult", "MarkedResults", "places"]

CONTAINING = frozenset({"cover", "locus", "selection"})
"""Kinds whose results contain some labels and not others."""

_NEWEST = 20
_SINGLE = ("OBSERVES", "INCLUDES", "PICKS")
_BIN = 3  # pixels
_MOST_KEPT = 2 * _NEWEST  # a page of a label opens the newest: with fewer, none would still be kept


def places(
    order: Order, labels: NDArray[np.int64], depth: int, first: int, end: int, *, width: int
) -> list[tuple[int, float, float]]:
    """Return where ascending `labels` of one depth are on the map of the labels from `first` up to `end`.

    For each: index, left end and width, in pixels. Of those whose left ends are in the same `_BIN` pixels,
    only the first is named.
    """
    scale = width / (end - first)
    inside = labels[slice(*np.searchsorted(labels, (first, end)))]
    inside = inside[order.depth[inside] == depth]
    left = (inside - first) * scale
    kept = np.unique((left / _BIN).astype(np.int64), return_index=True)[1]
    wide = (order.end[inside[kept]] - inside[kept]) * scale
    columns = (inside[kept].tolist(), left[kept].round(1).tolist(), wide.round(1).tolist())
    return list(zip(*columns, strict=True))


@dataclass(frozen=True)
class MarkedLabels:
    """Labels that are marked for the map, by relation, such as ``OBSERVES`` and ``REACHES``.

    Attributes
    ----------
    order : Order
        That of the version of the labels.
    links : tuple of Links
    """

    order: Order
    links: tuple[Links, ...]

    @cached_property
    def marks(self) -> Mapping[str, Marks]:
        """The marked labels of each relation."""
        return {links.type: Marks.of(self.order, links.index) for links in self.links}

    def counts(self, labels: NDArray[np.integer]) -> dict[str, list[int]]:
        """Return, for each relation, the number of marked labels in the branch of each of the `labels`."""
        return {relation: marks.count(labels).tolist() for relation, marks in self.marks.items()}

    def points(
        self, depth: int, first: int, end: int, *, width: int
    ) -> dict[str, list[tuple[int, float, float]]]:
        """Return where the marked labels of one depth are on the map of the labels from `first` up to `end`.

        They are given for each relation to few labels, as by `places`.
        """
        return {
            relation: places(self.order, labels, depth, first, end, width=width)
            for relation, labels in self._few.items()
        }

    @cached_property
    def _few(self) -> dict[str, NDArray[np.int64]]:
        """The marked labels of relations that each name single labels, ascending."""
        return {
            links.type: np.unique(np.asarray(links.index, dtype=np.int64))
            for links in self.links
            if links.type in _SINGLE
        }


@dataclass(frozen=True)
class MarkedResult(MarkedLabels):
    """The labels that a result is related to in the graph.

    Attributes
    ----------
    job, kind : str
    result : JobResult
    """

    job: str
    kind: str
    result: JobResult

    def about(self, label: int, item: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the relations of the result to a label, each as a document with its properties.

        A label that a locus reaches has a ``witness``, a list of observed labels with a ``weight`` each;
        `item` gives the document of one. If a result of a kind in `CONTAINING` lacks the label, ``relation``
        is None.
        """
        head = {"job": self.job, "kind": self.kind}
        found = []
        for links in self.links:
            for place in np.flatnonzero(links.index == label).tolist():
                properties = {name: values[place].item() for name, values in links.properties.items()}
                if links.type == "REACHES":
                    properties["witness"] = [
                        item(one) | {"weight": weight} for one, weight in self._witness(place)
                    ]
                found.append(head | {"relation": links.type} | properties)
        return found or [head | {"relation": None}] * (self.kind in CONTAINING)

    @cached_property
    def _locus(self) -> Locus:
        from labelgrove.workers.kinds.locus.file import read_locus

        return read_locus(self.result.artifacts, self.result.sha256, self.result.graph)

    def _witness(self, member: int) -> list[tuple[int, int]]:
        """Return observed labels and their weights, of which a member of the locus is a best label."""
        locus = self._locus
        weights = locus.witnesses[member]
        return [(int(locus.points[column]), weight) for column, weight in enumerate(weights) if weight]


class MarkedResults:
    """Opens the labels of results and keeps the last ones; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._kept: OrderedDict[str, MarkedResult] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, job: str, digest: str, order: Order) -> MarkedResult:
        """Return the labels of the result of a job about the version `digest`.

        Raises
        ------
        NotFoundError
            For an unknown job.
        ConflictError
            For a job without a result.
        InputError
            For a result that marks no labels of this version.
        """
        result = done_result(self.workspace, job)
        with self._lock:
            if (kept := self._kept.get(result.job_id)) is not None and kept.order is order:
                self._kept.move_to_end(result.job_id)
                return kept
        kind = kind_named(result.kind)
        if kind.show is None or result.parameters.get("ontology") != digest:
            raise InputError(
                f"marks: job {result.job_id[:12]} marks no labels of version {digest[:12]}; give a job of a "
                "kind such as locus, cover or selection about this version"
            )
        marked = MarkedResult(order, tuple(kind.show(result).links), result.job_id, result.kind, result)
        with self._lock:
            self._kept[result.job_id] = marked
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return marked

    def about(self, label: int, digest: str, answers: Answers) -> list[dict[str, Any]]:
        """Return what the newest results about a version say of a label, the newest first."""
        jobs = client.list_jobs(self.workspace, limit=200, state=State.DONE)
        ours = [job for job in jobs if job.parameters.get("ontology") == digest and job.result_sha256]
        found: list[dict[str, Any]] = []
        for job in ours[:_NEWEST]:
            if kind_named(job.kind).show is None:
                continue
            try:
                marked = self.open(job.id, digest, answers.index.order)
                found += marked.about(label, answers.item)
            except ConflictError:  # computed again just now
                continue
        return found

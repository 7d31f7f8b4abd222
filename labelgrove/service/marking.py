"""Mark the labels that the result of a job speaks of: on the map, and on the page of a label."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Mapping
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
    from labelgrove.ontology.browse.structure.order import Order
    from labelgrove.ontology.graph.results import Links
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["MarkedResult", "MarkedResults"]

_NEWEST = 20
_MOST_KEPT = 2 * _NEWEST  # a page of a label opens the newest: with fewer, none would still be kept


@dataclass(frozen=True)
class MarkedResult:
    """The labels that a result is related to in the graph, by relation, such as ``OBSERVES`` and ``REACHES``.

    Attributes
    ----------
    job, kind : str
    order : Order
        That of the version from which the result was made.
    links : tuple of Links
    """

    job: str
    kind: str
    order: Order
    links: tuple[Links, ...]

    @cached_property
    def marks(self) -> Mapping[str, Marks]:
        """The marked labels of each relation."""
        return {links.type: Marks.of(self.order, links.index) for links in self.links}

    def counts(self, labels: NDArray[np.integer]) -> dict[str, list[int]]:
        """Return, for each relation, the number of marked labels in the branch of each of the `labels`."""
        return {relation: marks.count(labels).tolist() for relation, marks in self.marks.items()}

    def about(self, label: int) -> list[dict[str, Any]]:
        """Return the relations of the result to a label, each as a document with its properties."""
        found = []
        for links in self.links:
            for place in np.flatnonzero(links.index == label).tolist():
                properties = {name: values[place].item() for name, values in links.properties.items()}
                found.append({"job": self.job, "kind": self.kind, "relation": links.type} | properties)
        return found


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

    def through(self, workspace: Workspace) -> MarkedResults:
        """Return the same kept ones, of which `workspace` decides which can be opened."""
        other = copy.copy(self)
        other.workspace = workspace
        return other

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
        marked = MarkedResult(result.job_id, result.kind, order, tuple(kind.show(result).links))
        with self._lock:
            self._kept[result.job_id] = marked
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return marked

    def about(self, label: int, digest: str, order: Order) -> list[dict[str, Any]]:
        """Return what the newest results about a version say of a label, the newest first."""
        jobs = client.list_jobs(self.workspace, limit=200, state=State.DONE)
        ours = [job for job in jobs if job.parameters.get("ontology") == digest and job.result_sha256]
        found: list[dict[str, Any]] = []
        for job in ours[:_NEWEST]:
            if kind_named(job.kind).show is None:
                continue
            try:
                found += self.open(job.id, digest, order).about(label)
            except ConflictError:  # computed again just now
                continue
        return found

"""What classes reach, and which to collect next: computed at once or by jobs, as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.errors import JobFailedError
from labelgrove.ontology.geometry import locus, metric_space, select_classes
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.selections.selection import Selection
from labelgrove.ontology.geometry.spaces.choosing import space_kind
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds.locus.file import read_locus
from labelgrove.workers.kinds.selection import read_selection
from labelgrove.workers.ledger.states import Job, State

__all__ = [
    "Question",
    "Reach",
    "describe_reach",
    "is_at_once",
    "members_of",
    "reach_at_once",
    "reach_by_jobs",
]


@dataclass(frozen=True)
class Question:
    """Which classes are observed, and how labels are compared.

    Attributes
    ----------
    observed : tuple of str
        Keys, each listed once; there may be none.
    metric : {"auto", "tree", "graph"}
    labels : {"all", "leaves"}
        Which labels may be answers.
    picks : int
        How many labels to pick next, if there are so many.
    taken : int
        How many of the picks are counted as observed in `Reach.after`.
    """

    observed: tuple[str, ...]
    metric: Any = "auto"
    labels: Any = "all"
    picks: int = 10
    taken: int = 0


@dataclass(frozen=True)
class Reach:
    """What observed labels reach, the labels to pick next, and what is reached with the first picks.

    Labels are indices in the graph of the version. What a job has not computed yet is None.

    Attributes
    ----------
    observed : ndarray of int64
    n_labels : int
        Number of labels that may be answers.
    taken : int
        How many of the picks are counted as observed in `after`.
    before, after : Locus, optional
        Before the picks, and with the first `taken` of them.
    selection : Selection, optional
    jobs : list of Job
        Those that compute it, if it is not computed at once.
    """

    observed: NDArray[np.int64]
    n_labels: int
    taken: int
    before: Locus | None = None
    after: Locus | None = None
    selection: Selection | None = None
    jobs: list[Job] = field(default_factory=list)

    @property
    def picked(self) -> NDArray[np.int64]:
        """The picks that are counted as observed."""
        return self.observed[:0] if self.selection is None else self.selection.index[: self.taken]


def is_at_once(graph: LabelGraph, question: Question) -> bool:
    """Return whether loci and selections have closed forms: on trees and complete graphs with all labels."""
    return question.labels == "all" and space_kind(graph, question.metric) != "graph"


def reach_at_once(space: MetricSpace, question: Question) -> Reach:
    """Answer a question for which `is_at_once` holds; `space` is that of its metric and labels.

    The loci are those of ``grove locus``, and the picks those of ``grove select``.

    Raises
    ------
    InputError, UnknownLabelError
        If a label is listed twice, or is not in the graph.
    """
    observed = question.observed
    before = _locus(space, observed)
    n = min(question.picks, space.n_points - len(observed))
    selection = select_classes(space, observed, n) if n > 0 else None
    taken = min(question.taken, n)
    picked = () if selection is None else selection.keys[:taken]
    after = _locus(space, (*observed, *picked)) if picked else before
    return Reach(before.points, space.n_labels, taken, before, after, selection)


def _locus(space: MetricSpace, observed: Sequence[str]) -> Locus:
    if observed:
        return locus(space, observed)
    none = np.empty(0, dtype=np.int64)
    return Locus(space, none, none, none, "exact", ())


def reach_by_jobs(workspace: Workspace, graph: LabelGraph, question: Question) -> Reach:
    """Answer a question with jobs, which are submitted if nobody asked for the same before.

    Raises
    ------
    InputError, UnknownLabelError
        If a label is listed twice, or is not in the graph.
    JobFailedError
        If one of the jobs failed.
    """
    n_labels = graph.n_labels if question.labels == "all" else int(np.count_nonzero(graph.leaf_mask))
    observed = graph.keys.indices(question.observed, lambda: graph.names)
    jobs: list[Job] = []

    def done(kind: str, keys: Sequence[str], **further: Any) -> str | None:
        """Return the digest of the result of a job about observed labels, once it has one."""
        asked = {"ontology": graph.digest, "metric": question.metric, "labels": question.labels, **further}
        job = client.submit(workspace, kind, asked | {"observed": [*keys] or None}, wait=False)
        jobs.append(job)
        if job.state in (State.FAILED, State.CANCELLED):
            raise JobFailedError(
                f"job {job.id[:12]} is {job.state.value}: {job.error or 'somebody cancelled it'}; see `grove "
                f"jobs logs {job.id[:12]}`, and try it again with: grove jobs retry {job.id[:12]}"
            )
        return job.result_sha256 if job.state is State.DONE else None

    def locus_of(keys: Sequence[str]) -> Locus | None:
        if not keys:
            return _locus(metric_space(graph, "graph"), ())
        digest = done("locus", keys)
        return None if digest is None else read_locus(workspace.artifacts, digest, graph)

    before = locus_of(question.observed)
    n = min(question.picks, n_labels - len(observed))
    selection = None
    if n > 0 and (digest := done("selection", question.observed, n=n)) is not None:
        selection = read_selection(workspace.artifacts, digest, graph)
    taken = min(question.taken, max(n, 0))
    after = before
    if taken:
        after = None if selection is None else locus_of((*question.observed, *selection.keys[:taken]))
    return Reach(observed, n_labels, taken, before, after, selection, jobs)


def members_of(found: Locus, *, unique: bool = False) -> NDArray[np.int64]:
    """Return the labels that a locus reaches, or reaches uniquely, as indices in the graph."""
    index, allowed = found.unique_index if unique else found.index, found.space.allowed
    return index if allowed is None else allowed[index]


def describe_reach(reach: Reach, answers: Answers) -> dict[str, Any]:
    """Return counts and picks; each of ``before`` and ``after`` is None until a job has computed it."""
    return {
        "n_labels": reach.n_labels,
        "n_observed": len(reach.observed),
        "before": _counts(reach, reach.before),
        "picks": None if reach.selection is None else _picks(reach.selection, answers),
        "taken": reach.taken,
        "after": _counts(reach, reach.after),
        "jobs": [{"job": job.id, "kind": job.kind, "state": job.state.value} for job in reach.jobs],
    }


def _counts(reach: Reach, found: Locus | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "reached": len(found),
        "unique": len(found.unique_index),
        "unreached": reach.n_labels - len(found),
        "share": len(found) / reach.n_labels,
        "status": found.status,
    }


def _picks(found: Selection, answers: Answers) -> dict[str, Any]:
    columns = (found.index.tolist(), found.gains.tolist(), found.sizes.tolist())
    items = [
        answers.item(label, round=place, gain=gain, reached=reached)
        for place, (label, gain, reached) in enumerate(zip(*columns, strict=True), start=1)
    ]
    return {"status": found.status, "upper_bound": found.upper_bound, "items": items}

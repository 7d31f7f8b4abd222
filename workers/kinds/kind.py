"""Define what a kind of job is: its functions, their arguments and their return values.

A kind is one `JobKind`, written in one module. For a request, the kind defines the parameters and completes
them (`complete`), divides the work into units (`plan`) and computes one unit (`execute`). For a result, the
kind makes the nodes that show the result in the graph (`show`), describes the result to people (`describe`)
and publishes it under a name (`publish`). Only ``name``, ``version``, ``complete``, ``plan`` and ``execute``
are required.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from labelgrove.workers.kinds.inputs import open_graph

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MatrixSpace
    from labelgrove.ontology.graph.results import GraphResult, Links, Supernodes
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.parameters import Parameter

__all__ = [
    "DEFAULT_QUEUE",
    "HEADER_BYTES",
    "OPENING_SECONDS",
    "Description",
    "Estimate",
    "JobKind",
    "JobResult",
    "Naming",
    "Product",
    "Step",
    "Subject",
    "Work",
]

DEFAULT_QUEUE = "labelgrove"

HEADER_BYTES = 2048
"""Bytes; the largest header that an artifact of this package has."""

OPENING_SECONDS = 5e-7
"""Seconds for each label and edge to open a label graph and its space in a unit, on one core of 2020."""


@dataclass(frozen=True)
class Subject:
    """What a request is about: one version of an ontology, or all versions together.

    Attributes
    ----------
    n_labels, n_edges : int
        Numbers of labels and edges of the version, or of all versions if the request names no version.
    graph : LabelGraph, optional
        The label graph of the version; None if the request is about all versions.
    n_keys : mapping of str to int
        A dictionary with an entry for each parameter of the request that lists labels or states an amount for
        each label. It maps the name of the parameter to the number of these labels.
    snapshot_bytes : int
        Size in bytes of the artifact with the label graph.
    """

    n_labels: int
    n_edges: int
    graph: LabelGraph | None = None
    n_keys: Mapping[str, int] = field(default_factory=dict)
    snapshot_bytes: int = 0

    @classmethod
    def of(
        cls, graph: LabelGraph, n_keys: Mapping[str, int] | None = None, *, snapshot_bytes: int = 0
    ) -> Subject:
        """Return the subject of a request about one version."""
        return cls(graph.n_labels, graph.n_edges, graph, dict(n_keys or {}), snapshot_bytes)

    def opened(self) -> LabelGraph:
        """Return the label graph; raise `ValueError` if the request is about all versions."""
        if self.graph is None:
            raise ValueError("the request is about all versions")
        return self.graph

    def space_kind(self, parameters: Mapping[str, Any]) -> str:
        """Return "complete", "tree" or "graph": the kind of space that the parameter ``metric`` requests."""
        from labelgrove.ontology.geometry.spaces.choosing import space_kind

        return space_kind(self.opened(), parameters["metric"])

    def n_allowed(self, parameters: Mapping[str, Any]) -> int:
        """Return the number of labels that the parameter ``labels`` allows."""
        if parameters["labels"] == "leaves":
            return int(self.opened().leaf_mask.sum())
        return self.n_labels if parameters["labels"] == "all" else self.n_keys.get("labels", 1)


@dataclass(frozen=True)
class Step:
    """One unit of a plan: the parameters of its computation, and its stage.

    A step runs after all steps of lower stages.
    """

    parameters: Mapping[str, Any]
    stage: int = 0


@dataclass(frozen=True)
class Work:
    """The argument of `JobKind.execute`: one unit to compute, with all that it needs.

    Attributes
    ----------
    parameters : mapping
        The parameters of the step.
    inputs : tuple of str
        Digests of the artifacts that the steps of the previous stage made, in the order of the plan.
    artifacts : ArtifactStore
        The store to read inputs from.
    check : callable
        Raises an error if no job wants the work any more; a long computation calls it between its parts.
    workspace : Workspace
        Needed only by kinds whose work changes the graph; others need only `artifacts`.
    reshow : callable
        Finds the results that the graph should contain but lacks, and writes them into it. Called by a kind
        that has restored versions in the graph.
    """

    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]
    artifacts: ArtifactStore
    check: Callable[[], None]
    workspace: Workspace
    reshow: Callable[[], object]


@dataclass(frozen=True)
class Product:
    """Named arrays and metadata, to be published as one artifact."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class JobResult:
    """The result of a done job, as `JobKind.show`, `describe` and `publish` read it.

    Attributes
    ----------
    job_id, kind : str
        Id and kind of the job.
    parameters : mapping
        The complete parameters of the job.
    sha256 : str
        Digest of the artifact that contains the result.
    artifacts : ArtifactStore
        The store that contains this artifact.
    """

    job_id: str
    kind: str
    parameters: Mapping[str, Any]
    sha256: str
    artifacts: ArtifactStore

    @cached_property
    def graph(self) -> LabelGraph:
        """The label graph of the version that the job names."""
        return open_graph(self.artifacts, self.parameters)

    def node(
        self,
        label: str,
        properties: Mapping[str, str | int | float | bool],
        *links: Links,
        supernodes: Supernodes | None = None,
    ) -> GraphResult:
        """Return the result as a node of the graph; the arguments are fields of `GraphResult`."""
        from labelgrove.ontology.graph.results import GraphResult

        return GraphResult(
            job=self.job_id,
            kind=self.kind,
            graph=self.graph,
            label=label,
            id=self.sha256,
            properties=properties,
            links=links,
            supernodes=supernodes,
        )


@dataclass(frozen=True)
class Naming:
    """The argument of `JobKind.publish`: a result, and the name that it is to get.

    Attributes
    ----------
    workspace : Workspace
    result : JobResult
    target : mapping
        The name, as `JobKind.complete_target` completed it.
    recompute : callable
        Opens the job again, so that its units run again; called if what the units made, such as a version in
        the graph, is gone.
    reshow : callable
        Finds the results that the graph should contain but lacks, and writes them into it. Called after a
        version was loaded into the graph again.
    """

    workspace: Workspace
    result: JobResult
    target: Mapping[str, str]
    recompute: Callable[[], object]
    reshow: Callable[[], object]


@dataclass(frozen=True)
class Description:
    """The description of a result for people, as plain data that the command line lays out.

    Attributes
    ----------
    line : str
        The main fact in one line.
    document : mapping
        The figures of the result, as ``--json`` prints them.
    columns, rows : sequence of str, sequence of sequence
        A table for people, and for a .csv file.
    file : tuple, optional
        Columns and rows for a .csv file that is to contain more than the table.
    matrix : MatrixSpace, optional
        Distances for a .npy file, if the result can be written as one.
    is_document : bool
        Whether an exported .json file contains only ``document["document"]``, as the artifact does.
    is_file : bool
        Whether an exported file with any ending except .json is a copy of the artifact.
    """

    line: str
    document: Mapping[str, Any]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    file: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    matrix: MatrixSpace | None = None
    is_document: bool = False
    is_file: bool = False


@dataclass(frozen=True)
class Estimate:
    """The estimated units, size and time of a job, known before it starts.

    Attributes
    ----------
    units : int
        Units of work.
    n_bytes : int
        Upper bound on the bytes of all artifacts, including those of every unit.
    graph_rows : int
        Upper bound on the nodes and relationships that the job writes into the graph, including those that
        show its result.
    seconds : float or None
        Time on one core, to an order of magnitude, if all edges have length 1. If edges have other lengths,
        computing distances takes about fifty times as long. None if the time does not follow from sizes
        alone.
    least_bytes : int
        Lower bound on the bytes of artifacts; if the store has less room, the job is refused.
    """

    units: int
    n_bytes: int
    graph_rows: int
    seconds: float | None = None
    least_bytes: int = 0


@dataclass(frozen=True)
class JobKind:
    """A kind of job; an entry point of the group ``labelgrove.job_kinds`` makes it known.

    Attributes
    ----------
    name, version : str, int
        Both are part of the keys of all jobs and units of this kind. The version rises whenever the bytes of
        a result may change.
    complete : callable
        The given parameters, and a `Subject` or None -> complete parameters that are canonical JSON. The
        second argument is None if the label graph of the request was not opened. Called once for each
        request. Must return the given parameters unchanged if they are complete, and raise `InputError` if
        they are wrong.
    plan : callable
        Complete parameters -> steps, without side effects. The last stage is one step, whose artifact is the
        result.
    execute : callable
        `Work` -> `Product`, or the bytes of a document. The same work must give the same bytes every time.
        Raises `TransientError` for faults that may pass by themselves.
    parameters : sequence of Parameter
        The parameters that may be given, for messages and the manual; `complete` decides what is accepted.
    queue : str
        The queue for messages about units of this kind; workers listen on the queues of all kinds that they
        know.
    turn : context manager
        Entered before a unit is claimed, and left after the unit ends. With a lock here, a process runs only
        one unit of this kind at a time. Units that wait for the lock are not claimed yet: if the process
        is killed, none of their attempts is used up (see `workers.ledger.ledger.Ledger`).
    gather : callable, optional
        Workspace, the given parameters -> parameters with the digests of artifacts in place of files; digests
        stay as they are. Called whenever a request is made; for a schedule, whenever the schedule is due.
    estimate : callable, optional
        Complete parameters, `Subject` -> `Estimate`.
    show : callable, optional
        `JobResult` -> its node in the graph, by `JobResult.node`. Without it the graph does not show results.
    describe : callable, optional
        Workspace, `JobResult` -> `Description`. Without it the contents of the artifact are listed.
    complete_target : callable, optional
        Workspace, complete parameters, the given target -> complete target, for kinds with `publish`. If the
        given target names no ontology, the name of the ontology in the request is added to it before the
        call. Raises `InputError` or `NotFoundError`.
    publish : callable, optional
        `Naming` -> None; gives the result its name. May be called several times for one result. Without it
        results get no names.
    """

    name: str
    version: int
    complete: Callable[[Mapping[str, Any], Subject | None], dict[str, Any]]
    plan: Callable[[Mapping[str, Any]], Sequence[Step]]
    execute: Callable[[Work], Product | bytes]
    parameters: Sequence[Parameter] = ()
    queue: str = DEFAULT_QUEUE
    turn: AbstractContextManager[Any] = field(default_factory=nullcontext)
    gather: Callable[[Workspace, Mapping[str, Any]], dict[str, Any]] | None = None
    estimate: Callable[[Mapping[str, Any], Subject], Estimate] | None = None
    show: Callable[[JobResult], GraphResult] | None = None
    describe: Callable[[Workspace, JobResult], Description] | None = None
    complete_target: Callable[[Workspace, Mapping[str, Any], Mapping[str, str]], dict[str, str]] | None = None
    publish: Callable[[Naming], None] | None = None

"""What a kind of job is: how it checks, cuts up and carries out a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.parameters import Parameter
    from labelgrove.workers.ledger.states import Publication

__all__ = [
    "DEFAULT_QUEUE",
    "HEADER_BYTES",
    "OPENING_SECONDS",
    "Estimate",
    "JobKind",
    "Product",
    "Step",
    "Work",
]

DEFAULT_QUEUE = "labelgrove"

HEADER_BYTES = 2048
"""An artifact of ours begins with a header of no more than this."""

OPENING_SECONDS = 5e-7
"""What opening a label graph and its space takes a unit, for each label and edge, on one core of 2020."""


@dataclass(frozen=True)
class Step:
    """One unit of a plan: what to compute, after every step of a lower stage."""

    parameters: Mapping[str, Any]
    stage: int = 0


@dataclass(frozen=True)
class Work:
    """What `JobKind.execute` is given.

    Attributes
    ----------
    parameters : mapping
        Those of the step.
    inputs : tuple of str
        Digests of the artifacts of the stage before, in the order of the plan.
    artifacts : ArtifactStore
        Where inputs are read.
    check : callable
        Raises when the work is not wanted any more; called between the parts of a long computation.
    workspace : Workspace
        For the kinds whose work is a change of the graph; arithmetic needs `artifacts` alone.
    out_of_time : type of exception, optional
        What is raised in the middle of a unit that takes too long; no kind may keep it to itself.
    """

    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]
    artifacts: ArtifactStore
    check: Callable[[], None]
    workspace: Workspace
    out_of_time: type[Exception] | tuple[()] = ()


@dataclass(frozen=True)
class Product:
    """Named arrays and metadata, to be published as one artifact."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class Estimate:
    """What a job will take, said before it starts.

    Attributes
    ----------
    units : int
        Units of work.
    n_bytes : int
        At most so many bytes of artifacts, those of every unit counted.
    graph_rows : int
        At most so many nodes and relationships in the graph, when the result is shown there.
    seconds : float or None
        On one core, to an order of magnitude, where edges are all 1 long (distances over other lengths take
        some fifty times as long); None where sizes alone do not tell.
    least_bytes : int
        At least so many bytes of artifacts: a store without room for them makes the job impossible.
    """

    units: int
    n_bytes: int
    graph_rows: int
    seconds: float | None = None
    least_bytes: int = 0


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    Attributes
    ----------
    name, version : str, int
        Both enter every key.
    normalise : callable
        Parameters as asked for -> complete parameters that are canonical JSON; raises `InputError`.
    plan : callable
        Complete parameters -> steps; pure. The last stage is one step, whose artifact is the result.
    execute : callable
        `Work` -> `Product`, or the bytes of a document; the same bytes every time. Raises `TransientError`
        for what may pass by itself.
    publish : callable, optional
        Points the name of a `Publication` at its result; repeatable. Without it results get no names.
    complete_target : callable, optional
        Workspace, complete parameters, target as asked for -> complete target, for kinds with `publish`. The
        target holds ``ontology``, the name in the request, where it names none itself. Raises `InputError`
        or `NotFoundError`.
    show : callable, optional
        Artifacts, and the publication of a done job -> its result as nodes and relationships of the graph.
    queue : str
        Queue of its messages; workers listen on the queues of all kinds that they know.
    parameters : sequence of Parameter
        What it may be asked for, for messages and the manual; `normalise` decides.
    gather : callable, optional
        Workspace, parameters as asked for -> parameters in which files have become artifacts, by digest; what
        is a digest already stays as it is. Called whenever a request is made, for a schedule when it is due.
    fit : callable, optional
        Parameters as asked for, the label graph, and how many keys each list of keys holds -> parameters with
        what depends on these sizes filled in, such as the number of units.
    estimate : callable, optional
        Complete parameters, number of labels, number of edges -> `Estimate`. Among the parameters stand
        ``snapshot_bytes`` and ``n_observed`` as well, the size of that artifact and the length of that list.
    """

    name: str
    version: int
    normalise: Callable[[Mapping[str, Any]], dict[str, Any]]
    plan: Callable[[Mapping[str, Any]], Sequence[Step]]
    execute: Callable[[Work], Product | bytes]
    publish: Callable[[Workspace, Publication], None] | None = None
    complete_target: Callable[[Workspace, Mapping[str, Any], Mapping[str, str]], dict[str, str]] | None = None
    show: Callable[[ArtifactStore, Publication], GraphResult] | None = None
    queue: str = DEFAULT_QUEUE
    parameters: Sequence[Parameter] = ()
    gather: Callable[[Workspace, Mapping[str, Any]], dict[str, Any]] | None = None
    fit: Callable[[Mapping[str, Any], LabelGraph, Mapping[str, int]], dict[str, Any]] | None = None
    estimate: Callable[[Mapping[str, Any], int, int], Estimate] | None = None

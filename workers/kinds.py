"""Kinds of jobs: what one is, where they are found, and the kind `bundle`.

A kind is an object of the entry-point group ``labelgrove.job_kinds``, so that any installed package adds one
without a change here. A kind's version rises whenever the bytes of its results may change.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ontology.errors import ArtifactError, InputError
from ontology.labelgraph import LabelGraph

if TYPE_CHECKING:
    from ontology.artifacts import ArtifactStore
    from ontology.workspace import Workspace
    from workers.states import Publication

__all__ = [
    "BUNDLE",
    "DEFAULT_QUEUE",
    "JobKind",
    "Product",
    "Step",
    "Work",
    "find_kind",
    "known_kinds",
    "register",
]

DEFAULT_QUEUE = "labelgrove"

_GROUP = "labelgrove.job_kinds"
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
    """

    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]
    artifacts: ArtifactStore
    check: Callable[[], None]


@dataclass(frozen=True)
class Product:
    """Named arrays and metadata, to be published as one artifact."""

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


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
        `Work` -> `Product`; the same bytes every time. Raises `TransientError` for what may pass by itself.
    publish : callable, optional
        Points the name of a `Publication` at its result; repeatable.
    queue : str
        Queue of its messages; workers listen on the queues of all kinds that they know.
    """

    name: str
    version: int
    normalise: Callable[[Mapping[str, Any]], dict[str, Any]]
    plan: Callable[[Mapping[str, Any]], Sequence[Step]]
    execute: Callable[[Work], Product]
    publish: Callable[[Workspace, Publication], None] | None = None
    queue: str = DEFAULT_QUEUE


@cache
def _registry() -> dict[str, JobKind]:
    kinds: dict[str, JobKind] = {}
    for entry in importlib.metadata.entry_points(group=_GROUP):
        _add(kinds, entry.load(), f"{entry.name} = {entry.value}")
    return kinds


def _add(kinds: dict[str, JobKind], kind: JobKind, source: str) -> None:
    if not isinstance(kind, JobKind):
        raise InputError(f"job kind {source}: is a {type(kind).__name__}; give a workers.kinds.JobKind")
    if kinds.setdefault(kind.name, kind) is not kind:
        raise InputError(f"job kind {source}: the name {kind.name!r} is taken; names of kinds are unique")


def register(kind: JobKind) -> None:
    """Add a kind to those of the entry points, in this process; a taken name raises `InputError`."""
    _add(_registry(), kind, f"{kind!r:.100}")


def known_kinds() -> tuple[JobKind, ...]:
    """Return every known kind, by name."""
    return tuple(kind for _, kind in sorted(_registry().items()))


def find_kind(name: str, version: int | None = None) -> JobKind | None:
    """Return the kind called `name`, or None where it is unknown here or has another version."""
    kind = _registry().get(name)
    return kind if kind is not None and version in (None, kind.version) else None


# ---- bundle --------------------------------------------------------------------------------------------


def _normalise_bundle(parameters: Mapping[str, Any]) -> dict[str, Any]:
    complete = {"metric": "auto", "labels": "all", **parameters}
    expected = {"ontology", "snapshot", "observed", "metric", "labels"}
    if set(complete) != expected:
        wrong = ", ".join(sorted(expected ^ set(complete)))
        raise InputError(
            f"bundle: parameters missing or unknown: {wrong}; give {', '.join(sorted(expected))}"
        )
    for name in ("ontology", "snapshot", "observed"):
        if not (isinstance(complete[name], str) and _DIGEST.fullmatch(complete[name])):
            raise InputError(f"bundle: {name} is {complete[name]!r}; give a sha256 as 64 hexadecimal digits")
    if complete["metric"] not in ("auto", "tree", "graph"):
        raise InputError(f"bundle: metric is {complete['metric']!r}; choose auto, tree or graph")
    labels = complete["labels"]
    if labels not in ("all", "leaves") and not (isinstance(labels, str) and _DIGEST.fullmatch(labels)):
        raise InputError(
            f"bundle: labels is {labels!r}; choose all, leaves or the digest of a JSON list of keys"
        )
    return complete


def _plan_bundle(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute_bundle(work: Work) -> Product:
    from adapter.bundle import build_bundle

    wanted = work.parameters
    graph = LabelGraph.from_arrays(*work.artifacts.open_arrays(wanted["snapshot"]))
    if graph.digest != wanted["ontology"]:
        raise ArtifactError(
            f"snapshot {wanted['snapshot']}: holds ontology {graph.digest}, the job names "
            f"{wanted['ontology']}; submit the job with the snapshot of its ontology"
        )
    labels = wanted["labels"]
    work.check()
    bundle = build_bundle(
        graph,
        _keys(work.artifacts, wanted["observed"]),
        metric=wanted["metric"],
        labels=_keys(work.artifacts, labels) if _DIGEST.fullmatch(labels) else labels,
        ontology={"digest": graph.digest},
    )
    arrays, metadata = bundle.to_arrays()
    return Product(arrays, metadata)


def _keys(artifacts: ArtifactStore, digest: str) -> list[str]:
    """Return the list of label keys that an artifact holds."""
    try:
        keys = json.loads(artifacts.read_bytes(digest))
    except ValueError as error:
        raise ArtifactError(
            f"artifact {digest}: is no JSON ({error}); expected a list of label keys"
        ) from error
    if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
        raise ArtifactError(f"artifact {digest}: expected a JSON list of label keys")
    return keys


def _publish_bundle(workspace: Workspace, publication: Publication) -> None:
    target, version = publication.target, publication.parameters["ontology"]
    workspace.name_bundle(target["ontology"], target["bundle"], sha256=publication.sha256, version=version)


BUNDLE = JobKind(
    name="bundle",
    version=1,
    normalise=_normalise_bundle,
    plan=_plan_bundle,
    execute=_execute_bundle,
    publish=_publish_bundle,
)
"""What an adapter needs to score one label space: `adapter.bundle.build_bundle` as a job.

Parameters: ``ontology`` (its digest), ``snapshot`` and ``observed`` (artifacts: the label graph, a JSON list
of keys), ``metric`` (auto, tree, graph) and ``labels`` (all, leaves, an artifact with a JSON list of keys). A
publication's target is ``{"ontology": name, "bundle": name}``.
"""

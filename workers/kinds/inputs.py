"""The inputs of units, read from the artifact store: label graph, metric space, and lists of keys."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.versions.snapshots import stored_graph
from labelgrove.workers.kinds.parameters import decimal_text, is_digest

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.kind import Work

__all__ = [
    "counted_points",
    "named_version",
    "open_graph",
    "open_version",
    "read_amounts",
    "read_graph",
    "read_json",
    "read_keys",
    "read_labels",
    "read_space",
]


_open: WeakValueDictionary[tuple[str, str, str], LabelGraph] = WeakValueDictionary()
"""The label graphs that some thread of this process uses, by store, artifact and digest."""

_latest: list[LabelGraph] = []
"""The label graph requested last. It stays open between the request, the units and the result of a job."""

_opening = threading.Lock()


def named_version(workspace: Workspace, asked: Any) -> tuple[str, str | None]:
    """Return a pair: the name of the requested ontology, and the whole or partial digest of the version.

    If the request names no version, the second entry is None.
    """
    if not isinstance(asked, str):
        raise InputError(f"ontology is {asked!r}; give a name, name@version or a digest, as a string")
    if is_digest(asked):
        for version in workspace.catalog.versions():
            if version.digest == asked:
                return version.ontology, asked
    name, at, digest = asked.partition("@")
    return name, digest if at else None


def open_graph(artifacts: ArtifactStore, parameters: Mapping[str, Any]) -> LabelGraph:
    """Return the label graph that a job names; it is opened only once in this process.

    Raises
    ------
    NotFoundError, ArtifactError
        If the snapshot is missing or damaged, or belongs to another ontology.
    """
    snapshot, digest = parameters["snapshot"], parameters["ontology"]
    with _opening:
        graph = _open.get((artifacts.where, snapshot, digest))
        if graph is None:
            graph = stored_graph(artifacts, snapshot, digest)
            _open[artifacts.where, snapshot, digest] = graph
        _latest[:] = [graph]
    return graph


def open_version(artifacts: ArtifactStore, version: Version) -> LabelGraph:
    """Return the label graph of a version; see `open_graph`."""
    return open_graph(artifacts, {"ontology": version.digest, "snapshot": version.snapshot_sha256})


def read_graph(work: Work) -> LabelGraph:
    """Return the label graph of the job; see `open_graph`."""
    return open_graph(work.artifacts, work.parameters)


def read_labels(work: Work) -> Any:
    """Return the allowed labels of the job, in the form that `ontology.geometry.metric_space` takes."""
    labels = work.parameters["labels"]
    return read_keys(work.artifacts, labels) if is_digest(labels) else labels


def read_space(work: Work) -> tuple[LabelGraph, MetricSpace]:
    """Return the label graph and the metric space of the job."""
    from labelgrove.ontology.geometry import metric_space

    graph = read_graph(work)
    return graph, metric_space(graph, work.parameters["metric"], read_labels(work))


def read_keys(artifacts: ArtifactStore, digest: str | None) -> list[str]:
    """Return the list of label keys in an artifact; an empty list if `digest` is None."""
    if digest is None:
        return []
    keys = read_json(artifacts, digest, "a list of label keys")
    if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
        raise ArtifactError(f"artifact {digest}: is not a JSON list of label keys; give such a list")
    return keys


def read_amounts(artifacts: ArtifactStore, digest: str | None) -> dict[str, float] | None:
    """Return the dictionary in an artifact, from label keys to numbers such as the costs of the labels.

    In the artifact the numbers are decimal strings; they are returned as floats. Return None if `digest` is
    None.
    """
    if digest is None:
        return None
    amounts = read_json(artifacts, digest, "an object that maps label keys to decimal strings")
    try:
        return {key: float(decimal_text(amount)) for key, amount in amounts.items()}
    except (AttributeError, ValueError):
        raise ArtifactError(
            f"artifact {digest}: is not a JSON object that maps label keys to decimal strings; give "
            "such an object, with amounts of 0 or more"
        ) from None


def counted_points(space: MetricSpace, keys: list[str], name: str, count: int) -> NDArray[int64]:
    """Return the point indices of a list of keys; raise `InputError` unless it has `count` keys.

    `count` is the job's parameter ``n_<name>``, where ``<name>`` is the argument `name`.
    """
    from labelgrove.ontology.geometry.spaces.points import observed_points

    points = observed_points(space, keys, name=name)
    if len(points) != count:
        raise InputError(
            f"{name}: {len(points)} labels given, but n_{name} is {count}; n_{name} must be the number "
            "of labels"
        )
    return points


def read_json(artifacts: ArtifactStore, digest: str, expected: str) -> Any:
    """Return the content of a JSON artifact; raise `ArtifactError` if it is not JSON.

    `expected` describes the right content in the message of the error.
    """
    try:
        return json.loads(artifacts.read_bytes(digest))
    except ValueError as error:
        raise ArtifactError(f"artifact {digest}: is not JSON ({error}); expected {expected}") from error

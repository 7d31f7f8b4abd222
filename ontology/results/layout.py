"""Pack the contents that all result files except documents have in common, and open and check result files.

These contents describe the version of the ontology and the space in which a result was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import stored_array

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.geometry.spaces.choosing import Labels
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["Packed", "ResultFile", "Status", "pack_space"]

_WHOLE = re.compile(r"[0-9]{1,19}")

Packed = tuple[dict[str, NDArray[Any]], dict[str, str]]
"""Named arrays and metadata, the arguments of `ontology.store.artifacts.ArtifactStore.put_arrays`."""

Status = Literal["exact", "lower_bound"]


def pack_space(graph: LabelGraph, space: MetricSpace) -> Packed:
    """Return the arrays and metadata that describe the space in which a result was found.

    Parameters
    ----------
    graph : LabelGraph
        The version of the ontology.
    space : MetricSpace
        A space of `graph`, made by `ontology.geometry.metric_space`.
    """
    arrays: dict[str, NDArray[Any]] = {}
    if space.allowed is not None:
        arrays["labels.allowed"] = space.allowed
    metadata = {
        "ontology": graph.digest,
        "metric": space.kind,
        "n_labels": str(space.n_labels),
        "n_points": str(space.n_points),
    }
    return arrays, metadata


class ResultFile:
    """An opened result, whose sha256, format and ontology have been checked.

    Parameters
    ----------
    artifacts : ArtifactStore
        The store that contains the result.
    digest : str
        The sha256 of the result.
    graph : LabelGraph
        The version of the ontology from which the result was made.
    file_format : str
        The required format.

    Raises
    ------
    NotFoundError
        If there is no such artifact.
    ArtifactError
        If the result has another format, or was made from another version than `graph`. Each method raises it
        too, if the part of the file that it reads is missing or damaged.
    """

    def __init__(self, artifacts: ArtifactStore, digest: str, graph: LabelGraph, file_format: str) -> None:
        self._digest, self._graph = digest, graph
        self.arrays: Mapping[str, NDArray[Any]]
        self.metadata: Mapping[str, str]
        self.arrays, self.metadata = artifacts.open_arrays(digest)
        found = self.metadata.get("format")
        if found != file_format:
            raise self.fault(f"format is {found!r}, expected {file_format!r}; name a result of that kind")
        if self.text("ontology") != graph.digest:
            raise self.fault(
                f"it was made from ontology {self.text('ontology')}, but is read with {graph.digest}; "
                "read it with the version that it was made from"
            )

    def text(self, name: str) -> str:
        """Return the metadata field `name` as text."""
        if name not in self.metadata:
            raise self.fault(f"metadata: {name!r} is missing")
        return self.metadata[name]

    def whole(self, name: str, least: int = 0) -> int:
        """Return a metadata field: a whole number of at most 19 digits that is not below `least`."""
        text = self.text(name)
        if not _WHOLE.fullmatch(text) or int(text) < least:
            raise self.fault(f"metadata: {name} is {text!r}, expected a whole number of {least} or more")
        return int(text)

    def number(self, name: str) -> float:
        """Return a metadata field that is a finite number and not negative."""
        try:
            number = float(self.text(name))
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            raise self.fault(
                f"metadata: {name} is {self.text(name)!r}, expected a finite number, not negative"
            )
        return number

    def status(self) -> Status:
        """Return how exact the result is: ``"exact"`` or ``"lower_bound"``."""
        match self.text("status"):
            case "exact":
                return "exact"
            case "lower_bound":
                return "lower_bound"
            case other:
                raise self.fault(f"metadata: status is {other!r}, expected 'exact' or 'lower_bound'")

    def array(
        self, name: str, dtypes: DTypeLike | tuple[DTypeLike, ...], shape: tuple[int | None, ...] = (None,)
    ) -> NDArray[Any]:
        """Return an array after checking that it has one of `dtypes` and the given `shape`.

        A None in `shape` allows any length of that axis.
        """
        try:
            return stored_array(self.arrays, name, dtypes, shape)
        except InputError as error:
            raise self.fault(str(error)) from None

    def index(self, name: str, n: int, *, ascending: bool = False) -> NDArray[np.int64]:
        """Return an array after checking that it contains distinct indices from 0 to `n` - 1.

        If `ascending`, also check that they are in ascending order.
        """
        index = self.array(name, np.int64)
        if len(index) and (index.min() < 0 or index.max() >= n):
            raise self.fault(f"{name}: an index is outside 0..{n - 1}")
        steps = np.diff(index if ascending else np.sort(index))
        if (steps <= 0).any():
            raise self.fault(f"{name}: not ascending" if ascending else f"{name}: an index occurs twice")
        return index

    @property
    def allowed(self) -> NDArray[np.int64]:
        """Indices of the allowed labels; the file contains them only if some labels are not allowed."""
        allowed = self.index("labels.allowed", self._graph.n_labels, ascending=True)
        if not len(allowed):
            raise self.fault("labels.allowed: empty; a space has at least one label")
        return allowed

    @cached_property
    def space(self) -> MetricSpace:
        """The space in which the result was found."""
        labels: Labels = "all"
        if "labels.allowed" in self.arrays:
            labels = self._graph.keys.take(self.allowed)
        metric = self.text("metric")
        if metric not in ("complete", "tree", "graph"):
            raise self.fault(f"metadata: metric is {metric!r}, expected tree, graph or complete")
        try:
            space = metric_space(self._graph, cast(Any, "auto" if metric == "complete" else metric), labels)
        except InputError as error:
            raise self.fault(f"its ontology has no such space: {error}") from None
        if space.kind != metric:
            raise self.fault(f"metadata: metric is {metric!r}, which its ontology does not have")
        if (space.n_labels, space.n_points) != (self.whole("n_labels"), self.whole("n_points")):
            raise self.fault(
                f"metadata: {self.whole('n_labels')} labels and {self.whole('n_points')} points, but its "
                f"ontology has {space.n_labels} and {space.n_points}"
            )
        return space

    def fault(self, what: str) -> ArtifactError:
        """Return the error that describes a fault of this file."""
        return ArtifactError(f"result {self._digest}: {what}")

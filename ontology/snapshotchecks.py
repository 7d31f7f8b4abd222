"""Check the arrays of a snapshot against the rules of docs/artifact-format.md.

Two rules are not checked here, because the whole graph would have to be visited: the edges must not form a
cycle, and the digest in the metadata must be the digest of the arrays. A caller that needs one of these two
checks must make it itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.keys import Keys, Texts, stored_texts
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["SnapshotChecker"]

_HEX = re.compile(r"[0-9a-f]{64}")
_GRID = re.compile(r"grid:[1-9][0-9]{0,9}(?:,[1-9][0-9]{0,9})*")
_EDGES = {
    "edges.child": np.int32,
    "edges.parent": np.int32,
    "edges.weight": np.float64,
    "edges.rank": np.int32,
}


class SnapshotChecker:
    """Read the arrays and metadata of a snapshot; each method checks one part of them and returns it.

    Parameters
    ----------
    arrays, metadata : mapping
        Content of the snapshot.

    Raises
    ------
    ArtifactError
        If the part that a method reads is missing or breaks a rule.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
        self._arrays, self._metadata = arrays, metadata

    def digest(self) -> str:
        """Return the digest of the graph as the metadata give it; it is not computed again."""
        digest = self._metadata.get("digest", "")
        if not _HEX.fullmatch(digest):
            raise self._fault(f"metadata: digest is {digest!r}, expected 64 hexadecimal digits")
        return digest

    def layout(self, n_labels: int, n_edges: int) -> str:
        """Return the layout of the graph, such as hierarchy or grid; it must fit the size of the graph."""
        layout = self._metadata.get("layout", "")
        if layout in ("hierarchy", "undirected"):
            return layout
        if layout == "complete" and n_edges == n_labels * (n_labels - 1) // 2:
            return layout
        if _GRID.fullmatch(layout) and math.prod(map(int, layout[5:].split(","))) == n_labels:
            return layout
        raise self._fault(
            f"metadata: layout is {layout!r} with {n_labels} labels and {n_edges} edges; expected hierarchy, "
            "undirected, or complete or grid:SHAPE of that size"
        )

    def keys(self) -> Keys:
        """Return the table of keys, which must ascend in the stored order and must not contain a NUL."""
        table = self._table("keys")
        order = self._array("keys.order", np.int32)
        if not len(table) or len(order) != len(table):
            raise self._fault(
                f"keys: {len(table)} keys and {len(order)} places in their order; "
                "expected as many places as keys, at least 1"
            )
        keys = Keys(table.blob, table.offsets, order)
        if fault := keys.order_fault():
            raise self._fault(f"keys.{fault}")
        if (table.blob == 0).any():
            raise self._fault("keys: a key contains a NUL")
        return keys

    def names(self, keys: Keys) -> Texts:
        """Return the table of names, or `keys` if the snapshot has no names."""
        if "names.blob" not in self._arrays and "names.offsets" not in self._arrays:
            return keys
        names = self._table("names")
        if len(names) != len(keys):
            raise self._fault(f"names: {len(names)} names for {len(keys)} keys")
        return names

    def edges(
        self, n_labels: int, *, directed: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """Return the child, the parent, the weight and the rank of each edge, as four arrays."""
        child, parent, weight, rank = (self._array(name, dtype) for name, dtype in _EDGES.items())
        if not len(child) == len(parent) == len(weight) == len(rank):
            raise self._fault(
                f"edges: {len(child)} children, {len(parent)} parents, {len(weight)} weights and {len(rank)} "
                "ranks; one of each for every edge"
            )
        if len(child):
            for name, ends in (("edges.child", child), ("edges.parent", parent)):
                if ends.min() < 0 or ends.max() >= n_labels:
                    raise self._fault(f"{name}: a label is outside 0..{n_labels - 1}")
            if not (weight.min() > 0 and weight.max() < np.inf):  # NaN passes neither comparison
                raise self._fault("edges.weight: an edge length is positive and finite")
        if (child == parent).any() or (not directed and (child > parent).any()):
            raise self._fault(
                "edges: a label is its own parent"
                if directed
                else "edges: the smaller end of each edge must come first"
            )
        same = child[1:] == child[:-1]
        sorted_ = (child[1:] > child[:-1]) | (same & (rank[1:] > rank[:-1]))
        sorted_ |= same & (rank[1:] == rank[:-1]) & (parent[1:] > parent[:-1])
        if not sorted_.all():
            raise self._fault("edges: not in ascending order of child, rank and parent")
        if rank.any() and len(np.unique(child * np.int64(n_labels) + parent)) < len(child):
            raise self._fault("edges: a pair occurs twice")
        return child, parent, weight, rank

    def _table(self, prefix: str) -> Texts:
        try:
            return stored_texts(self._arrays, prefix)
        except InputError as error:
            raise self._fault(str(error)) from None

    def _array(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        try:
            return stored_array(self._arrays, name, dtype)
        except InputError as error:
            raise self._fault(str(error)) from None

    def _fault(self, text: str) -> ArtifactError:
        return ArtifactError(f"snapshot: {text}; ingest the source again")

"""Check a bundle file: the dtype, shape and range of every array, before the array is used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import BundleError, InputError
from labelgrove.ontology.extras import upgrade_command
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["FORMAT", "FORMAT_WITHOUT_GROUPS", "NO_HIERARCHY", "UNIT", "BundleChecker"]

FORMAT = "labelgrove/bundle/2"
"""Format of the files; the number rises with each change that older versions would misread."""

FORMAT_WITHOUT_GROUPS = "labelgrove/bundle/1"
"""Format of the files without groups of rows: all but those of block bundles, and older ones of these."""

UNIT = "edge-weight units"
"""The unit of every distance in a bundle, and of its diameter."""

NO_HIERARCHY = "none"
"""Value of the metadata field ``hierarchy`` for a tree whose edges do not form a hierarchy."""

_COMMON = {"keys.blob", "keys.offsets", "keys.order", "observed.indices"}
_OPTIONAL = {"names.blob", "names.offsets", "labels.allowed"}
_REQUIRED = {"tree": {"tree.parent"}, "block": {"block.distances"}, "complete": set[str]()}
_GROUPS = {f"groups.{field.name}" for field in fields(RowGroups)}
_DIAMETERS = (1e-150, 1e150)  # the squares of these are finite and not 0
_BLOCK_DTYPES = (np.uint8, np.uint16, np.float32, np.float64)
_HEX = re.compile(r"(?:[0-9a-f]{64})?")


class BundleChecker:
    """Read the arrays and metadata of one file; each method returns one checked part.

    Parameters
    ----------
    name : str
        Name of the file in messages.
    arrays, metadata : mapping
        Content of the file.
    checked : bool
        Whether the same bytes were checked before. If so, only the dtypes and shapes of long arrays are
        checked again, not their values.

    Raises
    ------
    BundleError
        The constructor raises it for an unknown or newer format, and for arrays that are missing or do not
        belong to the kind of bundle. Each method raises it for the part that it reads.
    """

    def __init__(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        metadata: Mapping[str, str],
        *,
        checked: bool = False,
    ) -> None:
        self._name, self._arrays, self._metadata, self._checked = name, arrays, metadata, checked
        self._check_format()
        self.kind = self.text("kind")
        if self.kind not in _REQUIRED:
            raise self._fault(f"kind is {self.kind!r}, expected one of {', '.join(_REQUIRED)}")
        if metadata.get("unit") != UNIT:
            raise self._fault(f"unit is {metadata.get('unit')!r}, expected {UNIT!r}")
        self._is_grouped = metadata["format"] == FORMAT
        if self._is_grouped and self.kind != "block":
            raise self._fault(f"format is {FORMAT!r}, but a {self.kind} bundle is {FORMAT_WITHOUT_GROUPS!r}")
        required = _COMMON | _REQUIRED[self.kind] | (_GROUPS if self._is_grouped else set())
        missing = required - arrays.keys()
        if missing:
            raise self._fault(f"a {self.kind} bundle needs the arrays {_listed(missing)}, which are missing")
        foreign = arrays.keys() - required - _OPTIONAL - ({"tree.length"} if self.kind == "tree" else set())
        if foreign:
            raise self._fault(f"a {self.kind} bundle has no arrays {_listed(foreign)}")

    def text(self, field: str) -> str:
        """Return the text of a metadata field, which must exist and be printable."""
        if field not in self._metadata:
            raise self._fault(f"metadata: {field!r} is missing")
        if not self._metadata[field].isprintable():  # terminals show it
            raise self._fault(f"metadata: {field!r} is {self._metadata[field]!r}; it must be printable text")
        return self._metadata[field]

    def rule(self) -> str:
        """Return the rule that chose the allowed labels."""
        rule = self.text("labels")
        if rule not in ("all", "leaves", "listed"):
            raise self._fault(f"metadata: labels is {rule!r}, expected 'all', 'leaves' or 'listed'")
        return rule

    def metric(self) -> str:
        """Return the name of the metric; for a tree or complete bundle it must be the name of the kind."""
        metric = self.text("metric")
        if self.kind != "block" and metric != self.kind:
            raise self._fault(f"metadata: metric is {metric!r}, which no {self.kind} bundle has")
        return metric

    def is_hierarchy(self) -> bool:
        """Return whether the parents in a tree are those of a hierarchy, as for `Bundle`."""
        if "hierarchy" not in self._metadata:
            return True
        if self.kind != "tree" or self.text("hierarchy") != NO_HIERARCHY:
            raise self._fault(
                f"metadata: hierarchy is {self.text('hierarchy')!r}; only a tree bundle has the field, and "
                f"there it is {NO_HIERARCHY!r}"
            )
        return False

    def ontology_digest(self) -> str:
        """Return the digest of the version from which the bundle was made; empty if there is none."""
        digest = self.text("ontology_digest")
        if not _HEX.fullmatch(digest):
            raise self._fault(
                f"metadata: ontology_digest is {digest!r}, expected 64 hexadecimal digits or nothing"
            )
        return digest

    def diameter(self) -> float:
        """Return the diameter: 0, or a number whose square is finite and not 0."""
        try:
            diameter = float(self.text("diameter"))
        except ValueError:
            diameter = math.nan
        if diameter != 0 and not _DIAMETERS[0] <= diameter <= _DIAMETERS[1]:
            raise self._fault(
                f"metadata: diameter is {self.text('diameter')!r}, expected 0 or a number from "
                f"{_DIAMETERS[0]:g} to {_DIAMETERS[1]:g}"
            )
        return diameter

    def points(self) -> Keys:
        """Return the table of keys, which must be unique and valid UTF-8.

        The array ``keys.order`` must list the indices of the keys in ascending order of the keys.
        """
        table = self._table("keys")
        n = len(table)
        order = self._array("keys.order", np.int32, (n,))
        if not self._checked:
            self._check_range("keys.order", order, 0, n)
            if fault := Keys(table.blob, table.offsets, order).order_fault():
                raise self._fault(f"keys.{fault}")
        self._check_count("n_points", n)
        return Keys(table.blob, table.offsets, order)

    def names(self, points: Keys) -> Texts:
        """Return the table of names; if the file has no names, return the keys."""
        if "names.blob" not in self._arrays and "names.offsets" not in self._arrays:
            return points
        names = self._table("names")
        if len(names) != len(points):
            raise self._fault(f"names: {len(names)} names for {len(points)} keys")
        return names

    def is_allowed(self, n_points: int) -> NDArray[np.bool_] | None:
        """Return which points are allowed labels; None if all are."""
        if "labels.allowed" not in self._arrays:
            self._check_count("n_labels", n_points)
            return None
        mask = self._array("labels.allowed", np.uint8, (n_points,))
        self._check_range("labels.allowed", mask, 0, 2)
        n_labels = int(np.count_nonzero(mask))
        if not 0 < n_labels < n_points:
            raise self._fault(f"labels.allowed marks {n_labels} of {n_points} points, expected some, not all")
        self._check_count("n_labels", n_labels)
        return mask.view(np.bool_)

    def observed(self, n_points: int) -> NDArray[np.int64]:
        """Return the indices of the observed labels among the points; each must occur once."""
        observed = self._array("observed.indices", np.int64)
        self._check_range("observed.indices", observed, 0, n_points)
        ascending = np.sort(observed)
        if len(observed) == 0 or (ascending[1:] == ascending[:-1]).any():
            raise self._fault("observed.indices must name one label or more, each once")
        self._check_count("n_observed", len(observed))
        return observed

    def parent(self, n_points: int) -> NDArray[np.int32]:
        """Return the parents of a tree; cycles are only detected later, when the space is built."""
        parent = self._array("tree.parent", np.int32, (n_points,))
        self._check_range("tree.parent", parent, -1, n_points)
        n_roots = int((parent < 0).sum())
        if n_roots != 1:
            raise self._fault(f"tree.parent has {n_roots} roots (-1), expected one")
        return parent

    def length(self, n_points: int) -> NDArray[np.float64] | None:
        """Return the edge lengths of a weighted tree, which must be positive; None for an unweighted one."""
        if "tree.length" not in self._arrays:
            return None
        length = self._array("tree.length", np.float64, (n_points,))
        below = length[self._arrays["tree.parent"] >= 0]
        if not (np.isfinite(below).all() and (below > 0).all()):
            raise self._fault("tree.length must be positive and finite at every label but the root")
        return length

    def distances(self, n_labels: int, n_observed: int) -> NDArray[Any]:
        """Return the distances of a block, which must be finite and not negative."""
        block = self._array("block.distances", _BLOCK_DTYPES, (n_labels, n_observed))
        if block.dtype.kind == "f" and not self._checked:
            low, high = float(block.min()), float(block.max())
            if not (low >= 0 and math.isfinite(high)):
                raise self._fault(
                    f"block.distances runs from {low} to {high}; distances must be finite and not negative"
                )
        return block

    def groups(self, distances: NDArray[Any]) -> RowGroups | None:
        """Return the groups of the rows of `distances`; None if the format is the one without groups.

        Unless the same bytes were checked before, the groups are compared with the distances.
        """
        if not self._is_grouped:
            return None
        n_labels, n_observed = distances.shape
        first = self._array("groups.first", np.int32)
        label = self._array("groups.label", np.int32, (n_labels,))
        begin = self._array("groups.begin", np.int32)
        bounds = self._array("groups.bounds", distances.dtype, (len(begin) - 1, n_observed))
        largest = self._array("groups.largest", distances.dtype, (1,))
        groups = RowGroups(bounds, begin, first, label, largest)
        fault = groups.shape_fault()
        if fault is None and not self._checked:
            fault = groups.content_fault(distances)
        if fault:
            raise self._fault(f"groups.{fault}")
        return groups

    # ---- shared ------------------------------------------------------------------------------------

    def _check_format(self) -> None:
        found = self._metadata.get("format", "")
        if found in (FORMAT, FORMAT_WITHOUT_GROUPS):
            return
        tag, _, version = found.rpartition("/")
        known_tag, _, known_version = FORMAT.rpartition("/")
        if tag != known_tag or not version.isascii() or not version.isdigit():
            raise self._fault(f"format is {found!r}, expected {FORMAT!r}; this file is not a bundle")
        if len(version) > 9 or int(version) > int(known_version):
            raise self._fault(
                f"format is {found!r}, this version reads {FORMAT!r}; upgrade with: {upgrade_command()}"
            )
        raise self._fault(f"format is {found!r}, this version reads {FORMAT!r}; build the bundle again")

    def _table(self, prefix: str) -> Texts:
        if f"{prefix}.blob" not in self._arrays or f"{prefix}.offsets" not in self._arrays:
            raise self._fault(f"{prefix}.blob and {prefix}.offsets come together, but one is missing")
        blob = self._array(f"{prefix}.blob", np.uint8)
        offsets = self._array(f"{prefix}.offsets", np.int64)
        try:
            table = Texts(blob, offsets)
        except InputError as error:
            raise self._fault(f"{prefix}: {error}") from None
        if len(table) == 0:
            raise self._fault(f"{prefix}: the table is empty, but a bundle has at least one label")
        if not self._checked and (fault := table.text_fault()):
            raise self._fault(f"{prefix}.{fault}")
        return table

    def _array(
        self, name: str, dtypes: DTypeLike | tuple[DTypeLike, ...], shape: tuple[int | None, ...] = (None,)
    ) -> NDArray[Any]:
        try:
            return stored_array(self._arrays, name, dtypes, shape)
        except InputError as error:
            raise self._fault(str(error)) from None

    def _check_range(self, name: str, array: NDArray[Any], low: int, high: int) -> None:
        if len(array) and not (low <= int(array.min()) and int(array.max()) < high):
            raise self._fault(
                f"{name} runs from {array.min()} to {array.max()}, expected {low} to {high - 1}"
            )

    def _check_count(self, field: str, found: int) -> None:
        if self.text(field) != str(found):
            raise self._fault(f"metadata: {field} is {self.text(field)!r}, but the arrays have {found}")

    def _fault(self, text: str) -> BundleError:
        return BundleError(f"{self._name}: {text}")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))

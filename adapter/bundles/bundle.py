"""Bundles: everything that scoring needs, in one immutable safetensors file named by its sha256.

docs/bundle-format.md is the normative description. A bundle is of one of three kinds: ``"tree"`` (O(n_points)
arrays, no distances), ``"block"`` (the distance from every allowed label to every observed one) and
``"complete"`` (only keys, because every two labels are at distance 1).
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.bundles.bundlechecks import (
    FORMAT,
    FORMAT_WITHOUT_GROUPS,
    NO_HIERARCHY,
    UNIT,
    BundleChecker,
)
from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import (
    ArtifactError,
    BundleError,
    InputError,
    NotFoundError,
    ServiceError,
    SpaceError,
    counted,
    first_few,
)
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, MetricSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups, group_rows
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import read_safetensors, safetensors_chunks
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["Bundle", "build_bundle", "read_bundle"]

_TEXT_FIELDS = ("kind", "metric", "labels", "ontology", "ontology_digest")
_FORMS = ("auto", "tree", "block")
_COUNTS = ("n_points", "n_labels", "n_observed")


@dataclass(frozen=True, eq=False)
class Bundle:
    """A label space with the observed labels of one classifier; made by `build_bundle`.

    Attributes
    ----------
    kind : {"tree", "block", "complete"}
    points : Keys, length n_points
        Keys of the labels in the bundle, in canonical order: every label of a tree; for other kinds, the
        allowed labels and the observed ones. If the bundle was made from a matrix, observed labels that are
        not allowed come last.
    names : Texts, length n_points
        Display names of the points; their keys if the ontology has no names.
    is_allowed : ndarray of shape (n_points,), dtype=bool, or None
        Which points are allowed labels; None if all are.
    observed : ndarray of shape (n_observed,), dtype=int64
        Indices into `points` of the observed labels, in the order in which they were given: the order of a
        model's columns.
    metric : str
        ``"tree"``, ``"graph"``, ``"complete"`` or ``"matrix"``.
    labels : {"all", "leaves", "listed"}
        The rule that chose the allowed labels.
    diameter : float
        Largest distance between two allowed labels, in edge-weight units.
    ontology, ontology_digest : str
        Name and digest of the version from which the bundle was made; empty if it was made from a space.
    parent : ndarray of shape (n_points,), dtype=int32, or None
        Trees: the parent of each point, -1 for the root.
    length : ndarray of shape (n_points,), dtype=float64, or None
        Weighted trees: length of the edge to the parent.
    distances : ndarray of shape (n_labels, n_observed), or None
        Blocks: the distance from each allowed label to each observed label. The dtype is the smallest of
        uint8, uint16, float32 and float64 that represents all of these distances exactly.
    groups : RowGroups, or None
        Blocks: the groups of the rows of `distances`; None if the file is of the first version of the format.
    is_hierarchy : bool
        Trees: whether the parents are those of a hierarchy. False if a tree with undirected edges or several
        roots was given a single root only to measure distances.
    """

    kind: str
    points: Keys
    names: Texts
    is_allowed: NDArray[np.bool_] | None
    observed: NDArray[np.int64]
    metric: str
    labels: str
    diameter: float
    ontology: str = ""
    ontology_digest: str = ""
    parent: NDArray[np.int32] | None = None
    length: NDArray[np.float64] | None = None
    distances: NDArray[Any] | None = None
    groups: RowGroups | None = None
    is_hierarchy: bool = True

    # ---- properties --------------------------------------------------------------------------------

    @property
    def n_points(self) -> int:
        """Number of labels in the bundle, allowed or not."""
        return len(self.points)

    @cached_property
    def n_labels(self) -> int:
        """Number of allowed labels."""
        return self.n_points if self.is_allowed is None else int(np.count_nonzero(self.is_allowed))

    @property
    def allowed(self) -> NDArray[np.int64]:
        """Indices into `points` of the allowed labels, ascending; computed on demand."""
        return np.arange(self.n_points) if self.is_allowed is None else np.flatnonzero(self.is_allowed)

    @property
    def n_observed(self) -> int:
        """Number of observed labels."""
        return len(self.observed)

    @property
    def observed_keys(self) -> tuple[str, ...]:
        """Keys of the observed labels, in the order given when the bundle was built."""
        return self.points.take(self.observed)

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Names of the observed labels, in the order of `observed_keys`."""
        return self.names.take(self.observed)

    @cached_property
    def digest(self) -> str:
        """The sha256 of the bundle's file."""
        hashed = hashlib.sha256()
        for chunk in safetensors_chunks(*self.to_arrays()):
            hashed.update(chunk)
        return hashed.hexdigest()

    def space(self) -> TreeSpace | MatrixSpace | CompleteSpace:
        """Return the metric space of the bundle.

        The space of a block bundle has only the distances to observed labels.
        """
        if self.distances is not None:
            keys = self.points if self.is_allowed is None else self.points.subset(self.allowed)
            return MatrixSpace(self.distances, keys, points=Keys.from_strings(self.observed_keys))
        if self.parent is None:
            return CompleteSpace(self.points, self.is_allowed)
        try:
            return TreeSpace.from_arrays(
                self.points, self.parent, self.length, self.is_allowed, is_hierarchy=self.is_hierarchy
            )
        except SpaceError as error:
            raise BundleError(
                f"bundle {self.digest[:12]}: its arrays are not a tree ({error}); build the bundle again"
            ) from error

    def inspect(self) -> dict[str, Any]:
        """Describe the bundle in plain values, for a table or JSON.

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
        >>> found = build_bundle(graph, ["oak", "elm"]).inspect()
        >>> found["kind"], found["n_labels"], found["n_observed"], found["diameter"]
        ('tree', 3, 2, 2.0)
        """
        arrays, metadata = self.to_arrays()
        return {
            "digest": self.digest,
            "bytes": sum(len(chunk) for chunk in safetensors_chunks(arrays, metadata)),
            **metadata,
            **{field: getattr(self, field) for field in (*_COUNTS, "diameter")},
            "named": "names.blob" in arrays,
            "arrays": {name: f"{a.dtype}{list(a.shape)}" for name, a in sorted(arrays.items())},
        }

    # ---- file --------------------------------------------------------------------------------------

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the named arrays and the metadata of the bundle's file."""
        arrays: dict[str, NDArray[Any]] = {
            "keys.blob": self.points.blob,
            "keys.offsets": self.points.offsets,
            "keys.order": self.points.order,
            "observed.indices": self.observed,
        }
        if self.names != self.points:
            arrays |= {"names.blob": self.names.blob, "names.offsets": self.names.offsets}
        if self.is_allowed is not None:
            arrays["labels.allowed"] = self.is_allowed.view(np.uint8)
        for name, array in (
            ("tree.parent", self.parent),
            ("tree.length", self.length),
            ("block.distances", self.distances),
        ):
            if array is not None:
                arrays[name] = array
        if self.groups is not None:
            arrays |= {f"groups.{name}": array for name, array in vars(self.groups).items()}
        metadata = {field: getattr(self, field) for field in _TEXT_FIELDS}
        metadata |= {field: str(getattr(self, field)) for field in _COUNTS}
        if not self.is_hierarchy:
            metadata["hierarchy"] = NO_HIERARCHY
        metadata["format"] = FORMAT_WITHOUT_GROUPS if self.groups is None else FORMAT
        return arrays, metadata | {"unit": UNIT, "diameter": repr(self.diameter)}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        metadata: Mapping[str, str],
        *,
        name: str = "bundle",
        digest: str | None = None,
        checked: bool = False,
    ) -> Bundle:
        """Check arrays and metadata like those of `to_arrays`, and return a bundle that uses these arrays.

        Parameters
        ----------
        arrays, metadata
            Content of the file; arrays may be views of a memory map.
        name : str
            Name of the file in messages.
        digest : str, optional
            The sha256 of the file's bytes, if it is known; otherwise it is computed on demand.
        checked : bool
            Whether the same bytes have passed the checks before. If so, no long array is read.

        Raises
        ------
        BundleError
            If the format of the file is not the one that this version of labelgrove reads; for a newer
            format, the message contains the command that upgrades labelgrove. The error is also raised if an
            array or field is missing or unknown, or if its dtype, shape or range breaks the rules of
            docs/bundle-format.md.

        Notes
        -----
        O(n_points + n_labels * n_observed) time, one pass over each array.
        """
        check = BundleChecker(name, arrays, metadata, checked=checked)
        points = check.points()
        is_allowed, observed = check.is_allowed(len(points)), check.observed(len(points))
        n_labels = len(points) if is_allowed is None else int(np.count_nonzero(is_allowed))
        distances = check.distances(n_labels, len(observed)) if check.kind == "block" else None
        made = cls(
            kind=check.kind,
            points=points,
            names=check.names(points),
            is_allowed=is_allowed,
            observed=observed,
            metric=check.metric(),
            labels=check.rule(),
            diameter=check.diameter(),
            ontology=check.text("ontology"),
            ontology_digest=check.ontology_digest(),
            parent=check.parent(len(points)) if check.kind == "tree" else None,
            length=check.length(len(points)) if check.kind == "tree" else None,
            distances=distances,
            groups=None if distances is None else check.groups(distances),
            is_hierarchy=check.is_hierarchy(),
        )
        if digest is not None:
            made.__dict__["digest"] = digest
        return made

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the file, whole or not at all, and return its digest.

        Raises
        ------
        NotFoundError
            For a folder that does not exist; `ServiceError` if the file cannot be written.
        """
        target, hashed = Path(path), hashlib.sha256()

        def chunks() -> Iterator[bytes | memoryview]:
            for chunk in safetensors_chunks(*self.to_arrays()):
                hashed.update(chunk)
                yield chunk

        try:
            write_whole(target, chunks())
        except FileNotFoundError:
            raise NotFoundError(
                f"{target}: the folder {target.parent} does not exist; create it first"
            ) from None
        except OSError as error:
            raise ServiceError(
                f"{target}: cannot be written ({error.strerror or error}); give the path of a file that you "
                "may write"
            ) from error
        return hashed.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Bundle({self.kind}, n_labels={self.n_labels}, n_observed={self.n_observed}, "
            f"ontology={self.ontology!r}, digest={self.digest[:12]})"
        )


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Open a file that `Bundle.save` wrote, as a memory map; users call `adapter.open_bundle` instead.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    ArtifactError
        For bytes that are not a safetensors file; `BundleError` for a safetensors file that is not a bundle.
    """
    shown = os.fspath(path)
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise ArtifactError(f"{shown}: the file is empty; a bundle is a safetensors file")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise NotFoundError(
            f"{shown}: no such bundle file; give the path of a file that Bundle.save wrote"
        ) from None
    except IsADirectoryError:
        raise ArtifactError(
            f"{shown}: this is a folder, but a bundle is one .safetensors file; use "
            "Adapter.from_pretrained to open a folder that save_pretrained wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{shown!r}: cannot be read ({error}); give a file you may read") from error
    return Bundle.from_arrays(*read_safetensors(data, name=shown), name=shown)


def build_bundle(
    source: LabelGraph | MetricSpace,
    observed: Iterable[str],
    *,
    metric: Literal["auto", "tree", "graph"] = "auto",
    labels: str | Iterable[str] = "all",
    form: Literal["auto", "tree", "block"] = "auto",
    ontology: Mapping[str, str] | None = None,
    diameter: float | None = None,
) -> Bundle:
    """Build the bundle of a label space and the observed labels of a classifier.

    Parameters
    ----------
    source : LabelGraph or MetricSpace
        A graph is first turned into its `metric_space`.
    observed : iterable of str
        Keys of the model's classes, in the order of its columns; they need not be allowed labels.
    metric, labels
        As for `ontology.geometry.metric_space`. Leave both out if `source` is a space, which already has
        them.
    form : {"auto", "tree", "block"}, default="auto"
        ``"tree"`` refuses any space that is not a tree. ``"block"`` stores every distance between an allowed
        and an observed label, even for a tree, which does not need them: the answers are the same, and the
        bundle contains ``n_labels * n_observed`` more numbers.
    ontology : mapping with "name" and "digest", optional
        Version from which the source was read; for a graph the digest must be the graph's digest.
    diameter : float, optional
        Largest distance between two allowed labels, if it is known. By default it is computed. If `source`
        is a matrix in which an allowed label has no column, it cannot be computed and must be given.

    Returns
    -------
    Bundle
        Its kind is ``"tree"`` if the space is a tree, ``"complete"`` if the space is complete, and otherwise
        ``"block"``. With ``form="block"`` it is always ``"block"``.

    Raises
    ------
    InputError
        If `observed` is empty, a Python set, or contains a key twice; if the digest in `ontology` is not the
        digest of the graph; or if `form` is unknown. `UnknownLabelError` for an observed label that is not in
        the space; `SpaceError` if the form is ``"tree"`` and the space is not a tree.

    Notes
    -----
    Trees: O(n_points). Blocks: the time and memory for n_labels * n_observed distances, plus the cost of the
    diameter and of `group_rows`.

    Examples
    --------
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> bundle = build_bundle(graph, ["oak", "moss"])
    >>> bundle.kind, bundle.observed_keys, bundle.n_labels
    ('tree', ('oak', 'moss'), 5)
    """
    if form not in _FORMS:
        raise InputError(f"form: {form!r} given; choose {', '.join(map(repr, _FORMS))}")
    origin = dict(ontology or {})
    names: Texts | None = None
    if isinstance(source, LabelGraph):
        if origin.setdefault("digest", source.digest) != source.digest:
            raise InputError(
                f"ontology: digest {origin['digest']!r} given, but the graph has {source.digest!r}; give the "
                "digest of this graph, or leave it out"
            )
        space = metric_space(source, metric=metric, labels=labels)
        names = source.names if source.names != source.keys else None
        rule = labels if isinstance(labels, str) else "listed"
    elif not isinstance(source, MetricSpace):
        raise InputError(
            f"source: a value of type {type(source).__name__}; give a MetricSpace, or a LabelGraph "
            "from LabelGraph.from_edges or read(path).graph"
        )
    elif metric != "auto" or labels != "all":
        raise InputError("metric, labels: a space has both already; leave them out or give a LabelGraph")
    else:
        space = source
        rule = "all" if space.n_labels == space.n_points else "listed"
    if form == "tree" and not isinstance(space, TreeSpace):
        raise SpaceError(
            f"form: 'tree' given for a space of kind {space.kind!r}; use metric='tree', or form='block'"
        )
    columns = _observed(observed)
    if names is not None:
        called = names
        space.points.indices(columns, lambda: called)  # its error can explain names given as keys
    as_tree = isinstance(space, TreeSpace) and form != "block"
    points, is_allowed, observed_points = _points(space, columns, every=as_tree)
    arrays: dict[str, Any] = {"kind": "block"}
    if isinstance(space, TreeSpace) and as_tree:
        arrays = {"kind": "tree", "parent": space.parent, "length": space.length}
        arrays["is_hierarchy"] = space.is_hierarchy
    elif isinstance(space, CompleteSpace) and form != "block":
        arrays = {"kind": "complete"}
    else:
        distances = _narrowest(space.distances(None, space.point_index(columns)))
        arrays |= {"distances": distances, "groups": group_rows(distances)}
    return Bundle(
        points=points,
        names=points
        if names is None
        else names
        if len(names) == len(points)
        else _names_of(names, space, points),
        is_allowed=is_allowed,
        observed=observed_points,
        metric=space.kind,
        labels=rule,
        diameter=float(space.diameter() if diameter is None else diameter),
        ontology=origin.get("name", ""),
        ontology_digest=origin.get("digest", ""),
        **arrays,
    )


def _points(
    space: MetricSpace, columns: list[str], *, every: bool
) -> tuple[Keys, NDArray[np.bool_] | None, NDArray[np.int64]]:
    """Return the points of the bundle, which of them are allowed (None: all), and the observed ones.

    If `every` is True, all points of the space are kept; a tree needs them, because paths run over them.
    Otherwise only allowed and observed labels are kept. If the space is a matrix, observed labels that are
    not allowed come last, in the given order.
    """
    if isinstance(space, MatrixSpace):
        space.point_index(columns)
        points = Keys.from_strings([*space.keys, *(key for key in columns if key not in space.keys)])
        within = np.arange(len(points)) < space.n_labels
        return points, None if within.all() else within, points.indices(columns)
    observed, is_allowed = space.point_index(columns), space.is_allowed
    if every or is_allowed is None:
        return space.points, is_allowed, observed
    is_held = is_allowed.copy()
    is_held[observed] = True
    held = np.flatnonzero(is_held)
    points = space.points if len(held) == space.n_points else Keys.from_strings(space.points.take(held))
    within = is_allowed[held]
    return points, None if within.all() else within, np.searchsorted(held, observed)


def _observed(observed: Iterable[str]) -> list[str]:
    if isinstance(observed, str):
        raise InputError(f"observed: {observed!r} is a single string; give a sequence of keys")
    if isinstance(observed, set | frozenset) or not isinstance(observed, Iterable):
        raise InputError(
            f"observed: a value of type {type(observed).__name__}; give a list of keys, in the order of "
            "the model's columns"
        )
    keys = list(observed)
    if not keys:
        raise InputError("observed: no label given; a bundle needs at least one observed label")
    repeated = [repr(key) for key, count in Counter(keys).items() if count > 1]
    if repeated:
        raise InputError(
            f"observed: {counted(len(repeated), 'label')} given more than once: {first_few(repeated)}; "
            "give one column for each label"
        )
    return keys


def _names_of(names: Texts, space: MetricSpace, points: Keys) -> Texts:
    return Texts.from_strings(names.take(space.points.indices(points)))


def _narrowest(distances: NDArray[Any]) -> NDArray[Any]:
    """Return float64 distances as float32 if no value changes; return other distances unchanged."""
    if distances.dtype != np.float64:
        return distances
    with np.errstate(over="ignore"):  # infinity differs from the distance, which then stays as it is
        narrow = distances.astype(np.float32)
    return narrow if np.array_equal(narrow, distances) else distances

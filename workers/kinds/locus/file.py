"""Write and read loci as files: the members, which of them are uniquely reachable, and their witnesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.geometry.loci.exactlocus import hull_locus, locus_index
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.loci.witnesses import Weights, Witnesses, spread
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.results.layout import Packed, ResultFile, pack_space
from labelgrove.ontology.store.safetensors_file import stored_array

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["StoredWitnesses", "pack_locus", "pack_witnesses", "read_locus", "unpack_witnesses"]

_FORMAT = "labelgrove/locus/1"

_LARGEST = np.iinfo(np.int64).max
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


class StoredWitnesses(Witnesses):
    """Witnesses as a file stores them: equal witnesses only once, and without the weights that are zero.

    An *entry* is one positive weight of a witness.

    Parameters
    ----------
    n_observed : int
        Length of each witness.
    of : ndarray of shape (n_members,), dtype=int64
        For each member, the index of its witness among the different witnesses.
    begin : ndarray of shape (n_distinct + 1,), dtype=int64
        Index of the first entry of each different witness; the last value is the number of all entries.
    columns : ndarray of shape (n_entries,), dtype=int32
        For each entry, the position of its label among the observed labels.
    weights : ndarray of shape (n_entries,), dtype=int64, or Texts
        The weight of each entry; all as hexadecimal text if any weight of the file exceeds 63 bits.
    """

    def __init__(
        self,
        n_observed: int,
        of: NDArray[np.int64],
        begin: NDArray[np.int64],
        columns: NDArray[np.int32],
        weights: NDArray[np.int64] | Texts,
    ) -> None:
        self._n_observed, self._of, self._begin = n_observed, of, begin
        self._columns, self._weights = columns, weights

    def __len__(self) -> int:
        return len(self._of)

    def witness(self, i: int) -> Weights:
        """Return the witness of the member with index `i`."""
        return spread(self._n_observed, self.entries(i))

    def entries(self, i: int) -> Iterator[tuple[int, int]]:
        """Return pairs of a column and the weight there, for the member with index `i`.

        There is a pair for each column in which the witness of the member is positive; the columns ascend.
        """
        entries = slice(*self._begin[self._of[i] :][:2].tolist())
        if isinstance(self._weights, Texts):
            given = [int(text, 16) for text in self._weights[entries]]
        else:
            given = self._weights[entries].tolist()
        return zip(self._columns[entries].tolist(), given, strict=True)


def pack_witnesses(witnesses: Sequence[tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that store these witnesses, as `StoredWitnesses` describes them.

    Examples
    --------
    >>> {name: array.tolist() for name, array in pack_witnesses([(2, 0, 1), (2, 0, 1), (0, 1, 0)]).items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'witness.of': [0, 0, 1], 'witness.begin': [0, 2, 3], 'witness.column': [0, 2, 1],
     'witness.weight': [2, 1, 1]}
    """
    distinct: dict[tuple[tuple[int, int], ...], int] = {}
    of = np.array([distinct.setdefault(carried, len(distinct)) for carried in _entries(witnesses)], np.int64)
    lengths = [len(carried) for carried in distinct]
    columns = [column for carried in distinct for column, _ in carried]
    weights = [weight for carried in distinct for _, weight in carried]
    arrays: dict[str, NDArray[Any]] = {
        "witness.of": of,
        "witness.begin": np.cumsum([0, *lengths], dtype=np.int64),
        "witness.column": np.array(columns, dtype=np.int32),
    }
    if max(weights, default=0) <= _LARGEST:
        arrays["witness.weight"] = np.array(weights, dtype=np.int64)
    else:
        # hexadecimal: Python limits how long a decimal number may be
        texts = Texts.from_strings(f"{weight:x}" for weight in weights)
        arrays |= {"witness.weight.blob": texts.blob, "witness.weight.offsets": texts.offsets}
    return arrays


def _entries(witnesses: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """For each witness, yield a tuple with a pair for each positive weight: its column, and the weight.

    If `witnesses` is of the class `Witnesses`, the zero weights are not visited; visiting them would take up
    to K times as long.
    """
    if isinstance(witnesses, Witnesses):
        yield from (tuple(witnesses.entries(i)) for i in range(len(witnesses)))
    else:
        for weights in witnesses:
            yield tuple((column, weight) for column, weight in enumerate(weights) if weight)


def unpack_witnesses(arrays: Mapping[str, NDArray[Any]], n_observed: int) -> StoredWitnesses:
    """Return the witnesses that `pack_witnesses` stored in `arrays`; each has `n_observed` weights.

    Raises
    ------
    ArtifactError
        If the arrays do not fit together.
    """

    def array(name: str, dtype: DTypeLike) -> NDArray[Any]:
        try:
            return stored_array(arrays, f"witness.{name}", dtype)
        except InputError as error:
            raise ArtifactError(f"witnesses: {error}; compute the locus again") from None

    of, begin, columns = array("of", np.int64), array("begin", np.int64), array("column", np.int32)
    weights: NDArray[np.int64] | Texts
    if "witness.weight" in arrays:
        weights = array("weight", np.int64)
        positive = bool((weights > 0).all())
    else:
        try:
            weights = Texts(array("weight.blob", np.uint8), array("weight.offsets", np.int64))
        except InputError as error:
            raise ArtifactError(f"witnesses: 'witness.weight' {error}; recompute the locus") from None
        # no sign, no blank, and not 0
        positive = bool(np.isin(weights.blob, _HEXADECIMAL).all()) and bool(
            (np.diff(weights.offsets) > 0).all()
        )
        positive = positive and all(int(text, 16) for text in weights)
    divided = len(begin) and begin[0] == 0 and begin[-1] == len(columns) == len(weights)
    fits = divided and positive and (np.diff(begin) > 0).all()
    for indices, n in ((of, len(begin) - 1), (columns, n_observed)):
        fits = fits and (not len(indices) or (indices.min() >= 0 and indices.max() < n))
    if not fits:
        raise ArtifactError("witnesses: their arrays do not fit together; recompute the locus")
    return StoredWitnesses(n_observed, of, begin, columns, weights)


def pack_locus(graph: LabelGraph, found: Locus, *, method: str = "exact") -> Packed:
    """Return the arrays and the metadata of a file with a locus.

    Parameters
    ----------
    graph : LabelGraph
        The label graph of the version; `found.space` is a metric space on it.
    found : Locus
        The locus.
    method : {"exact", "pairs"}, default="exact"
        How the locus was found.

    Notes
    -----
    Two kinds of exact loci are written without witnesses: those on a tree with every label allowed, and those
    on a complete graph. Computing these witnesses again is faster than reading them.
    """
    arrays, metadata = pack_space(graph, found.space)
    arrays |= {"observed": found.points, "index": found.index, "unique_index": found.unique_index}
    if not _is_derived(found.space, method):
        arrays |= pack_witnesses(found.witnesses)
    metadata |= {
        "format": _FORMAT,
        "method": method,
        "status": found.status,
        "tolerance": repr(float(found.tolerance)),
        "n_members": str(len(found)),
        "n_unique": str(len(found.unique_index)),
    }
    return arrays, metadata


def read_locus(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Locus:
    """Return a locus written by `pack_locus`.

    Parameters
    ----------
    artifacts, digest, graph
        See `ontology.results.layout.ResultFile`.

    Raises
    ------
    NotFoundError, ArtifactError
        If the artifact is missing, or is not a locus of the version in `graph`.
    """
    file = ResultFile(artifacts, digest, graph, _FORMAT)
    space = file.space
    points = file.index("observed", space.n_points)
    if not len(points):
        raise file.fault("observed: empty; a locus needs at least one observed label")
    index = file.index("index", space.n_labels, ascending=True)
    witnesses: Sequence[tuple[int, ...]]
    tolerance = file.number("tolerance")
    if _is_derived(space, file.text("method")):
        if isinstance(space, TreeSpace) and not tolerance:  # the tie rule changes nothing here
            witnesses = hull_locus(space, points).witnesses
        else:
            witnesses = locus_index(space, points).witnesses
    else:
        witnesses = unpack_witnesses(file.arrays, len(points))
    if len(witnesses) != len(index):
        raise file.fault(f"{len(witnesses)} witnesses for {len(index)} members")
    unique_index = file.index("unique_index", space.n_labels, ascending=True)
    if not np.isin(unique_index, index).all():
        raise file.fault("unique_index: contains a label that is not a member")
    return Locus(space, points, index, unique_index, file.status(), witnesses, tolerance)


def _is_derived(space: MetricSpace, method: str) -> bool:
    whole_tree = isinstance(space, TreeSpace) and space.allowed is None
    return method == "exact" and (whole_tree or isinstance(space, CompleteSpace))

"""What a model emits, read into checked weights a chunk at a time, columns in the order of the bundle.

Dense arrays of any real dtype and memory order, and sparse outputs (`SparseOutputs`, scipy.sparse matrices),
give the same weights to the last bit: a sparse chunk is written out before anything is computed from it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import BindingError, InputError, WeightError, first_few
from labelgrove.ontology.geometry.ties import refuse_bad_rows, row_faults

__all__ = [
    "IF_LOGITS",
    "IF_LOGITS_OR_LOGS",
    "LARGEST_LOG",
    "OutputKind",
    "OutputReader",
    "OutputRows",
    "Outputs",
    "SparseOutputs",
    "by_rows",
    "named_order",
    "wrong_shape",
]

OutputKind = Literal["probabilities", "log_probabilities", "logits"]
"""What the numbers of a model are."""

LARGEST_LOG = 0.01
"""Largest log-probability: what rounding in float16 may leave above zero."""

IF_LOGITS = "if these are logits, say outputs='logits' (grove: --emits logits)"
IF_LOGITS_OR_LOGS = (
    f"{IF_LOGITS}, which applies the softmax; if log-probabilities, outputs='log_probabilities' "
    "(grove: --emits log_probabilities)"
)
"""What to do about numbers that no weights are."""

_KINDS = ("probabilities", "log_probabilities", "logits")
_CHUNK_ROWS = 4096
_CHUNK_VALUES = 1 << 22
_MOST_EMPTY_ROWS = 10**7

Faults = tuple[tuple[str, NDArray[Any]], ...]


class OutputRows(Protocol):
    """Outputs of known shape whose values are not yet checked."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
        """Return some rows in full, columns in `order`; what a sparse row does not list is `absent`."""
        ...


@dataclass(frozen=True)
class SparseOutputs:
    """The few outputs of each row that a large model lists, such as its best 100 classes.

    Attributes
    ----------
    indices : array_like of shape (n_samples, m), dtype=int
        Columns of the model, in any order, each once in a row; -1 lists nothing, whatever its value.
    values : array_like of shape (n_samples, m)
        What the model says of them: probabilities, log-probabilities or logits. A column that is not listed
        has probability 0.

    Examples
    --------
    >>> from labelgrove.adapter import Adapter
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"])
    >>> adapter.predict(SparseOutputs([[1, 0], [2, -1]], [[0.5, 0.5], [0.9, 0.0]]))
    ['tree', 'moss']
    """

    indices: ArrayLike
    values: ArrayLike


Outputs = ArrayLike | SparseOutputs
"""What every method of an adapter takes, beside scipy.sparse matrices and tables: see `named_order`."""


@dataclass(frozen=True)
class _DenseRows:
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
        return self.values[of] if order is None else self.values[of].take(order, axis=1)


@dataclass(frozen=True)
class _SparseRows:
    """Row r lists ``column[begin[r]:begin[r + 1]]``."""

    begin: NDArray[Any]
    column: NDArray[Any]
    value: NDArray[Any]
    n_columns: int

    def __len__(self) -> int:
        return len(self.begin) - 1

    def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
        begin = self.begin[of.start : of.stop + 1].astype(np.int64)
        column, value = self.column[begin[0] : begin[-1]], self.value[begin[0] : begin[-1]]
        row = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        listed = column != -1
        if not listed.all():
            row, column, value = row[listed], column[listed], value[listed]
        if len(column) and not (column.min() >= 0 and column.max() < self.n_columns):
            at = int(np.flatnonzero((column < 0) | (column >= self.n_columns))[0])
            raise WeightError(
                f"P: row {row[at] + of.start} lists column {column[at]}; a column is within "
                f"0..{self.n_columns - 1}, or -1 for none"
            )
        if order is not None:
            column = np.argsort(order)[column]
        out = np.full((len(begin) - 1, self.n_columns), absent)
        seen = np.zeros(out.shape, dtype=bool)
        seen[row, column] = True
        if np.count_nonzero(seen) < len(column):
            again = np.flatnonzero(np.bincount(row, minlength=len(out)) > seen.sum(axis=1))[0]
            raise _twice(int(again) + of.start)
        out[row, column] = value
        return out


class OutputReader:
    """Reads the outputs of one kind of model.

    Parameters
    ----------
    kind : {"probabilities", "log_probabilities", "logits"}
        ``"probabilities"`` are taken as they are, rows need not sum to one; the others go through the softmax
        of each row divided by `temperature`.
    temperature : float
        Positive; above 1 flattens, below 1 sharpens.
    n_columns : int
        Number of columns of the model.

    Examples
    --------
    >>> reader = OutputReader("logits", 2.0, 3)
    >>> ((start, weights),) = reader.chunks(reader.rows([[0.0, 0.0, -np.inf]]))
    >>> start, weights.tolist()
    (0, [[0.5, 0.5, 0.0]])
    """

    def __init__(self, kind: OutputKind, temperature: float, n_columns: int) -> None:
        if kind not in _KINDS:
            raise InputError(f"outputs: {kind!r} given; choose {', '.join(map(repr, _KINDS))}")
        number = isinstance(temperature, int | float | np.integer | np.floating)
        if not number or isinstance(temperature, bool) or not 0 < temperature <= sys.float_info.max:
            raise InputError(f"temperature: {temperature!r} given; it is a positive finite number")
        if kind == "probabilities" and temperature != 1:
            raise InputError(
                f"temperature: {temperature!r} given with outputs='probabilities' (grove: --emits "
                "probabilities); a temperature divides logits: give those with outputs='logits' (grove: "
                "--emits logits), or np.log of the probabilities with outputs='log_probabilities' (grove: "
                "--emits log_probabilities)"
            )
        self.kind, self.temperature, self.n_columns = kind, float(temperature), n_columns
        self._absent = 0.0 if kind == "probabilities" else -np.inf

    def rows(self, P: Any, columns: tuple[str, ...] = ()) -> OutputRows:
        """Return outputs as rows; `columns` are named where their number is wrong.

        Raises
        ------
        WeightError
            For another shape, and a dtype that holds no real numbers.
        BindingError
            As for `named_order`.
        """
        if isinstance(P, _DenseRows | _SparseRows):
            return P
        if isinstance(P, SparseOutputs):
            return self._listed(P)
        sparse = sys.modules.get("scipy.sparse")
        if sparse is not None and sparse.issparse(P):
            if P.ndim != 2 or P.shape[1] != self.n_columns:
                raise wrong_shape("P", P.shape, self.n_columns, columns)
            csr = by_rows(P)
            _refuse_dtype("P", csr.dtype)
            return _SparseRows(csr.indptr, csr.indices, csr.data, self.n_columns)
        order = named_order("P", P, columns)
        given = np.atleast_2d(_array("P", P))
        if given.ndim != 2 or given.shape[1] != self.n_columns:
            raise wrong_shape("P", np.shape(P), self.n_columns, columns)
        return _DenseRows(given if order is None else given.take(order, axis=1))

    def chunks(
        self, rows: OutputRows, order: NDArray[np.int64] | None = None, *, independent: bool = False
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the first row and the weights of each chunk; column i is ``order[i]`` of the model.

        Parameters
        ----------
        rows : OutputRows
            What `rows` returned.
        order : ndarray of shape (n_columns,), dtype=int64, optional
            The model's own order by default.
        independent : bool, default=False
            Whether each number is a probability of its own, as in a model of several labels for a row: logits
            then go through the logistic function, nothing is above 1, and a row may be all zero.

        Raises
        ------
        WeightError
            For rows that break a rule, counted over all of them.
        """
        # without conversion, values are only moved: rounding does not depend on the order of columns
        step = max(1, min(_CHUNK_ROWS, _CHUNK_VALUES // self.n_columns))
        for start in range(0, len(rows), step):
            part = self._part(rows, slice(start, min(start + step, len(rows))), order)
            if independent:
                if any(bad.any() for _, bad in self._independent_faults(part)):
                    self._refuse(rows, step, self._independent_faults)
                yield start, self._chances(part)
            elif self.kind == "probabilities":
                with np.errstate(over="ignore", invalid="ignore"):
                    total = part.sum(axis=1)
                try:
                    refuse_bad_rows(part, total)
                except WeightError:
                    self._refuse(rows, step, row_faults)
                yield start, part
            else:
                yield start, self._softmax(part, rows, step)

    def _part(self, rows: OutputRows, of: slice, order: NDArray[np.int64] | None) -> NDArray[np.float64]:
        return rows.part(of, order, self._absent).astype(np.float64, order="C")

    def _softmax(self, part: NDArray[np.float64], rows: OutputRows, step: int) -> NDArray[np.float64]:
        largest = part.max(axis=1, keepdims=True)
        fair = np.isfinite(largest).all() and (self.kind == "logits" or largest.max() <= LARGEST_LOG)
        if not fair:
            self._refuse(rows, step, self._log_faults)
        with np.errstate(over="ignore"):  # what is too far below the largest is minus infinity
            part -= largest
            part /= self.temperature
        np.exp(part, out=part)
        part /= part.sum(axis=1, keepdims=True)
        return part

    def _chances(self, part: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.kind == "probabilities":
            return part
        if self.kind == "log_probabilities":
            np.minimum(part, 0.0, out=part)
        with np.errstate(over="ignore"):
            part /= self.temperature
        if self.kind == "log_probabilities":
            return np.exp(part, out=part)
        part *= 0.5  # the logistic function as a hyperbolic tangent never overflows
        np.tanh(part, out=part)
        part += 1.0
        part *= 0.5
        return part

    def _log_faults(self, rows: NDArray[np.float64]) -> Faults:
        above = np.any(rows > LARGEST_LOG, axis=1) & (self.kind == "log_probabilities")
        return (
            ("hold NaN or plus infinity", np.any(np.isnan(rows) | (rows == np.inf), axis=1)),
            ("hold a value above 0, which no log-probability is", above),
            ("are minus infinity alone", np.all(rows == -np.inf, axis=1)),
        )

    def _independent_faults(self, rows: NDArray[np.float64]) -> Faults:
        if self.kind != "probabilities":
            return self._log_faults(rows)[:2]
        return (
            ("hold NaN or infinity", ~np.all(np.isfinite(rows), axis=1)),
            ("hold a negative value", np.any(rows < 0, axis=1)),
            ("hold a value above 1", np.any(rows > 1, axis=1)),
        )

    def _refuse(
        self, rows: OutputRows, step: int, faults_of: Callable[[NDArray[np.float64]], Faults]
    ) -> None:
        """Raise for the first rule that any row breaks, with all rows that break it counted."""
        found: dict[str, list[int]] = {}
        for start in range(0, len(rows), step):
            part = self._part(rows, slice(start, min(start + step, len(rows))), None)
            for fault, bad in faults_of(part):
                found.setdefault(fault, []).extend((np.flatnonzero(bad) + start).tolist())
        fault, bad_rows = next((fault, at) for fault, at in found.items() if at)
        raise WeightError(
            f"P: {len(bad_rows)} rows {fault} (rows {first_few(bad_rows)}); {self._advice(fault)}"
        )

    def _advice(self, fault: str) -> str:
        if self.kind == "log_probabilities" and "above 0" in fault:
            return IF_LOGITS
        if self.kind != "probabilities":
            return "a row holds finite numbers, or minus infinity where the probability is 0"
        rule = "a row holds finite, non-negative numbers, at least one of them positive"
        if "negative" in fault or "above 1" in fault:
            return f"{rule}; {IF_LOGITS_OR_LOGS}"
        return rule

    def _listed(self, given: SparseOutputs) -> _SparseRows:
        indices = np.atleast_2d(_array("indices", given.indices, "iu"))
        values = np.atleast_2d(_array("values", given.values))
        endless = indices.size == 0 and len(indices) > _MOST_EMPTY_ROWS  # they cost a file nothing
        if indices.ndim != 2 or indices.shape != values.shape or endless:
            raise WeightError(
                f"P: indices of shape {indices.shape} and values of shape {values.shape}; both are "
                "(n_samples, m), and list something"
            )
        begin = np.arange(len(indices) + 1) * indices.shape[1]
        return _SparseRows(begin, indices.ravel(), values.ravel(), self.n_columns)


def wrong_shape(
    name: str, shape: tuple[int | None, ...], n_columns: int, columns: tuple[str, ...]
) -> WeightError:
    """Return the error of outputs that have not a column for each observed label; `columns` are named.

    Rows that nobody has counted are None in `shape`.
    """
    given = f"shape {shape}" if None not in shape else f"{shape[-1]} columns"
    transposed = "; it looks transposed: give P.T" if len(shape) == 2 and shape[0] == n_columns else ""
    named = f", in the order of adapter.observed: {first_few(columns)}" if columns else ""
    return WeightError(
        f"{name}: {given} given, expected (n_samples, {n_columns}); one column for each observed label{named}"
        f"{transposed}"
    )


def named_order(name: str, given: Any, columns: Sequence[str]) -> list[int] | None:
    """Return where a table has each of `columns`; None for what is to be read by position.

    Tables are what names its columns: data frames of pandas and polars, tables of pyarrow. One that has a
    column of each name is read by these names, one that has none of them by position.

    Raises
    ------
    BindingError
        For a table that has some of the columns, or one of them twice, or others beside them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> named_order("P", pa.table({"elm": [0.1], "oak": [0.9]}), ["oak", "elm"])
    [1, 0]
    """
    if isinstance(given, np.ndarray | list | tuple):
        return None
    labels = getattr(given, "column_names", None)  # of pyarrow, where `columns` are those themselves
    labels = labels if isinstance(labels, list) else getattr(given, "columns", None)
    if not isinstance(labels, Iterable):
        return None
    listed = list(labels)
    at = {label: i for i, label in enumerate(listed) if isinstance(label, str)}
    if at.keys().isdisjoint(columns):
        return None
    taken = {at[column] for column in columns if column in at}
    missing = [repr(column) for column in columns if column not in at]
    other = [repr(label) for i, label in enumerate(listed) if i not in taken]
    if missing or other:
        faults = [("it lacks ", missing), ("beside them, or twice, it has ", other)]
        raise BindingError(
            f"{name}: a table with some of the columns of the model: "
            f"{'; '.join(said + first_few(found) for said, found in faults if found)}. Name every column by "
            "the key of its label and leave others out, or give the numbers alone, columns in the order of "
            "the model"
        )
    return [at[column] for column in columns]


def by_rows(matrix: Any) -> Any:
    """Return a scipy.sparse matrix by rows, every index checked.

    scipy itself takes indices as they are, its compiled loops would follow them out of the matrix, and it
    would add up what coordinates name again.

    Raises
    ------
    WeightError
        For indices that do not fit the matrix, and where a row lists a column twice, as far as the change
        would hide it.
    """
    try:
        matrix = _sound(matrix)
        csr = matrix.tocsr()
        if csr is not matrix:
            csr = _sound(csr)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise WeightError(f"P: a damaged scipy matrix ({error}); make it again from sound arrays") from None
    if matrix.format in ("bsr", "coo") and csr.nnz < matrix.nnz:
        given = matrix.tocoo()
        by = np.lexsort((given.col, given.row))
        again = (np.diff(given.row[by]) == 0) & (np.diff(given.col[by]) == 0)
        raise _twice(int(given.row[by][1:][again][0]))
    return csr


def _sound(matrix: Any) -> Any:
    """Return a scipy.sparse matrix that shares its arrays with this one; what does not fit is an error."""
    if matrix.format == "coo":
        return type(matrix)((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    if matrix.format == "dia":
        return type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)
    if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
        raise ValueError("rows and data should list as many in each row")
    if matrix.format in ("csr", "csc", "bsr"):
        for index in (matrix.indptr, matrix.indices):
            if index.dtype.kind != "i":
                raise TypeError(f"indices of dtype {index.dtype}")
        matrix = copy.copy(matrix)  # scipy puts other arrays in the place of odd ones as it checks them
        matrix.check_format(full_check=True)
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # scipy takes differences, which overflow
            raise ValueError("indptr must be a non-decreasing sequence")
    return matrix


def _twice(row: int) -> WeightError:
    return WeightError(
        f"P: row {row} lists a column twice; list each once (a scipy matrix: call P.sum_duplicates() where "
        "values of one column add up)"
    )


def _array(name: str, given: Any, kinds: str = "iuf") -> NDArray[Any]:
    if isinstance(given, np.ma.MaskedArray):
        raise WeightError(f"{name}: a masked array has no number where it is masked; fill it first")
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise WeightError(f"{name}: rows of different lengths ({error}); give rows of one length") from None
    except (TypeError, RuntimeError) as error:  # what tensors on a device and with gradients raise
        raise WeightError(
            f"{name}: of type {type(given).__name__}, which numpy cannot read ({error}); give "
            "numbers in the memory of this machine, without gradients"
        ) from None
    if array.size or array.dtype.kind not in "f":  # an empty list has dtype float64
        _refuse_dtype(name, array.dtype, kinds)
    return array


def _refuse_dtype(name: str, dtype: np.dtype[Any], kinds: str = "iuf") -> None:
    if dtype.kind not in kinds:
        advice = "convert it with .astype(float) if its values are meant" if dtype.kind == "b" else ""
        wanted = "whole numbers" if kinds == "iu" else "real numbers"
        raise WeightError(f"{name}: dtype {dtype} given; give {wanted}{'; ' if advice else ''}{advice}")

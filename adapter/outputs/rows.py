"""Turn outputs of any form into rows: dense arrays, tables with named columns, and sparse outputs.

Dense arrays of any real dtype and memory order, and sparse outputs (`SparseOutputs`, scipy.sparse matrices),
give exactly the same rows if they contain the same numbers: sparse rows are made dense before anything is
computed from them.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.adapter.outputs.gate import ragged, refuse_dtype, wrong_axes, wrong_width
from labelgrove.ontology.errors import BindingError, WeightError, first_few

__all__ = [
    "DenseRows",
    "OutputRows",
    "Outputs",
    "SparseOutputs",
    "by_rows",
    "named_order",
    "rows_of",
]

_MOST_EMPTY_ROWS = 10**7


@dataclass(frozen=True)
class SparseOutputs:
    """Sparse outputs: only a few numbers for each row, such as those of a large model's best 100 classes.

    Attributes
    ----------
    indices : array_like of shape (n_samples, m), dtype=int
        Columns of the model, in any order; a row may list a column only once. An index of -1 marks an unused
        entry, whose value is ignored.
    values : array_like of shape (n_samples, m)
        Outputs in these columns: probabilities, log-probabilities or logits. A column that is not listed in a
        row has probability 0.

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


@dataclass(frozen=True)
class DenseRows:
    """Dense rows whose values are not yet checked.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Numbers in any real dtype; their columns are in the order of the model.
    columns : tuple of str
        Keys of the columns, for error messages.
    name : str
        Name of the source of the rows in error messages.
    first : int
        Row number, in the source, of the first of these rows.
    """

    values: NDArray[Any]
    columns: tuple[str, ...] = ()
    name: str = "P"
    first: int = 0

    def __len__(self) -> int:
        return len(self.values)

    def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
        """Return the rows in the slice `of` as an array.

        Column i of the array is column ``order[i]`` of these rows; if `order` is None, it is column i.
        """
        return self.values[of] if order is None else self.values[of].take(order, axis=1)

    def only(self, of: slice) -> DenseRows:
        """Return the rows in the slice `of`; messages still state their numbers in the source."""
        return replace(self, values=self.values[of], first=self.first + of.start)


@dataclass(frozen=True)
class SparseRows:
    """Sparse rows whose values are not yet checked.

    Row r lists the columns ``column[begin[r]:begin[r + 1]]``; the numbers in these columns are
    ``value[begin[r]:begin[r + 1]]``, in the same order.
    The other attributes are as for `DenseRows`.
    """

    begin: NDArray[Any]
    column: NDArray[Any]
    value: NDArray[Any]
    n_columns: int
    columns: tuple[str, ...] = ()
    name: str = "P"
    first: int = 0

    def __len__(self) -> int:
        return len(self.begin) - 1

    def part(self, of: slice, order: NDArray[np.int64] | None, absent: float) -> NDArray[Any]:
        """Return the rows in the slice `of` as a dense array.

        Column i of the array is column ``order[i]`` of these rows; if `order` is None, it is column i.
        Columns that a row does not list get the value `absent`.
        """
        begin = self.begin[of.start : of.stop + 1].astype(np.int64)
        column, value = self.column[begin[0] : begin[-1]], self.value[begin[0] : begin[-1]]
        row = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        listed = column != -1
        if not listed.all():
            row, column, value = row[listed], column[listed], value[listed]
        if len(column) and not (column.min() >= 0 and column.max() < self.n_columns):
            at = int(np.flatnonzero((column < 0) | (column >= self.n_columns))[0])
            raise WeightError(
                f"P: row {row[at] + of.start + self.first} lists column {column[at]}; a column must be "
                f"within 0..{self.n_columns - 1}, or -1 for an unused entry"
            )
        if order is not None:
            column = np.argsort(order)[column]
        out = np.full((len(begin) - 1, self.n_columns), absent)
        seen = np.zeros(out.shape, dtype=bool)
        seen[row, column] = True
        if np.count_nonzero(seen) < len(column):
            again = np.flatnonzero(np.bincount(row, minlength=len(out)) > seen.sum(axis=1))[0]
            raise _twice(int(again) + of.start + self.first)
        out[row, column] = value
        return out

    def only(self, of: slice) -> SparseRows:
        """Return the rows in the slice `of`; messages still state their numbers in the source."""
        return replace(self, begin=self.begin[of.start : of.stop + 1], first=self.first + of.start)


OutputRows = DenseRows | SparseRows
"""Outputs of known shape whose values are not yet checked."""

Outputs = ArrayLike | SparseOutputs | OutputRows
"""Input of the methods of an adapter, which also take scipy.sparse matrices and tables: see `named_order`."""


def rows_of(P: Any, n_columns: int, columns: tuple[str, ...] = ()) -> OutputRows:
    """Return outputs of any form as `DenseRows` or `SparseRows`.

    If the number of columns is wrong, the error message lists the first few keys in `columns`.

    Raises
    ------
    WeightError
        For a wrong shape, and for cells that are not real numbers.
    BindingError
        As for `named_order`.
    """
    if type(P) is np.ndarray and P.dtype.kind == "f" and P.ndim in (1, 2) and P.shape[-1] == n_columns:
        return DenseRows(P if P.ndim == 2 else P[None], columns)  # what follows would find nothing to do
    if isinstance(P, DenseRows | SparseRows):
        return P
    if isinstance(P, SparseOutputs):
        return _listed(P, n_columns, columns)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(P):
        if P.ndim != 2:
            raise wrong_axes("P", P.shape)
        if P.shape[1] != n_columns:
            raise wrong_width("P", P.shape, n_columns, columns)
        csr = by_rows(P)
        refuse_dtype("P", csr.dtype)
        return SparseRows(csr.indptr, csr.indices, csr.data, n_columns, columns)
    order = named_order("P", P, columns)
    given = np.atleast_2d(_array("P", P))
    if given.ndim != 2:
        raise wrong_axes("P", given.shape)
    if given.shape[1] != n_columns:
        raise wrong_width("P", np.shape(P) or (1,), n_columns, columns)
    return DenseRows(given if order is None else given.take(order, axis=1), columns)


def _listed(given: SparseOutputs, n_columns: int, columns: tuple[str, ...]) -> SparseRows:
    indices = np.atleast_2d(_array("indices", given.indices, "iu"))
    values = np.atleast_2d(_array("values", given.values))
    endless = indices.size == 0 and len(indices) > _MOST_EMPTY_ROWS  # empty rows take no space in a file
    if indices.ndim != 2 or indices.shape != values.shape or endless:
        raise WeightError(
            f"P: indices of shape {indices.shape} and values of shape {values.shape}; both must "
            "have the same shape (n_samples, m), with at least one entry"
        )
    begin = np.arange(len(indices) + 1) * indices.shape[1]
    return SparseRows(begin, indices.ravel(), values.ravel(), n_columns, columns)


def named_order(name: str, given: Any, columns: Sequence[str]) -> list[int] | None:
    """Return the position of each of `columns` in a table with named columns.

    Tables are data frames of pandas and polars, and tables of pyarrow. A table that has all of `columns` is
    read by name. A table that has none of them is read by position, and None is returned for it. None is also
    returned for outputs that are not a table.

    Raises
    ------
    BindingError
        For a table that has only some of `columns`. Also for a table that has all of them, if it repeats a
        column or has an additional one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> named_order("P", pa.table({"elm": [0.1], "oak": [0.9]}), ["oak", "elm"])
    [1, 0]
    """
    if isinstance(given, np.ndarray | list | tuple):
        return None
    labels = getattr(given, "column_names", None)  # pyarrow, whose `columns` holds the data
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
        faults = [("it lacks ", missing), ("it has in addition, or twice, ", other)]
        raise BindingError(
            f"{name}: the columns of the table differ from those of the model: "
            f"{'; '.join(said + first_few(found) for said, found in faults if found)}. Name every column by "
            "the key of its label and leave others out, or give only the numbers, with columns in the order "
            "of the model"
        )
    return [at[column] for column in columns]


def by_rows(matrix: Any) -> Any:
    """Return a scipy.sparse matrix in row format, with every index checked.

    scipy itself does not check indices: a wrong index would make its compiled code read outside the arrays.
    It would also add up the values of repeated coordinates.

    Raises
    ------
    WeightError
        For indices outside the matrix. Also for a row that lists a column twice, if converting the
        matrix to row format would merge the two entries.
    """
    try:
        matrix = _sound(matrix)
        csr = matrix.tocsr()
        if csr is not matrix:
            csr = _sound(csr)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise WeightError(f"P: a damaged scipy matrix ({error}); create it again from valid arrays") from None
    if matrix.format in ("bsr", "coo") and csr.nnz < matrix.nnz:
        given = matrix.tocoo()
        by = np.lexsort((given.col, given.row))
        again = (np.diff(given.row[by]) == 0) & (np.diff(given.col[by]) == 0)
        raise _twice(int(given.row[by][1:][again][0]))
    return csr


def _sound(matrix: Any) -> Any:
    """Check the arrays of a scipy.sparse matrix, and return a matrix that shares these arrays.

    An error such as `ValueError` or `TypeError` is raised if the arrays do not fit together.
    """
    if matrix.format == "coo":
        return type(matrix)((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    if matrix.format == "dia":
        return type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)
    if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
        raise ValueError("rows and data differ in length")
    if matrix.format in ("csr", "csc", "bsr"):
        for index in (matrix.indptr, matrix.indices):
            if index.dtype.kind != "i":
                raise TypeError(f"indices of dtype {index.dtype}")
        matrix = copy.copy(matrix)  # scipy replaces odd arrays as it checks them
        matrix.check_format(full_check=True)
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # scipy computes differences, which overflow
            raise ValueError("indptr must be a non-decreasing sequence")
    return matrix


def _twice(row: int) -> WeightError:
    return WeightError(
        f"P: row {row} lists a column twice; list each once (for a scipy matrix whose repeated entries are "
        "to be added, call P.sum_duplicates())"
    )


def _array(name: str, given: Any, kinds: str = "iuf") -> NDArray[Any]:
    if isinstance(given, np.ma.MaskedArray):
        raise WeightError(f"{name}: a masked array given; fill its masked cells first, with P.filled(value)")
    try:
        array = _without_bfloat16(np.asarray(_readable(given)))
    except ValueError as error:
        raise ragged(name, error) from None
    except (TypeError, RuntimeError) as error:  # raised by tensors on a device or with gradients
        raise WeightError(
            f"{name}: of type {type(given).__name__}, which numpy cannot read ({error}); give "
            "numbers in the memory of this machine, without gradients"
        ) from None
    if array.size or array.dtype.kind not in "f":  # an empty list has dtype float64
        refuse_dtype(name, array.dtype, kinds)
    return array


def _readable(given: Any) -> Any:
    """Return a tensor of PyTorch in bfloat16, which numpy does not read, as float32; all else unchanged."""
    if isinstance(given, np.ndarray | list | tuple):
        return given
    return given.float() if str(getattr(given, "dtype", "")) == "torch.bfloat16" else given


def _without_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in bfloat16, the dtype of the package ml_dtypes, as float32; both have the same values.

    The bits of a bfloat16 are the first half of those of a float32.
    """
    if array.dtype.kind != "V" or array.dtype.name != "bfloat16":
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)

"""Outputs of a model in files that may be larger than memory, read a few rows at a time.

=================  ==================================================================================
``.npy``           one array of two axes, memory-mapped
``.npz``           one array of two axes (or one of several, by name), read as it is unpacked
``.safetensors``   one array of two axes (or one of several, by name), memory-mapped
``.parquet``       a column of numbers for each label, read one row group at a time (needs pyarrow)
``.csv``           a header with the names of the columns, then lines of numbers, read line by line
=================  ==================================================================================

In ``.parquet`` and ``.csv`` files one column may contain the names of the samples instead (``id_column``).
Nothing is ever unpickled.
"""

from __future__ import annotations

import csv
import mmap
import os
import zipfile
from collections.abc import Collection, Container, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.arrayfiles import FAULTS, load_npy, npy_header
from labelgrove.adapter.outputs.gate import ragged, refuse_dtype, wrong_axes, wrong_dtype
from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import (
    ArtifactError,
    InputError,
    MissingExtraError,
    counted,
    first_few,
    no_such_file,
)
from labelgrove.ontology.geometry.weightfaults import bad_cell
from labelgrove.ontology.store.safetensors_file import read_safetensors

__all__ = ["FORMATS", "OutputFile", "is_number", "without_names"]

T = TypeVar("T")

FORMATS = (".npy", ".npz", ".safetensors", ".parquet", ".csv")
"""File name endings of the supported formats."""

_ID_COLUMNS = ("id", "", "__index_level_0__")
"""Names of columns that number or name samples; pandas writes an index under the last two."""

_LONGEST_LINE = 1 << 24
"""Most characters in a line of a .csv file; a longer line is not part of a table, and is not read whole."""

_IDS_AT_ONCE = 1 << 16

_GIVE_BACK: int | None = getattr(mmap, "MADV_DONTNEED", None)  # None where madvise is missing


class OutputFile:
    """A file with a row of outputs for each sample; it can be read from start to end several times.

    Parameters
    ----------
    path : str or path
        The file; its name's ending gives the format (see the module).
    array : str, optional
        Name of the array in a ``.npz`` or ``.safetensors`` file; not needed if the file has only one array of
        two axes.
    id_column : str, optional
        In a ``.csv`` or ``.parquet`` file: the name of the column that contains the samples' names. Its cells
        may contain anything.
    labels : container of str, optional
        Names that columns of outputs may have. They are used only if `id_column` is not given. A column
        is then taken as the column of the samples' names if its name is ``id`` (or ``ID``), or a name under
        which pandas writes an index, and `labels` does not contain this name. If neither `labels` nor
        `id_column` is given, all columns are read as outputs.
    keys : collection of str, optional
        Keys of the labels that have a column. They are needed for a ``.csv`` file if all keys are numbers: a
        first line of numbers is read as a header only if it consists of exactly these keys and not all of
        them are between 0 and 1.

    Attributes
    ----------
    path : Path
    columns : tuple of str or None
        Names of the columns with numbers, for ``.csv`` and ``.parquet`` files.
    id_column : str or None
        Name of the column that names the samples, if there is one; see `ids`.
    n_rows : int or None
        Number of rows; None for ``.csv``, because it is known only after the file was read.
    n_columns : int

    Raises
    ------
    NotFoundError
        If the file does not exist.
    InputError
        For a file that is empty, damaged or of another format; for an array that does not contain numbers or
        does not have two axes; and for a file without the column `id_column`.
    MissingExtraError
        For ``.parquet`` without pyarrow.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/p.npy", np.eye(3))
    ...     file = OutputFile(f"{folder}/p.npy")
    ...     file.n_rows, file.columns, [block.shape for block in file.blocks(2)]
    (3, None, [(2, 3), (1, 3)])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        array: str | None = None,
        id_column: str | None = None,
        labels: Container[str] | None = None,
        keys: Collection[str] = (),
    ) -> None:
        self.path = Path(path)
        self.id_column: str | None = None
        self._id: int | None = None
        self.columns: tuple[str, ...] | None = None
        self.n_rows: int | None = None
        self._array: NDArray[Any] | None = None
        self._mapped: mmap.mmap | None = None
        ending = self.path.suffix
        if ending not in FORMATS:
            raise InputError(f"{self.path}: ends in {ending!r}; give a file in one of {', '.join(FORMATS)}")
        if array is not None and ending not in (".npz", ".safetensors"):
            raise InputError(
                f"array: {array!r} given for {self.path}, which contains no named arrays; leave out array"
            )
        if id_column is not None and ending not in (".csv", ".parquet"):
            raise without_names(self.path, id_column)
        self._refuse_what_is_no_file()
        if ending == ".npy":
            self._array = load_npy(self.path, mmap_mode="r")
            self._mapped = self._array.base if isinstance(self._array.base, mmap.mmap) else None
            shape, dtype = self._array.shape, self._array.dtype
        elif ending == ".safetensors":
            self._array = self._mapped_safetensors(array)
            shape, dtype = self._array.shape, self._array.dtype
        elif ending == ".npz":
            self._member, shape, dtype = self._npz_member(array)
        elif ending == ".parquet":
            self.columns, n_rows = self._parquet_columns(id_column, labels)
            shape, dtype = (n_rows, len(self.columns)), np.dtype(np.float64)
        else:
            self.columns = self._without_ids(self._csv_header(keys), id_column, labels)
            shape, dtype = (-1, len(self.columns)), np.dtype(np.float64)
        refuse_dtype(str(self.path), dtype)
        if len(shape) != 2:
            raise wrong_axes(str(self.path), shape)
        self.n_rows = None if shape[0] < 0 else shape[0]
        self.n_columns = shape[1]

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time, as arrays of shape (m, n_columns).

        Only one block of a mapped file is in memory at a time.

        Raises
        ------
        InputError
            For a cell that is not a number; the message names the line or row, and the column.
        """
        if self._array is not None:
            for start in range(0, len(self._array), n_rows):
                yield self._array[start : start + n_rows]
                if self._mapped is not None and _GIVE_BACK is not None:
                    self._mapped.madvise(_GIVE_BACK)  # otherwise all blocks read so far stay in memory
        elif self.path.suffix == ".npz":
            yield from self._npz_blocks(n_rows)
        elif self.path.suffix == ".parquet":
            yield from self._parquet_blocks(n_rows)
        else:
            yield from self._csv_blocks(n_rows)

    def ids(self) -> Iterator[str] | None:
        """Return an iterator over the samples' names, read from the file; None if no column has them."""
        if self._id is None:
            return None
        return self._parquet_ids() if self.path.suffix == ".parquet" else self._csv_ids()

    def read(self) -> NDArray[Any]:
        """Return all rows in one array, memory-mapped if the format allows it."""
        if self._array is not None:
            return self._array
        parts = list(self.blocks(4096))
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns))

    def _refuse_what_is_no_file(self) -> None:
        """Raise an error for a path that cannot be read twice or would block, such as a pipe."""
        try:
            open_plain(self.path).close()
        except FileNotFoundError:
            raise no_such_file(self.path) from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error}); give a file you may read") from error

    def _without_ids(
        self, header: tuple[str, ...], id_column: str | None, labels: Container[str] | None
    ) -> tuple[str, ...]:
        """Find the column that names the samples, if any, and return the names of the other columns."""
        found = [] if id_column is None else [i for i, name in enumerate(header) if name == id_column]
        if id_column is not None and len(found) != 1:
            raise InputError(
                f"id_column: {self.path} has {len(found) or 'no'} columns named {id_column!r}; its columns "
                f"are {first_few([repr(name) for name in header])}; choose the one that names the rows"
            )
        if id_column is None and labels is not None:
            named = [name.lower() if name not in labels else None for name in header]
            found = [named.index(name) for name in _ID_COLUMNS if name in named]
        if not found:
            return header
        self._id = found[0]
        self.id_column = header[self._id]
        return self._others(header)

    def _others(self, cells: Sequence[T]) -> tuple[T, ...]:
        """Return `cells`, one for each column, without the cell of the column that names the samples."""
        if self._id is None:
            return tuple(cells)
        return (*cells[: self._id], *cells[self._id + 1 :])

    # ---- safetensors and npz ---------------------------------------------------------------------------

    def _mapped_safetensors(self, array: str | None) -> NDArray[Any]:
        try:
            with open_plain(self.path) as file:
                if os.fstat(file.fileno()).st_size == 0:
                    raise InputError(f"{self.path}: the file is empty; give one array of two axes")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._mapped = data
            arrays, _ = read_safetensors(data, name=str(self.path))
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error}); give a file you may read") from error
        except ArtifactError as error:
            raise InputError(f"{error}; give a .safetensors file with one array of two axes") from error
        return arrays[self._chosen({name: a.shape for name, a in arrays.items()}, array)]

    def _npz_member(self, array: str | None) -> tuple[str, tuple[int, ...], np.dtype[Any]]:
        found: dict[str, tuple[str, tuple[int, ...], bool, np.dtype[Any]]] = {}
        try:
            with zipfile.ZipFile(self.path) as archive:
                for name in archive.namelist():
                    if name.removesuffix(".npy") in found:
                        raise ValueError(f"two arrays are called {name.removesuffix('.npy')!r}")
                    with archive.open(name) as member:
                        found[name.removesuffix(".npy")] = name, *npy_header(member)
        except FAULTS as error:
            raise InputError(
                f"{self.path}: not a .npz file of arrays of numbers ({error}); write it again"
            ) from error
        name, shape, in_columns, dtype = found[self._chosen({n: f[1] for n, f in found.items()}, array)]
        if min(shape, default=0) < 0:
            raise InputError(
                f"{self.path}: array {name!r} has the shape {shape}, but no axis may be negative; write the "
                "file again"
            )
        if in_columns:
            raise InputError(
                f"{self.path}: array {name!r} is stored column by column, but a .npz file is read row by "
                "row; save the array as .npy, or save np.ascontiguousarray(P) in the .npz file"
            )
        return name, shape, dtype

    def _npz_blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(self._member) as member:
                shape, _, dtype = npy_header(member)
                width = shape[1] * dtype.itemsize
                for start in range(0, shape[0], n_rows):
                    n = min(n_rows, shape[0] - start)
                    data = member.read(n * width)
                    if len(data) != n * width:
                        raise InputError(
                            f"{self.path}: ends within row {start + len(data) // width}; write it again"
                        )
                    yield np.frombuffer(data, dtype).reshape(n, shape[1])
        except InputError:
            raise
        except FAULTS as error:
            raise InputError(f"{self.path}: cannot be unpacked ({error}); write it again") from error

    def _chosen(self, shapes: dict[str, tuple[int, ...]], array: str | None) -> str:
        listed = [f"{name!r} of shape {shape}" for name, shape in shapes.items()]
        if array is not None:
            if array not in shapes:
                raise InputError(
                    f"array: {self.path} has no array {array!r}; name one that it has: {first_few(listed)}"
                )
            return array
        tables = [name for name, shape in shapes.items() if len(shape) == 2]
        if len(tables) != 1:
            raise InputError(
                f"{self.path}: {len(tables)} arrays of two axes, expected one; the file contains "
                f"{first_few(listed) or 'no array'}; name one with array=... (grove: --array NAME)"
            )
        return tables[0]

    # ---- parquet ---------------------------------------------------------------------------------------

    def _parquet(self) -> Any:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "service", "reading .parquet files") from error
        try:
            return ParquetFile(self.path)
        except (OSError, ArrowException) as error:
            raise InputError(f"{self.path}: not a .parquet file ({error}); write it again") from error

    def _parquet_columns(
        self, id_column: str | None, labels: Container[str] | None
    ) -> tuple[tuple[str, ...], int]:
        from pyarrow import types

        try:
            with self._parquet() as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
                names = tuple(schema.names)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path}: a column has a name that is not UTF-8 ({error}); write it again"
            ) from error
        names = self._without_ids(names, id_column, labels)
        for name, held in zip(names, self._others(schema.types), strict=True):
            if not (types.is_integer(held) or types.is_floating(held)):
                advice = (
                    "leave the column out, or say id_column=... (grove: --id-column NAME) if it names rows"
                )
                raise wrong_dtype(f"{self.path}: column {name!r}", held, advice=advice)
        return names, n_rows

    def _parquet_blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        start = 0
        for batch in self._parquet_batches(n_rows):
            columns = self._others(batch.columns)
            for i, column in enumerate(columns):
                if column.null_count:
                    row = start + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                    raise bad_cell(str(self.path), row, i, self.columns or (), "nothing")
            yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in columns])
            start += len(batch)

    def _parquet_ids(self) -> Iterator[str]:
        for batch in self._parquet_batches(_IDS_AT_ONCE):
            for one in batch.column(self._id).to_pylist():
                yield "" if one is None else str(one)

    def _parquet_batches(self, n_rows: int) -> Iterator[Any]:
        from pyarrow import ArrowException

        with self._parquet() as file:
            try:
                yield from file.iter_batches(batch_size=n_rows)
            except (OSError, ArrowException) as error:
                raise InputError(f"{self.path}: a damaged page ({error}); write it again") from error

    # ---- csv -------------------------------------------------------------------------------------------

    def _csv_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield a pair for every line that is not empty: the line number and the list of its cells."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(self._short_lines(file))
                try:
                    for row in reader:
                        if row:
                            yield reader.line_num, [cell.strip() for cell in row]
                except csv.Error as error:
                    raise InputError(
                        f"{self.path}:{reader.line_num}: not comma-separated cells ({error}); write it again"
                    ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self.path}: cannot be read as UTF-8 text ({error}); save it as UTF-8"
            ) from error

    def _short_lines(self, file: TextIO) -> Iterator[str]:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise csv.Error(f"a line of more than {_LONGEST_LINE} characters")
            yield line

    def _csv_header(self, keys: Collection[str]) -> tuple[str, ...]:
        for line, header in self._csv_lines():
            if all(is_number(cell) for cell in header) and not _are_keys(header, keys):
                raise InputError(
                    f"{self.path}:{line}: the first line contains only numbers; a .csv file begins with "
                    "the names of its columns: put them in its first line, or save numbers without names as "
                    ".npy, or, if the names are numbers, add a first column that is called id and names the "
                    "rows (grove: --columns does not replace the header of a .csv file)"
                )
            return tuple(header)
        raise InputError(f"{self.path}: the file is empty; its first line must name the columns")

    def _csv_blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        lines = self._csv_lines()
        _, header = next(lines)
        names = self._others(header)
        start = 0
        while held := list(islice(lines, n_rows)):
            block = np.empty((len(held), len(names)))
            for i, (line, row) in enumerate(held):
                if len(row) != len(header):
                    cells_given = f"{counted(len(row), 'cell')} under a header of {len(header)}"
                    raise ragged(f"{self.path}:{line}", cells_given)
                cells = row if self._id is None else self._others(row)
                try:
                    block[i] = cells
                except ValueError:
                    j = next(j for j, cell in enumerate(cells) if not is_number(cell))
                    held_there = repr(cells[j]) if cells[j] else "nothing"
                    raise bad_cell(f"{self.path}:{line}", start + i, j, names, held_there) from None
            yield block
            start += len(block)

    def _csv_ids(self) -> Iterator[str]:
        for _, row in islice(self._csv_lines(), 1, None):
            yield row[self._id or 0]


def without_names(path: Path, id_column: str) -> InputError:
    """Return the error for an `id_column` that was given for a file without column names."""
    return InputError(
        f"id_column: {id_column!r} given for {path}, whose columns have no names; leave out id_column"
    )


def _are_keys(numbers: Sequence[str], keys: Collection[str]) -> bool:
    """Return whether `numbers` are exactly the keys, in any order, and not all between 0 and 1."""
    return sorted(numbers) == sorted(keys) and not all(0 <= float(cell) <= 1 for cell in numbers)


def is_number(cell: str) -> bool:
    """Return whether a cell of a table can be read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True

"""Numbers and names of samples in columns of Arrow, which are those of Parquet files too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.namedcolumns import NamedColumns
from labelgrove.adapter.outputs.gate import wrong_dtype
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.weightfaults import bad_cell

__all__ = ["names_of", "numbers_of", "refuse_text"]


def refuse_text(path: Path, columns: NamedColumns, schema: Any) -> None:
    """Raise an error if a column of a pyarrow schema contains neither numbers nor the names of the samples.

    Raises
    ------
    WeightError
        For such a column.
    """
    from pyarrow import types

    for name, held in zip(columns.numbers, columns.without_id(schema.types), strict=True):
        if not (types.is_integer(held) or types.is_floating(held)):
            advice = "leave the column out, or say id_column=... (grove: --id-column NAME) if it names rows"
            raise wrong_dtype(f"{path}: column {name!r}", held, advice=advice)


def numbers_of(path: Path, columns: NamedColumns, batch: Any, first: int) -> NDArray[Any]:
    """Return the columns of numbers of a record batch as one array; `first` is the number of its first row.

    Raises
    ------
    WeightError
        For an empty cell.
    """
    cells = columns.without_id(batch.columns)
    for i, column in enumerate(cells):
        if column.null_count:
            row = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise bad_cell(str(path), row, i, columns.numbers, "nothing")
    return np.column_stack([c.to_numpy(zero_copy_only=False) for c in cells])


def names_of(path: Path, columns: NamedColumns, batch: Any) -> Iterator[str]:
    """Yield the names of the samples of a record batch, which has a column of them; empty cells are empty.

    Raises
    ------
    InputError
        For values that Python cannot represent, such as times to the nanosecond or dates after the year
        9999.
    """
    column = batch.column(columns.id_index)
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError, LookupError) as error:
        raise InputError(
            f"{path}: column {columns.id_column!r}, which names the rows, has a value of type {column.type} "
            f"that cannot be read ({error}); give texts or numbers"
        ) from error
    for one in values:
        yield "" if one is None else str(one)

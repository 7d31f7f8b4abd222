"""Read a table as blocks of lines, from a text file or from Parquet, so that one reader serves both."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.readers.defects import Recorder
from labelgrove.ontology.readers.text.cells import write_cell
from labelgrove.ontology.readers.text.head import head
from labelgrove.ontology.readers.text.lines import Lines, is_bomb

__all__ = ["PARQUET", "is_parquet", "parquet_names", "table_blocks"]

PARQUET = b"PAR1"
"""First bytes of every Parquet file."""

_ROWS_TOGETHER = 1 << 14


def is_parquet(path: Path) -> bool:
    """Return whether a file begins like a Parquet file; if it cannot be read, its reader will report it."""
    return head(path).start.startswith(PARQUET)


def table_blocks(path: Path, recorder: Recorder) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a table in blocks, as `Lines.blocks` does.

    A Parquet file gives the lines that it would have as text: the header is line 1, cells are separated by
    tabs and quoted if needed, empty cells stand for missing values, and lists are written as JSON. A damaged
    file is reported.

    Raises
    ------
    MissingExtraError
        For a Parquet file if pyarrow is not installed.
    """
    start = head(path)
    if not start.start.startswith(PARQUET):
        yield from Lines(path, recorder).blocks()
        return
    if start.packed:
        recorder.add("parquet-damaged", str(path), 0, "it is packed with gzip: unpack it with gunzip")
        return
    number = 1
    try:
        if excess := _excess(path):
            recorder.add("parquet-bomb", str(path), 0, excess)
            return
        for lines in _parquet_lines(path):
            yield number, lines
            number += len(lines)
    except (OSError, ValueError, _arrow_error()) as error:
        recorder.add("parquet-damaged", str(path), 0, " ".join(str(error).split()))


def parquet_names(path: Path) -> list[str] | None:
    """Return the names of the columns of a Parquet file; None if it is damaged.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
    try:
        with _opened(path) as file:
            return list(file.schema_arrow.names)
    except (OSError, ValueError, _arrow_error()):
        return None


def _excess(path: Path) -> str:
    """Return a text that says that a file unpacks to far too much; empty if it does not."""
    with _opened(path) as file:
        held, n_rows = file.metadata, file.metadata.num_rows
        unpacked = sum(held.row_group(i).total_byte_size for i in range(held.num_row_groups))
    packed = path.stat().st_size
    says = f"{n_rows:,} rows and {unpacked:,} bytes unpacked from {packed:,}"
    return says if is_bomb(unpacked, packed) or is_bomb(n_rows, packed) else ""


def _opened(path: Path) -> Any:
    _arrow_error()
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path)


def _arrow_error() -> type[Exception]:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "service", "reading Parquet") from error
    found: type[Exception] = pyarrow.ArrowException
    return found


def _parquet_lines(path: Path) -> Iterator[list[str]]:
    with _opened(path) as file:
        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        yield ["\t".join(write_cell(name, "tab") for name in names)]
        for batch in file.iter_batches(batch_size=_ROWS_TOGETHER, columns=names):
            columns = [list(map(_cell, column.to_pylist())) for column in batch.columns]
            rows = zip(*columns, strict=True)
            while lines := ["\t".join(row) for row in islice(rows, _ROWS_TOGETHER)]:
                yield lines


def _cell(value: Any) -> str:
    if type(value) is str:
        if "\n" in value or "\r" in value:
            return '"' + value.replace('"', '""') + '"'
        return write_cell(value, "tab")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return write_cell(value.decode("utf-8", "replace"), "tab")
    if isinstance(value, (list, dict)):
        return write_cell(json.dumps(value, ensure_ascii=False, default=str), "tab")
    return write_cell(str(value), "tab")

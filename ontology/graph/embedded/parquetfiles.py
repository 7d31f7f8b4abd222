"""Write the rows of a bulk load to Parquet files, which the embedded engine then reads with COPY."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.graph.annotationtables import ShownAnnotations
from labelgrove.ontology.graph.labeltables import ROWS_TOGETHER
from labelgrove.ontology.graph.results import GraphResult, ResultTable, result_tables
from labelgrove.ontology.graph.resultschema import result_schema

__all__ = [
    "Columns",
    "description_rows",
    "name_rows",
    "path_literal",
    "result_columns",
    "write_parquet",
]

Columns = Callable[[int, int], Mapping[str, Any]]
"""Takes ``start`` and ``stop``; returns rows ``start`` to ``stop`` (exclusive).

Each column is a list, a numpy array or an Arrow array.
"""


def write_parquet(path: Path, n_rows: int, columns: Columns) -> None:
    """Write a table to a Parquet file, part by part; `n_rows` must be at least 1.

    The file is not compressed, because it is read once and then removed.
    """
    import pyarrow
    import pyarrow.parquet

    with ExitStack() as opened:
        writer = None
        for start in range(0, n_rows, ROWS_TOGETHER):
            piece = columns(start, min(start + ROWS_TOGETHER, n_rows))
            table = pyarrow.table({n: pyarrow.array(c) for n, c in piece.items()})
            writer = writer or opened.enter_context(
                pyarrow.parquet.ParquetWriter(path, table.schema, compression="none")
            )
            writer.write_table(table)


def name_rows(shown: ShownAnnotations, start: int, stop: int) -> dict[str, list[Any]]:
    """Return rows `start` to `stop` (exclusive) of the table of names of a version."""
    return shown.name_columns(np.arange(start, stop))


def description_rows(
    shown: ShownAnnotations, labels: NDArray[np.int64], start: int, stop: int
) -> dict[str, Any]:
    """Return rows `start` to `stop` (exclusive) of the table of descriptions of some labels."""
    import pyarrow

    columns: dict[str, Any] = shown.description_columns(labels[start:stop])
    return columns | {"definition": pyarrow.array(columns["definition"], pyarrow.string())}


def result_columns(result: GraphResult) -> Iterator[tuple[str, int, Columns]]:
    """Yield (name, number of rows, columns) of each table of a result; nodes come before relationships."""
    node: dict[str, list[Any]] = {"id": [result.id], "version": [result.graph.digest]}
    node |= {name: [result.properties[name]] for name in result_schema().properties[result.label]}
    yield result.label, 1, lambda *_: node
    for table in result_tables(result):
        if not table.n_rows:
            continue
        if table.type == "HAS":
            yield "Supernode", table.n_rows, partial(_picked, table, ("target", "version", "size"))
            yield "HAS", table.n_rows, partial(_picked, table, ("source", "target"))
        else:
            yield table.type, table.n_rows, table.columns


def _picked(table: ResultTable, names: Sequence[str], start: int, stop: int) -> dict[str, list[Any]]:
    columns = table.columns(start, stop)
    return {name: columns[name] for name in names}


def path_literal(path: Path) -> str:
    """Return the path as a Cypher string; escape ``*`` and the like, which the engine would expand."""
    escaped = glob.escape(str(path)).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

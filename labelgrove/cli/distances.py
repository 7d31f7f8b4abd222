"""``grove distances``: blocks of distances, and what they look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.outfile import array_file, write_file
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note, say
from labelgrove.cli.printing.texttable import table

__all__ = ["distances"]

_MOST_SHOWN = 10_000


@click.command()
@with_space
@click.option(
    "--columns",
    metavar=KEYS,
    shell_complete=files(),
    required=True,
    help="Labels to measure from: the columns.",
)
@click.option(
    "--rows",
    metavar=KEYS,
    shell_complete=files(),
    help="Labels to measure to: the rows; every allowed label by default.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A .npy file to write; the keys go beside it, to .rows.txt and .columns.txt.",
)
@json_option
def distances(stored: StoredSpace, columns: str, rows: str | None, out: Path | None, as_json: bool) -> None:
    """Measure the distances of ONTOLOGY between labels, and show them, or write them to a file.

    A matrix is printed where it is small; of a large one, how far the labels are.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.geometry import pairwise_distances

    if out is not None and out.suffix != ".npy":
        raise InputError(f"--out {out}: name a .npy file")
    space = stored.space
    column_keys, row_keys = stored.keys(columns), stored.keys(rows) or tuple(space.keys)
    shape = (len(row_keys), len(column_keys))
    if out is None and as_json and shape[0] * shape[1] > _MOST_SHOWN:
        raise InputError(f"--json: {shape[0]:,} x {shape[1]:,} distances; write so many to a file with --out")
    with (
        Progress(f"{shape[0]:,} x {shape[1]:,} distances").shown(),
        array_file(out, space.distance_dtype, shape) as array,
    ):
        matrix = pairwise_distances(
            space,
            None if rows is None else space.index(row_keys),
            space.point_index(column_keys),
            out=array,
        )
    document: dict[str, Any] = stored.document() | {
        "shape": list(shape),
        "dtype": str(matrix.dtype),
        "mean": float(matrix.mean()),
        "largest": float(matrix.max()),
    }
    summary = (
        f"{shape[0]:,} x {shape[1]:,} distances in {matrix.dtype}: "
        f"mean {document['mean']:.4g}, largest {document['largest']:g}"
    )
    note(summary)
    if out is not None:
        for what, keys in (("rows", row_keys), ("columns", column_keys)):
            beside = out.with_suffix(f".{what}.txt")
            write_file(beside, ("\n".join(keys) + "\n").encode(), f"the keys of the {what}")
        note(f"wrote the distances to {out}")
    elif matrix.size <= _MOST_SHOWN:
        document |= {"rows": row_keys, "columns": column_keys, "distances": matrix.tolist()}
    if as_json:
        emit(document, as_json, summary)
    elif "rows" in document:
        say(table(("", *column_keys), [(k, *r) for k, r in zip(row_keys, matrix.tolist(), strict=True)]))

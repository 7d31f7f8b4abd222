"""``grove distances``: measure distances between labels, and show, summarize or write them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.outfile import array_file, write_axes
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note, say
from labelgrove.cli.printing.texttable import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distances"]

_MOST_SHOWN = 10_000


@click.command()
@with_space
@click.option(
    "--columns",
    metavar=KEYS,
    shell_complete=files(),
    required=True,
    help="Labels to measure from, one column each.",
)
@click.option(
    "--rows",
    metavar=KEYS,
    shell_complete=files(),
    help="Labels to measure to, one row each; by default every allowed label.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A .npy file to write; the keys are written to files next to it, with the endings "
    ".rows.txt and .columns.txt.",
)
@json_option
def distances(stored: StoredSpace, columns: str, rows: str | None, out: Path | None, as_json: bool) -> None:
    """Measure distances between labels of ONTOLOGY, and print them or write them to a file.

    The matrix is printed if it has at most 10,000 distances; otherwise only the mean and the largest distance
    are printed.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.geometry import pairwise_distances

    if out is not None and out.suffix != ".npy":
        raise InputError(f"--out {out}: distances are written as .npy; name a .npy file")
    space = stored.space
    column_keys, row_keys = stored.keys(columns), stored.keys(rows) or tuple(space.keys)
    shape = (len(row_keys), len(column_keys))
    if out is None and as_json and shape[0] * shape[1] > _MOST_SHOWN:
        raise InputError(
            f"--json: {shape[0]:,} x {shape[1]:,} distances are too many to print; write them to a file "
            "with --out"
        )
    title = f"{shape[0]:,} x {shape[1]:,} distances"
    with nullcontext() if out is None else array_file(out, space.distance_dtype, shape) as array:
        if rows is None and shape[0] * shape[1] > _MOST_SHOWN:
            matrix = _stored(stored, title, column_keys)
            if array is not None:
                array[:] = matrix
        else:  # few distances, or chosen rows; a job always measures to every allowed label
            with Progress(title).shown():
                indices = None if rows is None else space.index(row_keys)
                matrix = pairwise_distances(space, indices, space.point_index(column_keys), out=array)
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
        write_axes(out, row_keys, column_keys)
    elif matrix.size <= _MOST_SHOWN:
        document |= {"rows": row_keys, "columns": column_keys, "distances": matrix.tolist()}
    if as_json:
        emit(document, as_json, summary)
    elif "rows" in document:
        say(table(("", *column_keys), [(k, *r) for k, r in zip(row_keys, matrix.tolist(), strict=True)]))


def _stored(stored: StoredSpace, title: str, columns: tuple[str, ...]) -> NDArray[Any]:
    """Return the distances from every allowed label to each label in `columns`; a job computes them.

    There is a row for each allowed label. The columns are in the order of `columns`.
    """
    import numpy as np

    from labelgrove.workers.kinds.distances import read_distances

    digest = stored.answer(title, "distances", {"columns": columns})
    found = read_distances(stored.workspace.artifacts, digest, stored.graph)
    matrix, places = found.distances(), found.point_index(columns)
    return matrix if (np.diff(places) == 1).all() else matrix[:, places]

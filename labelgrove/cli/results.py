"""``grove jobs result``: show or write the result of a job, in the form that the kind of the job defines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import jobs
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.outfile import array_file, write_axes, write_file, write_rows
from labelgrove.cli.printing.spreadsheet import check_safe, safe_option
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MatrixSpace
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds import Description, JobResult

__all__ = ["result"]

_MOST_SHOWN = 100


@click.command()
@click.argument("job", shell_complete=jobs("done"))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, .csv or .json. Distances are written to a .npy file, and the keys of their rows and "
    "columns to two files next to it. The file of a bundle may have any name.",
)
@safe_option
@json_option
@with_workspace
def result(workspace: Workspace, job: str, out: Path | None, safe: bool, as_json: bool) -> None:
    """Show the result of a done JOB, or write it to a file; JOB is its id or the start of its id.

    \b
    grove jobs result 08d0a9 --out cover.csv
    """
    from labelgrove.documents.jobs import describe_result

    check_safe(safe, out is not None and out.suffix == ".csv", "name a .csv file with --out")
    document, read, shown = describe_result(workspace, job)
    if out is not None:
        _write(read, shown, document, out, safe)
    note(shown.line)
    if not as_json and len(shown.rows) > _MOST_SHOWN:
        note(f"the first {_MOST_SHOWN} of {len(shown.rows):,} are shown; --out FILE or --json gives all")
    if as_json or shown.columns:
        emit(document, as_json, lambda: table(shown.columns, shown.rows[:_MOST_SHOWN]))


def _write(result: JobResult, shown: Description, document: dict[str, Any], out: Path, safe: bool) -> None:
    from labelgrove.ontology.results import pack_document

    is_json = out.suffix == ".json"
    if shown.matrix is not None and not is_json:
        _write_matrix(shown.matrix, out)
    elif is_json and shown.is_document:
        write_file(out, pack_document(shown.document["document"]), "the document")
    elif not is_json and shown.is_file:
        write_file(out, result.artifacts.read_bytes(result.sha256), f"the {result.kind}")
    else:
        write_rows(out, document, *(shown.file or (shown.columns, shown.rows)), safe=safe)


def _write_matrix(space: MatrixSpace, out: Path) -> None:
    from labelgrove.ontology.errors import InputError

    if out.suffix != ".npy":
        raise InputError(
            f"--out {out}: name a .npy file for the distances, or a .json file for their shape, mean and "
            "maximum"
        )
    matrix = space.distances()
    with array_file(out, matrix.dtype, matrix.shape) as written:
        written[:] = matrix
    write_axes(out, space.keys, space.points)

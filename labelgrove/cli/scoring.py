"""``grove score``: answer the outputs of a model."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import read_keys
from labelgrove.cli.options.model import load_model, model_options
from labelgrove.cli.printing.outfile import give
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.spreadsheet import check_safe, safe_option
from labelgrove.cli.printing.text import in_options, json_option, json_text, note
from labelgrove.documents.answers import CANDIDATES, answers, candidates_of, explanation, header, one_row
from labelgrove.documents.spreadsheet import as_csv

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["score"]


@contextmanager
def _naming_candidates(given: str | None) -> Iterator[None]:
    """Extend the message of an error about unknown labels that the ``with`` block raises.

    The message then also says what ``--candidates`` accepts.
    """
    from labelgrove.ontology.errors import UnknownLabelError
    from labelgrove.ontology.spelling import close_words

    try:
        yield
    except UnknownLabelError as error:
        if str(error).startswith("candidates: "):  # this error is about a subtree
            raise
        near = close_words(given or "", CANDIDATES, 1)
        raise UnknownLabelError(
            f"--candidates {given}: {error}{'; a similar word: ' if near else ''}{''.join(near)}; give "
            f"{', '.join(CANDIDATES)}, a file with one label per line, or key,key,..."
        ) from None


@click.command()
@model_options
@click.option(
    "--top", default=1, show_default=True, type=click.IntRange(1), help="Number of answers for each row."
)
@click.option(
    "--candidates",
    metavar="leaves|observed|locus|subtree:KEY|FILE|KEYS",
    shell_complete=files(*CANDIDATES[:-1], "subtree:"),
    help="The labels that may be an answer; all by default. leaves: labels without children; observed: the "
    "observed labels; locus: labels that are the best answer to some outputs; subtree:KEY: a label and all "
    "labels below it; or a file with one label per line, or key,key,...",
)
@click.option(
    "--beta",
    type=float,
    default=2.0,
    show_default=True,
    help="Exponent of the distances; 1 gives Fréchet medians.",
)
@click.option(
    "--explain",
    metavar="ROW",
    type=click.IntRange(0),
    help="Explain the answer to this row, counted from 0; answer no other row.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, as JSON if its name ends in .json; stdout by default.",
)
@safe_option
@json_option
def score(
    bundle: str,
    outputs: Path,
    top: int,
    candidates: str | None,
    beta: float,
    explain: int | None,
    out: Path | None,
    safe: bool,
    as_json: bool,
    **model: Any,
) -> None:
    """Answer each row of OUTPUTS with a label of BUNDLE, which may be one that the model never saw.

    BUNDLE is ``ontology/name``, a path or a digest of 64 hex digits. OUTPUTS is a .npy, .npz, .safetensors,
    .parquet, .arrow or .csv file with a row for each sample and a column for each class. If rows list only a
    few classes each, OUTPUTS is a .npz or .safetensors file with the arrays ``indices`` and ``values``, or a
    file of scipy.sparse.save_npz.

    Each answer is printed with its Fréchet variance. The first answer to a row also shows how many labels are
    tied for first place. If a column of OUTPUTS names the rows, each answer has the name of its row as id.
    """
    from labelgrove.adapter.outputs.outputkinds import KindSeen

    _check_ending(out)
    as_document = as_json if out is None else out.suffix == ".json"
    check_safe(safe, explain is None and not as_document, "leave out --json, --explain and a .json file")
    adapter, values = load_model(bundle, outputs, beta=beta, **model)
    among = candidates_of(candidates, read_keys)
    if explain is not None:
        given = one_row(adapter, values, explain, f"--explain {explain}: {outputs}")
        with _naming_candidates(candidates):
            if as_document:
                text = json_text(explanation(adapter, given, among))
            else:
                text = str(adapter.explain(given, candidates=among))
        give(f"{text}\n", out, f"the explanation of row {explain}")
        return
    seen, columns = KindSeen(adapter.outputs), header(values)
    with Progress("score").shown() as progress, _naming_candidates(candidates):

        def told(n_rows: int) -> None:
            progress(f"{n_rows:,} rows")

        rows = list(answers(adapter, values, top, among, seen=seen, progress=told))
    if (said := seen.note()) is not None:
        note(f"note: {in_options(said)}")
    if as_document:
        text = json_text([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        text = as_csv(columns, rows, safe=safe)
    give(f"{text}\n", out, f"{len(rows):,} answers")


def _check_ending(out: Path | None) -> None:
    """Raise an error if the file for the answers is named like a file of arrays, such as .npy.

    These endings, and .csv, are those of files with outputs of a model (`FORMATS`). Answers are written only
    as CSV or JSON.
    """
    from labelgrove.adapter.outputs.outputfiles import FORMATS
    from labelgrove.ontology.errors import InputError

    if out is not None and out.suffix in FORMATS and out.suffix != ".csv":
        raise InputError(f"--out {out}: answers are written as CSV or JSON; name a .csv or a .json file")

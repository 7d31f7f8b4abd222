"""``grove score``: answer each row of the outputs of a model with a label.

The options for outputs are defined here too, for all commands that read outputs.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import bundles, files
from labelgrove.cli.options.labels import read_keys, with_hint_on_lines
from labelgrove.cli.printing.outfile import give
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.spreadsheet import as_csv, check_safe, safe_option
from labelgrove.cli.printing.text import in_options, json_option, json_text, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from labelgrove.adapter import Adapter, Binding, Bundle, SparseOutputs, Subtree
    from labelgrove.adapter.outputs.outputfiles import OutputFile
    from labelgrove.adapter.outputs.rows import OutputRows

__all__ = ["load_model", "model_options", "score"]

_IN_BUNDLE_ORDER = "bundle"
_RULES = ("leaves", "locus", "observed")
_BELOW = "subtree:"


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the arguments for a bundle and for outputs of a model, and the options for outputs."""
    options = (
        click.argument("bundle", shell_complete=bundles),
        click.argument("outputs", type=click.Path(path_type=Path)),
        click.option(
            "--columns",
            metavar="FILE|KEYS|bundle",
            shell_complete=files("bundle"),
            help="The classes of the columns, in order: a file with one per line, or key,key,...; `bundle` "
            "for the order in which the bundle was built; or a saved binding (.json). A .csv or .parquet "
            "file names its columns itself; if --columns is also given, the two must agree.",
        ),
        click.option(
            "--by",
            type=click.Choice(["auto", "key", "name"]),
            default="auto",
            show_default=True,
            help="Whether columns and true labels are given by key or by name.",
        ),
        click.option(
            "--outputs",
            "output_kind",
            type=click.Choice(["probabilities", "log_probabilities", "logits"]),
            default="probabilities",
            show_default=True,
            help="The kind of numbers in OUTPUTS.",
        ),
        click.option(
            "--temperature",
            type=float,
            default=1.0,
            show_default=True,
            help="The number by which logits and log-probabilities are divided.",
        ),
        click.option("--array", help="The array to read from a .npz or .safetensors file that has several."),
        click.option(
            "--id-column",
            metavar="NAME",
            help="The column of a .csv or .parquet file that names its rows. By default a column called id "
            "or an index of pandas, unless it is a class.",
        ),
    )
    wrapped = _naming_options(command)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _naming_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Rewrite errors of a command that begin with the name of a Python argument.

    The name is replaced by the option that gave the argument, or by the path of the outputs file.
    """
    from labelgrove.ontology.errors import InputError

    @functools.wraps(command)
    def run(*args: Any, outputs: Path, **kwargs: Any) -> Any:
        try:
            return command(*args, outputs=outputs, **kwargs)
        except InputError as error:
            argument, colon, said = str(error).partition(": ")
            called = {p.name: p.opts[0] for p in click.get_current_context().command.params}
            called["P"] = str(outputs)
            if colon and argument in called:
                error.args = (f"{called[argument]}: {said}",)
            raise

    return run


def load_model(
    bundle: str,
    outputs: Path,
    *,
    columns: str | None,
    by: Any,
    output_kind: Any,
    temperature: float,
    array: str | None,
    id_column: str | None,
    beta: float = 2.0,
) -> tuple[Adapter, OutputFile | SparseOutputs | Any]:
    """Open the bundle and the outputs, dense or sparse, and bind the columns to labels.

    The columns are not assumed to be in the order of the bundle unless ``--columns bundle`` says so.
    """
    from labelgrove.adapter import Adapter, open_bundle
    from labelgrove.adapter.outputs.opening import open_outputs
    from labelgrove.adapter.outputs.outputfiles import OutputFile

    opened = open_bundle(bundle)
    keys = opened.observed_keys
    labels = {*keys, *opened.observed_names}
    found = open_outputs(outputs, array=array, id_column=id_column, labels=labels, keys=keys)
    header = found.columns if isinstance(found, OutputFile) else None
    names = _column_names(outputs, columns, header, opened, by)
    with with_hint_on_lines(names):
        adapter = Adapter(opened, names, by=by, outputs=output_kind, temperature=temperature, beta=beta)
    if isinstance(found, OutputFile) and found.id_column is not None and id_column is None:
        note(f"note: column {found.id_column!r} of {outputs} is taken to name its rows (--id-column)")
    return adapter, found


def _column_names(
    outputs: Path, columns: str | None, header: tuple[str, ...] | None, bundle: Bundle, by: Any
) -> Sequence[str] | Binding | None:
    """Return the names of the columns; None if they are in the order in which the bundle was built."""
    from labelgrove.ontology.errors import BindingError

    if columns is None:
        if header is None:
            raise BindingError(
                f"{outputs}: a {outputs.suffix} file has no column names; name the classes of your model, "
                "in order, with --columns FILE, or give --columns bundle if they have the order in which "
                "the bundle was built"
            )
        return header
    given: Sequence[str] | Binding | None = None
    if columns.endswith(".json"):
        from labelgrove.adapter import Binding

        given = Binding.load(columns)
    elif columns != _IN_BUNDLE_ORDER:
        given = read_keys(columns)
    if header is not None:
        with with_hint_on_lines(given):
            _check_agreement(outputs, header, given, bundle, by)
    return given


def _check_agreement(
    outputs: Path, header: Sequence[str], given: Sequence[str] | Binding | None, bundle: Bundle, by: Any
) -> None:
    """Raise `BindingError` if the header of the outputs contradicts ``--columns``.

    A header of the numbers 0, 1, 2, ... is ignored, because it names no labels.
    """
    import numpy as np

    from labelgrove.adapter import bind
    from labelgrove.adapter.columns.labelnames import key_and_name
    from labelgrove.ontology.errors import BindingError

    keys, names = bundle.observed_keys, bundle.observed_names
    if list(header) == [str(i) for i in range(len(header))] and set(header).isdisjoint({*keys, *names}):
        return
    asked = np.arange(len(keys)) if given is None else np.argsort(bind(given, keys, names, by=by))
    try:
        found = np.argsort(bind(header, keys, names, by=by))
    except BindingError as error:
        raise BindingError(
            f"{outputs}: its header does not agree with --columns: {error}\ngive it the names of --columns, "
            "or save the numbers without names, as .npy"
        ) from None
    if (asked != found).any():
        at = int(np.flatnonzero(asked != found)[0])
        theirs, ours = (key_and_name(int(order[at]), keys, names) for order in (found, asked))
        raise BindingError(
            f"{outputs}: column {at} is {theirs} by its header and {ours} by --columns; correct one of them, "
            "or leave --columns out"
        )


def _candidates(given: str | None) -> str | list[str] | Subtree | None:
    """Return the value of ``--candidates`` in the form that the adapter accepts."""
    from labelgrove.adapter import Subtree

    if given is None or given in _RULES:
        return given
    return Subtree(given.removeprefix(_BELOW)) if given.startswith(_BELOW) else read_keys(given)


@contextmanager
def _naming_candidates(given: str | None) -> Iterator[None]:
    """If the block raises an error about unknown labels, add what ``--candidates`` accepts to it."""
    from labelgrove.ontology.errors import UnknownLabelError
    from labelgrove.ontology.spelling import close_words

    try:
        yield
    except UnknownLabelError as error:
        if str(error).startswith("candidates: "):  # this error is about a subtree
            raise
        words = (*_RULES, f"{_BELOW}KEY")
        near = close_words(given or "", words, 1)
        raise UnknownLabelError(
            f"--candidates {given}: {error}{'; a similar word: ' if near else ''}{''.join(near)}; give "
            f"{', '.join(words)}, a file with one label per line, or key,key,..."
        ) from None


@click.command()
@model_options
@click.option(
    "--top", default=1, show_default=True, type=click.IntRange(1), help="Number of answers for each row."
)
@click.option(
    "--candidates",
    metavar="leaves|observed|locus|subtree:KEY|FILE|KEYS",
    shell_complete=files(*_RULES, _BELOW),
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
    .parquet or .csv file with a row for each sample and a column for each class. If rows list only a few
    classes each, OUTPUTS is a .npz or .safetensors file with the arrays ``indices`` and ``values``, or a file
    of scipy.sparse.save_npz.

    Each answer is printed with its Fréchet variance. The first answer to a row also shows how many labels are
    tied for first place. If a column of OUTPUTS names the rows, each answer has the name of its row as id.
    """
    as_document = as_json if out is None else out.suffix == ".json"
    check_safe(safe, explain is None and not as_document, "leave out --json, --explain and a .json file")
    adapter, values = load_model(bundle, outputs, beta=beta, **model)
    among = _candidates(candidates)
    if explain is not None:
        from dataclasses import asdict

        given = _one_row(adapter, outputs, values, explain)
        with _naming_candidates(candidates):
            found = adapter.explain(given, candidates=among)
        text = json_text(asdict(found)) if as_document else str(found)
        give(f"{text}\n", out, f"the explanation of row {explain}")
        return
    ids = ("id",) if getattr(values, "id_column", None) is not None else ()
    header = ("row", *ids, "rank", "key", "name", "variance", "n_tied")
    with Progress("score").shown() as progress, _naming_candidates(candidates):
        rows = list(_answers(adapter, values, top, among, progress))
    if as_document:
        text = json_text([dict(zip(header, row, strict=True)) for row in rows])
    else:
        text = as_csv(header, rows, safe=safe)
    give(f"{text}\n", out, f"{len(rows):,} answers")


def _answers(
    adapter: Adapter, values: Any, top: int, among: Any, progress: Progress
) -> Iterator[tuple[int | float | str | None, ...]]:
    """Yield a line for each answer; outputs in a file are read block by block, so they may exceed memory."""
    from labelgrove.adapter.outputs.kinds import KindSeen
    from labelgrove.adapter.outputs.outputfiles import OutputFile

    names, seen = adapter.names, KindSeen(adapter.outputs)
    file = values if isinstance(values, OutputFile) else None
    ids = None if file is None else file.ids()
    for rows in adapter.blocks(values):
        ranking = adapter.top_k(rows, top, candidates=among)
        if file is not None:  # sparse rows need not sum to 1
            seen.add(rows.values)
        found = zip(ranking.keys, ranking.indices, ranking.values, ranking.n_tied, strict=True)
        for row, (keys, indices, variances, tied) in enumerate(found, rows.first):
            where = (row,) if ids is None else (row, next(ids))
            for k, (key, index, value) in enumerate(zip(keys, indices, variances, strict=True)):
                yield *where, k + 1, key, names[int(index)], float(value), int(tied) if k == 0 else None
        progress(f"{rows.first + len(rows):,} rows")
    said = seen.note()
    if said is not None:
        note(f"note: {in_options(said)}")


def _one_row(adapter: Adapter, outputs: Path, values: Any, row: int) -> OutputRows:
    from labelgrove.adapter.outputs.outputfiles import OutputFile
    from labelgrove.ontology.errors import InputError

    rows = adapter.rows(values.read() if isinstance(values, OutputFile) else values)
    if row >= len(rows):
        raise InputError(
            f"--explain {row}: {outputs} has {len(rows)} rows, counted from 0; give a smaller number"
        )
    return rows.only(row)

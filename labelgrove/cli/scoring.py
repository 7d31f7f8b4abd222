"""``grove score``: a model's outputs answered; and what every command that reads outputs asks."""

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
    """Add what these commands ask: the bundle, the outputs, what they are and which column is which label."""
    options = (
        click.argument("bundle", shell_complete=bundles),
        click.argument("outputs", type=click.Path(path_type=Path)),
        click.option(
            "--columns",
            metavar="FILE|KEYS|bundle",
            shell_complete=files("bundle"),
            help="The classes of the columns, in order: a file with one per line, or key,key,...; `bundle` "
            "if they stand in the order the bundle was built with; or a saved binding (.json). .csv and "
            ".parquet files name them; given as well, both have to agree.",
        ),
        click.option(
            "--by",
            type=click.Choice(["auto", "key", "name"]),
            default="auto",
            show_default=True,
            help="Whether columns and truths are label keys or names.",
        ),
        click.option(
            "--emits",
            type=click.Choice(["probabilities", "log_probabilities", "logits"]),
            default="probabilities",
            show_default=True,
            help="What the numbers are.",
        ),
        click.option(
            "--temperature",
            type=float,
            default=1.0,
            show_default=True,
            help="What logits and log-probabilities are divided by.",
        ),
        click.option("--array", help="Which array of a .npz or .safetensors file with several."),
        click.option(
            "--id-column",
            metavar="NAME",
            help="The column of a .csv or .parquet file that names its rows; one called id, or an index of "
            "pandas, is taken by itself unless it is a class.",
        ),
    )
    wrapped = _naming_options(command)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _naming_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let errors on an argument, which they begin with, name the option; those on the outputs the file."""
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
    emits: Any,
    temperature: float,
    array: str | None,
    id_column: str | None,
    beta: float = 2.0,
) -> tuple[Adapter, OutputFile | SparseOutputs | Any]:
    """Open the bundle and the outputs, dense or sparse, and bind their columns.

    Never by position unless asked to.
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
        adapter = Adapter(opened, names, by=by, outputs=emits, temperature=temperature, beta=beta)
    if isinstance(found, OutputFile) and found.id_column is not None and id_column is None:
        note(f"note: column {found.id_column!r} of {outputs} is taken to name its rows (--id-column)")
    return adapter, found


def _column_names(
    outputs: Path, columns: str | None, header: tuple[str, ...] | None, bundle: Bundle, by: Any
) -> Sequence[str] | Binding | None:
    """Return what the columns are called; None where they stand as the bundle was built."""
    from labelgrove.ontology.errors import BindingError

    if columns is None:
        if header is None:
            raise BindingError(
                f"{outputs}: a {outputs.suffix} file has no column names; name the classes of your model, in "
                "order, with --columns FILE, or say --columns bundle if they stand as the bundle was built"
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
    """Refuse a header that calls a column otherwise than ``--columns``; numbers from 0 on call it nothing."""
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
            f"{outputs}: its header does not agree with --columns: {error}\nwrite it as --columns has it, or "
            "save the numbers without names, as .npy"
        ) from None
    if (asked != found).any():
        at = int(np.flatnonzero(asked != found)[0])
        theirs, ours = (key_and_name(int(order[at]), keys, names) for order in (found, asked))
        raise BindingError(
            f"{outputs}: column {at} is {theirs} by its header and {ours} by --columns; correct one of them, "
            "or leave --columns out"
        )


def _candidates(given: str | None) -> str | list[str] | Subtree | None:
    """Return the labels that take part, as ``--candidates`` names them."""
    from labelgrove.adapter import Subtree

    if given is None or given in _RULES:
        return given
    return Subtree(given.removeprefix(_BELOW)) if given.startswith(_BELOW) else read_keys(given)


@contextmanager
def _naming_candidates(given: str | None) -> Iterator[None]:
    """Let an error on labels that are unknown name the option, and the words that it takes."""
    from difflib import get_close_matches

    from labelgrove.ontology.errors import UnknownLabelError

    try:
        yield
    except UnknownLabelError as error:
        if str(error).startswith("candidates: "):  # of a subtree
            raise
        words = (*_RULES, f"{_BELOW}KEY")
        near = get_close_matches(given or "", words, n=1)
        raise UnknownLabelError(
            f"--candidates {given}: {error}{'; the word close to it: ' if near else ''}{''.join(near)}; give "
            f"{', '.join(words)}, a file with one label per line, or key,key,..."
        ) from None


@click.command()
@model_options
@click.option("--top", default=1, show_default=True, type=click.IntRange(1), help="Answers for each row.")
@click.option(
    "--candidates",
    metavar="leaves|observed|locus|subtree:KEY|FILE|KEYS",
    shell_complete=files(*_RULES, _BELOW),
    help="The labels that take part: those without children, the observed ones, those that some outputs make "
    "best, a label and all below it, or those of a file with one per line, or key,key,...; all by default.",
)
@click.option(
    "--beta", type=float, default=2.0, show_default=True, help="Exponent of the distances; 1 gives medians."
)
@click.option(
    "--explain",
    metavar="ROW",
    type=click.IntRange(0),
    help="Say why this row, counted from 0, is answered as it is, and answer no other.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, as JSON where its name ends in .json; stdout if not given.",
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
    """Answer each row of OUTPUTS with labels of the whole space of BUNDLE.

    BUNDLE is ``ontology/name``, a path or a 64-hex digest. OUTPUTS is a .npy, .npz, .safetensors, .parquet or
    .csv file with a row for each sample and a column for each class. Where rows list a few classes alone, it
    is a .npz or .safetensors file with the arrays ``indices`` and ``values``, or one of
    scipy.sparse.save_npz.

    Each answer has its Fréchet variance, and the first one the number of labels tied with it; where a column
    of OUTPUTS names the rows, each answer has that name as its id.
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
        give(f"{text}\n", out, f"why row {explain} is answered so")
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
    """Yield a line for each answer; of a file only a block of rows is held at a time."""
    from labelgrove.adapter.outputs.kinds import KindSeen
    from labelgrove.adapter.outputs.outputfiles import OutputFile

    names, seen = adapter.names, KindSeen(adapter.outputs)
    file = values if isinstance(values, OutputFile) else None
    ids = None if file is None else file.ids()
    for rows in adapter.blocks(values):
        ranking = adapter.top_k(rows, top, candidates=among)
        if file is not None:  # rows that list a few classes sum to what they list
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
            f"--explain {row}: {outputs} has {len(rows)} rows, the first of them 0; name one of them"
        )
    return rows.only(row)

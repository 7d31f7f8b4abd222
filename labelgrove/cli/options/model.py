"""Provide the arguments and options of all commands that read outputs of a model, and open what they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import bundles, files
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.labels import read_keys, with_hint_on_lines
from labelgrove.cli.printing.text import note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labelgrove.adapter import Adapter, Binding, Bundle, SparseOutputs
    from labelgrove.adapter.outputs.outputfiles import OutputFile

__all__ = ["classes_of", "load_model", "model_options", "reading_options"]

_IN_BUNDLE_ORDER = "bundle"


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the arguments BUNDLE and OUTPUTS, and the options that say how to read the outputs."""
    return _options(command)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the options that say how outputs of a model are read, now or by a server later."""
    return _reading_options(command)


_reading_options = option_group(
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
        help="The kind of numbers that the model gives.",
    ),
    click.option(
        "--temperature",
        type=float,
        default=1.0,
        show_default=True,
        help="The number by which logits and log-probabilities are divided.",
    ),
)

_options = option_group(
    click.argument("bundle", shell_complete=bundles),
    click.argument("outputs", type=click.Path(path_type=Path)),
    click.option(
        "--columns",
        metavar="FILE|KEYS|bundle",
        shell_complete=files("bundle"),
        help="The classes of the columns, in order: a file with one per line, or key,key,...; `bundle` "
        "for the order in which the bundle was built; or a saved binding (.json). A .csv, .parquet "
        "or .arrow file names its columns itself; if --columns is also given, the two must agree.",
    ),
    _reading_options,
    click.option("--array", help="The array to read from a .npz or .safetensors file that has several."),
    click.option(
        "--id-column",
        metavar="NAME",
        help="The column of a .csv, .parquet or .arrow file that names its rows. By default, this is the "
        "column called id or the index that pandas wrote, unless that column is a class.",
    ),
)


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
    """Return the names of the columns of the outputs: a list of labels, or a saved binding.

    Return None if the columns are in the order in which the bundle was built.
    """
    from labelgrove.ontology.errors import BindingError

    if columns is None:
        if header is None:
            raise BindingError(
                f"{outputs}: a {outputs.suffix} file has no column names; name the classes of your model, "
                "in order, with --columns FILE, or give --columns bundle if they have the order in which "
                "the bundle was built"
            )
        return header
    given = classes_of(columns)
    if header is not None:
        with with_hint_on_lines(given):
            _check_agreement(outputs, header, given, bundle, by)
    return given


def classes_of(columns: str) -> Sequence[str] | Binding | None:
    """Return what ``--columns`` names: a list of labels, a saved binding, or None for the bundle's order."""
    if columns.endswith(".json"):
        from labelgrove.adapter import Binding

        return Binding.load(columns)
    return None if columns == _IN_BUNDLE_ORDER else read_keys(columns)


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
            f"{outputs}: its header does not agree with --columns: {error}\nwrite the names of --columns "
            "into the header, or save the numbers without names, as .npy"
        ) from None
    if (asked != found).any():
        at = int(np.flatnonzero(asked != found)[0])
        theirs, ours = (key_and_name(int(order[at]), keys, names) for order in (found, asked))
        raise BindingError(
            f"{outputs}: column {at} is {theirs} by its header and {ours} by --columns; correct one of them, "
            "or leave --columns out"
        )

"""``grove export``: write a bundle as a model that another model server runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labelgrove.adapter.triton.config import DATATYPES
from labelgrove.cli.options.completers import bundles, files
from labelgrove.cli.options.labels import with_hint_on_lines
from labelgrove.cli.options.model import classes_of, reading_options
from labelgrove.cli.printing.text import emit, json_option

__all__ = ["export"]


@click.group()
def export() -> None:
    """Write a bundle as a model that another model server runs."""


@export.command()
@click.argument("bundle", shell_complete=bundles)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--columns",
    required=True,
    metavar="FILE|KEYS|bundle",
    shell_complete=files("bundle"),
    help="The classes of the model's columns, in order: a file with one per line, or key,key,...; `bundle` "
    "for the order in which the bundle was built; or a saved binding (.json).",
)
@reading_options
@click.option("--name", help="Name of the model; by default ontology~bundle, as the service calls it.")
@click.option("--version", default=1, show_default=True, type=click.IntRange(1), help="Version of the model.")
@click.option(
    "--top", default=1, show_default=True, type=click.IntRange(1), help="Number of answers for each row."
)
@click.option(
    "--datatype",
    type=click.Choice(DATATYPES),
    default="FP32",
    show_default=True,
    help="The datatype of the model's outputs.",
)
@click.option(
    "--max-batch-size",
    default=256,
    show_default=True,
    type=click.IntRange(1),
    help="Most rows that the server puts together.",
)
@click.option(
    "--after",
    metavar="MODEL:OUTPUT",
    help="Also write an ensemble MODEL~NAME: it runs MODEL of the same repository, and answers its OUTPUT.",
)
@click.option(
    "--after-input",
    "after_inputs",
    multiple=True,
    metavar="NAME:DATATYPE:D,D,...",
    help="An input of MODEL, such as images:FP32:3,224,224, without the dimension of the batch; give all.",
)
@json_option
def triton(
    bundle: str,
    folder: Path,
    columns: str,
    by: Any,
    output_kind: Any,
    temperature: float,
    name: str | None,
    version: int,
    top: int,
    datatype: str,
    max_batch_size: int,
    after: str | None,
    after_inputs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write BUNDLE as a model into DIR, the model repository of a Triton Inference Server.

    BUNDLE is ``ontology/name``, a path or a digest of 64 hex digits. The model is a folder of DIR with a copy
    of the bundle; the server needs labelgrove beside it, and no store. Its input is called by the kind of
    outputs, its outputs are label, name, index, variance and n_tied.

    Nothing is replaced: write a new bundle as another --version.
    """
    from labelgrove.adapter import Adapter
    from labelgrove.adapter.triton.config import After, TensorSpec
    from labelgrove.adapter.triton.repository import export_triton
    from labelgrove.ontology.errors import InputError

    chain = None
    if after is not None:
        model, between, output = after.partition(":")
        if not between:
            raise InputError(
                f"--after {after}: give MODEL:OUTPUT, a model and the output that is to be answered"
            )
        chain = After(model, output, tuple(map(TensorSpec.read, after_inputs)))
    elif after_inputs:
        raise InputError("--after-input: given without --after; name the model with --after MODEL:OUTPUT")
    classes = classes_of(columns)
    with with_hint_on_lines(classes):
        adapter = Adapter.load(bundle, classes, by=by, outputs=output_kind, temperature=temperature)
    found = export_triton(
        adapter,
        folder,
        _name_of(bundle) if name is None else name,
        version=version,
        k=top,
        datatype=datatype,
        max_batch_size=max_batch_size,
        after=chain,
    )
    document = {
        "model": found.model,
        "version": found.version,
        "chain": found.chain,
        "folder": str(found.folder),
        "sha256": adapter.digest,
        "input": {"name": adapter.outputs, "datatype": datatype, "columns": list(adapter.observed)},
        "new": found.new,
    }
    also = f", and the ensemble {found.chain}" if found.chain else ""
    done = "wrote" if found.new else "nothing to write, the repository has"
    emit(document, as_json, f"{done} model {found.model}, version {found.version}, in {found.folder}{also}")


def _name_of(bundle: str) -> str:
    """Return the name of the model for the address of a bundle, if it is ``ontology/name``."""
    from labelgrove.adapter.loading.source import bundle_name
    from labelgrove.ontology.errors import InputError

    named = bundle_name(bundle)
    if named is None:
        raise InputError(f"{bundle}: is not called ontology/name; say with --name how the model is called")
    return "~".join(named)

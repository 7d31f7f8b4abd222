"""``grove ontology``: list, show, validate, export and delete ontologies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.onelabel import OpenVersion
from labelgrove.cli.options.reading import read_source, reading_options
from labelgrove.cli.options.workspace import name_and_version, with_workspace
from labelgrove.cli.printing.outfile import give_parts
from labelgrove.cli.printing.spreadsheet import check_safe, safe_option
from labelgrove.cli.printing.text import emit, first_digits, json_option, note, to_the_minute
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.readings import describe_reading

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["ontology"]


_FORMATS = ("json", "records", "edges", "skos", "obo", "graphml", "outline")
"""The names in `ontology.exports.exporting.EXPORT_FORMATS`, whose import would slow down every help text."""


@click.group()
def ontology() -> None:
    """List, show, validate, export and delete ontologies."""


@ontology.command("list")
@json_option
@with_workspace
def list_(workspace: Workspace, as_json: bool) -> None:
    """List the ontologies with their current versions."""
    from labelgrove.documents.ontologies import current_versions

    described = current_versions(workspace)
    if not described:
        note("there is no ontology yet; create one with grove quickstart, or with grove ingest NAME FILE")
    columns = ("ontology", "digest", "n_labels", "n_edges", "created_at")
    rows = [[v[c] for c in columns] for v in described]
    brief = {"created_at": to_the_minute, "digest": first_digits}
    emit(described, as_json, lambda: table(columns, rows, whole=["ontology"], brief=brief))


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@json_option
@with_workspace
def show(workspace: Workspace, name: str, as_json: bool) -> None:
    """Show the properties of the current version of NAME, or of NAME@VERSION, and list all versions."""
    from labelgrove.documents.ontologies import describe_ontology

    document = describe_ontology(workspace, *name_and_version(name))
    emit(document, as_json, lambda: _page(document))


@ontology.command()
@click.argument("source", type=click.Path())
@reading_options
@json_option
def validate(source: str, as_json: bool, **reading: Any) -> None:
    """Report every defect of the hierarchy at SOURCE, and register nothing.

    The exit code is 3 if `grove ingest` would refuse the hierarchy.
    """
    result = read_source(source, strict=False, **reading)
    emit(describe_reading(result.report, result.graph), as_json, lambda: result.report.render())
    if result.graph is None:
        raise SystemExit(3)


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; stdout by default."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="Format to write; by default the ending of --out, else json, which holds everything.",
)
@click.option("--under", metavar="LABEL", help="Write only this label and the labels below it.")
@click.option(
    "--leave-out",
    is_flag=True,
    help="Leave out what the format cannot hold, and list it on stderr, instead of refusing the export.",
)
@click.option(
    "--namespace",
    metavar="IRI",
    help="SKOS: the start of the IRIs of keys that are not IRIs, such as http://example.org/pets/.",
)
@safe_option
@with_workspace
def export(
    workspace: Workspace,
    name: str,
    out: Path | None,
    format_: str | None,
    under: str | None,
    leave_out: bool,
    namespace: str | None,
    safe: bool,
) -> None:
    """Write NAME, or its version NAME@VERSION, in a format that other programs read.

    `grove ingest` reads every format but graphml back. If the format cannot hold something, such as weights
    in skos, the command says what, and writes nothing unless --leave-out is given (docs/formats.md).
    """
    from labelgrove.ontology.exports.exporting import EXPORT_FORMATS
    from labelgrove.ontology.versions.export import export_ontology

    chosen = EXPORT_FORMATS[_export_format(out, format_)]
    tables = [f"--format {format.name}" for format in EXPORT_FORMATS.values() if format.delimiter]
    check_safe(safe, chosen.delimiter is not None, f"choose {' or '.join(tables)}")
    ontology_, version = name_and_version(name)
    if under is not None:
        opened = OpenVersion(workspace, name)
        under = opened.answers.index.graph.keys[opened.label(under)]
    exported = export_ontology(
        workspace,
        ontology_,
        format=chosen.name,
        version=version,
        under=under,
        leave_out=leave_out,
        namespace=namespace,
    )
    parts: Iterable[str] = exported
    if safe and chosen.delimiter is not None:
        from labelgrove.documents.spreadsheet import safe_line

        parts = (safe_line(line, chosen.delimiter) for line in exported)
    give_parts(parts, out, name)
    for left_out in exported.left_out:
        note(f"left out: {left_out}")


def _export_format(out: Path | None, asked: str | None) -> str:
    """Return the format given by ``--format`` or by the ending of ``--out``, else ``"json"``.

    Raise `InputError` if the two contradict each other, or if the ending is unknown and no format is given.
    """
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.exports.exporting import EXPORT_FORMATS

    by_ending = {format.ending: format.name for format in EXPORT_FORMATS.values() if format.ending}
    ending = "" if out is None else out.suffix
    told = by_ending.get(ending)
    if asked and told and asked != told:
        raise InputError(f"--out {out}: the ending {ending} contradicts --format {asked}; change one of them")
    if ending and not (asked or told):
        endings = ", ".join(f"{ending} ({format_})" for ending, format_ in by_ending.items())
        raise InputError(
            f"--out {out}: {ending} is not the ending of a format: {endings}; change it, or give --format"
        )
    return asked or told or "json"


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@with_workspace
def delete(workspace: Workspace, name: str, yes: bool, as_json: bool) -> None:
    """Remove NAME with all its versions and bundles from the catalog, the graph and the index file."""
    from labelgrove.ontology.versions.ingest import delete_ontology

    workspace.catalog.version(name)
    if not yes:
        try:
            click.confirm(f"Delete {name} and every version of it?", abort=True, err=True)
        except click.Abort as abort:
            if isinstance(abort.__context__, EOFError):  # stdin is not a terminal
                note(
                    "nothing was deleted, because there is no terminal on which to confirm it; to delete "
                    f"without confirmation: grove ontology delete {name} --yes"
                )
            raise
    delete_ontology(workspace, name)
    emit({"deleted": name}, as_json, f"deleted {name}")


def _page(document: dict[str, Any]) -> str:
    shown = {k: v for k, v in document.items() if k not in ("current", "versions", "bundles")}
    shown["roots"] = ", ".join(document["roots"])
    parts = [table(("property", "value"), shown.items(), wrap=True)]
    parts.append(
        table(
            ("version", "current", "state", "labels", "edges", "created"),
            [
                (
                    v["digest"][:12],
                    "yes" if v["current"] else "",
                    v["state"],
                    v["n_labels"],
                    v["n_edges"],
                    v["created_at"],
                )
                for v in document["versions"]
            ],
        )
    )
    if document["bundles"]:
        parts.append(
            table(
                ("bundle", "version", "sha256"),
                [(b["name"], b["version"][:12], b["sha256"]) for b in document["bundles"]],
            )
        )
    return "\n\n".join(parts)

"""``grove cypher``: run a read-only query on the graph."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.parameters import GIVEN_TWICE
from labelgrove.cli.options.workspace import name_and_version, with_workspace
from labelgrove.cli.printing.spreadsheet import check_safe, safe_option
from labelgrove.cli.printing.text import emit, json_option, note, say
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.spreadsheet import as_csv

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["cypher"]

_EATEN = re.compile(r":\s*[,}]")
"""A key without a value, as in ``{version: }``; it is left if a shell removed an unquoted ``$version``."""


@click.command()
@click.argument("statement")
@click.option(
    "--ontology",
    shell_complete=ontologies,
    help="Bind $version to the current version of this ontology; NAME@VERSION binds another version.",
)
@click.option(
    "--param",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=TEXT|NAME:=JSON",
    help='Bind a parameter: key=545 is text, depth:=2 is a number, keys:=\'["a", "b"]\' is a list. May be '
    "repeated.",
)
@click.option(
    "--max-rows",
    default=1000,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    help="Most rows to show.",
)
@click.option(
    "--timeout",
    "timeout_s",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Seconds after which the query is ended.",
)
@click.option("--csv", "as_csv_", is_flag=True, help="Print CSV with a header.")
@safe_option
@json_option
@with_workspace
def cypher(
    workspace: Workspace,
    statement: str,
    ontology: str | None,
    parameters: tuple[str, ...],
    max_rows: int,
    timeout_s: float,
    as_csv_: bool,
    safe: bool,
    as_json: bool,
) -> None:
    """Run one read-only Cypher STATEMENT; docs/cypher.md has examples.

    \b
    grove cypher --ontology wordnet \\
      'MATCH (l:Label {version: $version}) WHERE l.depth = 2 RETURN l.key, l.name ORDER BY l.idx LIMIT 5'
    """
    from labelgrove.ontology.errors import InputError, QueryFailedError, QueryTimeoutError
    from labelgrove.ontology.graph.cyphertokens import parameters as parameters_of

    check_safe(safe, as_csv_, "give --csv as well")
    bound: dict[str, Any] = {}
    for name, value in map(_parameter, parameters):
        if name in bound:
            raise InputError(f"--param {name}: {GIVEN_TWICE}")
        bound[name] = value
    if ontology is not None:
        name, version = name_and_version(ontology)
        bound["version"] = (
            _current(workspace, name) if version is None else workspace.catalog.version(name, version).digest
        )
    elif isinstance(bound.get("version"), str):
        bound["version"] = _whole_version(workspace, bound["version"])
    elif "version" not in bound and "version" in parameters_of(statement):
        raise InputError(
            "the statement uses $version, which has no value; give --ontology NAME, or -p version=DIGEST"
        )
    try:
        rows = workspace.graph.run_user(statement, bound, timeout_s=timeout_s, max_rows=max_rows)
    except QueryFailedError as error:
        if isinstance(error, QueryTimeoutError) or not _EATEN.search(statement):
            raise
        raise QueryFailedError(
            f"{error}; the shell may have removed $version: put the query in single quotes"
        ) from error
    if as_csv_:
        say(as_csv(rows.columns, rows.rows, safe=safe))
    else:
        document = {"columns": rows.columns, "rows": rows.rows, "truncated": rows.truncated}
        emit(document, as_json, lambda: table(rows.columns, rows.rows))
    if rows.truncated:
        note(f"only the first {max_rows} rows are shown; raise --max-rows for more")


def _current(workspace: Workspace, ontology: str) -> str:
    """Return the digest of the current version of an ontology.

    If the graph has no such version, the catalog is asked, which may raise `NotFoundError`.
    """
    return workspace.graph.current(ontology) or workspace.catalog.version(ontology).digest


def _whole_version(workspace: Workspace, beginning: str) -> str:
    """Return the digest of the only version in the graph whose digest begins with `beginning`.

    Raise an error if there is no such version, or more than one; otherwise the query would return no rows
    without saying why.
    """
    from labelgrove.ontology.errors import InputError, NotFoundError, first_few

    digests = sorted({str(version["digest"]) for version in workspace.graph.versions()})
    found = [digest for digest in digests if beginning and digest.startswith(beginning)]
    if len(found) > 1:
        raise InputError(
            f"--param version={beginning}: {len(found)} versions begin with these digits; give more digits"
        )
    if not found:
        known = first_few([digest[:12] for digest in digests]) or "none"
        raise NotFoundError(
            f"--param version={beginning}: no version in the graph begins with these digits (it has "
            f"{known}); give one of them, or --ontology NAME"
        )
    return found[0]


def _parameter(text: str) -> tuple[str, Any]:
    from labelgrove.ontology.errors import InputError

    name, equals, value = text.partition("=")
    as_json = name.endswith(":")
    name = name.removesuffix(":")
    if not equals or not name.isidentifier():
        raise InputError(f"--param {text!r}: write NAME=TEXT or NAME:=JSON, for example key=oak or depth:=2")
    if not as_json:
        return name, value
    try:
        return name, json.loads(value)
    except json.JSONDecodeError as error:
        raise InputError(
            f"--param {name}:={value}: is not JSON ({error}); for text, write {name}=TEXT"
        ) from None
    except (ValueError, RecursionError) as error:  # thousands of digits, or of nested brackets
        raise InputError(f"--param {name}: {error}; give text, a number of 64 bits, or a list") from error

"""``grove jobs kinds``: list the kinds of jobs with their parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from labelgrove.cli.printing.text import emit, json_option
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.kinds import describe_kinds, describe_parameter

if TYPE_CHECKING:
    from labelgrove.workers.kinds import JobKind

__all__ = ["COLUMNS", "kinds", "parameter_rows"]

COLUMNS = ("kind", "parameter", "required", "default", "values")


@click.command()
@json_option
def kinds(as_json: bool) -> None:
    """List the kinds of jobs with their parameters."""
    from labelgrove.workers.kinds import known_kinds

    described = describe_kinds()
    emit(described, as_json, lambda: table(COLUMNS, parameter_rows(known_kinds()), wrap=True))


def parameter_rows(known: Sequence[JobKind]) -> list[tuple[str, ...]]:
    """Return a row for each parameter of each kind, with one cell for each of `COLUMNS`."""
    from labelgrove.workers.kinds.parameters import REQUIRED

    rows: list[tuple[str, ...]] = []
    for kind in known:
        for parameter in kind.parameters:
            told = describe_parameter(parameter)
            default = "" if parameter.default is REQUIRED else json.dumps(parameter.default)
            required = "filled in" if parameter.filled else "yes" if told["required"] else "no"
            rows.append((kind.name, parameter.name, required, default, parameter.values))
    return rows

"""The option ``--spreadsheet-safe`` of commands that write CSV."""

from __future__ import annotations

import click

__all__ = ["check_safe", "safe_option"]

safe_option = click.option(
    "--spreadsheet-safe",
    "safe",
    is_flag=True,
    help="CSV: put an apostrophe before text that a spreadsheet would run as a formula, because it begins "
    "with = + - @, a tab or a line end.",
)


def check_safe(safe: bool, writes_csv: bool, instead: str) -> None:
    """Raise an error if ``--spreadsheet-safe`` is given although no CSV is written."""
    from labelgrove.ontology.errors import InputError

    if safe and not writes_csv:
        raise InputError(f"--spreadsheet-safe: needs CSV; {instead}")

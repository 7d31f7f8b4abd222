"""Complete names of ontologies, jobs and the like in a shell.

A shell starts `grove` at every press of TAB. To be fast, the names are read without importing SQLAlchemy. If
they cannot be read, nothing is offered and nothing is printed, because the shell would show an error in
the middle of the command that is being typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.workspace import read_env_file

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["Completer", "bundles", "experiments", "files", "jobs", "kinds", "ontologies", "schedules"]

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

_MOST = 200  # names


def files(*words: str) -> Completer:
    """Return a completer that offers `words` and file names."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the words that begin with the typed text, and files."""
        return [_file(incomplete), *_beginning(incomplete, [(word, "") for word in words])]

    return complete


def _named(statement: str, *, or_files: bool = False) -> Completer:
    """Return a completer that offers the names that an SQL statement selects, with their descriptions.

    The first column of the statement has the names, the second their descriptions.
    """

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the names that begin with the typed text."""
        found = _beginning(incomplete, _rows(statement))
        return [_file(incomplete), *found] if or_files else found

    return complete


ontologies = _named(
    f"SELECT name, '' FROM ontology WHERE current_version IS NOT NULL ORDER BY name LIMIT {_MOST}"
)

bundles = _named(
    f"SELECT ontology || '/' || name, '' FROM bundle ORDER BY ontology, name LIMIT {_MOST}", or_files=True
)

schedules = _named(f"SELECT name, cron FROM schedule ORDER BY name LIMIT {_MOST}")


def jobs(*states: str) -> Completer:
    """Return a completer that offers the newest jobs; if `states` are given, only jobs in one of them."""
    condition = f"WHERE state IN ({', '.join(map(repr, states))})" if states else ""
    return _named(
        "SELECT substr(id, 1, 12), kind || ' ' || state "
        f"FROM job {condition} ORDER BY created_at DESC LIMIT {_MOST}"
    )


def kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the kinds of jobs that are installed."""
    from importlib.metadata import entry_points

    found = {point.name for point in entry_points(group="labelgrove.job_kinds")}
    return _beginning(incomplete, [(name, "") for name in sorted(found)])


def experiments(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the experiments, and the words ``all`` and ``list``."""
    from labelgrove.experiments import NAMES

    return _beginning(incomplete, [(name, "") for name in ("all", "list", *NAMES)])


def _rows(statement: str) -> list[tuple[str, str]]:
    from labelgrove.ontology.settings import Settings
    from labelgrove.ontology.sql.quickread import read_rows

    try:
        read_env_file()
        return [(name, more) for name, more in read_rows(Settings.from_env().database_url, statement)]
    except Exception:
        return []


def _beginning(incomplete: str, found: list[tuple[str, str]]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=more or None) for name, more in found if name.startswith(incomplete)]


def _file(incomplete: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(incomplete, type="file")

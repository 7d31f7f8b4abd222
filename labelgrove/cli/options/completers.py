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


def ontologies(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the ontologies."""
    from labelgrove.ontology.sql.quickread import ontology_names

    return _beginning(incomplete, _read(lambda url: [(name, "") for (name,) in ontology_names(url, _MOST)]))


def bundles(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the bundles, and files."""
    from labelgrove.ontology.sql.quickread import bundle_names

    found = _read(lambda url: [(name, "") for (name,) in bundle_names(url, _MOST)])
    return [_file(incomplete), *_beginning(incomplete, found)]


def schedules(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the schedules, each with its times."""
    from labelgrove.workers.ledger.quickread import schedule_names

    return _beginning(incomplete, _read(lambda url: schedule_names(url, _MOST)))


def jobs(*states: str) -> Completer:
    """Return a completer that offers the newest jobs; if `states` are given, only jobs in one of them."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the jobs whose ids begin with the typed text."""
        from labelgrove.workers.ledger.quickread import newest_jobs

        return _beginning(incomplete, _read(lambda url: newest_jobs(url, states, _MOST)))

    return complete


def kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the kinds of jobs that are installed."""
    from importlib.metadata import entry_points

    found = {point.name for point in entry_points(group="labelgrove.job_kinds")}
    return _beginning(incomplete, [(name, "") for name in sorted(found)])


def experiments(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the experiments, and the words ``all`` and ``list``."""
    from labelgrove.experiments import NAMES, PRETRAINED

    return _beginning(incomplete, [(name, "") for name in ("all", "list", *NAMES, *PRETRAINED)])


def _read(names: Callable[[str], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Call `names` with the URL of the database, and return what it reads: words, each with a help text.

    After any error, return an empty list.
    """
    from labelgrove.ontology.settings import Settings

    try:
        read_env_file()
        return names(Settings.from_env().database_url)
    except Exception:
        return []


def _beginning(incomplete: str, found: list[tuple[str, str]]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=more or None) for name, more in found if name.startswith(incomplete)]


def _file(incomplete: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(incomplete, type="file")

"""The workspace of a command: settings, the ``.env`` file, and ``NAME@VERSION``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from labelgrove.ontology.settings import Settings
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["name_and_version", "open_workspace", "read_env_file", "with_workspace"]

P = ParamSpec("P")


R = TypeVar("R")


def read_env_file() -> None:
    """Take what ``.env`` in this folder sets and the environment does not into the environment."""
    from dotenv import load_dotenv

    from labelgrove.ontology.errors import SettingsError

    try:
        load_dotenv(".env")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f".env: cannot be read as UTF-8 text ({type(error).__name__})") from error


def with_workspace(command: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
    """Pass an open `Workspace` as the first argument and close it afterwards."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from labelgrove.ontology.settings import Settings

        with open_workspace(Settings.from_env()) as workspace:
            return command(workspace, *args, **kwargs)

    return run


def open_workspace(settings: Settings) -> Workspace:
    """Return the workspace of `settings`; a graph that was lost is given the results of jobs again."""
    from labelgrove.ontology.versions.workspace import Workspace

    return Workspace(settings, on_repair=_bring_results_back)


def _bring_results_back(workspace: Workspace) -> None:
    """Show the results of jobs again in a graph that was lost: nobody may be there to sweep."""
    from labelgrove.workers.showing import bring_back

    bring_back(workspace)


def name_and_version(ontology: str) -> tuple[str, str | None]:
    """Return the name, and the beginning of the version's digest where ``NAME@VERSION`` gives one.

    >>> name_and_version("garden"), name_and_version("garden@0bb40b49")
    (('garden', None), ('garden', '0bb40b49'))
    """
    name, at, version = ontology.partition("@")
    return name, version if at else None

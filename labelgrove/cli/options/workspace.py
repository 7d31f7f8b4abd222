"""Open the workspace of a command, read the ``.env`` file, and split ``NAME@VERSION``."""

from __future__ import annotations

import functools
import getpass
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from labelgrove.ontology.settings import Settings
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["name_and_version", "open_workspace", "read_env_file", "with_workspace"]

P = ParamSpec("P")


R = TypeVar("R")


def read_env_file() -> None:
    """Set environment variables from ``.env`` in the current folder, except those that are already set."""
    from dotenv import load_dotenv

    from labelgrove.ontology.errors import SettingsError

    try:
        load_dotenv(".env")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f".env: cannot be read as UTF-8 text ({type(error).__name__}); correct or remove the file"
        ) from error


def with_workspace(command: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
    """Pass an open `Workspace` as the first argument and close it afterwards."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from labelgrove.ontology.settings import Settings

        with open_workspace(Settings.from_env()) as workspace:
            return command(workspace, *args, **kwargs)

    return run


def open_workspace(settings: Settings) -> Workspace:
    """Return the workspace of `settings`.

    If the graph was lost and the workspace repairs it, the results of jobs are written into it again.
    """
    from labelgrove.ontology.versions.workspace import Workspace

    workspace = Workspace(settings, on_repair=_bring_results_back)
    workspace.asked_by = _user()
    return workspace


def _user() -> str:
    """Return who runs this command, for the record of jobs: ``user@host``.

    A container may run with a number for which its system knows no name.
    """
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _bring_results_back(workspace: Workspace) -> None:
    """After the graph was lost and has been repaired, write the results of jobs into it again.

    A running worker would do this too, but perhaps no worker is running.
    """
    from labelgrove.workers.showing import bring_back

    bring_back(workspace)


def name_and_version(ontology: str) -> tuple[str, str | None]:
    """Return the name of an ontology and the beginning of the digest in ``NAME@VERSION``.

    The second value is None if only a name is given.

    >>> name_and_version("garden"), name_and_version("garden@0bb40b49")
    (('garden', None), ('garden', '0bb40b49'))
    """
    name, at, version = ontology.partition("@")
    return name, version if at else None

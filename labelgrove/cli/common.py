"""What the commands share: the workspace, output as table or JSON, progress."""

from __future__ import annotations

import csv
import errno
import functools
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from ontology.workspace import Workspace

__all__ = [
    "Progress",
    "as_csv",
    "emit",
    "existing_folder",
    "json_option",
    "note",
    "read_keys",
    "say",
    "table",
    "typed",
    "when",
    "with_workspace",
    "write_file",
]

P = ParamSpec("P")
R = TypeVar("R")

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line end, and what turns the direction of a line."""

_NO_SUCH_NAME = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def with_workspace(command: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
    """Pass an open `Workspace` as the first argument and close it afterwards."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from ontology.settings import Settings
        from ontology.workspace import Workspace

        with Workspace(Settings.from_env(), on_repair=_bring_results_back) as workspace:
            return command(workspace, *args, **kwargs)

    return run


def _bring_results_back(workspace: Workspace) -> None:
    """Show the results of jobs again in a graph that was lost: nobody may be there to sweep."""
    from workers.showing import bring_back

    bring_back(workspace)


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text: as it is for a program, with what would command a terminal escaped on one."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = _COMMANDING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    click.echo(text, err=err, nl=nl, color=True)  # else click drops codes from what a program reads


def emit(document: Any, as_json: bool, text: str | Callable[[], str]) -> None:
    """Print `document` as JSON, or `text` for people."""
    if as_json:
        say(json.dumps(document, ensure_ascii=False, indent=2, default=str))
    else:
        say(text() if callable(text) else text)


def note(message: str) -> None:
    """Print a line for people on stderr."""
    say(message, err=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, limit: int = 60) -> str:
    """Return rows as aligned text; numbers to the right.

    On a terminal long text is cut at `limit` characters; a program that reads it gets all.
    """
    if not sys.stdout.isatty():
        limit = sys.maxsize
    listed = [["" if v is None else _shown(v, limit) for v in row] for row in rows]
    listed_columns = [list(c) for c in zip(*listed, strict=True)] if listed else [[] for _ in columns]
    widths = [max([len(str(h)), *map(len, c)]) for h, c in zip(columns, listed_columns, strict=True)]
    right = [bool(c) and all(_is_number(v) for v in c) for c in listed_columns]

    def line(cells: Sequence[str]) -> str:
        placed = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(placed).rstrip()

    return "\n".join([line([str(c) for c in columns]), line(["-" * w for w in widths]), *map(line, listed)])


def when(seconds: float | None) -> str | None:
    """Return seconds since 1970 as a UTC time to the second.

    >>> when(0.0)
    '1970-01-01T00:00:00Z'
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV with a header, without the last line end."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def read_keys(source: str) -> list[str]:
    """Return the label keys of a file with one key per line (``-``: stdin), or of a comma-separated list."""
    from adapter.plainfile import decoded
    from ontology.errors import InputError, NotFoundError

    if source == "-":
        lines = sys.stdin.read().splitlines()
    else:
        try:
            with open(source, "rb") as file:  # a shell gives what <(command) prints as a pipe
                lines = decoded(file).splitlines()
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError) or error.errno not in _NO_SUCH_NAME:
                raise InputError(f"cannot read label keys from {source!r}: {error}") from error
            if "," not in source and ("/" in source or "." in source):
                raise NotFoundError(f"{source}: there is no such file; check the path") from None
            lines = source.split(",")
    keys = [k.strip() for k in lines if k.strip() and not k.startswith("#")]
    if not keys:
        raise InputError(f"{source!r} names no label; give a file with one key per line, or key,key,...")
    return keys


def typed() -> str:
    """Return the command that was typed, as it can be typed again."""
    return shlex.join(["grove", *sys.argv[1:]])


def existing_folder(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there: what is made below it takes its room."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def write_file(path: Path, data: bytes, what: str) -> None:
    """Write the file that an option names, as a whole or not at all, and say so on stderr."""
    from ontology.errors import InputError
    from ontology.wholefile import write_whole

    try:
        if path.exists() and not path.is_file():  # a device or a pipe takes bytes and keeps its place
            path.write_bytes(data)
        else:
            write_whole(path.resolve(), [data])
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a file in a folder that you may write"
        ) from error
    note(f"wrote {what} to {path}")


class Progress:
    """Progress of long work on stderr: a bar on a terminal, silence elsewhere.

    Call it with a step and how much of it is done.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, step: str, done: int = 0, total: int = 1) -> None:
        """Show that `done` of `total` parts of `step` are done."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._title}: {step}", completed=done, total=total)

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the bar while the block runs, when stderr is a terminal."""
        if not sys.stderr.isatty():
            yield self
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task(self._title, total=None)
            yield self
        self._bar = None

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._started


def _shown(value: Any, limit: int) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    text = text.replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True

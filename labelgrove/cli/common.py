"""What the commands share: the workspace, output as table or JSON, progress."""

from __future__ import annotations

import csv
import errno
import functools
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labelgrove.ontology.settings import Settings
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = [
    "LabelLines",
    "Progress",
    "array_file",
    "as_csv",
    "check_safe",
    "emit",
    "existing_folder",
    "in_options",
    "json_option",
    "json_text",
    "name_and_version",
    "note",
    "open_workspace",
    "read_env_file",
    "read_keys",
    "resumable",
    "safe_cell",
    "safe_option",
    "say",
    "table",
    "typed",
    "when",
    "with_hint_on_lines",
    "with_workspace",
    "write_file",
]

P = ParamSpec("P")
R = TypeVar("R")

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line end, and what turns the direction of a line."""

_IN_PYTHON = re.compile(r"(?:\w+=\S+ )+\(grove: (--[^()]+)\)")
"""How messages of the library name a step: as arguments, and the options that say the same behind them."""

_NARROWEST = 20
"""Columns of a terminal below which nothing is fitted."""

_NO_SUCH_NAME = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

_FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""What begins a formula, or leads to the cell that does; the signs at the end are wide ones of East Asia."""

safe_option = click.option(
    "--spreadsheet-safe",
    "safe",
    is_flag=True,
    help="CSV: put an apostrophe before text that a spreadsheet would run as a formula: what begins with "
    "= + - @, a tab or a line end.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


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


@contextmanager
def resumable(kept: str) -> Iterator[None]:
    """Let Ctrl-C in the block say what is kept and how to go on; what a block inside it says comes first."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(*(interrupt.args or [kept])) from None


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text: as it is for a program, with what would command a terminal escaped on one."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = _escaped(text)
    click.echo(text, err=err, nl=nl, color=True)  # else click drops codes from what a program reads


def emit(document: Any, as_json: bool, text: str | Callable[[], str]) -> None:
    """Print `document` as JSON, or `text` for people."""
    if as_json:
        say(json_text(document))
    else:
        say(text() if callable(text) else text)


def json_text(document: Any) -> str:
    """Return `document` as JSON, indented."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=str)


def note(message: str) -> None:
    """Print a line for people on stderr."""
    say(message, err=True)


def in_options(message: str) -> str:
    """Return a message of the library with the options of `grove` alone, where it names arguments as well.

    >>> in_options("for logits say outputs='logits' (grove: --emits logits); see below")
    'for logits say --emits logits; see below'
    """
    return _IN_PYTHON.sub(r"\1", message)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, wrap: bool = False) -> str:
    """Return rows as aligned text; numbers to the right.

    On a terminal it fits the width: long text is cut, that of the last column wrapped if `wrap` says so. A
    program that reads it gets all.
    """
    from labelgrove.cli.layout import laid_out

    cells = [["" if value is None else _shown(value) for value in row] for row in rows]
    headers = [_shown(column) for column in columns]
    if not sys.stdout.isatty():
        return "\n".join(laid_out(headers, cells))
    headers, *cells = [[_escaped(cell).replace("\t", r"\t") for cell in row] for row in (headers, *cells)]
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    return "\n".join(laid_out(headers, cells, width=width, wrap=wrap))


def when(seconds: float | None) -> str | None:
    """Return seconds since 1970 as a UTC time to the second.

    >>> when(0.0)
    '1970-01-01T00:00:00Z'
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, safe: bool = False) -> str:
    """Return rows as CSV with a header, without the last line end; `safe`: its text as `safe_cell` has it."""
    lines: list[str] = []
    # a line end of both characters has cells with either of them quoted
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    for row in (columns, *rows):
        writer.writerow([safe_cell(cell) for cell in row] if safe else row)
    return "\n".join(line.removesuffix("\r\n") for line in lines)


def safe_cell(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would run as a formula; return all else unchanged.

    >>> [safe_cell(cell) for cell in ("=1+1", "-elm", "elm", -0.5)]
    ["'=1+1", "'-elm", 'elm', -0.5]
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def check_safe(safe: bool, writes_csv: bool, instead: str) -> None:
    """Refuse ``--spreadsheet-safe`` where no CSV is written."""
    from labelgrove.ontology.errors import InputError

    if safe and not writes_csv:
        raise InputError(f"--spreadsheet-safe: goes with CSV; {instead}")


class LabelLines(list[str]):
    """Labels that stood in a file, a line for each."""


def read_keys(source: str) -> list[str]:
    """Return the label keys of a file with one key per line (``-``: stdin), or of a comma-separated list.

    Those of a file are `LabelLines`.
    """
    from labelgrove.adapter.plainfile import decoded
    from labelgrove.ontology.errors import InputError, NotFoundError

    in_words = False
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
            lines, in_words = source.split(","), True
    keys = [k.strip() for k in lines if k.strip() and not k.startswith("#")]
    if not keys:
        raise InputError(f"{source!r} names no label; give a file with one key per line, or key,key,...")
    return keys if in_words else LabelLines(keys)


@contextmanager
def with_hint_on_lines(given: object) -> Iterator[None]:
    """Let an error of the block on labels that are unknown say what is the matter with a file of labels."""
    from labelgrove.adapter.columns.labelnames import header_hint
    from labelgrove.ontology.errors import BindingError

    try:
        yield
    except BindingError as error:
        hint, unknown = "", list(error.unknown)
        if isinstance(given, LabelLines) and unknown == given and all("," in line for line in unknown):
            hint = f"one label per line; {'this line has' if len(given) == 1 else 'these lines have'} commas"
        elif isinstance(given, LabelLines) and unknown == given[:1]:
            hint = header_hint(unknown[0])
        if not hint:
            raise
        raise BindingError(f"{error}\n{hint}", unknown) from None


def name_and_version(ontology: str) -> tuple[str, str | None]:
    """Return the name, and the beginning of the version's digest where ``NAME@VERSION`` gives one.

    >>> name_and_version("garden"), name_and_version("garden@0bb40b49")
    (('garden', None), ('garden', '0bb40b49'))
    """
    name, at, version = ontology.partition("@")
    return name, version if at else None


def typed() -> str:
    """Return the command that was typed, as it can be typed again."""
    return shlex.join(["grove", *sys.argv[1:]])


def existing_folder(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there: what is made below it takes its room."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def write_file(path: Path, data: bytes, what: str) -> None:
    """Write the file that an option names, as a whole or not at all, and say so on stderr."""
    from labelgrove.ontology.store.wholefile import write_whole

    with _writing(path):
        if path.exists() and not path.is_file():  # a device or a pipe takes bytes and keeps its place
            path.write_bytes(data)
        else:
            write_whole(path.resolve(), [data])
    note(f"wrote {what} to {path}")


@contextmanager
def array_file(
    path: Path | None, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[NDArray[Any] | None]:
    """Give an array to fill that is a ``.npy`` file, which is there when the block ends, as a whole.

    It is mapped, so that it need not fit in memory; None where no file is asked for.
    """
    import numpy as np

    from labelgrove.ontology.store.wholefile import beside

    if path is None:
        yield None
        return
    target = path.resolve()
    temporary = beside(target)
    try:
        with _writing(path):
            array = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        yield array
        with _writing(path):
            array.flush()
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


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


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    from labelgrove.ontology.errors import InputError

    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a file in a folder that you may write"
        ) from error


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    return text.replace("\n", " ")


def _escaped(text: str) -> str:
    return _COMMANDING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

"""Check the name given with ``--out`` before anything is computed; write the file whole or not at all."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelgrove.cli.printing.spreadsheet import check_safe, safe_option
from labelgrove.cli.printing.text import note, say
from labelgrove.documents.spreadsheet import as_csv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["array_file", "give", "give_parts", "out_option", "write_axes", "write_file", "write_rows"]


_BATCH = 1_000
"""Number of parts of a text that are written at once."""


def write_file(path: Path, data: bytes, what: str) -> None:
    """Write a file whole or not at all, and print on stderr that `what` was written to it."""
    _write_parts(path, [data], what)


def _write_parts(path: Path, parts: Iterable[bytes], what: str) -> None:
    from labelgrove.ontology.store.wholefile import write_whole

    with _writing(path):
        if path.exists() and not path.is_file():  # never replace a device or a pipe
            with path.open("wb") as file:
                file.writelines(parts)
        else:
            write_whole(path.resolve(), parts)
    note(f"wrote {what} to {path}")


def give(text: str, out: Path | None, what: str) -> None:
    """Write text to the file that ``--out`` names, or print it on stdout; `text` must end with a line end."""
    if out is None:
        say(text, nl=False)
    else:
        write_file(out, text.encode(), what)


def give_parts(parts: Iterable[str], out: Path | None, what: str) -> None:
    """Write text, given in parts, as `give` does; the text as a whole is never in memory."""
    if out is None:
        for part in _batched(parts):
            say(part, nl=False)
    else:
        _write_parts(out, (part.encode() for part in _batched(parts)), what)


def _batched(parts: Iterable[str]) -> Iterator[str]:
    """Join parts of a text to fewer and longer ones: each write has a cost of its own."""
    rest = iter(parts)
    while batch := "".join(itertools.islice(rest, _BATCH)):
        yield batch


@contextmanager
def array_file(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    """Yield an array for the ``with`` block to fill; after the block, it becomes the file `path` (``.npy``).

    A file that exists at `path` is replaced only as a whole. The array is a memory map, so it may be larger
    than memory.
    """
    import numpy as np

    from labelgrove.ontology.store.wholefile import beside

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


def write_axes(out: Path, rows: Iterable[str], columns: Iterable[str]) -> None:
    """Write two files next to `out`, a table of distances: the keys of its rows, and those of its columns.

    `out` already contains the distances. Print on stderr which three files were written.
    """
    for what, keys in (("rows", rows), ("columns", columns)):
        beside = out.with_suffix(f".{what}.txt")
        write_file(beside, ("\n".join(keys) + "\n").encode(), f"the keys of the {what}")
    note(f"wrote the distances to {out}")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    from labelgrove.ontology.errors import InputError

    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a file in a folder that you can write to"
        ) from error


R = TypeVar("R")


def out_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add ``--out`` and ``--spreadsheet-safe`` to a command, and check their values before it begins."""

    @functools.wraps(command)
    def run(*args: Any, out: Path | None, safe: bool, **kwargs: Any) -> R:
        if out is not None:
            _check_ending(out)
        check_safe(safe, out is not None and out.suffix == ".csv", "name a .csv file with --out")
        return command(*args, out=out, safe=safe, **kwargs)

    option = click.option(
        "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write, .csv or .json."
    )
    wrapped: Callable[..., R] = option(safe_option(run))
    return wrapped


def write_rows(
    out: Path,
    document: dict[str, Any],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    safe: bool,
) -> None:
    """Write the file `out`, which ``--out`` names.

    A .json file gets `document`. A .csv file gets `rows`, below a header with the names `columns`.
    """
    _check_ending(out)
    if out.suffix == ".json":
        write_file(out, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode(), "the document")
    else:
        listed = list(rows)
        write_file(out, (as_csv(columns, listed, safe=safe) + "\n").encode(), f"{len(listed):,} rows")


def _check_ending(out: Path) -> None:
    from labelgrove.ontology.errors import InputError

    if out.suffix not in (".csv", ".json"):
        raise InputError(f"--out {out}: name a .csv or a .json file")

"""The truth about samples as people keep it: a file with one label key for each."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from adapter.outputfiles import load_npy
from adapter.plainfile import decoded, open_plain
from ontology.errors import InputError, NotFoundError

__all__ = ["read_truth"]


def read_truth(path: Path) -> list[str]:
    """Read one label key per sample: ``.npy`` strings, the first cells of ``.csv``, else whole lines of text.

    A key may hold a comma, so only ``.csv`` is split at them; lines without text do not count.
    """
    if path.suffix == ".npy":
        truth = load_npy(path)
        if truth.ndim != 1 or truth.dtype.kind != "U":
            raise InputError(
                f"{path}: holds {truth.dtype} of shape {truth.shape}; one label key per sample is needed"
            )
        return [str(k) for k in truth]
    if path.suffix == ".csv":
        return [row[0] for _, row in _csv_rows(path)]
    return [line.strip() for line in _text(path).split("\n") if line.strip()]


def _csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line number, cells) of every line that is not empty."""
    reader = csv.reader(io.StringIO(_text(path), newline=""))
    try:
        return [(reader.line_num, [c.strip() for c in row]) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not cells with commas between them ({error})") from error


def _text(path: Path) -> str:
    """Return the text of a UTF-8 file, its line ends as they are."""
    try:
        with open_plain(path) as file:
            return decoded(file)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file; check the path") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error

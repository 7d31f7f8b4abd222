"""Model outputs and truths as people keep them: ``.npy`` and ``.csv`` files."""

from __future__ import annotations

import csv
import io
import tokenize
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InputError, NotFoundError

__all__ = ["is_number", "read_outputs", "read_truth"]

_HEADER_FAULTS = (MemoryError, OverflowError, RecursionError, SyntaxError, TypeError, tokenize.TokenError)
"""What numpy lets through from a .npy header that lies about its shape or is no literal."""


def read_outputs(path: Path) -> tuple[NDArray[Any], list[str] | None]:
    """Read one row of probabilities or weights per sample.

    Parameters
    ----------
    path : Path
        ``.npy`` (two axes, memory-mapped, never unpickled) or ``.csv`` with a header of column names.

    Returns
    -------
    outputs : ndarray of shape (n_samples, n_columns)
    columns : list of str or None
        Names of the columns; None where the file has none (``.npy``).

    Raises
    ------
    NotFoundError
        When there is no such file.
    InputError
        Naming file and, for ``.csv``, line and column of the first cell that is not a number.
    """
    if path.suffix == ".npy":
        outputs = _npy(path, mmap_mode="r")
        if outputs.ndim != 2 or outputs.dtype.kind not in "fiu":
            raise InputError(
                f"{path}: holds {outputs.dtype} of shape {outputs.shape}; give a row of numbers per sample"
            )
        return outputs, None
    rows = _csv_rows(path)
    if not rows:
        raise InputError(f"{path}: is empty; a header with the column names comes first")
    header = rows[0][1]
    if all(is_number(cell) for cell in header):
        raise InputError(
            f"{path}:{rows[0][0]}: the first line holds numbers alone; a .csv file begins with the names of "
            "its columns (save numbers without names as .npy)"
        )
    outputs = np.empty((len(rows) - 1, len(header)))
    for i, (line, row) in enumerate(rows[1:]):
        if len(row) != len(header):
            raise InputError(f"{path}:{line}: {len(row)} cells under a header of {len(header)}")
        for j, cell in enumerate(row):
            try:
                outputs[i, j] = float(cell)
            except ValueError:
                raise InputError(
                    f"{path}:{line}: column {header[j]!r} holds {cell!r}, not a number"
                ) from None
    return outputs, header


def read_truth(path: Path) -> list[str]:
    """Read one label key per sample: ``.npy`` strings, the first cells of ``.csv``, else whole lines of text.

    A key may hold a comma, so only ``.csv`` is split at them; lines without text do not count.
    """
    if path.suffix == ".npy":
        truth = _npy(path)
        if truth.ndim != 1 or truth.dtype.kind != "U":
            raise InputError(
                f"{path}: holds {truth.dtype} of shape {truth.shape}; one label key per sample is needed"
            )
        return [str(k) for k in truth]
    if path.suffix == ".csv":
        return [row[0] for _, row in _csv_rows(path)]
    return [line.strip() for line in _text(path).split("\n") if line.strip()]


def is_number(cell: str) -> bool:
    """Whether a cell of a table can be read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _npy(path: Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    """Load an array, never unpickling."""
    try:
        array = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file; check the path") from None
    except (OSError, ValueError, EOFError, *_HEADER_FAULTS) as error:
        raise InputError(f"{path}: not a .npy file of numbers or strings ({error})") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: an archive of several arrays (.npz); give one array as .npy")
    return array


def _csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line number, cells) of every line that is not empty."""
    reader = csv.reader(io.StringIO(_text(path), newline=""))
    try:
        return [(reader.line_num, [c.strip() for c in row]) for row in reader if any(row)]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not cells with commas between them ({error})") from error


def _text(path: Path) -> str:
    """Return the text of a UTF-8 file, its line ends as they are."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error

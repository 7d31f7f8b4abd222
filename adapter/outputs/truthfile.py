"""Read files of truths, which contain the true label of each sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labelgrove.adapter.columns.bindingfile import By
from labelgrove.adapter.columns.labelnames import (
    CLASS_INDICES,
    LabelNames,
    describe_names,
    describe_points,
    header_hint,
    listed_faults,
    look_like_numbers,
)
from labelgrove.adapter.outputs.arrayfiles import load_npy
from labelgrove.adapter.outputs.gate import wrong_length
from labelgrove.adapter.plainfile import plain_text
from labelgrove.ontology.errors import BindingError, InputError, UnknownLabelError, counted

if TYPE_CHECKING:
    from labelgrove.adapter.bundles.bundle import Bundle

__all__ = ["read_exact_keys", "read_truth", "read_truth_keys"]

_COLUMN_NUMBERS = (
    "these look like column numbers; write the key of the column with that number, counted from 0"
)

_HEADERS = ("truth", "label", "y")
"""Names that the header of a ``.csv`` file may give the column of labels, in upper or lower case."""


def read_truth(path: Path) -> list[str]:
    """Read one label key per sample from a file.

    The keys are the strings in a ``.npy`` file, the first cell of each line in a ``.csv`` file, or the lines
    of any other file. A key may contain a comma, so only lines of ``.csv`` files are split at commas. Blank
    lines are skipped.
    """
    return [text for _, text in _entries(path, None)]


def read_truth_keys(
    path: Path,
    bundle: Bundle,
    *,
    by: By = "auto",
    points: Container[str] = (),
    n_rows: int | None = None,
) -> list[str]:
    """Read one label per sample, given by key or name, and return the keys.

    Parameters
    ----------
    path : Path
        File as for `read_truth`. A ``.csv`` file may also begin with a header. The header must contain no
        label and must call one column ``truth``, ``label`` or ``y``; the truths are then read from this
        column.
    bundle : Bundle
        Bundle that has the labels.
    by : {"auto", "key", "name"}, default="auto"
        How labels are given. ``"auto"`` accepts text that is the key or the name of exactly one label.
    points : container of str, default=()
        Keys that are known in addition to those in the bundle. For a block bundle, give the keys of the space
        that it was built from.
    n_rows : int, optional
        Required number of labels, if it is known.

    Returns
    -------
    keys : list of str

    Raises
    ------
    BindingError
        For text that may mean several labels. The message lists each text once, with the first line that has
        it and the labels that it may mean.
    UnknownLabelError
        For text that is not a label. The message lists each text once, with the first line that has it and
        similar labels.
    InputError
        For a file that is not in one of these forms, and for a number of labels other than `n_rows`.
    """
    known = LabelNames(bundle.points, bundle.names, by, describe_points(bundle))
    found = _known_keys(path, known, bundle.points, by, bundle.n_observed, points)
    if n_rows not in (None, len(found)):
        raise wrong_length(len(found), n_rows, name=str(path))
    return found


def read_exact_keys(path: Path, keys: Sequence[str], names: Sequence[str], n_observed: int) -> list[str]:
    """Read one label per sample, given by key; `keys` and `names` are those of all labels.

    The file is read as by `read_truth_keys` with ``by="key"``, and the errors are the same. `n_observed` is
    the number of observed labels; it is needed only to recognize class indices in the message of an error.
    """
    known = LabelNames(keys, None, "key", elsewhere=describe_names(keys, names))
    return _known_keys(path, known, keys, "key", n_observed)


def _known_keys(
    path: Path,
    known: LabelNames,
    label_keys: Sequence[str],
    by: By,
    n_observed: int,
    points: Container[str] = (),
) -> list[str]:
    """Return the keys of the labels that a file lists.

    `known` translates text into indices of labels, and `label_keys` contains the key at each index.
    `n_observed` is as for `read_exact_keys`. The other parameters and the errors are those of
    `read_truth_keys`.
    """
    listed = _entries(path, known)
    keys: dict[str, str] = {}
    ambiguous, unknown = [], []
    for line, text in listed:
        if text in keys:
            continue
        labels = known.meant(text)
        keys[text] = label_keys[labels[0]] if len(labels) == 1 else text
        if len(labels) > 1:
            ambiguous.append((line, text))
        elif not labels and text not in points:
            unknown.append((line, text))
    if ambiguous or unknown:
        faults = [(_place(path, line), text) for line, text in ambiguous or unknown]
        said = listed_faults(str(path), known, by, faults)
        if ambiguous:
            raise BindingError(said)
        raise UnknownLabelError("\n".join([said, *_advice(path, n_observed, listed, unknown, len(keys))]))
    return [keys[text] for _, text in listed]


def _entries(path: Path, known: LabelNames | None) -> list[tuple[int, str]]:
    """Return a pair for each sample: the line number and the text that gives its label.

    In a ``.npy`` file, the number of the row, counted from 0, takes the place of the line number. `known`
    finds labels by text. A header of a ``.csv`` file can be recognized, and is left out, only if `known` is
    given.
    """
    if path.suffix == ".npy":
        return list(enumerate(_array(path)))
    if path.suffix == ".csv":
        return _first_cells(path) if known is None else _labeled_cells(path, known)
    text = plain_text(path)
    found = [(i, line.strip()) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    if known is not None and text.lstrip()[:1] in ("[", "{") and not known.meant(found[0][1]):
        raise InputError(f"{path}: looks like JSON; write one label per line")
    return found


def _array(path: Path) -> list[str]:
    truth = load_npy(path)
    if truth.ndim != 1 or truth.dtype.kind != "U":
        numbers = truth.ndim == 1 and truth.dtype.kind in "iu"
        advice = f"; {CLASS_INDICES.format(name='truth', keys='truth.astype(str)')}" if numbers else ""
        raise InputError(
            f"{path}: contains {truth.dtype} of shape {truth.shape}; give one label key per sample{advice}"
        )
    return [str(k) for k in truth]


def _first_cells(path: Path) -> list[tuple[int, str]]:
    return [(line, row[0]) for line, row in _csv_rows(path)]


def _labeled_cells(path: Path, known: LabelNames) -> list[tuple[int, str]]:
    """Return a pair for each sample: the line number, and the text of the cell that gives the label.

    This cell is in the column that the header names as the truth. If the file has no header, it is the first
    cell of the line.
    """
    rows = _csv_rows(path)
    if not rows:
        return []
    line, head = rows[0]
    called = [i for i, cell in enumerate(head) if cell.casefold() in _HEADERS]
    if len(called) == 1 and not any(map(known.meant, head)):
        column = called[0]
        for at, row in rows[1:]:
            if len(row) <= column:
                raise InputError(
                    f"{path}:{at}: {counted(len(row), 'cell')} under a header of {len(head)} cells; give the "
                    f"truth in column {column + 1}, called {head[column]!r}"
                )
        return [(at, row[column]) for at, row in rows[1:]]
    if len(head) > 1 and not known.meant(head[0]):
        raise InputError(
            f"{path}:{line}: {head[0]!r} is not a label, and {len(called) or 'none'} of the columns "
            f"{', '.join(map(repr, head))} are called {', '.join(_HEADERS)}; use one of these names for the "
            "column with the labels, and for no other column"
        )
    return [(at, row[0]) for at, row in rows]


def _place(path: Path, line: int) -> str:
    return f"row {line}" if path.suffix == ".npy" else f"{path}:{line}"


def _advice(
    path: Path, n_observed: int, listed: list[tuple[int, str]], unknown: list[tuple[int, str]], n_texts: int
) -> list[str]:
    """Return a list with advice about the likely reason for unknown labels; empty if no reason is found."""
    is_first = path.suffix != ".npy" and unknown == listed[:1]
    numbers = look_like_numbers((text for _, text in unknown), n_observed, first=-1)  # -1: often "no class"
    if numbers and (len(unknown) == n_texts or not is_first):
        return [_COLUMN_NUMBERS]
    if is_first:
        named = f", or call it {', '.join(_HEADERS)}" if path.suffix == ".csv" else ""
        return [header_hint(unknown[0][1]) + named]
    return []


def _csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return a pair for every line that is not empty: the line number and the list of its cells."""
    reader = csv.reader(io.StringIO(plain_text(path), newline=""))
    try:
        return [(reader.line_num, [c.strip() for c in row]) for row in reader if row]
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num}: not comma-separated cells ({error}); write it again"
        ) from error

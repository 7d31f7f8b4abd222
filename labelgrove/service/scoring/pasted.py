"""Read one row of outputs that somebody pasted: numbers, classes with numbers, or a table of one row."""

from __future__ import annotations

import csv
import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter import Adapter
from labelgrove.adapter.columns.labelnames import LabelNames
from labelgrove.adapter.outputs.outputkinds import OutputKind, absent_value
from labelgrove.ontology.errors import InputError, counted

__all__ = ["FINITE_ABSENT", "pasted_row"]

FINITE_ABSENT = -1e30
"""What stands for minus infinity where JSON needs a number; its weight is 0 at every temperature in use."""

_BETWEEN = re.compile(r"[\s,;]+")
_BEFORE_NUMBER = ":=\t,;"
_LONGEST, _LONGEST_CLASS = 100_000, 1_000
"""Characters that any row may have, and further ones for each class."""

_HOW = "paste numbers, `class: number` lines, a JSON list or object, or a header and a line of numbers"


def pasted_row(text: str, adapter: Adapter, outputs: OutputKind) -> NDArray[np.float64]:
    """Return the row in the order of the bundle; classes that are not named have probability 0.

    Parameters
    ----------
    text : str
        Numbers between commas, semicolons or blanks, in the order of the bundle; or ``class: number`` lines;
        or a JSON list or object; or CSV with a header of classes and one line of numbers.
    adapter : Adapter
    outputs : {"probabilities", "log_probabilities", "logits"}

    Raises
    ------
    InputError
        For any other text, and for names that mean no observed label, or several.
    """
    text = text.strip()
    if not text:
        raise InputError(f"row: empty; {_HOW}")
    n = adapter.n_observed
    if len(text) > (most := _LONGEST + _LONGEST_CLASS * n):
        raise InputError(
            f"row: {len(text):,} characters given; paste one row, in at most {most:,}, or send a file"
        )
    found = _of_json(text) if text[0] in "[{" else _of_text(text)
    if isinstance(found, dict):
        return _placed(found, adapter, absent_value(outputs))
    if len(found) != n:
        raise InputError(
            f"row: {len(found):,} numbers given; give {n:,}, one for each observed label in the order of the "
            "bundle, or name the classes"
        )
    return np.array(found)


def _of_json(text: str) -> list[float] | dict[str, float]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"row: not JSON ({error}); {_HOW}") from None
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list | dict):
        found = found[0]  # a list of one row
    if isinstance(found, dict):
        return {name: _number(value) for name, value in found.items()}
    if not isinstance(found, list):
        raise InputError(f"row: {text!r:.40} given; {_HOW}")
    return [_number(value) for value in found]


def _of_text(text: str) -> list[float] | dict[str, float]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = [word for word in _BETWEEN.split(text) if word]
    if all(map(_is_number, words)):
        return [_number(word) for word in words]
    named = [_named(line) for line in lines]
    if all(name and _is_number(value) for name, value in named):
        return _distinct(named)
    if len(lines) == 2:
        delimiter = max(",;\t", key=lines[0].count)
        header, values = (_cells(line, delimiter) for line in lines)
        if len(header) != len(values):
            raise InputError(
                f"row: a header of {counted(len(header), 'class', 'classes')} and a line of "
                f"{counted(len(values), 'number')} given; give as many of both"
            )
        return _distinct(list(zip((name.strip() for name in header), values, strict=True)))
    wrong = next((word for word in words if not _is_number(word)), text)
    raise InputError(f"row: {wrong!r:.80} is not a number; {_HOW}")


def _named(line: str) -> tuple[str, str]:
    """Return a class and what follows it, behind the last sign that a number cannot have."""
    at = max(map(line.rfind, _BEFORE_NUMBER))
    return line[: max(at, 0)].strip(), line[at + 1 :].strip()


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line of CSV; a quote that does not end there ends with the line."""
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"row: not a line of CSV ({error}); {_HOW}") from None


def _distinct(pairs: list[tuple[str, str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in pairs:
        if name in found:
            raise InputError(f"row: {name!r:.80} is given twice; give each class one number")
        found[name] = _number(value)
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _number(value: Any) -> float:
    if isinstance(value, str) and _is_number(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"row: {value!r:.80} is not a number; {_HOW}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or number == math.inf:
        raise InputError(f"row: {value!r:.80} given; give finite numbers")
    return number


def _placed(found: dict[str, float], adapter: Adapter, absent: float) -> NDArray[np.float64]:
    """Return named numbers in the order of the bundle."""
    bundle = adapter.bundle
    known = LabelNames(bundle.observed_keys, bundle.observed_names, "auto")
    row = np.full(adapter.n_observed, absent)
    given: dict[int, str] = {}
    for name, value in found.items():
        labels = known.meant(name)
        if len(labels) != 1:
            raise InputError(f"row: {known.fault(name)}")
        if (before := given.setdefault(labels[0], name)) != name:
            raise InputError(f"row: {before!r:.80} and {name!r:.80} are the same class; give it one number")
        row[labels[0]] = value
    return row

"""Checks for arguments that many functions take: numbers, lists of keys, arrays, instances of a class."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.keys import Keys

__all__ = [
    "given_array",
    "index_array",
    "key_table",
    "listed",
    "nonnegative_number",
    "refuse_other_than",
    "whole_number",
]


def refuse_other_than(kind: type, name: str, given: object, advice: str) -> None:
    """Raise `InputError` unless `given` is of type `kind`; the message ends with `advice`."""
    if not isinstance(given, kind):
        raise InputError(
            f"{name}: {shortened(given)} of type {type(given).__name__}; give a {kind.__name__}, {advice}"
        )


def whole_number(name: str, given: Any, least: int, most: int | None = None) -> int:
    """Return `given` as an int; raise `InputError` unless it is a whole number from `least` to `most`.

    Booleans are refused too. Without `most` there is no upper limit.

    >>> whole_number("block", 3, 1)
    3
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise InputError(
            f"{name}: {shortened(given)} of type {type(given).__name__}; it must be a whole number"
        )
    if given < least or (most is not None and given > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name}: {given} given; it must be {rule}")
    return int(given)


def nonnegative_number(name: str, given: Any) -> float:
    """Return `given` as a float; raise `InputError` unless it is a finite number that is not negative.

    >>> nonnegative_number("theta", 1)
    1.0
    """
    number = given.item() if isinstance(given, np.integer | np.floating) else given
    fair = isinstance(number, int | float) and not isinstance(number, bool)
    if not (fair and 0 <= number <= sys.float_info.max):
        raise InputError(f"{name}: {shortened(given)} given; it must be a finite number that is not negative")
    return float(number)


def listed(name: str, keys: Iterable[str], *, ordered: bool = False) -> Sequence[str]:
    """Return keys as a sequence; raise `InputError` for a single string or an object that is not iterable.

    If the order of the keys matters (`ordered`), a set raises `InputError` too.
    """
    if ordered and isinstance(keys, set | frozenset):
        raise InputError(f"{name}: a set given, which has no order; give a list of keys")
    if isinstance(keys, str | bytes):
        raise InputError(f"{name}: the single string {keys!r} given; give a list of keys, such as [{keys!r}]")
    if isinstance(keys, Sequence):
        return keys
    if not isinstance(keys, Iterable) or (isinstance(keys, np.ndarray) and keys.ndim == 0):
        raise InputError(f"{name}: {shortened(keys)} given; give a list of keys")
    return list(keys)


def key_table(name: str, keys: Iterable[str]) -> Keys:
    """Return the given keys as a `Keys` object, in their order.

    A set or a single string raises `InputError`.
    """
    return keys if isinstance(keys, Keys) else Keys.from_strings(listed(name, keys, ordered=True))


def given_array(name: str, given: ArrayLike, error: type[InputError] = InputError) -> NDArray[Any]:
    """Return `given` as an array; raise `error` for rows of different lengths and for a masked array."""
    if isinstance(given, np.ma.MaskedArray):
        raise error(f"{name}: a masked array given; fill its masked cells first")
    try:
        return np.asarray(given)
    except ValueError:
        raise error(
            f"{name}: rows of different lengths given; give numbers in rows of equal length"
        ) from None


def index_array(name: str, given: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return a list of indices as an int64 array; raise `InputError` unless each is from 0 to `n` - 1."""
    index = given_array(name, given)
    if index.ndim != 1 or (index.dtype.kind not in "iu" and index.size):
        raise InputError(
            f"{name}: {index.dtype} of shape {index.shape} given; give a list of integer indices"
        )
    if not index.size:
        return np.empty(0, dtype=np.int64)
    bad = np.flatnonzero((index < 0) | (index >= n))
    if len(bad):
        raise InputError(f"{name}: index {index[bad[0]]} at position {bad[0]} is outside 0..{n - 1}")
    return index.astype(np.int64)

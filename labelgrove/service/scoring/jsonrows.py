"""Read numbers from a JSON document, without an object for each number of a large one.

A number of two bytes in a document takes more than thirty as an object in a list. So the numbers of a large
document are decoded a few at a time, into one array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError

__all__ = ["check_amount", "read_numbers", "read_rows"]

_AT_ONCE = 1 << 18  # bytes of a document that are decoded together; their objects take some megabytes
_QUOTES = 4  # twice as many as plain names have
_OF_NUMBERS = b"0123456789+-.eE \t\r\n"


class _Small(msgspec.Struct):
    rows: list[list[float]]
    columns: list[str] | None = None


class _Large(msgspec.Struct):
    rows: msgspec.Raw
    columns: msgspec.Raw = msgspec.Raw(b"null")


def read_rows(
    body: bytes, n_observed: int, most: int, most_columns: int
) -> tuple[NDArray[np.float64], list[str] | None]:
    """Return the rows of a document such as ``{"rows": [[0.5, 0.5]]}``, and its ``columns`` if it has any.

    Parameters
    ----------
    body : bytes
    n_observed : int
        Number of columns, unless the document names them.
    most, most_columns : int
        Most numbers, and most columns.

    Raises
    ------
    InputError
        For a document of another form, for rows of different lengths, and for too many numbers or columns.
    """
    if len(body) <= _AT_ONCE:
        small = _decoded(body, _Small)
        columns, parts, n_most = small.columns, iter([small.rows]), sum(map(len, small.rows))
    else:
        large = _decoded(body, _Large)
        columns, text = _columns(bytes(large.columns), most_columns), bytes(large.rows)
        n_most = text.count(b",") + 1  # commas are between the rows too
        parts = _parts(text, n_observed if columns is None else len(columns))
    n_columns = n_observed if columns is None else len(columns)  # no rows do not say how many they have
    values, width, n = np.empty(min(n_most, most)), None, 0  # memory is taken when it is written to
    for rows in parts:
        widths = {len(row) for row in rows} | ({width} if width is not None else set())
        if 0 in widths:  # millions of them are a small body
            raise InputError(
                "rows: a row without numbers given; give each row a number for each observed label"
            )
        if len(widths) > 1:
            raise InputError(
                f"rows: of {min(widths)} to {max(widths)} numbers; give each row the same number"
            )
        width = max(widths, default=None)
        more = len(rows) * (width or 0)
        check_amount(n + more, most)
        values[n : n + more] = np.array(rows, dtype=np.float64).ravel()
        n += more
    return values[:n].reshape(-1, width or n_columns), columns


def read_numbers(text: bytes, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Return the numbers of a JSON list, which is either flat or nested as the shape is, as a flat array.

    Parameters
    ----------
    text : bytes
    shape : tuple of int
        At most two numbers.
    dtype : str
        Of the array; floats beyond its range become infinite.

    Raises
    ------
    ValueError
        If the text is not such a list.
    OverflowError
        If it has a number that a whole `dtype` cannot hold.
    """
    n_values = math.prod(shape)
    brackets = text.translate(None, _OF_NUMBERS)
    if not any(_has_form(brackets, form) for form in ((n_values,), shape)):
        raise ValueError
    flat = text.translate(None, b"[]")
    if not n_values and flat.strip(b", \t\r\n"):
        raise ValueError
    values, n, begin = np.empty(n_values, dtype), 0, 0
    while n < n_values:
        stop = flat.find(b",", begin + _AT_ONCE)
        part = flat[begin : stop if stop >= 0 else len(flat)]
        try:
            found = np.asarray(msgspec.json.decode(b"[%b]" % part))
        except msgspec.DecodeError as error:  # a list without numbers among lists of one number
            raise ValueError from error
        if found.dtype.kind not in "iuf" or not len(found):
            raise ValueError
        with np.errstate(over="ignore", invalid="ignore"):
            held = found.astype(dtype)
        if held.dtype.kind in "iu" and not np.array_equal(held, found):
            raise OverflowError
        values[n : n + len(found)] = held
        n, begin = n + len(found), begin + len(part) + 1
    return values


def _has_form(brackets: bytes, shape: tuple[int, ...]) -> bool:
    """Return whether brackets and commas are those of a list of this shape."""
    *outer, n_inner = shape or (1,)
    inner = b"[" + b"," * (n_inner - 1) + b"]"
    if not outer:
        return brackets == inner
    (n_rows,) = outer
    if len(brackets) != 2 + n_rows * len(inner) + max(n_rows - 1, 0):  # before as much is written
        return False
    return brackets == b"[" + b",".join([inner] * n_rows) + b"]"


def check_amount(n_values: int, most: int) -> None:
    """Raise `InputError` if a request has more than `most` numbers."""
    if n_values > most:
        raise InputError(f"rows: {n_values:,} numbers given; send at most {most:,} at once")


def _parts(text: bytes, n_columns: int) -> Iterator[list[list[float]]]:
    """Yield some rows at a time: numbers have no brackets, so a row ends wherever there is one."""
    if not text.startswith(b"["):
        raise InputError(f"rows: {text[:40].decode(errors='replace')!r} given; give a list of rows")
    begin, last = 1, text.rfind(b"]")
    while begin < last:
        stop = text.find(b"]", begin + _AT_ONCE, last) + 1 or last
        part = text[begin:stop].strip()
        if part.count(b",") > _AT_ONCE + n_columns:
            raise InputError(
                f"rows: a row of more than {n_columns:,} numbers given; give each row {n_columns:,}, one for "
                "each observed label"
            )
        yield _decoded(b"[%b]" % part, list[list[float]])
        begin = stop
        if begin < last and (comma := text.find(b",", begin, last)) >= 0 and not text[begin:comma].strip():
            begin = comma + 1


def _columns(text: bytes, most: int) -> list[str] | None:
    """Return the names of columns; far more quotes than they need are refused before texts are made."""
    if text.count(b'"') > _QUOTES * most:
        raise InputError(f"columns: more than {most:,} given; give one for each observed label")
    found: list[str] | None = _decoded(text, list[str] | None)
    return found


def _decoded(text: bytes, shape: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InputError(
            f'body: {error}; send a document such as {{"rows": [[0.5, 0.5]]}}, see /reference'
        ) from None

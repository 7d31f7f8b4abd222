"""Split a cell that holds several values: a JSON list, or texts between bars or semicolons."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable

__all__ = ["Cell", "has_several", "listed", "looks_like_list", "separator_of", "split_values"]

Cell = str | list[str]
"""A value of a record: the text of a cell, or the texts of a list."""

_LIST = re.compile(r"\[\s*[\"'].*[\"']\s*\]|\[\s*\]", re.DOTALL)
_QUOTED = re.compile(r"\s*'([^'\\\\]*)'\s*(,|\Z)")


def has_several(cell: Cell, separator: str | None) -> bool:
    """Return whether a cell may hold several values, so that `split_values` has to look at it.

    >>> has_several("a|b", None), has_several("a|b", ""), has_several(["a"], ""), has_several("a", None)
    (True, False, True, False)
    """
    if not isinstance(cell, str):
        return True
    if cell.startswith("["):
        return True
    if separator is None:
        return "|" in cell or ";" in cell
    return bool(separator) and separator in cell


def separator_of(cells: Iterable[Cell]) -> str:
    """Return the separator of values in the cells of one column: a bar if any cell has one.

    >>> separator_of(["a|b", "c; d"]), separator_of(["c; d"])
    ('|', ';')
    """
    barred = any(isinstance(cell, str) and "|" in cell and not _LIST.fullmatch(cell) for cell in cells)
    return "|" if barred else ";"


def listed(cell: str) -> list[str] | None:
    """Return the texts of a list as JSON or Python write it; None if the cell is not such a list.

    >>> listed('["a|b", "c"]'), listed("['a', 'b']"), listed("[]"), listed("[a]"), listed('["a", 1]')
    (['a|b', 'c'], ['a', 'b'], [], None, None)
    """
    if not _LIST.fullmatch(cell):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):  # also if it is nested too deep: then it is not a list of texts
        return _quoted(cell)
    return found if all(isinstance(one, str) for one in found) else None


def _quoted(cell: str) -> list[str] | None:
    """Return the texts between single quotes of a list; None if there is anything else in it."""
    inside, at, texts = cell[1:-1].strip(), 0, []
    while at < len(inside):
        found = _QUOTED.match(inside, at)
        if found is None:
            return None
        texts.append(found[1])
        at = found.end()
    return texts


def looks_like_list(cell: str) -> bool:
    """Return whether a cell begins like a list of quoted texts.

    >>> looks_like_list('["a",'), looks_like_list("[UNK]")
    (True, False)
    """
    return cell[:2] in ('["', "['")


def split_values(cell: Cell, separator: str, whole: Container[str] = ()) -> list[str]:
    """Return the values in a cell, without blanks around them and without empty ones.

    A cell in `whole` has one value, whatever is in it; so has a list that `listed` does not read.

    >>> split_values("a | b;c", "|"), split_values("a|b", "|", {"a|b"}), split_values('["a|b"]', "|")
    (['a', 'b;c'], ['a|b'], ['a|b'])
    """
    if not isinstance(cell, str):
        return [one for one in cell if one]
    if cell in whole:
        return [cell]
    texts = listed(cell)
    if texts is None:
        texts = cell.split(separator) if separator and not looks_like_list(cell) else [cell]
        texts = [text.strip() for text in texts]
    return [text for text in texts if text]

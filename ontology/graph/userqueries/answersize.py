"""The largest answer to a user's query: one rule for every engine.

An answer holds the rows asked for at most, and 64 MiB, counted as the JSON in which it travels to the caller.
Every value counts as eight bytes at least, because a list of empty lists takes far more memory than its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from labelgrove.ontology.errors import QueryFailedError

__all__ = ["ANSWER_BYTES", "encoded"]

ANSWER_BYTES = 64 << 20
"""Most bytes of an answer."""

_VALUE_BYTES = 8
_MOST_LEVELS = 100


def encoded(columns: Sequence[str], rows: Iterable[Sequence[Any]], max_rows: int) -> str:
    """Return an answer as one JSON document: ``columns``, ``rows``, ``truncated``.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences of plain values
        Taken one by one, and no further than one past the last that is kept.
    max_rows : int
        Rows kept at most; ``truncated`` tells whether there were more.

    Raises
    ------
    QueryFailedError
        As soon as the rows kept are more than `ANSWER_BYTES`, or a value lies more than 100 levels deep.

    Examples
    --------
    >>> encoded(["key"], [["oak"], ["elm"]], max_rows=1)
    '{"columns": ["key"], "rows": [["oak"]], "truncated": true}'
    """
    kept: list[str] = []
    n_bytes, truncated = 0, False
    for row in rows:
        if len(kept) == max_rows:
            truncated = True
            break
        least = _VALUE_BYTES * sum(map(_n_values, row))
        text = "" if least > ANSWER_BYTES else json.dumps(row)
        n_bytes += max(least, len(text))
        if n_bytes > ANSWER_BYTES:
            raise QueryFailedError(
                f"the answer is larger than {ANSWER_BYTES >> 20} MiB; return fewer rows or smaller values"
            )
        kept.append(text)
    head = f'{{"columns": {json.dumps(list(columns))}, "rows": ['
    return f'{head}{", ".join(kept)}], "truncated": {json.dumps(truncated)}}}'


def _n_values(value: Any, level: int = 1) -> int:
    """Return how many values there are in a plain value, itself and the keys of maps among them."""
    if level > _MOST_LEVELS:
        raise QueryFailedError(
            f"a value of the answer lies more than {_MOST_LEVELS} levels deep; return what it holds instead"
        )
    if isinstance(value, list):
        return 1 + sum(_n_values(v, level + 1) for v in value)
    if isinstance(value, dict):
        return 1 + len(value) + sum(_n_values(v, level + 1) for v in value.values())
    return 1

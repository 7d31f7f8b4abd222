"""Limit the size of an answer to a user's query, by the same rule for both engines.

An answer has at most the requested number of rows, and at most 64 MiB, measured as the JSON that is sent to
the caller. Every value counts as at least eight bytes, because a list of empty lists takes far more memory
than its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from labelgrove.ontology.errors import QueryFailedError

__all__ = ["ANSWER_BYTES", "encoded"]

ANSWER_BYTES = 64 << 20
"""Largest size of an answer in bytes."""

_VALUE_BYTES = 8
_MOST_LEVELS = 100


def encoded(columns: Sequence[str], rows: Iterable[Sequence[Any]], max_rows: int) -> str:
    """Return an answer as one JSON document: ``columns``, ``rows``, ``truncated``.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences of plain values
        Rows, fetched one by one; at most `max_rows` + 1 are fetched.
    max_rows : int
        Maximum number of rows kept; ``truncated`` says whether there were more.

    Raises
    ------
    QueryFailedError
        As soon as the kept rows exceed `ANSWER_BYTES`, or a value is nested more than 100 levels deep.

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
    """Count a plain value, all values at any depth inside it, and all keys of the maps among these."""
    if level > _MOST_LEVELS:
        raise QueryFailedError(
            f"a value of the answer is nested more than {_MOST_LEVELS} levels deep; return its parts instead"
        )
    if isinstance(value, list):
        return 1 + sum(_n_values(v, level + 1) for v in value)
    if isinstance(value, dict):
        return 1 + len(value) + sum(_n_values(v, level + 1) for v in value.values())
    return 1

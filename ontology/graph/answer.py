"""Represent the answer to a query: named columns and plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

__all__ = ["Rows", "plain_value"]


@dataclass(frozen=True)
class Rows:
    """The answer to a query.

    Attributes
    ----------
    columns : tuple of str
        Column names in the order of the RETURN clause.
    rows : list of tuple
        The plain values of each row.
    truncated : bool
        Whether the row limit cut off the answer.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool = False

    def dicts(self) -> list[dict[str, Any]]:
        """Return each row as a dictionary.

        >>> Rows(("key", "depth"), [("oak", 2)]).dicts()
        [{'key': 'oak', 'depth': 2}]
        """
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def plain_value(value: Any) -> Any:
    r"""Return `value` in a form that JSON can represent.

    Dates and other objects become text, and bytes become hexadecimal digits. NaN and infinities become
    ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.

    >>> plain_value([float("inf"), b"\x01", (1, None)])
    ['Infinity', '01', [1, None]]
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):  # from the embedded engine, as the sum of integers
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, Mapping):
        return {str(k): plain_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_value(v) for v in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    formatter = getattr(value, "isoformat", None) or getattr(value, "iso_format", None)
    return formatter() if formatter else str(value)

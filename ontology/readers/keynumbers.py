"""Number keys in the order in which they come."""

from __future__ import annotations

__all__ = ["KeyNumbers"]


class KeyNumbers(dict[str, int]):
    """Number of each key, from 0, in the order in which keys were first looked up."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number

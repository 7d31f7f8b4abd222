"""Write times as text."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["when"]


def when(seconds: float | None) -> str | None:
    """Return seconds since 1970 as a UTC time to the second.

    >>> when(0.0)
    '1970-01-01T00:00:00Z'
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

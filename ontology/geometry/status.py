"""Status: whether a result is proved to be the whole answer."""

from __future__ import annotations

from typing import Literal

__all__ = ["Status"]

Status = Literal["exact", "lower_bound"]
"""``"exact"``: proved to be the whole answer. ``"lower_bound"``: true, but more may be possible.

Each result with a `status` says what more may be possible.
"""

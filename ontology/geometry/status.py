"""Status: whether a result is the whole answer, or what was found of it."""

from __future__ import annotations

from typing import Literal

__all__ = ["Status"]

Status = Literal["exact", "lower_bound"]
"""``"exact"``: proved to be the whole answer. ``"lower_bound"``: true as far as it goes, there may be more.

What there may be more of, or how much better an answer, is said wherever a result has its `status`.
"""

"""Cases of a test of which continuous integration runs some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["sampled"]


def sampled(cases: Iterable[tuple[Any, ...]], *, every: int) -> list[Any]:
    """Return the arguments of each case as parameters of a test. Most are marked slow.

    The first case, and every `every`-th after it, runs in continuous integration.
    """
    return [
        pytest.param(*arguments, marks=() if i % every == 0 else pytest.mark.slow)
        for i, arguments in enumerate(cases)
    ]

"""What Ctrl-C leaves, and the command that goes on from there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["resumable", "typed"]


@contextmanager
def resumable(kept: str) -> Iterator[None]:
    """Let Ctrl-C in the block say what is kept and how to go on; what a block inside it says comes first."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(*(interrupt.args or [kept])) from None


def typed() -> str:
    """Return the command that was typed, as it can be typed again."""
    return shlex.join(["grove", *sys.argv[1:]])

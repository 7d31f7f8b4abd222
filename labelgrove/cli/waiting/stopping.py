"""On Ctrl-C, say what is kept and which command continues the work."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["resumable", "typed"]


@contextmanager
def resumable(kept: str) -> Iterator[None]:
    """If Ctrl-C stops the ``with`` block, attach the text `kept` to the `KeyboardInterrupt`.

    The text says what is kept and how to continue. If such blocks are nested, the text of the innermost block
    is attached.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(*(interrupt.args or [kept])) from None


def typed() -> str:
    """Return the command that was typed, quoted so that it can be typed again."""
    return shlex.join(["grove", *sys.argv[1:]])

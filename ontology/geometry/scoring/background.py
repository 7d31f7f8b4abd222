"""Background: run a function once, in a thread of its own, while the caller goes on without its result."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable

__all__ = ["Background"]


class Background:
    """A function that runs at most once in each process, in a daemon thread.

    A fault of the function gives a `RuntimeWarning`, as the thread has no caller who could handle it.

    Parameters
    ----------
    function : callable
        The function. It stores its result where its caller finds it.
    purpose : str
        What the function does, for the name of the thread and the warning.
    """

    def __init__(self, function: Callable[[], object], purpose: str) -> None:
        self._function, self._purpose = function, purpose
        self._process: int | None = None

    def start(self) -> None:
        """Start the function, unless this process has started it before; return at once."""
        process = os.getpid()  # a process that was forked has none of the threads of its parent
        if self._process != process:
            self._process = process
            threading.Thread(target=self._run, name=f"labelgrove: {self._purpose}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._function()
        except Exception as error:
            warnings.warn(
                f"labelgrove goes on without this, and answers more slowly: {self._purpose}: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=1,
            )

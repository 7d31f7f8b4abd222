"""Background: run a function once, in a thread of its own, while the caller goes on without its result."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress

__all__ = ["Background"]


class Background:
    """A function that runs at most once in each process, in a daemon thread.

    A fault of the function, or a thread that cannot be started, gives a `RuntimeWarning`; where warnings are
    errors, nothing is said, since neither the thread nor the caller is to fail.

    Parameters
    ----------
    function : callable
        The function. It stores its result where its caller finds it.
    purpose : str
        What the function does, for the name of the thread and the warning.
    """

    def __init__(self, function: Callable[[], object], purpose: str) -> None:
        self._function, self._purpose = function, purpose
        self._started: dict[int, object] = {}

    def start(self) -> None:
        """Start the function, unless this process has started it before; return at once."""
        # A process that was forked has none of the threads of its parent. A lock could be held while the
        # process forks, so one operation decides which thread comes first.
        own = object()
        if self._started.setdefault(os.getpid(), own) is own:
            thread = threading.Thread(target=self._run, name=f"labelgrove: {self._purpose}", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads or memory: the caller must not fail
                self._warn(error)

    def _run(self) -> None:
        try:
            self._function()
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        with suppress(RuntimeWarning):
            warnings.warn(
                f"labelgrove goes on without this, and answers more slowly: {self._purpose}: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=1,
            )

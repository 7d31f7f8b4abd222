"""Show the progress of long work on stderr, as a bar or as a line for each step."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from labelgrove.cli.printing.text import say

__all__ = ["Progress", "Steps"]


class Progress:
    """The progress of long work: a bar on stderr if stderr is a terminal, else nothing.

    Call it with the name of a step and how much of the step is done.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, step: str, done: int = 0, total: int = 1) -> None:
        """Show that `done` of `total` parts of `step` are done."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._title}: {step}", completed=done, total=total)

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the bar while the ``with`` block runs, if stderr is a terminal."""
        if not sys.stderr.isatty():
            yield self
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task(self._title, total=None)
            yield self
        self._bar = None

    @property
    def seconds(self) -> float:
        """The seconds since this object was made."""
        return time.monotonic() - self._started


class Steps:
    """Prints a line on stderr for each step, and a dot for every `patience_s` seconds that the step takes."""

    def __init__(self, patience_s: float = 1.0) -> None:
        self._patience_s = patience_s
        self._started = time.monotonic()
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._dots = threading.Thread(target=self._go_on, daemon=True)
        self._line = False

    def __call__(self, message: str) -> None:
        """Begin a step: end the line of the step before, and print `message`."""
        with self._turn:
            self._end_line()
            say(f"[{time.monotonic() - self._started:5.1f} s] {message} ", err=True, nl=False)
            self._line = True

    def __enter__(self) -> Self:
        self._dots.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._dots.join()
        with self._turn:
            self._end_line()

    def _go_on(self) -> None:
        while not self._ended.wait(self._patience_s):
            with self._turn:
                if self._line:  # no step has begun while this is False
                    say(".", err=True, nl=False)

    def _end_line(self) -> None:
        if self._line:
            say("", err=True)
        self._line = False

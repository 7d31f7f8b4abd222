"""``grove quickstart``: the main job on real input."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Self

import click

from labelgrove.cli.common import emit, json_option, resumable, say, typed

__all__ = ["Steps", "quickstart"]


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("quickstart"),
    show_default=True,
    help="Folder of the pictures.",
)
@json_option
def quickstart(out: Path, as_json: bool) -> None:
    """Train small classifiers, let them answer with labels they never saw, measure, and draw.

    Part one: handwritten digits on a 9 x 9 grid, a model that knows the four corners. Part two: a text
    classifier over the 4,017 animals of WordNet. Where WordNet is installed (`apt-get install wordnet-base`)
    all its 82,115 nouns go into the graph as well.
    """
    kept = resumable(f"the ontologies and bundles that were made stay; go on with: {typed()}")
    with kept, Steps() as progress:
        progress("loading")
        from labelgrove.quickstart import render, run

        result = run(out, progress=progress)
    emit(result.to_dict(), as_json, lambda: render(result))


class Steps:
    """A line on stderr for each step, with a dot whenever a step has taken so many seconds more."""

    def __init__(self, patience_s: float = 1.0) -> None:
        self._patience_s = patience_s
        self._started = time.monotonic()
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._dots = threading.Thread(target=self._go_on, daemon=True)
        self._line = False

    def __call__(self, message: str) -> None:
        """Begin a step."""
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
                say(".", err=True, nl=False)

    def _end_line(self) -> None:
        if self._line:
            say("", err=True)
        self._line = False

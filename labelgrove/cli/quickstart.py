"""``grove quickstart``: the main job on real input."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from labelgrove.cli.common import json_option, note

__all__ = ["quickstart"]


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

    Part one needs nothing: handwritten digits on a 9 x 9 grid, a model that knows the four corners. Part two
    runs where WordNet is found (`apt-get install wordnet-base`): 82,115 nouns in the graph, a text classifier
    over 4,017 animals.
    """
    from labelgrove.quickstart import render, run

    started = time.monotonic()

    def progress(message: str) -> None:
        note(f"[{time.monotonic() - started:5.1f} s] {message}")

    result = run(out, progress=progress)
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else render(result))

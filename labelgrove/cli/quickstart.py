"""``grove quickstart``: run the whole process on real input, from training to pictures."""

from __future__ import annotations

from pathlib import Path

import click

from labelgrove.cli.printing.progress import Steps
from labelgrove.cli.printing.text import emit, json_option
from labelgrove.cli.waiting.stopping import resumable, typed

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
    """Let classifiers answer with labels that they never saw, measure the answers, and draw them.

    The first classifier finds the position of a handwritten digit on a 9 x 9 grid; it knows only the four
    corners. The second is a pretrained model, which knows 139 languages and answers with any of 5,910
    languages and families; it needs the extra 'models'. The third classifies texts, and answers with any of
    the 4,017 animals of WordNet. If WordNet is installed (Debian package wordnet-base), all its 82,115 nouns
    are loaded into the graph as well.
    """
    kept = resumable(f"the ontologies and bundles made so far are kept; go on with: {typed()}")
    with kept, Steps() as progress:
        progress("loading")
        from labelgrove.quickstart import render, run

        result = run(out, progress=progress)
    emit(result.to_dict(), as_json, lambda: render(result))

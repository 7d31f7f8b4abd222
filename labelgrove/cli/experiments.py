"""``grove experiment``: run the experiments that test the claims of the paper."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import experiments
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.stopping import resumable, typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelgrove.datasets.ownfiles import Files

__all__ = ["experiment"]

_FILE_OPTIONS = {
    "hierarchy": "The hierarchy of labels, in any format that `grove ingest` reads.",
    "probs": "Probabilities of the test samples, .npy or .csv.",
    "columns": "The label key of each column of --probs, one per line; the header of a .csv names them.",
    "truth": "The label key of each row of --probs, one per line.",
    "embeddings": "Features of the samples, .npy, or .npz of a scipy sparse matrix.",
    "labels": "The label key of each row of --embeddings, one per line.",
    "test_embeddings": "Features of separate test samples; without them the samples are split.",
    "test_labels": "The label key of each row of --test-embeddings.",
    "class_embeddings": "A vector for each label, .npy.",
    "classes": "The label key of each row of --class-embeddings.",
}


def _file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, said in reversed(_FILE_OPTIONS.items()):
        shown = f"--{name.replace('_', '-')}"
        command = click.option(shown, name, type=click.Path(path_type=Path), help=said)(command)
    return command


@click.command()
@click.argument("name", metavar="NAME|all|list", shell_complete=experiments)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiments"),
    show_default=True,
    help="Folder of the results; results that are already there are not computed again.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use small settings, a few seconds for each experiment, to see that it runs.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUES",
    help="Change a setting, such as sizes=10,25 or n_test=0. May be repeated.",
)
@click.option(
    "--seeds-from",
    type=click.IntRange(min=0),
    metavar="N",
    help="Count the seeds from N instead of 0, to test the same claims on other draws.",
)
@_file_options
@click.option(
    "--metric",
    type=click.Choice(["tree", "graph"]),
    default="tree",
    show_default=True,
    help="Metric of --hierarchy: paths over primary parents, or shortest paths over all edges.",
)
@click.option(
    "--answers",
    type=click.Choice(["all", "leaves"]),
    default="all",
    show_default=True,
    help="Labels of --hierarchy that may be answers.",
)
@json_option
def experiment(
    name: str,
    out: Path,
    quick: bool,
    changes: tuple[str, ...],
    seeds_from: int | None,
    metric: Any,
    answers: Any,
    as_json: bool,
    **paths: Path | None,
) -> None:
    """Test a claim of the source paper on data that is available everywhere, or on your own files.

    `list` lists the claims. `all` tests every claim, and writes the pages results.html and results.md about
    all of them. A run can be stopped at any time; the same command then goes on where it stopped.
    docs/experiments.md describes the layout of the files.
    """
    from labelgrove.datasets.ownfiles import Files
    from labelgrove.experiments import NAMES, load, select
    from labelgrove.experiments.documents import pages
    from labelgrove.experiments.running import run
    from labelgrove.experiments.settings import changed, with_seeds_from
    from labelgrove.ontology.errors import InputError

    if name == "list":
        _list(as_json)
        return
    names = select(name)
    files: Files | None = Files(**paths, metric=metric, answers=answers)
    if files is not None and not files.given():
        files = None
    if name == "all" and (files is not None or changes):
        raise InputError("all: takes no files and no --set, which fit single experiments; name one of them")
    if seeds_from is not None and any("seeds" in change.partition("=")[0] for change in changes):
        raise InputError("--seeds-from: given beside --set seeds=...; give one of them")
    results = []
    for chosen in names:
        found = load(chosen)
        settings = changed(found.settings(quick=quick), changes)
        if seeds_from is not None:
            settings = with_seeds_from(settings, seeds_from)
        kept = f"what is done of {chosen} stays in {out}; go on with: {typed()}"
        with resumable(kept), Progress(chosen).shown() as progress:
            result = run(
                found,
                out,
                settings=settings,
                files=files,
                command=_command(chosen, quick, seeds_from),
                progress=progress,
            )
        note(
            f"{chosen}: {result.document['verdict']} ({result.computed} units computed, "
            f"{result.seconds:.0f} s in all; {result.path})"
        )
        results.append(result.document)
    if quick:
        note("--quick has few trials, which often cannot tell: verdicts count without it")
    if name == "all":
        from labelgrove.experiments.running import write

        for file, text in pages(out, NAMES).items():
            write(out / file, text)
            note(f"wrote {out / file}")
    rows = [(d["experiment"], d["verdict"], d["findings"][0]["because"]) for d in results]
    document: Any = results if name == "all" else results[0]
    emit(document, as_json, lambda: table(("experiment", "verdict", "because"), rows, wrap=True))


def _list(as_json: bool) -> None:
    from labelgrove.experiments import NAMES, load

    found = [load(name) for name in NAMES]
    rows = [
        {
            "name": e.name,
            "claim": e.claim,
            "source": e.source,
            "inputs": e.inputs,
            "own_files": [[f"--{n}" for n in needed] for needed in e.own_files],
            "settings": dataclasses.asdict(e.settings()),
        }
        for e in found
    ]
    emit(
        json.loads(json.dumps(rows)),
        as_json,
        lambda: table(("experiment", "claim"), [(r["name"], r["claim"]) for r in rows], wrap=True),
    )


def _command(name: str, quick: bool, seeds_from: int | None) -> str:
    """Return the command that repeats one experiment: the typed one, or for ``all`` the experiment's own."""
    if sys.argv[1:3] == ["experiment", name]:
        return typed()
    other_seeds = "" if seeds_from is None else f" --seeds-from {seeds_from}"
    return f"grove experiment {name}{' --quick' if quick else ''}{other_seeds}"

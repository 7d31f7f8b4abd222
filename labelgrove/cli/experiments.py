"""``grove experiment``: test the claims of the source paper, and pretrained models."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import experiments
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.answering import answering_job
from labelgrove.cli.waiting.stopping import typed
from labelgrove.datasets.filepaths import OWN_FILES, FilePaths
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["experiment"]


_file_options = option_group(
    *(
        click.option(f"--{name.replace('_', '-')}", name, type=click.Path(), help=said)  # or a URL, unchanged
        for name, said in OWN_FILES.items()
    )
)
"""Decorator that adds an option for each file of the user's own."""


@click.command()
@click.argument("name", metavar="NAME|all|list", shell_complete=experiments)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiments"),
    show_default=True,
    help="Folder to which the results are written.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use small settings, so that each experiment takes only a few seconds, to check that it runs.",
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
    help="Number the seeds from N instead of 0, to repeat the tests with other random draws.",
)
@_file_options
@click.option(
    "--metric",
    type=click.Choice(["tree", "graph"]),
    default="tree",
    show_default=True,
    help="How to measure distances on --hierarchy. tree: along paths over primary parents; graph: along "
    "shortest paths over all edges.",
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
    **locations: str | None,
) -> None:
    """Test a claim of the source paper on data that is available everywhere, or on your own files.

    `grove experiment list` lists the claims. `grove experiment all` tests every claim of the paper, and
    writes the pages results.html and results.md about all of them. `languages` and `file-types` test
    pretrained models instead, which the extra `models` installs. An experiment runs as a background job,
    which the ledger records. You can stop it at any time; the same command continues it. docs/experiments.md
    describes the layout of your own files.
    """
    from labelgrove.experiments import load, select
    from labelgrove.experiments.runnable import check_runnable
    from labelgrove.experiments.settings import as_texts, changed, with_seeds_from
    from labelgrove.ontology.errors import InputError

    if name == "list":
        _list(as_json)
        return
    names = select(name)
    given = {option: location for option, location in locations.items() if location is not None}
    paths: dict[str, Any] = {option: Path(location) for option, location in given.items()}
    files = FilePaths(**paths, metric=metric, answers=answers)
    if name == "all" and (files.given() or changes):
        raise InputError(
            "all: does not take files or --set, because they apply to a single experiment; give the name of "
            "one experiment instead of all"
        )
    if seeds_from is not None and any("seeds" in change.partition("=")[0] for change in changes):
        raise InputError("--seeds-from: given together with --set seeds=...; give only one of them")
    requests = []
    for chosen in names:
        found = load(chosen)
        check_runnable(found, files)
        settings = changed(found.settings(quick=quick), changes)
        if seeds_from is not None:
            settings = with_seeds_from(settings, seeds_from)
        request = {"experiment": chosen, "settings": as_texts(settings), "metric": metric, "answers": answers}
        requests.append(request | given)
    documents = _run(requests, out, overview=name == "all")
    if quick:
        note(
            "--quick runs too few trials for a reliable verdict; to get one, run the command without --quick"
        )
    rows = [(d["experiment"], d["verdict"], d["findings"][0]["because"]) for d in documents]
    document: Any = documents if name == "all" else documents[0]
    emit(document, as_json, lambda: table(("experiment", "verdict", "because"), rows, wrap=True))


@with_workspace
def _run(
    workspace: Workspace, requests: Sequence[Mapping[str, Any]], out: Path, *, overview: bool
) -> list[dict[str, Any]]:
    """Run experiments one after the other, write the results, and return the content of each result.json."""
    from labelgrove.experiments.answering import answer_experiment
    from labelgrove.experiments.documents import write_overview, write_result

    documents, seconds = [], []
    for request in requests:
        name = request["experiment"]
        wait = partial(answering_job, workspace, name, go_on=typed())
        found = answer_experiment(workspace, request, wait)
        document = write_result(out / name, workspace.artifacts.read_bytes(found.sha256))
        note(
            f"{name}: {document['verdict']} ({counted(found.computed, 'unit')} computed during this command; "
            f"all units took {found.seconds:.0f} s in total; {out / name / 'result.json'})"
        )
        note(f"page: {out / name / 'result.html'}")
        documents.append(document)
        seconds.append(found.seconds)
    if overview:
        for path in write_overview(out, documents, seconds):
            note(f"wrote {path}")
    return documents


def _list(as_json: bool) -> None:
    from labelgrove.experiments import NAMES, PRETRAINED, load

    claims = {name: load(name).claim for name in (*NAMES, *PRETRAINED)}
    rows = [
        {
            "name": name,
            "claim": claim.sentence,
            "source": claim.source,
            "inputs": claim.inputs,
            "own_files": [[f"--{n}" for n in needed] for needed in claim.own_files],
            "settings": asdict(load(name).settings()),
        }
        for name, claim in claims.items()
    ]
    emit(
        json.loads(json.dumps(rows)),
        as_json,
        lambda: table(("experiment", "claim"), [(r["name"], r["claim"]) for r in rows], wrap=True),
    )

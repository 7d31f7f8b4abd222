"""``grove experiment``: run the experiments that test the claims of the paper."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import experiments
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.answering import answering_job
from labelgrove.cli.waiting.following import result_of
from labelgrove.cli.waiting.stopping import typed
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from labelgrove.datasets.ownfiles import Files
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job, Unit

__all__ = ["Answer", "answer_experiment", "busy_seconds", "experiment", "file_parameters"]

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
    help="Folder to which the results are written.",
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
    all of them. An experiment is a background job, which the ledger records: a run can be stopped at any
    time, and the same command continues it. docs/experiments.md describes the layout of the files.
    """
    from labelgrove.datasets.ownfiles import Files
    from labelgrove.experiments import load, select
    from labelgrove.experiments.request import check_runnable
    from labelgrove.experiments.settings import as_texts, changed, with_seeds_from
    from labelgrove.ontology.errors import InputError

    if name == "list":
        _list(as_json)
        return
    names = select(name)
    files = Files(**paths, metric=metric, answers=answers)
    if name == "all" and (files.given() or changes):
        raise InputError(
            "all: does not take files or --set, which apply to one experiment; name the experiment"
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
        requests.append({"experiment": chosen, "settings": as_texts(settings)} | file_parameters(files))
    documents = _run(requests, out, overview=name == "all")
    if quick:
        note("--quick runs few trials, which often cannot tell, so only verdicts without it count")
    rows = [(d["experiment"], d["verdict"], d["findings"][0]["because"]) for d in documents]
    document: Any = documents if name == "all" else documents[0]
    emit(document, as_json, lambda: table(("experiment", "verdict", "because"), rows, wrap=True))


def file_parameters(files: Files) -> dict[str, str]:
    """Return the parameters of the job that name the files of a user; none if there are no files."""
    given = {name: str(path) for name in _FILE_OPTIONS if (path := getattr(files, name)) is not None}
    return given | {"metric": files.metric, "answers": files.answers} if given else {}


@with_workspace
def _run(
    workspace: Workspace, requests: Sequence[Mapping[str, Any]], out: Path, *, overview: bool
) -> list[dict[str, Any]]:
    """Run experiments one after the other, write their results, and return their documents."""
    from labelgrove.experiments.documents import write_overview, write_result

    documents, seconds = [], []
    for request in requests:
        name = request["experiment"]
        found = answer_experiment(workspace, request)
        document = write_result(out / name, workspace.artifacts.read_bytes(found.sha256))
        note(
            f"{name}: {document['verdict']} ({counted(found.computed, 'unit')} computed now; "
            f"all units took {found.seconds:.0f} s in total; {out / name / 'result.json'})"
        )
        documents.append(document)
        seconds.append(found.seconds)
    if overview:
        for path in write_overview(out, documents, seconds):
            note(f"wrote {path}")
    return documents


@dataclass(frozen=True)
class Answer:
    """The result of an experiment, and what it took.

    The last unit, which writes the document from the other results, is not counted.

    Attributes
    ----------
    sha256 : str
        The digest of the artifact with the document.
    computed : int
        How many units were computed during this call.
    seconds : float
        Wall-clock seconds in which units were being computed, in this call or before.
    """

    sha256: str
    computed: int
    seconds: float


def answer_experiment(workspace: Workspace, request: Mapping[str, Any]) -> Answer:
    """Return the result of an experiment, by a job that has computed it before or computes it now.

    `request` has the parameters of the job. The errors are those of `cli.waiting.answering.answering_job`.
    """
    from labelgrove.workers.client import list_units, submit

    def units(job: Job) -> list[Unit]:
        every = list_units(workspace, job.id, limit=sum(job.units.values()))
        return [unit for unit in every if unit.stage == 0]

    ended: dict[str, float | None] = {}

    def submitted() -> Job:
        job = submit(workspace, "experiment", request, wait=False)
        ended.update({unit.key: unit.ended_at for unit in units(job)})
        return job

    job = answering_job(workspace, request["experiment"], submitted, go_on=typed())
    now = units(job)
    computed = sum(unit.ended_at != ended[unit.key] for unit in now)
    return Answer(result_of(job), computed, busy_seconds(now))


def busy_seconds(units: Iterable[Unit]) -> float:
    """Return the wall-clock seconds in which at least one of the units was being computed.

    Claimed units of one process wait for each other. Adding the times of all units would therefore count the
    same seconds more than once.
    """
    total, until = 0.0, -math.inf
    spans = [(u.claimed_at, u.ended_at) for u in units if u.claimed_at is not None and u.ended_at is not None]
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return round(total, 1)


def _list(as_json: bool) -> None:
    from labelgrove.experiments import NAMES, load

    claims = {name: load(name).claim for name in NAMES}
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

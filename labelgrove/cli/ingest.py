"""``grove ingest``: read a hierarchy and make it the current version of an ontology."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, cast

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.reading import as_reading, reading_options
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.waiting.following import check_waitable, follow, result_of
from labelgrove.cli.waiting.refreshing import check_refreshed, refresh_stale, refresh_table
from labelgrove.cli.waiting.stopping import resumable, typed
from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult, Report
    from labelgrove.ontology.versions.ingest import RegisterResult
    from labelgrove.ontology.versions.snapshots import Snapshot
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["ingest"]


def _recorded(source: str) -> str:
    """Return a path as text that the catalog can store: bytes that are not UTF-8 become ``\\xNN``."""
    return os.fsencode(source).decode(errors="backslashreplace")


@click.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("source", type=click.Path())
@reading_options
@click.option("--detach", is_flag=True, help="Read and check SOURCE, then leave the rest to the workers.")
@click.option("--refresh", is_flag=True, help="Resubmit the jobs that become stale, for the new version.")
@click.option(
    "--shrink", is_flag=True, help="Accept a hierarchy with less than half of the labels that NAME has."
)
@json_option
@with_workspace
def ingest(
    workspace: Workspace,
    /,
    name: str,
    source: str,
    detach: bool,
    refresh: bool,
    shrink: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Read the hierarchy at SOURCE and make it the current version of NAME.

    \b
    grove ingest wordnet /usr/share/wordnet
    grove ingest products edges.csv --direction child-parent --policy roots=virtual

    A source with defects is refused: every defect is listed with its file and line, and the exit code is 3. A
    source that has not changed since it became a version of NAME is not read again. With a broker, the
    workers load the hierarchy into the graph, and this command waits for them.
    """
    from labelgrove.ontology.versions.ingest import register
    from labelgrove.ontology.versions.sources import read_once

    if detach and refresh:
        raise click.UsageError(
            f"--refresh cannot be given with --detach, which does not wait for the new version; leave out "
            f"--refresh, and run this when the version is current: grove jobs refresh {name}"
        )
    by_workers = workspace.settings.broker_url is not None
    if by_workers and not detach:
        check_waitable(workspace)
    progress = Progress(f"ingest {name}")
    with resumable(f"{name} keeps its previous version until the ingest is complete; go on with: {typed()}"):
        with progress.shown():
            progress("reading")
            result = read_once(workspace, name, source, **as_reading(**reading))
        report, since = _report(result)
        if not as_json:
            _tell(source, report, since)
        graph = result.graph
        if graph is not None and not shrink:
            shrink = _may_shrink(workspace, name, graph.n_labels)
        asked: dict[str, Any] = {"source": _recorded(source), "shrink": shrink}
        document: dict[str, Any] = {"report": report.to_dict(), "unchanged_since": since}
        if detach:
            _leave(workspace, name, result, asked, document, as_json)
            return
        with progress.shown():
            if by_workers:
                registered = _by_job(workspace, name, result, asked, progress)
            else:  # needs no job: its steps can be resumed as they are
                registered = register(workspace, name, result, progress=progress, **asked)
    document = {
        "ontology": registered.name,
        "digest": registered.digest,
        "created": registered.created,
        "replaced": registered.replaced,
        "n_labels": registered.n_labels,
        "n_edges": registered.n_edges,
        "seconds": registered.seconds,
        **document,
    }
    seconds = progress.seconds
    refreshed = refresh_stale(workspace, name) if refresh else []
    if refresh:
        document["refreshed"] = refreshed
    elif registered.created:
        _say_stale(workspace, name)
    emit(
        document,
        as_json,
        f"{_result_sentence(registered)} ({seconds:.1f} s)"
        + (f"\n{refresh_table(refreshed)}" if refresh else ""),
    )
    check_refreshed(refreshed)


def _report(result: ReadResult | Snapshot) -> tuple[Report, str | None]:
    """Return a pair: the report about reading a source, and the time of that reading or None.

    An unchanged source is not read again: then the report and the time are those of its earlier reading. If
    the source was read now, the time is None.
    """
    from labelgrove.ontology.versions.snapshots import Snapshot

    if isinstance(result, Snapshot) and result.reading is not None:
        return result.reading.report, when(result.reading.read_at)
    return cast("ReadResult", result).report, None


def _tell(source: str, report: Report, since: str | None) -> None:
    """Print the defects found in a source; if the source was not read again, say when it was read."""
    if since is not None:
        told = "; its report from then:" if report.defects else ""
        note(f"{source} is unchanged since it was read at {since}, so it is not read again{told}")
    if report.defects:
        note(report.render())


def _may_shrink(workspace: Workspace, name: str, n_labels: int) -> bool:
    """Return True if the ontology would lose more than half of its labels and the user agrees to that.

    Return False if it would lose fewer. If the user refuses, the command is aborted. If there is no terminal
    on which to ask the user, raise `ShrinkError`.
    """
    from labelgrove.ontology.errors import ShrinkError
    from labelgrove.ontology.versions.ingest import check_size

    try:
        check_size(workspace, name, n_labels)
    except ShrinkError as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        note(str(error))
        click.confirm(f"Replace {name} anyway?", abort=True, err=True)
        return True
    return False


def _result_sentence(done: RegisterResult) -> str:
    """Return the result of an ingest as a sentence."""
    from labelgrove.ontology.errors import counted

    if done.created:
        what = f"is now version {done.digest[:12]}"
    elif done.replaced is not None:
        what = f"is version {done.digest[:12]} again"
    else:
        what = f"already was version {done.digest[:12]}"
    instead = "" if done.replaced is None else f", in place of {done.replaced[:12]}"
    return f"{done.name} {what}{instead}: {counted(done.n_labels, 'label')}, {counted(done.n_edges, 'edge')}"


def _say_stale(workspace: Workspace, name: str) -> None:
    """Print how many results were computed for a version of the ontology that is no longer current."""
    from labelgrove.ontology.errors import counted
    from labelgrove.workers.refresh import stale_jobs

    n_stale = len(stale_jobs(workspace, ontology=name))
    if n_stale:
        note(
            f"note: {counted(n_stale, 'result')} stored for other versions of {name}; to compute the results "
            f"for the current version: grove jobs refresh {name}"
        )


def _by_job(
    workspace: Workspace,
    name: str,
    result: ReadResult | Snapshot,
    asked: dict[str, Any],
    progress: Progress,
) -> RegisterResult:
    """Submit the job that loads the hierarchy, wait for it, and return the result."""
    from labelgrove.ontology.versions.ingest import RegisterResult
    from labelgrove.workers.client import submit_ingest

    before = workspace.catalog.current(name)
    ready = {v.digest for v in workspace.catalog.versions(name) if v.state == "ready"}
    begin = progress.seconds
    job = submit_ingest(workspace, name, result, wait=False, **asked)
    result_of(follow(workspace, job, progress))
    digest = str(job.parameters["ontology"])
    version = workspace.catalog.version(name, digest)
    return RegisterResult(
        name,
        digest,
        digest not in ready,
        version.n_labels,
        version.n_edges,
        {"job": progress.seconds - begin},
        before if before != digest else None,
    )


def _leave(
    workspace: Workspace,
    name: str,
    result: ReadResult | Snapshot,
    asked: dict[str, Any],
    document: dict[str, Any],
    as_json: bool,
) -> None:
    """Submit the job that loads the hierarchy, and print how to follow it."""
    from labelgrove.workers.client import submit_ingest

    job = submit_ingest(workspace, name, result, wait=False, **asked)
    document = {
        "ontology": name,
        "digest": job.parameters["ontology"],
        "job": job.id,
        "state": job.state,
        **document,
    }
    emit(document, as_json, f"{job.id}\nfollow it with: grove jobs watch {job.id[:12]}")

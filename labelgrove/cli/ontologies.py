"""``grove ingest`` and ``grove ontology``: hierarchies in, listed, checked, out."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from labelgrove.cli.common import (
    Progress,
    check_safe,
    emit,
    json_option,
    name_and_version,
    note,
    resumable,
    safe_cell,
    safe_option,
    say,
    table,
    typed,
    when,
    with_workspace,
    write_file,
)
from labelgrove.cli.completion import files, ontologies
from labelgrove.cli.following import check_waitable, follow, result_of
from labelgrove.cli.refreshing import check_refreshed, refresh_stale, refresh_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from labelgrove.ontology.readers import ReadResult, Report
    from labelgrove.ontology.versions.ingest import RegisterResult
    from labelgrove.ontology.versions.snapshots import Snapshot
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["ingest", "ontology"]


def _reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `ontology.read`, the same wherever a file is read."""
    options = (
        click.option("--format", "format_", metavar="FORMAT", help="Source format; recognised if not given."),
        click.option(
            "--direction",
            type=click.Choice(["parent-child", "child-parent", "undirected"]),
            help="Which column of an edge list comes first.",
        ),
        click.option(
            "--policy",
            "policies",
            multiple=True,
            metavar="DEFECT=POLICY",
            help="What to do about a kind of defect, e.g. roots=virtual or cycle=fix (docs/formats.md).",
        ),
        click.option(
            "--labels", metavar="FILE", shell_complete=files(), help="LSHTC: the file that names the classes."
        ),
        click.option("--part", type=click.Choice(["noun", "verb"]), help="WordNet: which part of speech."),
        click.option("--root", default="root", show_default=True, help="Key of a root that has to be added."),
        click.option(
            "--header/--no-header", default=None, help="Edge lists: whether the first line is a header."
        ),
        click.option(
            "--delimiter",
            type=click.Choice(["space", "tab", "comma", "semicolon"]),
            help="Edge lists: what stands between columns; told if not given.",
        ),
        click.option("--relation", help="Edge lists with a column of that name: whose edges count."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _read(source: str, **reading: Any) -> ReadResult:
    from labelgrove.ontology import read

    return read(source, **_options(**reading))


def _options(*, format_: str | None, policies: tuple[str, ...], **rest: Any) -> dict[str, Any]:
    """Return what was typed as the options of `ontology.read`."""
    from labelgrove.ontology.errors import InputError

    chosen = {}
    for entry in policies:
        code, equals, policy = entry.partition("=")
        if not equals:
            raise InputError(f"--policy {entry!r}: write DEFECT=POLICY, for example roots=virtual")
        chosen[code] = policy
    return {"format": format_, "policies": chosen, **rest}


def _recorded(source: str) -> str:
    """Return a path as the catalogue can hold it: bytes that are not UTF-8 become ``\\xNN``."""
    return os.fsencode(source).decode(errors="backslashreplace")


@click.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("source", type=click.Path())
@_reading_options
@click.option("--detach", is_flag=True, help="Read and check, then leave the rest to the workers as a job.")
@click.option("--refresh", is_flag=True, help="Ask for the jobs that become stale again, on the new version.")
@click.option("--shrink", is_flag=True, help="Also if it has less than half of the labels that NAME has now.")
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

    Files with defects are not taken in: every defect is listed with file and line, and the exit code is 3. A
    source that is unchanged since it gave a version of NAME is not read again. With a broker the workers load
    the graph, as a job, and this command waits for them.
    """
    from labelgrove.ontology.versions.ingest import register
    from labelgrove.ontology.versions.sources import read_once

    if detach and refresh:
        raise click.UsageError(
            f"--refresh needs the new version, which --detach does not wait for; "
            f"once it is current, run: grove jobs refresh {name}"
        )
    by_workers = workspace.settings.broker_url is not None
    if by_workers and not detach:
        check_waitable(workspace)
    progress = Progress(f"ingest {name}")
    with resumable(f"{name} answers as before until it is complete; go on with: {typed()}"):
        with progress.shown():
            progress("reading")
            result = read_once(workspace, name, source, **_options(**reading))
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
            else:  # one process, one batch: its steps are resumable as they are
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
        f"{_said(registered)} ({seconds:.1f} s)" + (f"\n{refresh_table(refreshed)}" if refresh else ""),
    )
    check_refreshed(refreshed)


def _report(result: ReadResult | Snapshot) -> tuple[Report, str | None]:
    """Return what a reading reported, and since when its source is unchanged if it was an earlier one."""
    from labelgrove.ontology.versions.snapshots import Snapshot

    if isinstance(result, Snapshot) and result.reading is not None:
        return result.reading.report, when(result.reading.read_at)
    return cast("ReadResult", result).report, None


def _tell(source: str, report: Report, since: str | None) -> None:
    """Tell people what a reading reported, which may be an earlier one."""
    if since is not None:
        told = "; what was reported then:" if report.defects else ""
        note(f"{source} is unchanged since it was read at {since}, and is not read again{told}")
    if report.defects:
        note(report.render())


def _may_shrink(workspace: Workspace, name: str, n_labels: int) -> bool:
    """Ask at a terminal whether most labels may go, where they would; elsewhere that is an error."""
    from labelgrove.ontology.errors import ShrinkError
    from labelgrove.ontology.versions.ingest import check_size

    try:
        check_size(workspace, name, n_labels)
    except ShrinkError as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        note(str(error))
        click.confirm(f"Replace {name} all the same?", abort=True, err=True)
        return True
    return False


def _said(done: RegisterResult) -> str:
    """Return in a sentence what an ingest did."""
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
    """Say how many results are about a version of the ontology that is no longer current."""
    from labelgrove.ontology.errors import counted
    from labelgrove.workers.schedules.refresh import stale_jobs

    n_stale = len(stale_jobs(workspace, ontology=name))
    if n_stale:
        note(
            f"note: {counted(n_stale, 'result')} of another version of {name}; run: grove jobs refresh {name}"
        )


def _by_job(
    workspace: Workspace,
    name: str,
    result: ReadResult | Snapshot,
    asked: dict[str, Any],
    progress: Progress,
) -> RegisterResult:
    """Let the workers load what was read, and wait for it."""
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
    """Ask for the job and say how it is followed."""
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


@click.group()
def ontology() -> None:
    """List, show, validate, export and delete ontologies."""


@ontology.command("list")
@json_option
@with_workspace
def list_(workspace: Workspace, as_json: bool) -> None:
    """List the ontologies with their current version."""
    described = [_described(v) for v in workspace.catalog.versions() if v.current]
    if not described:
        note("no ontology yet: grove quickstart, or grove ingest NAME FILE")
    columns = ("ontology", "digest", "n_labels", "n_edges", "created_at")
    emit(described, as_json, lambda: table(columns, [[v[c] for c in columns] for v in described]))


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@json_option
@with_workspace
def show(workspace: Workspace, name: str, as_json: bool) -> None:
    """Show the shape of NAME, or of another version as NAME@VERSION, and every version kept."""
    name, version = name_and_version(name)
    shown = workspace.catalog.version(name, version)
    graph = workspace.snapshot(shown)
    versions = workspace.catalog.versions(name)
    document = _described(shown) | {
        "roots": list(graph.roots[:10]) if graph.directed else [],
        "n_roots": len(graph.roots) if graph.directed else 0,
        "n_leaves": int(graph.leaf_mask.sum()),
        "depth": int(graph.depth.max()) if graph.directed else None,
        "is_tree": graph.is_tree,
        "is_weighted": graph.is_weighted,
        "versions": [_described(v) for v in versions],
        "bundles": [asdict(b) for b in workspace.catalog.bundles(name)],
    }
    emit(document, as_json, lambda: _page(document))


@ontology.command()
@click.argument("source", type=click.Path())
@_reading_options
@json_option
def validate(source: str, as_json: bool, **reading: Any) -> None:
    """Report every defect of the file at SOURCE and register nothing; exit code 3 if it would be refused."""
    result = _read(source, strict=False, **reading)
    document = result.report.to_dict() | {"accepted": result.graph is not None}
    if result.graph is not None:
        document |= {"n_labels": result.graph.n_labels, "n_edges": result.graph.n_edges}
    emit(document, as_json, lambda: result.report.render())
    if result.graph is None:
        raise SystemExit(3)


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; stdout if not given."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["tsv", "json"]),
    help="What to write; if not given what the ending of --out says, else tsv.",
)
@safe_option
@with_workspace
def export(workspace: Workspace, name: str, out: Path | None, format_: str | None, safe: bool) -> None:
    """Write NAME, or its version NAME@VERSION, as a table or as JSON; `grove ingest` reads both back.

    What a table cannot hold, such as keys with line ends, is refused (docs/formats.md).
    """
    from labelgrove.ontology.versions.export import export_ontology

    chosen = _export_format(out, format_)
    check_safe(safe, chosen == "tsv", "or --format tsv")
    ontology_, version = name_and_version(name)
    text = export_ontology(workspace, ontology_, format=chosen, version=version)
    if safe:
        text = "".join(f"{_safe_line(line)}\n" for line in text.removesuffix("\n").split("\n"))
    if out is None:
        say(text, nl=False)
    else:
        write_file(out, text.encode(), name)


def _export_format(out: Path | None, asked: str | None) -> str:
    """Return the format that is asked for, or that the file's ending says; they must not contradict."""
    from labelgrove.ontology.errors import InputError

    told = None if out is None or out.suffix not in (".json", ".tsv") else out.suffix[1:]
    if None not in (asked, told) and asked != told:
        raise InputError(f"--out {out}: ends in .{told}, against --format {asked}; change one of them")
    return asked or told or "tsv"


def _safe_line(line: str) -> str:
    from labelgrove.ontology.readers.text.cells import split_cells, write_cell

    return "\t".join(write_cell(safe_cell(cell), "tab") for cell in split_cells(line, "tab") or [])


@ontology.command()
@click.argument("name", shell_complete=ontologies)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@with_workspace
def delete(workspace: Workspace, name: str, yes: bool, as_json: bool) -> None:
    """Remove NAME, all its versions and bundles from catalogue, graph and index."""
    from labelgrove.ontology.versions.ingest import delete_ontology

    workspace.catalog.version(name)
    if not yes:
        try:
            click.confirm(f"Delete {name} and every version of it?", abort=True, err=True)
        except click.Abort as abort:
            if isinstance(abort.__context__, EOFError):  # nobody is there to ask
                note(f"nothing was deleted; without a terminal: grove ontology delete {name} --yes")
            raise
    delete_ontology(workspace, name)
    emit({"deleted": name}, as_json, f"deleted {name}")


def _described(version: Any) -> dict[str, Any]:
    return {
        "ontology": version.ontology,
        "digest": version.digest,
        "state": version.state,
        "current": version.current,
        "n_labels": version.n_labels,
        "n_edges": version.n_edges,
        "layout": version.layout,
        "source": version.source,
        "created_at": when(version.created_at),
    }


def _page(document: dict[str, Any]) -> str:
    shown = {k: v for k, v in document.items() if k not in ("current", "versions", "bundles")}
    shown["roots"] = ", ".join(document["roots"])
    parts = [table(("property", "value"), shown.items(), wrap=True)]
    parts.append(
        table(
            ("version", "current", "state", "labels", "edges", "created"),
            [
                (
                    v["digest"][:12],
                    "yes" if v["current"] else "",
                    v["state"],
                    v["n_labels"],
                    v["n_edges"],
                    v["created_at"],
                )
                for v in document["versions"]
            ],
        )
    )
    if document["bundles"]:
        parts.append(
            table(
                ("bundle", "version", "sha256"),
                [(b["name"], b["version"][:12], b["sha256"]) for b in document["bundles"]],
            )
        )
    return "\n\n".join(parts)

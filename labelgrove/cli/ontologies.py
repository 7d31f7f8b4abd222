"""``grove ingest`` and ``grove ontology``: hierarchies in, listed, checked, out."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.common import (
    Progress,
    emit,
    json_option,
    note,
    say,
    table,
    when,
    with_workspace,
    write_file,
)
from labelgrove.cli.following import check_waitable, follow, result_of
from labelgrove.cli.refreshing import check_refreshed, refresh_stale, refresh_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from ontology.ingest import RegisterResult
    from ontology.readers import ReadResult
    from ontology.workspace import Workspace

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
        click.option("--labels", metavar="FILE", help="LSHTC: the file that names the classes."),
        click.option("--part", type=click.Choice(["noun", "verb"]), help="WordNet: which part of speech."),
        click.option("--root", default="root", show_default=True, help="Key of a root that has to be added."),
        click.option(
            "--header/--no-header", default=None, help="Edge lists: whether the first line is a header."
        ),
        click.option("--delimiter", help="Edge lists: what stands between columns."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _read(source: str, *, format_: str | None, policies: tuple[str, ...], **rest: Any) -> ReadResult:
    from ontology import read
    from ontology.errors import InputError

    chosen = {}
    for entry in policies:
        code, equals, policy = entry.partition("=")
        if not equals:
            raise InputError(f"--policy {entry!r}: write DEFECT=POLICY, for example roots=virtual")
        chosen[code] = policy
    return read(source, format=format_, policies=chosen, **rest)


def _recorded(source: str) -> str:
    """Return a path as the catalogue can hold it: bytes that are not UTF-8 become ``\\xNN``."""
    return os.fsencode(source).decode(errors="backslashreplace")


@click.command()
@click.argument("name")
@click.argument("source", type=click.Path())
@_reading_options
@click.option("--detach", is_flag=True, help="Read and check, then leave the rest to the workers as a job.")
@click.option("--refresh", is_flag=True, help="Ask for the jobs that become stale again, on the new version.")
@json_option
@with_workspace
def ingest(
    workspace: Workspace,
    /,
    name: str,
    source: str,
    detach: bool,
    refresh: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Read the hierarchy at SOURCE and make it the current version of NAME.

    \b
    grove ingest wordnet /usr/share/wordnet
    grove ingest products edges.csv --direction child-parent --policy roots=virtual

    Files with defects are not taken in: every defect is listed with file and line, and the exit code is 3.
    With a broker the workers load the graph, as a job, and this command waits for them.
    """
    from ontology.ingest import register

    if detach and refresh:
        raise click.UsageError(
            f"--refresh needs the new version, which --detach does not wait for; "
            f"once it is current, run: grove jobs refresh {name}"
        )
    by_workers = workspace.settings.broker_url is not None
    if by_workers and not detach:
        check_waitable(workspace)
    progress = Progress(f"ingest {name}")
    with progress.shown():
        progress("reading")
        result = _read(source, **reading)
        if result.report.defects:
            note(result.report.render())
        if detach:
            _leave(workspace, name, result, _recorded(source), as_json)
            return
        if by_workers:
            registered = _by_job(workspace, name, result, _recorded(source), progress)
        else:  # one process, one batch: its steps are resumable as they are
            registered = register(workspace, name, result, source=_recorded(source), progress=progress)
    document = {
        "ontology": registered.name,
        "digest": registered.digest,
        "created": registered.created,
        "n_labels": registered.n_labels,
        "n_edges": registered.n_edges,
        "seconds": registered.seconds,
        "report": result.report.to_dict(),
    }
    seconds = progress.seconds
    refreshed = refresh_stale(workspace, name) if refresh else []
    if refresh:
        document["refreshed"] = refreshed
    elif registered.created:
        _say_stale(workspace, name)
    what = "is now" if registered.created else "already was"
    emit(
        document,
        as_json,
        f"{name} {what} version {registered.digest[:12]}: {registered.n_labels:,} labels, "
        f"{registered.n_edges:,} edges ({seconds:.1f} s)"
        + (f"\n{refresh_table(refreshed)}" if refresh else ""),
    )
    check_refreshed(refreshed)


def _say_stale(workspace: Workspace, name: str) -> None:
    """Say how many results are about a version of the ontology that is no longer current."""
    from workers.refresh import stale_jobs

    n_stale = len(stale_jobs(workspace, ontology=name))
    if n_stale:
        note(
            f"note: {n_stale} results are about an earlier version of {name}; run: grove jobs refresh {name}"
        )


def _by_job(
    workspace: Workspace, name: str, result: ReadResult, source: str, progress: Progress
) -> RegisterResult:
    """Let the workers load what was read, and wait for it."""
    from ontology.ingest import RegisterResult
    from ontology.snapshots import unpacked
    from workers.client import submit_ingest

    graph, _, _ = unpacked(result)
    ready = {v.digest for v in workspace.catalog.versions(name) if v.state == "ready"}
    begin = progress.seconds
    job = submit_ingest(workspace, name, result, source=source, wait=False)
    result_of(follow(workspace, job, progress))
    seconds = {"job": progress.seconds - begin}
    return RegisterResult(
        name, graph.digest, graph.digest not in ready, graph.n_labels, graph.n_edges, seconds
    )


def _leave(workspace: Workspace, name: str, result: ReadResult, source: str, as_json: bool) -> None:
    """Ask for the job and say how it is followed."""
    from workers.client import submit_ingest

    job = submit_ingest(workspace, name, result, source=source, wait=False)
    document = {
        "ontology": name,
        "digest": job.parameters["ontology"],
        "job": job.id,
        "state": job.state,
        "report": result.report.to_dict(),
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
    columns = ("ontology", "digest", "n_labels", "n_edges", "created_at")
    emit(described, as_json, lambda: table(columns, [[v[c] for c in columns] for v in described], limit=20))


@ontology.command()
@click.argument("name")
@json_option
@with_workspace
def show(workspace: Workspace, name: str, as_json: bool) -> None:
    """Show the current version of NAME, its shape and every version kept."""
    current = workspace.catalog.version(name)
    graph = workspace.snapshot(current)
    versions = workspace.catalog.versions(name)
    document = _described(current) | {
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
@click.argument("name")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; stdout if not given."
)
@click.option("--format", "format_", type=click.Choice(["tsv", "json"]), default="tsv", show_default=True)
@with_workspace
def export(workspace: Workspace, name: str, out: Path | None, format_: str) -> None:
    """Write the current version of NAME as an edge list, or as JSON with names and ranks too."""
    from ontology.ingest import export_ontology

    text = export_ontology(workspace, name, format=format_)
    if out is None:
        say(text, nl=False)
    else:
        write_file(out, text.encode(), name)


@ontology.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@with_workspace
def delete(workspace: Workspace, name: str, yes: bool, as_json: bool) -> None:
    """Remove NAME, all its versions and bundles from catalogue, graph and index."""
    from ontology.ingest import delete_ontology

    workspace.catalog.version(name)
    if not yes:
        click.confirm(f"Delete {name} and every version of it?", abort=True, err=True)
    delete_ontology(workspace, name)
    emit({"deleted": name}, as_json, f"deleted {name}")


def _described(version: Any) -> dict[str, Any]:
    return {
        "ontology": version.ontology,
        "digest": version.digest,
        "state": version.state,
        "n_labels": version.n_labels,
        "n_edges": version.n_edges,
        "layout": version.layout,
        "source": version.source,
        "created_at": when(version.created_at),
    }


def _page(document: dict[str, Any]) -> str:
    shown = {k: v for k, v in document.items() if k not in ("versions", "bundles")}
    shown["roots"] = ", ".join(document["roots"])
    parts = [table(("property", "value"), shown.items(), limit=100)]
    parts.append(
        table(
            ("version", "state", "labels", "edges", "created"),
            [
                (v["digest"][:12], v["state"], v["n_labels"], v["n_edges"], v["created_at"])
                for v in document["versions"]
            ],
        )
    )
    if document["bundles"]:
        parts.append(
            table(
                ("bundle", "version", "sha256"),
                [(b["name"], b["version"][:12], b["sha256"]) for b in document["bundles"]],
                limit=64,
            )
        )
    return "\n\n".join(parts)

"""``grove bundle``: build, list and inspect bundles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import bundles, files, ontologies
from labelgrove.cli.options.labels import finder, read_keys
from labelgrove.cli.options.storedspace import by_option, labels_option, metric_option
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.outfile import write_file
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, first_digits, json_option, to_the_minute
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.following import check_waitable, follow, result_of
from labelgrove.documents.bundles import describe_bundles

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["bundle"]


@click.group()
def bundle() -> None:
    """Build, list and inspect bundles, the files that the adapter loads in a model server."""


@bundle.command()
@click.argument("ontology", shell_complete=ontologies)
@click.argument("name")
@click.option(
    "--observed",
    required=True,
    metavar="FILE|KEYS",
    shell_complete=files(),
    help="The labels your model knows: a file with one key per line, - for stdin, or key,key,...",
)
@by_option
@metric_option
@labels_option
@click.option(
    "--form",
    type=click.Choice(["auto", "tree", "block"]),
    default="auto",
    show_default=True,
    help="auto: the form that fits the metric; tree: store a tree, and refuse other metrics; block: store "
    "all distances, even of a tree metric, which does not need them.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the bundle to a file."
)
@json_option
@with_workspace
def build(
    workspace: Workspace,
    ontology: str,
    name: str,
    observed: str,
    by: Any,
    metric: str,
    allowed: str,
    form: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Build the bundle NAME for the current version of ONTOLOGY.

    Model servers load it as ``ONTOLOGY/NAME``. The build is a background job: with a broker, the workers run
    it; otherwise this process does.
    """
    from labelgrove.workers.client import build_bundle_job
    from labelgrove.workers.kinds.inputs import open_version

    check_waitable(workspace)
    graph = open_version(workspace.artifacts, workspace.catalog.version(ontology))
    find = finder(workspace, ontology, graph, by)
    labels = allowed if allowed in ("all", "leaves") else find(read_keys(allowed), "label")
    before = _digest_of(workspace, ontology, name)
    progress = Progress(f"bundle {ontology}/{name}")
    with progress.shown():
        job = build_bundle_job(
            workspace,
            ontology,
            name,
            find(read_keys(observed), "observed label"),
            metric=metric,
            labels=labels,
            form=form,
            wait=False,
        )
        job = follow(workspace, job, progress)
    sha256 = job.result_sha256
    named = _digest_of(workspace, ontology, name)
    if sha256 is None or named != sha256:  # a bundle that has its name can be used, whatever the graph shows
        sha256 = result_of(job)
    if out is not None:
        write_file(out, workspace.artifacts.read_bytes(sha256), "the bundle")
    replaced = before if before != sha256 else None
    document = {
        "bundle": f"{ontology}/{name}",
        "sha256": sha256,
        "replaced": replaced,
        "job": job.id,
        "state": job.state,
    }
    emit(
        document,
        as_json,
        lambda: (
            f"{ontology}/{name} is {sha256}{_instead(workspace, replaced)} "
            f"(job {job.id[:12]}, {progress.seconds:.1f} s)"
        ),
    )


def _digest_of(workspace: Workspace, ontology: str, name: str) -> str | None:
    """Return the digest of the bundle with this name in the catalog; None if there is none."""
    return next((b.sha256 for b in workspace.catalog.bundles(ontology) if b.name == name), None)


def _instead(workspace: Workspace, replaced: str | None) -> str:
    """Return the text ", in place of ..." about the replaced bundle; if none is replaced, an empty text.

    The text includes the number of observed labels of that bundle if its file is local and can be read.
    """
    from labelgrove.adapter.loading.source import open_bundle
    from labelgrove.ontology.errors import GroveError, counted

    if replaced is None:
        return ""
    observes = ""
    if workspace.artifacts.folder is not None:  # never fetch a file only for this
        try:
            n_observed = open_bundle(replaced, artifacts_url=workspace.settings.artifacts_url).n_observed
            observes = f" ({counted(n_observed, 'observed label')})"
        except GroveError:  # a fault of the replaced bundle does not matter any more
            pass
    return f", in place of {replaced[:12]}{observes}"


@bundle.command("list")
@click.argument("ontology", required=False, shell_complete=ontologies)
@json_option
@with_workspace
def list_(workspace: Workspace, ontology: str | None, as_json: bool) -> None:
    """List the named bundles of ONTOLOGY, or of all ontologies.

    A bundle is stale if it was built from a version that is no longer current.
    """
    described = describe_bundles(workspace, ontology)
    columns = ("bundle", "stale", "created_at", "sha256")
    rows = [(b["bundle"], "stale" if b["stale"] else None, b["created_at"], b["sha256"]) for b in described]
    brief = {"created_at": to_the_minute, "sha256": first_digits}
    emit(described, as_json, lambda: table(columns, rows, whole=["bundle"], brief=brief))


@bundle.command()
@click.argument("uri", shell_complete=bundles)
@json_option
def inspect(uri: str, as_json: bool) -> None:
    """Show the contents of the bundle at URI.

    URI is a path, a URL, a digest of 64 hex digits or ``ontology/name[@DIGEST]``.
    """
    from labelgrove.adapter.loading.source import open_bundle

    found = open_bundle(uri)
    document = found.inspect() | {"observed": list(found.observed_keys)}
    emit(document, as_json, lambda: table(("property", "value"), document.items(), wrap=True))

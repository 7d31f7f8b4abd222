"""``grove jobs result``: what a job gave, read from its artifact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.common import (
    array_file,
    check_safe,
    emit,
    json_option,
    note,
    safe_option,
    table,
    with_workspace,
    write_file,
)
from labelgrove.cli.completion import jobs
from labelgrove.cli.spaces import write_rows

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job

__all__ = ["result"]

_MOST_SHOWN = 100
_CERTAIN = {"exact": "exact", "lower_bound": "a bound: not proven the best there is"}


@dataclass(frozen=True)
class _Shown:
    """What is said of a result: one line, a table for people, and the rows that a .csv file gets."""

    line: str
    document: dict[str, Any]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    file: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None


@click.command()
@click.argument("job", shell_complete=jobs("done"))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .csv or .json; of distances .npy, the keys beside it; of bundles any.",
)
@safe_option
@json_option
@with_workspace
def result(workspace: Workspace, job: str, out: Path | None, safe: bool, as_json: bool) -> None:
    """Show what a done JOB gave, named by its id or the start of it, or write it to a file.

    \b
    grove jobs result 08d0a9 --out cover.csv
    """
    from labelgrove.ontology.errors import ConflictError
    from labelgrove.workers import client
    from labelgrove.workers.ledger.states import State

    check_safe(safe, out is not None and out.suffix == ".csv", "name a .csv file with --out")
    found = client.status(workspace, job)
    if found.state is not State.DONE or found.result_sha256 is None:
        why = "" if found.error is None else f": {found.error}"
        ended = "logs" if found.finished else "watch"
        raise ConflictError(
            f"job {found.id[:12]} is {found.state}{why}; it has no result; see: "
            f"grove jobs {ended} {found.id[:12]}"
        )
    shown = _READERS.get(found.kind, _of_artifact)(workspace, found, found.result_sha256)
    document = {"job": found.id, "kind": found.kind, "sha256": found.result_sha256} | shown.document
    if out is not None:
        _write(workspace, found, shown, document, out, safe)
    note(shown.line)
    if not as_json and len(shown.rows) > _MOST_SHOWN:
        note(f"the first {_MOST_SHOWN} of {len(shown.rows):,} are shown; --out FILE or --json gives all")
    if as_json or shown.columns:
        emit(document, as_json, lambda: table(shown.columns, shown.rows[:_MOST_SHOWN]))


def _write(
    workspace: Workspace, job: Job, shown: _Shown, document: dict[str, Any], out: Path, safe: bool
) -> None:
    if job.kind == "distances" and out.suffix != ".json":
        _write_distances(workspace, job, out)
    elif job.kind == "bundle" and out.suffix != ".json":
        write_file(out, workspace.artifacts.read_bytes(str(job.result_sha256)), "the bundle")
    elif job.kind == "evaluation" and out.suffix == ".json":
        from labelgrove.ontology.results import pack_document

        write_file(out, pack_document(shown.document["document"]), "the document")
    elif job.kind == "experiment" and out.suffix == ".json":
        write_file(out, workspace.artifacts.read_bytes(str(job.result_sha256)), "the document")
    else:
        write_rows(out, document, *(shown.file or (shown.columns, shown.rows)), safe=safe)


# ---- kinds ---------------------------------------------------------------------------------------------


def _of_cover(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_cover

    graph = _graph(workspace, job)
    found = read_cover(workspace.artifacts, digest, graph)
    rows = [(rank, *named) for rank, named in enumerate(_named(graph, found.keys), start=1)]
    sizes = {"status": found.status, "size": len(rows), "lower_bound": found.lower_bound}
    line = f"{len(rows):,} labels are a cover; at least {found.lower_bound:,} are needed"
    return _labels(line, _head(workspace, job) | sizes, ("rank", "key", "name"), rows)


def _of_selection(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_selection

    graph = _graph(workspace, job)
    found = read_selection(workspace.artifacts, digest, graph)
    picks = zip(_named(graph, found.keys), found.gains.tolist(), strict=True)
    rows = [(place, *named, gain) for place, (named, gain) in enumerate(picks, start=1)]
    sizes = {
        "status": found.status,
        "size_before": found.size_before,
        "gain": int(found.gains.sum()),
        "upper_bound": found.upper_bound,
        "spent": found.spent,
    }
    line = f"{len(rows):,} picks reach {sizes['gain']:,} labels more than {found.size_before:,}"
    return _labels(line, _head(workspace, job) | sizes, ("round", "key", "name", "gain"), rows)


def _of_locus(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_locus

    graph = _graph(workspace, job)
    found = read_locus(workspace.artifacts, digest, graph)
    unique = set(found.unique)
    rows = [(key, name, key in unique) for key, name in _named(graph, found.members)]
    sizes = {"status": found.status, "size": len(rows), "n_unique": len(unique)}
    line = f"{len(rows):,} labels are reached, {len(unique):,} of them uniquely, {_CERTAIN[found.status]}"
    return _labels(line, _head(workspace, job) | sizes, ("key", "name", "unique"), rows)


def _of_summary(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_summary

    graph = _graph(workspace, job)
    found = read_summary(workspace.artifacts, digest, graph)
    sizes = found.sizes.tolist()
    rows = sorted(enumerate(sizes), key=lambda row: (-row[1], row[0]))
    numbers = {
        "n_supernodes": len(sizes),
        "n_edges": len(found.counts),
        "largest_share": found.largest_share,
        "sizes": sizes,
    }
    line = f"{graph.n_labels:,} labels in {len(sizes):,} supernodes; --out FILE.csv gives that of each label"
    file = list(zip(graph.keys, found.assignment.tolist(), strict=True))
    return _Shown(
        line, _head(workspace, job) | numbers, ("supernode", "labels"), rows, (("key", "supernode"), file)
    )


def _of_distances(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_distances

    space = read_distances(workspace.artifacts, digest, _graph(workspace, job))
    matrix = space.distances()
    numbers = {
        "shape": list(matrix.shape),
        "dtype": str(matrix.dtype),
        "mean": float(matrix.mean()),
        "largest": float(matrix.max()),
    }
    line = f"{matrix.shape[0]:,} x {matrix.shape[1]:,} distances; --out FILE.npy writes them"
    return _facts(line, _head(workspace, job) | numbers)


def _of_bundle(workspace: Workspace, job: Job, digest: str) -> _Shown:
    names = [f"{b.ontology}/{b.name}" for b in workspace.catalog.bundles() if b.sha256 == digest]
    uri = names[0] if names else digest
    line = f"load it with: adapter.open_bundle({uri!r}); look into it with: grove bundle inspect {uri}"
    return _facts(line, _head(workspace, job) | {"names": names, "uri": uri})


def _of_ingest(workspace: Workspace, job: Job, digest: str) -> _Shown:
    labels, edges = workspace.artifacts.open_arrays(digest)[0]["counts"].tolist()
    line = f"the graph was given {labels:,} labels and {edges:,} edges"
    return _facts(line, _head(workspace, job) | {"n_labels": labels, "n_edges": edges})


def _of_rebuild(workspace: Workspace, job: Job, digest: str) -> _Shown:
    del job
    rows = workspace.artifacts.open_arrays(digest)[0]["versions"]
    versions = [row.tobytes().hex() for row in rows]
    listed = [(version,) for version in versions]
    return _Shown(f"{len(versions)} versions were restored", {"versions": versions}, ("version",), listed)


def _of_evaluation(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.adapter.evaluation.text import rule_name
    from labelgrove.workers.kinds.evaluation import read_evaluation

    found = read_evaluation(workspace.artifacts, digest)
    rows = [
        (
            rule_name(rule),
            *(measures["interval"][name] for name in ("mean", "low", "high")),
            measures["all"]["accuracy"],
        )
        for rule, measures in found["rules"].items()
    ]
    verdict = found["verdict"]
    line = f"{found['model']} on {found['n_samples']:,} samples: {verdict['answer']}: {verdict['reason']}"
    return _Shown(line, {"document": found}, ("rule", "error", "low", "high", "accuracy"), rows)


def _of_experiment(workspace: Workspace, job: Job, digest: str) -> _Shown:
    from labelgrove.ontology.results import read_document

    found = read_document(workspace.artifacts, digest)
    rows = [(finding["claim"], finding["verdict"], finding["because"]) for finding in found["findings"]]
    line = f"{found['experiment']}: {found['verdict']}; --out result.json is what grove experiment writes"
    return _Shown(line, {"document": found}, ("claim", "verdict", "because"), rows)


def _of_artifact(workspace: Workspace, job: Job, digest: str) -> _Shown:
    """Show what stands in the artifact of a kind that came with another package."""
    from labelgrove.ontology.errors import ArtifactError
    from labelgrove.ontology.store.artifacts import read_safetensors

    line = f"{job.kind} is not one of our kinds; its artifact is {digest}"
    content = workspace.artifacts.read_bytes(digest)
    try:
        arrays, metadata = read_safetensors(content)
    except ArtifactError:  # a document of its own
        return _facts(line, {"bytes": len(content)})
    rows = [(name, str(array.dtype), list(array.shape)) for name, array in arrays.items()]
    document = {"metadata": metadata, "arrays": [dict(zip(_ARRAY, row, strict=True)) for row in rows]}
    return _Shown(line, document, _ARRAY, rows)


_ARRAY = ("array", "dtype", "shape")

_READERS: dict[str, Callable[[Workspace, Job, str], _Shown]] = {
    "bundle": _of_bundle,
    "cover": _of_cover,
    "distances": _of_distances,
    "evaluation": _of_evaluation,
    "experiment": _of_experiment,
    "ingest": _of_ingest,
    "locus": _of_locus,
    "rebuild-graph": _of_rebuild,
    "selection": _of_selection,
    "summary": _of_summary,
}


# ---- what they share -----------------------------------------------------------------------------------


def _graph(workspace: Workspace, job: Job) -> LabelGraph:
    from labelgrove.workers.kinds.inputs import open_graph

    return open_graph(workspace.artifacts, job.parameters)


def _head(workspace: Workspace, job: Job) -> dict[str, Any]:
    digest = job.parameters["ontology"]
    names = [version.ontology for version in workspace.catalog.versions() if version.digest == digest]
    return {"ontology": names[0] if names else None, "digest": digest}


def _named(graph: LabelGraph, keys: Sequence[str]) -> list[tuple[str, str]]:
    return [(key, graph.names[index]) for key, index in zip(keys, graph.keys.indices(keys), strict=True)]


def _labels(
    line: str, document: dict[str, Any], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> _Shown:
    labels = [dict(zip(columns, row, strict=True)) for row in rows]
    return _Shown(line, document | {"labels": labels}, columns, rows)


def _facts(line: str, document: dict[str, Any]) -> _Shown:
    return _Shown(line, document, ("property", "value"), list(document.items()))


def _write_distances(workspace: Workspace, job: Job, out: Path) -> None:
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.results import read_distances

    if out.suffix != ".npy":
        raise InputError(f"--out {out}: name a .npy file, or a .json file for its measures")
    space = read_distances(workspace.artifacts, str(job.result_sha256), _graph(workspace, job))
    matrix = space.distances()
    with array_file(out, matrix.dtype, matrix.shape) as array:
        array[:] = matrix
    for what, keys in (("rows", space.keys), ("columns", space.points)):
        beside = out.with_suffix(f".{what}.txt")
        write_file(beside, ("\n".join(keys) + "\n").encode(), f"the keys of the {what}")
    note(f"wrote the distances to {out}")

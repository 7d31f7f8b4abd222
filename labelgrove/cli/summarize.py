"""``grove summarize``: merge a huge graph into a small graph of supernodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.workspace import name_and_version, with_workspace
from labelgrove.cli.printing.outfile import out_option, write_rows
from labelgrove.cli.printing.text import emit, json_option, note, share
from labelgrove.cli.waiting.answering import answer

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["summarize"]


@click.command()
@click.argument("ontology", shell_complete=ontologies)
@click.option("--target", required=True, type=int, help="The largest number of supernodes to end with.")
@click.option(
    "--method",
    type=click.Choice(["capped", "subtree", "neighbourhood", "node"]),
    default="capped",
    show_default=True,
    help="capped: merge at random, but never beyond the cap; subtree: merge subtrees of the hierarchy; "
    "neighbourhood: the method that the text of the source paper describes; node: the method in its code. "
    "With these two methods, one supernode may absorb nearly all labels.",
)
@click.option(
    "--cap",
    type=float,
    help="capped: the most labels that one supernode may hold. A number below 1 is a share of all labels.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the draws.")
@out_option
@json_option
@with_workspace
def summarize(
    workspace: Workspace,
    ontology: str,
    target: int,
    method: Any,
    cap: float | None,
    seed: int,
    out: Path | None,
    safe: bool,
    as_json: bool,
) -> None:
    """Merge the labels of ONTOLOGY into supernodes until at most TARGET are left.

    The file of --out also has the supernode of each label. In a .csv file, the columns are key, supernode,
    name and supernode_name: a supernode is called by the name of its first label in canonical order.
    """
    from labelgrove.workers.kinds.inputs import open_version
    from labelgrove.workers.kinds.summary import read_summary

    ontology, version = name_and_version(ontology)
    graph = open_version(workspace.artifacts, workspace.catalog.version(ontology, version))
    parameters = {
        "ontology": f"{ontology}@{graph.digest}",
        "target": target,
        "method": method,
        "seed": 0 if method == "subtree" else seed,  # this method draws nothing
        "cap": None if cap is None else repr(cap),
    }
    digest = answer(workspace, f"summarize {ontology}", "summary", parameters)
    found = read_summary(workspace.artifacts, digest, graph)
    if found.doubt is not None:
        note(f"warning: {found.doubt}")
    sizes = found.sizes
    document = {
        "ontology": ontology,
        "digest": graph.digest,
        "method": method,
        "seed": seed,
        "target": target,
        "n_supernodes": len(sizes),
        "n_edges": len(found.counts),
        "largest": int(sizes.max()),
        "largest_share": found.largest_share,
        "sizes": {
            "median": float(sorted(sizes.tolist())[len(sizes) // 2]),
            "single": int((sizes == 1).sum()),
        },
    }
    if out is not None:
        rows = [(key, int(node)) for key, node in zip(graph.keys, found.assignment.tolist(), strict=True)]
        assigned = document | {"assignment": dict(rows)} if out.suffix == ".json" else document
        first: dict[int, int] = {}  # the label that stands for each supernode
        for label, (_, node) in enumerate(rows):
            first.setdefault(node, label)
        named = [
            (key, node, name, graph.names[first[node]])
            for (key, node), name in zip(rows, graph.names, strict=True)
        ]
        write_rows(out, assigned, ("key", "supernode", "name", "supernode_name"), named, safe=safe)
    emit(
        document,
        as_json,
        f"{graph.n_labels:,} labels in {len(sizes):,} supernodes with {document['n_edges']:,} edges\n"
        f"the largest holds {share(int(sizes.max()), graph.n_labels)}; "
        f"{document['sizes']['single']:,} hold one label",
    )

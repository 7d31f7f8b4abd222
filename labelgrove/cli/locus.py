"""``grove locus``: show which labels can be answers of a model that knows only the observed labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.outfile import out_option, write_rows
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, share

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Locus
    from labelgrove.ontology.geometry.loci.locusmethods import LocusMethod

__all__ = ["locus", "stored_locus"]


@click.command()
@with_space
@click.option(
    "--observed", required=True, metavar=KEYS, shell_complete=files(), help="The labels your model knows."
)
@click.option(
    "--method",
    type=click.Choice(["exact", "pairs", "pair-grid", "grid"]),
    default="exact",
    show_default=True,
    help="exact: the whole locus. The others are approximations from the source paper. pairs: the union of "
    "exact pair loci; pair-grid: Algorithm 2 of the paper; grid: Algorithm 3 of the paper.",
)
@click.option(
    "--witness", metavar="LABEL", help="Also show weights of the observed labels that make LABEL an answer."
)
@out_option
@json_option
def locus(
    stored: StoredSpace,
    observed: str,
    method: LocusMethod,
    witness: str | None,
    out: Path | None,
    safe: bool,
    as_json: bool,
) -> None:
    """Show which labels of ONTOLOGY can be answers of a model that knows only the observed labels.

    A label is reached if some probabilities make it an answer, alone or tied with other labels. It is reached
    uniquely if some make it the only answer.
    """
    from labelgrove.ontology.errors import NotFoundError
    from labelgrove.ontology.geometry import frechet_mean_set
    from labelgrove.workers.kinds.describing import CERTAIN

    keys = stored.keys(observed, "observed label")
    found = _locus(stored, keys, method)
    document = stored.document() | {
        "observed": list(keys),
        "method": method,
        "status": found.status,
        "size": len(found),
        "share": len(found) / stored.space.n_labels,
        "n_unique": len(found.unique),
    }
    if as_json or out is not None:  # naming many labels takes longer than finding them
        unique = set(found.unique)
        document["members"] = [e | {"unique": e["key"] in unique} for e in stored.named(found.members)]
    lines = [
        f"{len(keys):,} observed labels reach {share(len(found), stored.space.n_labels)}, "
        f"{CERTAIN[found.status]} ({stored.space.kind} metric)",
        f"{len(found.unique):,} of them as the only answer",
        stored.examples(found.members),
    ]
    if witness is not None:
        (key,) = stored.keys(witness)
        if key not in found.members:
            raise NotFoundError(
                f"--witness {witness}: no weights of these observed labels make it an answer; give a label "
                "in the locus"
            )
        weights = {o: int(w) for o, w in zip(keys, found.witness(key), strict=True) if w}
        document["witness"] = {"label": key, "weights": weights}
        most = max(weights.values())  # these whole numbers may be beyond every float
        tied = len(frechet_mean_set(stored.space, list(weights), [w / most for w in weights.values()]))
        alone = "the only answer" if tied == 1 else f"an answer, tied with {tied - 1:,} more,"
        listed = ", ".join(
            f"{w:,} of {o}" + (f" ({stored.name(o)})" if stored.name(o) not in ("", o) else "")
            for o, w in weights.items()
        )
        lines.append(f"{witness} is {alone} at the weights {listed}")
    if out is not None:
        rows = [(entry["key"], entry["name"], entry["unique"]) for entry in document["members"]]
        write_rows(out, document, ("key", "name", "unique"), rows, safe=safe)
    emit(document, as_json, "\n".join(lines))


def _locus(stored: StoredSpace, keys: tuple[str, ...], method: LocusMethod) -> Locus:
    from labelgrove.ontology import geometry

    if method in ("exact", "pairs"):
        return stored_locus(stored, keys, method)
    # The methods on a grid of weights serve comparison in small spaces, and have no job.
    with Progress(f"locus of {len(keys):,} labels").shown():
        return geometry.locus(stored.space, keys, method=method)


def stored_locus(stored: StoredSpace, keys: tuple[str, ...], method: str = "exact") -> Locus:
    """Return the locus of the observed labels `keys`, which a job computes.

    If an earlier job computed it, read the stored result; otherwise, submit a job and wait for it.
    """
    from labelgrove.workers.kinds.locus.file import read_locus

    options = {"method": method, "observed": keys}
    digest = stored.answer(f"locus of {len(keys):,} labels", "locus", options)
    return read_locus(stored.workspace.artifacts, digest, stored.graph)

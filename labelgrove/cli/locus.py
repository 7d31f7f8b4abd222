"""``grove locus`` and ``grove cover``: what observed labels can reach, and which must be observed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from labelgrove.cli.common import Progress, emit, json_option
from labelgrove.cli.completion import files
from labelgrove.cli.spaces import KEYS, StoredSpace, out_option, share, with_space, write_rows

if TYPE_CHECKING:
    from labelgrove.ontology.geometry.covers.covermethods import CoverMethod
    from labelgrove.ontology.geometry.loci.locusmethods import LocusMethod

__all__ = ["cover", "locus"]

_CERTAIN = {"exact": "exact", "lower_bound": "a lower bound: there may be more"}


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
    help="exact; or a published approximation: union of exact pair loci, Algorithm 2, Algorithm 3.",
)
@click.option("--witness", metavar="LABEL", help="Also show weights at which LABEL is the answer.")
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
    """Show which labels of ONTOLOGY a model can answer with, when it knows the observed ones.

    A label is reached if some probabilities make it an answer, uniquely if some make it the only one.
    """
    from labelgrove.ontology import geometry
    from labelgrove.ontology.errors import NotFoundError

    keys = stored.keys(observed, "observed label")
    with Progress(f"locus of {len(keys):,} labels").shown():
        found = geometry.locus(stored.space, keys, method=method)
    unique = set(found.unique)
    document = stored.document() | {
        "observed": list(keys),
        "method": method,
        "status": found.status,
        "size": len(found),
        "share": len(found) / stored.space.n_labels,
        "n_unique": len(unique),
        "members": [entry | {"unique": entry["key"] in unique} for entry in stored.named(found.members)],
    }
    lines = [
        f"{len(keys):,} observed labels reach {share(len(found), stored.space.n_labels)}, "
        f"{_CERTAIN[found.status]} ({stored.space.kind} metric)",
        f"{len(unique):,} of them uniquely",
        f"for example {stored.examples(found.members)}",
    ]
    if witness is not None:
        (key,) = stored.keys(witness)
        if key not in found.members:
            raise NotFoundError(f"--witness {witness}: these observed labels do not reach it")
        weights = {o: int(w) for o, w in zip(keys, found.witness(key), strict=True) if w}
        document["witness"] = {"label": key, "weights": weights}
        lines.append(f"{witness} is an answer at the weights {weights}")
    if out is not None:
        rows = [(entry["key"], entry["name"], entry["unique"]) for entry in document["members"]]
        write_rows(out, document, ("key", "name", "unique"), rows, safe=safe)
    emit(document, as_json, "\n".join(lines))


@click.command()
@with_space
@click.option(
    "--observed",
    metavar=KEYS,
    shell_complete=files(),
    help="Check these labels instead of looking for a cover.",
)
@click.option("--identifying", is_flag=True, help="Every label must be reached uniquely.")
@click.option(
    "--method",
    type=click.Choice(["minimum", "phylogenetic", "small", "must"]),
    default="minimum",
    show_default=True,
    help="minimum: as few as known; phylogenetic: the published Algorithm 1; small: fewer, on leaf-only "
    "trees; must: the labels that every cover contains.",
)
@out_option
@json_option
def cover(
    stored: StoredSpace,
    observed: str | None,
    identifying: bool,
    method: CoverMethod | Literal["must"],
    out: Path | None,
    safe: bool,
    as_json: bool,
) -> None:
    """Show which labels of ONTOLOGY a model has to know so that it can answer with every label.

    With --observed: whether these do.
    """
    if observed is not None:
        document, text = _checked(stored, stored.keys(observed, "observed label"))
        emit(document, as_json, text)
        return
    with Progress(f"cover of {stored.space.n_labels:,} labels").shown():
        keys, document, certainty = _cover(stored, identifying, method)
    document["labels"] = stored.named(keys)
    if out is not None:
        rows = [(entry["key"], entry["name"]) for entry in document["labels"]]
        write_rows(out, document, ("key", "name"), rows, safe=safe)
    kind = {"must": "that every cover contains"}.get(
        method, "that are an identifying cover" if identifying else "that are a cover"
    )
    emit(
        document,
        as_json,
        f"{share(len(keys), stored.space.n_labels)} {kind} ({certainty})\n"
        f"for example {stored.examples(keys)}",
    )


def _cover(
    stored: StoredSpace, identifying: bool, method: CoverMethod | Literal["must"]
) -> tuple[tuple[str, ...], dict[str, Any], str]:
    from labelgrove.ontology import geometry
    from labelgrove.ontology.errors import InputError

    if identifying and method != "minimum":
        raise InputError(f"--identifying: goes with --method minimum, not with {method}")
    document = stored.document() | {"method": method, "identifying": identifying}
    if method == "must":
        needed = geometry.must_observe(stored.space)
        document |= {"status": needed.status, "size": len(needed.keys)}
        return needed.keys, document, _CERTAIN[needed.status]
    found = geometry.locus_cover(stored.space, method=method, identifying=identifying)
    size = len(found.keys)
    document |= {"status": found.status, "size": size, "lower_bound": found.lower_bound}
    smallest = (
        "as few as can be" if found.lower_bound == size else f"at least {found.lower_bound:,} are needed"
    )
    return found.keys, document, smallest


def _checked(stored: StoredSpace, keys: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    from labelgrove.ontology import geometry

    with Progress(f"locus of {len(keys):,} labels").shown():
        found = geometry.locus(stored.space, keys)
    reached, unique, n = len(found), len(found.unique_index), stored.space.n_labels
    missing = stored.space.keys.take(sorted(set(range(n)) - set(found.index.tolist())))
    document = stored.document() | {
        "observed": list(keys),
        "status": found.status,
        "is_locus_cover": reached == n,
        "is_identifying_cover": unique == n,
        "is_nontrivial": reached > len(keys),
        "size": reached,
        "missing": stored.named(missing),
    }
    kind = "an identifying cover" if unique == n else "a cover" if reached == n else "not a cover"
    text = f"these {len(keys):,} labels are {kind}: they reach {share(reached, n)}, {unique:,} uniquely"
    if missing:
        text += f"\nnot reached, for example: {stored.examples(missing)}"
    return document, text

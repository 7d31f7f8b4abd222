"""``grove cover``: find labels to observe so that every label is reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.locus import stored_locus
from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.outfile import out_option, write_rows
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, share

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Cover, MustObserve

__all__ = ["cover"]


@click.command()
@with_space
@click.option(
    "--observed",
    metavar=KEYS,
    shell_complete=files(),
    help="Check whether these labels are a cover, instead of searching for one.",
)
@click.option(
    "--identifying",
    is_flag=True,
    help="Require that every label is reached uniquely: some probabilities make it the only answer.",
)
@click.option(
    "--method",
    type=click.Choice(["minimum", "phylogenetic", "small", "must"]),
    default="minimum",
    show_default=True,
    help="minimum: the smallest cover known; phylogenetic: Algorithm 1 of the paper; small: a search, which "
    "finds smaller covers than Algorithm 1 on trees where only leaves may be answers; must: not a cover, but "
    "the labels that every cover contains.",
)
@out_option
@json_option
def cover(
    stored: StoredSpace,
    observed: str | None,
    identifying: bool,
    method: str,
    out: Path | None,
    safe: bool,
    as_json: bool,
) -> None:
    """Find as few labels of ONTOLOGY as possible from which every label is reached.

    A model that knows these labels can answer with every other one: for each label there are probabilities
    that make it an answer, alone or tied with other labels. Of tied labels, the first in canonical order is
    the answer, so require --identifying if ties are not enough.

    With --observed, check whether these labels suffice, and list the labels that are not reached.
    """
    if observed is not None:
        document, missing, text = _check_observed(stored, stored.keys(observed, "observed label"))
        field, listed = "missing", missing
    else:
        keys, document, certainty = _cover(stored, identifying, method)
        field, listed = "labels", keys
        suffices = "an identifying cover" if identifying else "a cover"
        kind = "are in every cover" if method == "must" else f"are {suffices}"
        text = f"{share(len(keys), stored.space.n_labels, kind)}, {certainty}\n{stored.examples(keys)}"
    if as_json or out is not None:  # naming many labels takes longer than finding them
        document[field] = stored.named(listed)
    if out is not None:
        rows = [(entry["key"], entry["name"]) for entry in document[field]]
        write_rows(out, document, ("key", "name"), rows, safe=safe)
    emit(document, as_json, text)


def _cover(
    stored: StoredSpace, identifying: bool, method: str
) -> tuple[tuple[str, ...], dict[str, Any], str]:
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers.kinds.describing import CERTAIN

    document = stored.document() | {"method": method, "identifying": identifying}
    if method == "must":
        if identifying:
            raise InputError("--identifying: does not apply to --method must; leave out one of the two")
        needed = _needed(stored)
        document |= {"status": needed.status, "size": len(needed.keys)}
        return needed.keys, document, CERTAIN[needed.status]
    found = _computed_cover(stored, {"method": method, "identifying": identifying})
    size = len(found.keys)
    document |= {"status": found.status, "size": size, "lower_bound": found.lower_bound}
    smallest = (
        "no cover is smaller" if found.lower_bound == size else f"at least {found.lower_bound:,} are needed"
    )
    return found.keys, document, smallest


def _computed_cover(stored: StoredSpace, options: Mapping[str, Any]) -> Cover:
    """Return the cover that a job has computed; run the job first if its result does not exist yet."""
    from labelgrove.workers.kinds.cover import read_cover

    digest = stored.answer(f"cover of {stored.space.n_labels:,} labels", "cover", options)
    return read_cover(stored.workspace.artifacts, digest, stored.graph)


def _needed(stored: StoredSpace) -> MustObserve:
    """Return the labels that every cover contains.

    They are computed here and not by a job, because this is only the first step of the search for a cover.
    """
    from labelgrove.ontology.geometry import must_observe

    with Progress(f"cover of {stored.space.n_labels:,} labels").shown():
        return must_observe(stored.space)


def _check_observed(
    stored: StoredSpace, keys: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...], str]:
    """Return the document about the labels `keys`, the labels that they do not reach, and the text."""
    import numpy as np

    found = stored_locus(stored, keys)
    reached, unique, n = len(found), len(found.unique_index), stored.space.n_labels
    missing = stored.space.keys.take(np.setdiff1d(np.arange(n), found.index))
    document = stored.document() | {
        "observed": list(keys),
        "status": found.status,
        "is_locus_cover": reached == n,
        "is_identifying_cover": unique == n,
        "is_nontrivial": reached > len(keys),
        "size": reached,
    }
    kind = "an identifying cover" if unique == n else "a cover" if reached == n else "not a cover"
    reach = f"{share(reached, n)}, {unique:,} as the only answer"
    text = f"these {len(keys):,} labels are {kind}: they reach {reach}"
    if missing:
        text += f"\nnot reached: {stored.examples(missing)}"
    return document, missing, text

"""``grove sample``: draw random labels to observe."""

from __future__ import annotations

from typing import Any

import click

from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.text import emit, json_option

__all__ = ["sample"]


@click.command()
@with_space
@click.option("-n", "n", required=True, type=click.IntRange(1), help="How many labels to draw.")
@click.option(
    "--method",
    type=click.Choice(["uniform", "gibbs"]),
    default="uniform",
    show_default=True,
    help="uniform: every label is equally likely; gibbs: a label at distance d from the center has weight "
    "exp(-theta d).",
)
@click.option(
    "--theta",
    default=0.5,
    show_default=True,
    type=float,
    help="gibbs: the theta in exp(-theta d); a larger one draws labels nearer to the center.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the draws.")
@json_option
def sample(stored: StoredSpace, n: int, method: Any, theta: float, seed: int, as_json: bool) -> None:
    """Draw labels of ONTOLOGY without replacement; print one key per line, as --observed reads them."""
    from labelgrove.ontology.geometry import sample_observed

    keys = sample_observed(stored.space, n, method=method, theta=theta, seed=seed)
    document = stored.document() | {"method": method, "seed": seed, "labels": stored.named(keys)}
    if method == "gibbs":
        document["theta"] = theta
    emit(document, as_json, "\n".join(keys))

"""``grove select`` and ``grove sample``: which classes to collect next, and random ones to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labelgrove.cli.common import Progress, emit, json_option, note, table
from labelgrove.cli.completion import files
from labelgrove.cli.spaces import KEYS, StoredSpace, out_option, read_costs, with_space, write_rows

__all__ = ["sample", "select"]


@click.command()
@with_space
@click.option(
    "--observed",
    metavar=KEYS,
    shell_complete=files(),
    help="The labels your model knows already; none if not given.",
)
@click.option("-n", "n", type=click.IntRange(1), help="How many to pick; all there are if not given.")
@click.option(
    "--method",
    type=click.Choice(["active", "uniform", "outside"]),
    default="active",
    show_default=True,
    help="active: the largest gain of reached labels first; uniform: at random among the rest; outside: at "
    "random among the labels not reached.",
)
@click.option(
    "--costs",
    metavar="FILE",
    shell_complete=files(),
    help="CSV with a header: label, what observing it costs (else 1).",
)
@click.option("--budget", type=float, help="Spend no more than this; without --costs a label costs 1.")
@click.option("--required", metavar=KEYS, shell_complete=files(), help="Pick these in any case, first.")
@click.option("--forbidden", metavar=KEYS, shell_complete=files(), help="Never pick these.")
@click.option(
    "--candidates",
    metavar=KEYS,
    shell_complete=files(),
    help="Pick among these alone; among all if not given.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of all that is random.")
@out_option
@json_option
def select(
    stored: StoredSpace,
    observed: str | None,
    n: int | None,
    method: Any,
    costs: str | None,
    budget: float | None,
    required: str | None,
    forbidden: str | None,
    candidates: str | None,
    seed: int,
    out: Path | None,
    safe: bool,
    as_json: bool,
) -> None:
    """Show which labels of ONTOLOGY to collect training data for next, and how many more each one reaches."""
    from labelgrove.ontology.geometry import select_classes

    keys = stored.keys(observed, "observed label")
    with Progress("selection").shown():
        found = select_classes(
            stored.space,
            keys,
            n,
            costs=read_costs(stored, costs),
            budget=budget,
            required=stored.keys(required),
            forbidden=stored.keys(forbidden),
            candidates=None if candidates is None else stored.keys(candidates),
            method=method,
            seed=seed,
        )
    picks = [
        {"round": i, "key": key, "name": stored.name(key), "gain": int(gain)}
        for i, (key, gain) in enumerate(zip(found.keys, found.gains, strict=True), start=1)
    ]
    document = stored.document() | {
        "observed": list(keys),
        "method": method,
        "status": found.status,
        "size_before": found.size_before,
        "gain": int(found.gains.sum()),
        "upper_bound": found.upper_bound,
        "spent": found.spent,
        "picks": picks,
    }
    columns = ("round", "key", "name", "gain")
    rows = [tuple(pick.values()) for pick in picks]
    if out is not None:
        write_rows(out, document, columns, rows, safe=safe)
    quality = "no other choice within these limits reaches more"
    if found.status != "exact":
        quality = f"a heuristic: no choice reaches more than {found.upper_bound:,}"
    note(
        f"{len(picks):,} picks reach {document['gain']:,} labels more than {found.size_before:,} ({quality})"
    )
    emit(document, as_json, lambda: table(columns, rows))


@click.command()
@with_space
@click.option("-n", "n", required=True, type=click.IntRange(1), help="How many labels to draw.")
@click.option(
    "--method",
    type=click.Choice(["uniform", "gibbs"]),
    default="uniform",
    show_default=True,
    help="gibbs: a label at distance d from the centre weighs exp(-theta d).",
)
@click.option("--theta", default=0.5, show_default=True, type=float, help="gibbs: how steeply.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of all that is random.")
@json_option
def sample(stored: StoredSpace, n: int, method: Any, theta: float, seed: int, as_json: bool) -> None:
    """Draw labels of ONTOLOGY without replacement, one key per line, as --observed takes them."""
    from labelgrove.ontology.geometry import sample_observed

    keys = sample_observed(stored.space, n, method=method, theta=theta, seed=seed)
    document = stored.document() | {"method": method, "seed": seed, "labels": stored.named(keys)}
    if method == "gibbs":
        document["theta"] = theta
    emit(document, as_json, "\n".join(keys))

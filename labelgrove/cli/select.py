"""``grove select``: choose the labels to collect training data for next."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import files
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, with_space
from labelgrove.cli.printing.outfile import out_option, write_rows
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Selection

__all__ = ["read_costs", "select"]


def read_costs(stored: StoredSpace, source: str | None) -> dict[str, float] | None:
    """Read the cost of observing each label from a CSV file with the columns label and cost in its header."""
    from labelgrove.adapter.outputs.formats.csvfile import is_number
    from labelgrove.ontology.errors import InputError, no_such_file

    if source is None:
        return None
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise no_such_file(f"--costs {source}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--costs {source}: cannot be read: {error}") from error
    rows = list(csv.reader(io.StringIO(text)))
    if rows and is_number(rows[0][-1]):
        raise InputError(
            f"{source}:1: {','.join(rows[0])!r} is not a header; begin with a line such as label,cost"
        )
    labels, costs = [], []
    for line, row in enumerate(rows[1:], start=2):
        try:
            label, cost = row
            costs.append(float(cost))
        except ValueError:
            raise InputError(
                f"{source}:{line}: {','.join(row)!r}; each line after the header must be a label and its cost"
            ) from None
        labels.append(label)
    return dict(zip(stored.find(labels, "label"), costs, strict=True))


@click.command()
@with_space
@click.option(
    "--observed",
    metavar=KEYS,
    shell_complete=files(),
    help="The labels your model knows already; none by default.",
)
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    help="How many labels to pick. By default, the method active goes on until no label adds anything to the "
    "locus, the method outside until no label outside the locus is left, and the method uniform until no "
    "label is left.",
)
@click.option(
    "--method",
    type=click.Choice(["active", "uniform", "outside"]),
    default="active",
    show_default=True,
    help="active: next pick the label that adds the most reached labels (with --costs, the most per unit of "
    "cost); uniform: pick at random among the labels not yet observed; outside: pick at random among the "
    "labels not reached.",
)
@click.option(
    "--costs",
    metavar="FILE",
    shell_complete=files(),
    help="CSV file with a header and two columns: a label, and the cost to observe it. Other labels cost 1.",
)
@click.option(
    "--budget", type=float, help="The largest total cost of all picks; without --costs a label costs 1."
)
@click.option(
    "--required", metavar=KEYS, shell_complete=files(), help="Always pick these labels, before all others."
)
@click.option("--forbidden", metavar=KEYS, shell_complete=files(), help="Never pick these labels.")
@click.option(
    "--candidates",
    metavar=KEYS,
    shell_complete=files(),
    help="Pick only among these labels; among all by default.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the draws.")
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
    """Show which labels of ONTOLOGY to collect training data for next.

    For each label, also show how many labels it adds to the locus, the set of labels that the model can
    answer with.
    """
    from labelgrove.ontology.geometry.selections.request import checked_request
    from labelgrove.workers.kinds.selection import read_selection

    keys = stored.keys(observed, "observed label")
    wanted, unwanted = stored.keys(required), stored.keys(forbidden)
    among = None if candidates is None else stored.keys(candidates)
    prices = read_costs(stored, costs)
    checked_request(  # a unit checks this too, but a job that cannot be run would be recorded first
        stored.space,
        keys,
        n,
        costs=prices,
        budget=budget,
        required=wanted,
        forbidden=unwanted,
        candidates=among,
        method=method,
        seed=seed,
    )
    if n is None and budget is None and method == "active":
        note(
            "without -n, labels are picked until no label adds anything, which may take as many rounds as "
            f"there are labels ({stored.space.n_labels:,}); -n 10 picks the first ten"
        )
    digest = stored.answer(
        "selection",
        "selection",
        {
            "n": n,
            "method": method,
            "seed": seed,
            "budget": None if budget is None else repr(budget),
            "observed": keys or None,
            "costs": None if prices is None else {key: repr(price) for key, price in prices.items()},
            "required": wanted or None,
            "forbidden": unwanted or None,
            "candidates": among,
        },
    )
    found = read_selection(stored.workspace.artifacts, digest, stored.graph)
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
    limited = bool(prices or wanted or unwanted) or budget is not None or among is not None
    note(_summary(found, stored.space.n_labels, limited))
    emit(document, as_json, lambda: table(columns, rows))


def _summary(found: Selection, n_labels: int, limited: bool) -> str:
    """Return what the picks gain, and whether others can gain more, as one line.

    `n_labels` is the number of labels that may be answers. `limited` says whether the request limits the
    picks by more than their number.
    """
    from labelgrove.ontology.errors import counted

    picks = len(found)
    if not found.upper_bound:
        within = " within these limits" if limited else ""
        return (
            f"all {n_labels:,} labels are reached already; nothing to collect"
            if found.size_before == n_labels
            else f"no choice{within} adds to the {found.size_before:,} of {n_labels:,} labels that are "
            "reached already; nothing to collect"
        )
    if found.status != "exact":
        quality = f"a heuristic: no choice reaches more than {found.upper_bound:,}"
    elif limited:
        quality = "no other choice within these limits reaches more"
    else:
        quality = "no other pick reaches more" if picks == 1 else f"no other {picks:,} picks reach more"
    gain = counted(int(found.gains.sum()), "label")
    adds = "adds" if picks == 1 else "add"
    return f"{counted(picks, 'pick')} {adds} {gain} to the {found.size_before:,} reached before ({quality})"

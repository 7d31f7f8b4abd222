"""``grove plot``: draw prediction regions, selections and loci."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.locus import stored_locus
from labelgrove.cli.options.completers import files, ontologies
from labelgrove.cli.options.labels import KEYS
from labelgrove.cli.options.storedspace import StoredSpace, labels_option, metric_option, with_space
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.plots import Figure

__all__ = ["plot"]


def _png(_: click.Context, __: click.Parameter, out: Path) -> Path:
    """Raise an error, before anything is computed, if the output file is not a .png file."""
    if out.suffix != ".png":
        raise click.BadParameter(f"{out}: name a .png file")
    return out


_out = click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_png,
    help="Picture to write, a .png file.",
)


@click.group()
def plot() -> None:
    """Draw prediction regions, loci and selections."""


@plot.command()
@click.argument("ontology", required=False, shell_complete=ontologies)
@click.option("--observed", metavar=KEYS, shell_complete=files(), help="Three labels of ONTOLOGY.")
@metric_option
@labels_option
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Without ONTOLOGY: the seed of the six families of label spaces.",
)
@_out
@with_workspace
def simplex(
    workspace: Workspace,
    ontology: str | None,
    observed: str | None,
    metric: Any,
    allowed: str,
    seed: int,
    out: Path,
) -> None:
    """Draw the answers for all probability vectors over three observed labels.

    Without ONTOLOGY, draw six families of label spaces side by side: a tree, the leaves of a tree, a grid and
    three kinds of random graphs.
    """
    from labelgrove import plots
    from labelgrove.ontology.errors import InputError

    if (ontology is None) != (observed is None):
        raise InputError(
            "--observed and ONTOLOGY go together; give both, or leave both out to draw six "
            "example families of label spaces"
        )
    if ontology is None or observed is None:
        _save(plots.region_panels(plots.paper_families(seed)), out)
        return
    stored = StoredSpace.open(workspace, ontology, metric, allowed, "auto")
    keys = stored.keys(observed, "observed label")
    _save(plots.prediction_regions(stored.space, keys, name=stored.title), out)


@plot.command()
@click.option(
    "-n",
    "n_labels",
    default=100,
    show_default=True,
    type=click.IntRange(2),
    help="Number of labels in a tree.",
)
@click.option(
    "--start",
    default=3,
    show_default=True,
    type=click.IntRange(1),
    help="Number of labels observed at the start.",
)
@click.option(
    "--rounds",
    default=30,
    show_default=True,
    type=click.IntRange(1),
    help="Number of rounds, each of which picks one label.",
)
@click.option(
    "--seeds", default=10, show_default=True, type=click.IntRange(1), help="Number of random trees."
)
@_out
def selection(n_labels: int, start: int, rounds: int, seeds: int, out: Path) -> None:
    """Draw how the locus grows under active and under random selection, on random trees.

    The picture shows the number of labels in the locus after each round.
    """
    import numpy as np

    from labelgrove import plots
    from labelgrove.datasets.randomgraphs import random_tree
    from labelgrove.ontology.errors import InputError
    from labelgrove.ontology.geometry import metric_space, sample_observed

    if start + rounds > n_labels:
        raise InputError(
            f"--rounds {rounds}: {start} + {rounds} labels are more than the {n_labels} labels of a tree; "
            "give fewer rounds"
        )
    sizes: dict[str, list[NDArray[np.int64]]] = {"active": [], "outside": [], "uniform": []}
    with Progress("selection on random trees").shown() as progress:
        for seed in range(seeds):
            progress(f"tree {seed + 1} of {seeds}", seed, seeds)
            space = metric_space(random_tree(n_labels, seed=seed))
            observed = sample_observed(space, start, seed=seed)
            for method, rows in sizes.items():
                rows.append(_sizes(space, observed, rounds, method, seed))
    figure = plots.selection_curves(
        {_METHODS[method]: np.array(rows) for method, rows in sizes.items()}, n_start=start, n_labels=n_labels
    )
    _save(figure, out)


_METHODS = {
    "active": "active",
    "outside": "random, outside the locus",
    "uniform": "random, among the rest",
}


def _sizes(
    space: MetricSpace, observed: tuple[str, ...], rounds: int, method: Any, seed: int
) -> NDArray[Any]:
    """Select labels in `rounds` rounds; return the size of the locus before the first and after each round.

    The method ``outside`` ends when no label is outside the locus. After that, the size stays the same.
    """
    import numpy as np

    from labelgrove.ontology.geometry import select_classes

    found = select_classes(space, observed, None if method == "outside" else rounds, method=method, seed=seed)
    gains = np.zeros(rounds, dtype=np.int64)
    gains[: len(found.gains)] = found.gains[:rounds]
    return found.size_before + np.cumsum([0, *gains])


@plot.command()
@with_space
@click.option(
    "--observed", required=True, metavar=KEYS, shell_complete=files(), help="The labels your model knows."
)
@click.option(
    "--limit",
    default=1000,
    show_default=True,
    type=int,
    help="Draw at most this many marks, up to 2,000. In a larger hierarchy, whole branches share a mark.",
)
@_out
def locus(stored: StoredSpace, observed: str, limit: int, out: Path) -> None:
    """Draw ONTOLOGY, with different marks for observed labels, labels in the locus and others."""
    from labelgrove import plots

    keys = stored.keys(observed, "observed label")
    space = stored.space
    found = stored_locus(stored, keys)
    figure = plots.locus_hierarchy(
        stored.graph,
        space.point_index(keys),
        found.index if space.allowed is None else space.allowed[found.index],
        allowed=space.allowed,
        limit=limit,
        name=stored.title,
        title=f"{len(found):,} of {space.n_labels:,} labels reached from {len(keys):,} observed",
    )
    _save(figure, out)


def _save(figure: Figure, out: Path) -> None:
    from labelgrove import plots
    from labelgrove.ontology.errors import InputError

    try:
        plots.save(figure, out)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from error
    note(f"wrote the picture to {out}")

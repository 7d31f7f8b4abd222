"""``grove score`` and ``grove evaluate``: a model's outputs answered and measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from labelgrove.cli.common import Progress, as_csv, emit, json_option, note, read_keys, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapter import Adapter

__all__ = ["evaluate", "score"]

_IN_BUNDLE_ORDER = "bundle"


def _model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what both commands ask: the bundle, the outputs, and which column is which label."""
    options = (
        click.argument("bundle"),
        click.argument("outputs", type=click.Path(path_type=Path)),
        click.option(
            "--columns",
            metavar="FILE|KEYS|bundle",
            help="The classes of the columns, in order: a file with one per line, or key,key,...; `bundle` "
            "if they stand in the order the bundle was built with. A .csv file has them in its header.",
        ),
        click.option(
            "--by",
            type=click.Choice(["auto", "key", "name"]),
            default="auto",
            show_default=True,
            help="Whether the columns are label keys or names.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _load(bundle: str, outputs: Path, columns: str | None, by: Any) -> tuple[Adapter, Any]:
    """Open the bundle, read the outputs and bind their columns; never by position unless asked to."""
    from adapter import Adapter
    from labelgrove.tables import read_outputs
    from ontology.errors import BindingError

    values, header = read_outputs(outputs)
    _note_sums(values)
    if columns is not None and header is not None:
        raise BindingError(
            f"{outputs}: its header names the columns ({', '.join(header[:3])}, ...), and --columns does "
            "too; leave --columns out"
        )
    if columns == _IN_BUNDLE_ORDER:
        return Adapter.load(bundle), values
    names = header if columns is None else read_keys(columns)
    if names is None:
        raise BindingError(
            f"{outputs}: a .npy file has no column names; name the classes of your model, in order, with "
            "--columns FILE, or say --columns bundle if they stand as the bundle was built"
        )
    return Adapter.load(bundle, names, by=by), values


def _note_sums(values: Any) -> None:
    """Say so when rows do not look like probabilities; scaling a row changes no answer, logits do."""
    import numpy as np

    sums = np.asarray(values[:10_000], dtype=np.float64).sum(axis=1)
    odd = int((~np.isclose(sums, 1.0, atol=1e-2)).sum())
    if odd:
        note(
            f"note: {odd:,} of the first {len(sums):,} rows do not sum to 1 ({sums.min():.3g} to "
            f"{sums.max():.3g}); they are taken as weights. If these are logits, apply the softmax first."
        )


@click.command()
@_model_options
@click.option("--top", default=1, show_default=True, type=click.IntRange(1), help="Answers for each row.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; stdout if not given."
)
@json_option
def score(
    bundle: str, outputs: Path, columns: str | None, by: str, top: int, out: Path | None, as_json: bool
) -> None:
    """Answer each row of OUTPUTS (.npy or .csv) with labels of the whole space of BUNDLE.

    BUNDLE is ``ontology/name``, a path or a 64-hex digest. Each answer has its Fréchet variance, and the
    first one the number of labels tied with it.
    """
    adapter, values = _load(bundle, outputs, columns, by)
    with Progress(f"score {len(values):,} rows").shown():
        found = adapter.top_k(values, top)
    names = adapter.names
    header = ("row", "rank", "key", "name", "variance", "n_tied")
    rows = [
        (i, k + 1, key, names[int(index)], float(value), int(tied) if k == 0 else None)
        for i, (keys, indices, variances, tied) in enumerate(
            zip(found.keys, found.indices, found.values, found.n_tied, strict=True)
        )
        for k, (key, index, value) in enumerate(zip(keys, indices, variances, strict=True))
    ]
    if out is not None:
        write_file(out, (as_csv(header, rows) + "\n").encode(), f"{len(rows):,} answers")
    else:
        emit([dict(zip(header, row, strict=True)) for row in rows], as_json, lambda: as_csv(header, rows))


@click.command()
@_model_options
@click.argument("truth", type=click.Path(path_type=Path))
@click.option(
    "--train-truth",
    type=click.Path(path_type=Path),
    help="Labels of the training samples: what the constant baseline may know.",
)
@click.option(
    "--ontology",
    help="The ontology of a bundle on a graph metric, unless BUNDLE names it (trees need none).",
)
@json_option
def evaluate(
    bundle: str,
    outputs: Path,
    truth: Path,
    columns: str | None,
    by: str,
    train_truth: Path | None,
    ontology: str | None,
    as_json: bool,
) -> None:
    """Measure the answers to OUTPUTS against TRUTH (one label key per line), beside every baseline.

    The table shows the Fréchet mean (loki), argmax, a constant answer, the Fréchet mean among observed
    labels, CRM, and the observed label nearest to the truth, which no rule that answers with observed labels
    can beat.
    """
    from adapter import evaluate as measure
    from labelgrove.tables import read_truth

    adapter, values = _load(bundle, outputs, columns, by)
    space = None
    if ontology is None and adapter.space is None and "/" in bundle and not Path(bundle).exists():
        ontology = bundle.partition("/")[0]
    if ontology is not None and adapter.space is None:
        from ontology.geometry import metric_space
        from ontology.workspace import Workspace

        with Workspace.open() as workspace:
            graph = workspace.label_graph(ontology, adapter.bundle.ontology_digest)
        space = metric_space(graph, cast("Any", adapter.bundle.metric), list(adapter.keys))
    truths = read_truth(truth)
    training = None if train_truth is None else read_truth(train_truth)
    with Progress(f"evaluate {len(values):,} rows").shown():
        result = measure(adapter, values, truths, space=space, train_truth=training)
    emit(result.to_dict(), as_json, result.render)

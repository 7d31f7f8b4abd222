"""``grove train``: train a simple model, for users who have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option

__all__ = ["train"]


@click.command()
@click.argument("features", type=click.Path(path_type=Path))
@click.argument("labels", type=click.Path(path_type=Path))
@click.argument("test_features", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=click.Choice(["5-nn", "one-vs-rest", "logistic"]),
    default="one-vs-rest",
    show_default=True,
    help="5-nn: five nearest neighbors; one-vs-rest: one logistic regression for each class against the rest"
    "; logistic: one logistic regression over all classes.",
)
@click.option(
    "--regularisation", default=10.0, show_default=True, type=float, help="C of logistic regression."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("trained"),
    show_default=True,
    help="Folder for probabilities.npy and columns.txt.",
)
@json_option
def train(
    features: Path,
    labels: Path,
    test_features: Path,
    model: str,
    regularisation: float,
    out: Path,
    as_json: bool,
) -> None:
    """Train a simple model on FEATURES and LABELS, and write its probabilities for TEST_FEATURES.

    Features are embeddings or texts. Embeddings have a row for each sample, in a .npy file, or a .npz file of
    a scipy sparse matrix. Texts are in a .txt file, one per line, and become TF-IDF vectors. LABELS has the
    label key of one sample on each line. The command writes two files for `grove score` and `grove evaluate`:
    probabilities.npy, and columns.txt for --columns.
    """
    from labelgrove.adapter.outputs.truthfile import read_truth
    from labelgrove.training import train_files

    with Progress(f"train {model}").shown():
        trained = train_files(
            _features(features),
            read_truth(labels),
            _features(test_features),
            out,
            model=model,
            regularisation=regularisation,
        )
    emit(
        trained.to_dict(),
        as_json,
        f"{trained.n_samples:,} rows of {trained.n_columns:,} probabilities: {trained.probabilities}\n"
        f"label keys of the columns: {trained.columns}",
    )


def _features(path: Path) -> Any:
    """Return the samples in a file: the lines of a text file, or the rows of an array."""
    from labelgrove.datasets.ownfiles import read_features, read_texts

    return read_texts(path) if path.suffix == ".txt" else read_features(path)

"""Handwritten digits pasted on a grid: the label is the position, and distances are counted in grid steps."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.labeled import Labeled
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["CORNERS", "SHAPE", "digits_on_grid", "grid_space"]

SHAPE = (9, 9)
_DIGIT = 8
CORNERS = ("0,0", "0,8", "8,0", "8,8")


@cache
def grid_space() -> MetricSpace:
    """Return the space of the 81 positions of a 9 x 9 grid."""
    return metric_space(LabelGraph.grid(SHAPE))


def digits_on_grid(observed: tuple[str, ...], seed: int, *, n_images: int = 100) -> Labeled:
    """Return images with a digit at a position of a 9 x 9 grid; for training, only at observed positions.

    Parameters
    ----------
    observed : tuple of str
        Positions, as ``row,column``.
    seed : int
        Decides which images are for training, and where the others are pasted.
    n_images : int, default=100
        Number of digits for training; each is pasted at every observed position. The rest of the 1,797 digits
        are for testing; each is pasted at one random position.

    Raises
    ------
    InputError
        If there is not at least one image for training and one for testing.
    """
    from sklearn.datasets import load_digits

    images = load_digits().images / 16.0
    if not 0 < n_images < len(images):
        raise InputError(
            f"n_images: {n_images} given; give 1 to {len(images) - 1}, since the rest of the {len(images)} "
            "images are for testing"
        )
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(images))
    train, test = shuffled[:n_images], shuffled[n_images:]
    space = grid_space()
    keys = np.array(list(space.keys))
    truth = keys[random.integers(0, len(keys), len(test))]
    labels = np.tile(np.array(observed), len(train))
    return Labeled(
        space=space,
        trainable=space,
        train_features=_pasted(images[np.repeat(train, len(observed))], labels),
        train_labels=labels,
        test_features=_pasted(images[test], truth),
        test_labels=truth,
    )


def _pasted(images: NDArray[np.float64], labels: NDArray[np.str_]) -> NDArray[np.float64]:
    """Paste each 8 x 8 image on 16 x 16 pixels at the position of its label; return shape (n, 256)."""
    width = _DIGIT + SHAPE[0] - 1
    canvas = np.zeros((len(images), width, width))
    for page, image, label in zip(canvas, images, labels.tolist(), strict=True):
        row, column = map(int, label.split(","))
        page[row : row + _DIGIT, column : column + _DIGIT] = image
    return canvas.reshape(len(images), -1)

"""Digits on a grid: a classifier that knows the four corners of a 9×9 grid is asked for all 81 positions.

The 8×8 digits that scikit-learn carries are pasted on a blank 16×16 canvas; the label of a picture is where
the digit was pasted, so that the grid graph measures how wrong an answer is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.quickstart.predicted import Predicted
from ontology.labelgraph import LabelGraph

__all__ = ["CORNERS", "SHAPE", "classify", "grid"]

SHAPE = (9, 9)
CORNERS = ("0,0", "0,8", "8,0", "8,8")
_DIGIT = 8
_CANVAS = _DIGIT + SHAPE[0] - 1
_TRAIN_IMAGES = 100
_REGULARISATION = 0.01


def grid() -> LabelGraph:
    """Return the label graph: 81 positions, neighbours joined by edges of length one."""
    return LabelGraph.grid(SHAPE)


def classify(seed: int) -> Predicted:
    """Train on pictures with the digit in a corner, and classify pictures with the digit anywhere.

    Parameters
    ----------
    seed : int
        Fixes which 100 images train (each in all four corners) and where the other 1,697 are pasted.

    Notes
    -----
    Logistic regression with C = 0.01: the corners are so easy to tell apart that a weaker penalty would give
    probabilities of 0 and 1, from which no rule can read how far away a digit is.
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    images = load_digits().images / 16.0
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(images))
    train, test = shuffled[:_TRAIN_IMAGES], shuffled[_TRAIN_IMAGES:]
    keys = np.array(list(grid().keys))
    train_labels = np.tile(CORNERS, len(train))
    truth = keys[random.integers(0, len(keys), len(test))]
    model = LogisticRegression(C=_REGULARISATION, max_iter=1000)
    with threadpool_limits(limits=1):  # products this small only wait for each other on several threads
        model.fit(_paste(images[np.repeat(train, len(CORNERS))], train_labels), train_labels)
        probabilities = model.predict_proba(_paste(images[test], truth))
    return Predicted(
        columns=tuple(model.classes_.tolist()),
        probabilities=probabilities,
        truth=tuple(truth.tolist()),
        train_labels=tuple(train_labels.tolist()),
    )


def _paste(images: NDArray[np.float64], labels: NDArray[np.str_]) -> NDArray[np.float64]:
    """Put each image of shape (8, 8) where its label says; returns shape (n, 256)."""
    canvas = np.zeros((len(images), _CANVAS, _CANVAS))
    for page, image, label in zip(canvas, images, labels.tolist(), strict=True):
        row, column = map(int, label.split(","))
        page[row : row + _DIGIT, column : column + _DIGIT] = image
    return canvas.reshape(len(images), -1)

"""Digits on a grid: a classifier that knows the four corners of a 9×9 grid answers with any of 81 positions.

The digits of scikit-learn, 8×8 pixels each, are pasted on a blank canvas of 16×16 pixels. The label of an
image is the position of its digit, so distances in the grid graph measure how wrong an answer is.
"""

from __future__ import annotations

from labelgrove.datasets.digits import CORNERS, SHAPE, digits_on_grid
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.training import fit_predict

__all__ = ["CORNERS", "SHAPE", "classify", "grid"]

_TRAIN_IMAGES = 100


def grid() -> LabelGraph:
    """Return the label graph: 81 positions, with edges of length 1 between neighbors."""
    return LabelGraph.grid(SHAPE)


def classify(seed: int) -> Predicted:
    """Train on images with the digit in a corner, and classify images with the digit anywhere.

    Parameters
    ----------
    seed : int
        Decides which 100 digits are for training, and at which position each of the other 1,697 is pasted.
        Each digit for training is pasted in all four corners.

    Notes
    -----
    The model is logistic regression with C = 0.01. The corners are so easy to tell apart that a weaker
    penalty would give probabilities of 0 and 1, which say nothing about how far away a digit is.
    """
    data = digits_on_grid(CORNERS, seed, n_images=_TRAIN_IMAGES)
    predicted, _ = fit_predict(data, CORNERS, "logistic", regularisation=0.01, max_iter=1000)
    return predicted

"""The tables of the compiled descent over a skeleton; importing this module loads numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.trees.lowestvertex import Descent
from labelgrove.ontology.geometry.kernels.trees.runningsums import STRIDE
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed

__all__ = ["compiled_descent"]


def compiled_descent(observed: Observed, order: NDArray[np.int64] | None = None) -> Descent:
    """Return the tables of the descent over the skeleton of `observed`.

    `order` contains, for each observed label, its column in the rows; by default the columns are in the order
    of the observed labels.
    """
    skeleton, n_observed = observed.skeleton, len(observed.at)
    columns = observed.by_preorder if order is None else order[observed.by_preorder]
    if (columns == np.arange(n_observed)).all():
        columns = columns[:0]
    depth = np.zeros((n_observed // STRIDE + 1) * STRIDE)
    depth[:n_observed] = skeleton.label_depth
    by = np.concatenate([[0], skeleton.child])  # the root, then children, with siblings adjacent
    node = np.empty((len(by), 6), dtype=np.int32)
    node[:, 0], node[:, 1] = skeleton.low[by], skeleton.high[by]
    node[:, 2], node[:, 3] = skeleton.begin[by] + 1, skeleton.begin[by + 1] + 1
    node[:, 4], node[:, 5] = skeleton.chain_first[by], skeleton.chain_last[by]
    return Descent(columns.astype(np.uint32), depth, node, skeleton.depth[by], skeleton.chain_depth)

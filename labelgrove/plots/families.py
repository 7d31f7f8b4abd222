"""Make the six types of label spaces on which the source paper draws prediction regions."""

from __future__ import annotations

import numpy as np

from labelgrove.datasets.randomgraphs import barabasi_albert, erdos_renyi, random_tree, watts_strogatz
from labelgrove.ontology.geometry import MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["paper_families"]

_N_LABELS = 100
_OBSERVED = (0, 39, 99)
_LARGE_TREE = 1000


def paper_families(seed: int = 0) -> dict[str, tuple[MetricSpace, tuple[str, ...]]]:
    """Return six label spaces, each with the keys of three observed labels; needs networkx.

    Parameters
    ----------
    seed : int, default=0
        Seed of the random graphs, and of the choice of 100 leaves from the large tree.

    Returns
    -------
    families : dict
        From the title of each family to a pair: a space in which 100 labels may be answers, and a tuple of
        three observed keys. The families are: a random tree; 100 leaves of a random tree of 1,000 labels; the
        10 × 10 grid; Watts-Strogatz (k = 5, p = 0.8); Erdős-Rényi (p = 0.1); Barabási-Albert (m = 2). The
        observed labels have the positions 0, 39 and 99 among the sorted keys of the 100 labels.
    """
    large = random_tree(_LARGE_TREE, seed=seed)
    leaves = sorted(large.leaves)
    chosen = np.sort(np.random.default_rng(seed).choice(len(leaves), _N_LABELS, replace=False))
    graphs = {
        "Random tree": random_tree(_N_LABELS, seed=seed),
        "Grid, 10 × 10": LabelGraph.grid((10, 10)),
        "Watts-Strogatz, k = 5, p = 0.8": watts_strogatz(_N_LABELS, seed=seed),
        "Erdős-Rényi, p = 0.1": erdos_renyi(_N_LABELS, seed=seed),
        "Barabási-Albert, m = 2": barabasi_albert(_N_LABELS, seed=seed),
    }
    families = {title: _family(metric_space(graph)) for title, graph in graphs.items()}
    leaf_only = _family(metric_space(large, labels=[leaves[i] for i in chosen]))
    return {"Random tree": families.pop("Random tree"), "Leaves of a random tree": leaf_only} | families


def _family(space: MetricSpace) -> tuple[MetricSpace, tuple[str, ...]]:
    keys = sorted(space.keys)
    return space, tuple(keys[i] for i in _OBSERVED)

"""Draw random label graphs of four kinds: trees, small-world graphs, random graphs and growing graphs.

`grove plot` and the experiments on selection use these graphs.

Keys are the vertex numbers, padded with zeros, so that byte order is numeric order. Networkx draws the
graphs. It uses a random generator of Python's standard library, initialized with the argument `seed`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry.arguments import nonnegative_number, whole_number
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["barabasi_albert", "erdos_renyi", "random_tree", "watts_strogatz"]

_MOST_DRAWS = 1000


def random_tree(n: int, *, seed: int = 0) -> LabelGraph:
    """Draw a tree on `n` labels, each of the ``n^(n-2)`` labeled trees equally likely (by Prüfer sequences).

    Parameters
    ----------
    n : int
        Number of labels, positive.
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected, edges of length 1.

    Raises
    ------
    InputError
        If `n` is below 1, or `seed` is not a whole number of 0 or more.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> tree = random_tree(12, seed=1)
    >>> tree.is_tree, sorted(tree.keys)[:3]
    (True, ['00', '01', '02'])
    """
    networkx = _networkx()
    n = whole_number("n", n, 1)
    return _connected(n, seed, lambda rng: networkx.random_labeled_tree(n, seed=rng), "")


def watts_strogatz(n: int, *, k: int = 5, p: float = 0.8, seed: int = 0) -> LabelGraph:
    """Draw a small-world graph: labels on a ring, joined to near neighbors; some edges are then rewired.

    Parameters
    ----------
    n : int
        Number of labels.
    k : int, default=5
        Each label is joined to ``k // 2`` neighbors on either side; 5 therefore means 4 neighbors.
    p : float, default=0.8
        Probability that an edge is rewired, that is, joined to a random label at one end.
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected and connected: it is drawn again, from the same random stream, until it is connected.

    Raises
    ------
    InputError
        If `n` is not larger than `k`, `k` is below 2, `p` is not a probability, none of 1,000 draws is
        connected, or `seed` is not a whole number of 0 or more.

    Notes
    -----
    O(n k) for each draw.

    References
    ----------
    .. [1] D. J. Watts, S. H. Strogatz (1998), Nature 393, 440-442.

    Examples
    --------
    >>> watts_strogatz(20, k=5).n_edges
    40
    """
    networkx = _networkx()
    k = whole_number("k", k, 2)
    n = whole_number("n", n, k + 1)
    p = _probability(p)
    return _connected(n, seed, lambda rng: networkx.watts_strogatz_graph(n, k, p, seed=rng), f"k={k}, p={p}")


def erdos_renyi(n: int, *, p: float = 0.1, seed: int = 0) -> LabelGraph:
    """Draw a graph in which every pair of labels is joined with probability `p`.

    Parameters
    ----------
    n : int
        Number of labels, positive.
    p : float, default=0.1
        Probability that a pair is joined.
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected and connected: it is drawn again, from the same random stream, until it is connected.

    Raises
    ------
    InputError
        If `n` is below 1, `p` is not a probability, `p` is so small that none of 1,000 draws is connected, or
        `seed` is not a whole number of 0 or more.

    Notes
    -----
    O(n^2) for each draw.

    References
    ----------
    .. [1] E. N. Gilbert (1959), Ann. Math. Stat. 30(4), 1141-1144.

    Examples
    --------
    >>> erdos_renyi(5, p=1.0).n_edges
    10
    """
    networkx = _networkx()
    n = whole_number("n", n, 1)
    p = _probability(p)
    return _connected(n, seed, lambda rng: networkx.gnp_random_graph(n, p, seed=rng), f"p={p}")


def barabasi_albert(n: int, *, m: int = 2, seed: int = 0) -> LabelGraph:
    """Draw a growing graph: each new label is joined to `m` earlier ones, favoring those with more edges.

    Parameters
    ----------
    n : int
        Number of labels, larger than `m`.
    m : int, default=2
        Edges of each new label, positive.
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected; connected by construction.

    Raises
    ------
    InputError
        If `m` is below 1, `n` is not larger than `m`, or `seed` is not a whole number of 0 or more.

    Notes
    -----
    O(n m).

    References
    ----------
    .. [1] A.-L. Barabási, R. Albert (1999), Science 286, 509-512.

    Examples
    --------
    >>> barabasi_albert(20, m=2).n_edges
    36
    """
    networkx = _networkx()
    m = whole_number("m", m, 1)
    n = whole_number("n", n, m + 1)
    return _connected(n, seed, lambda rng: networkx.barabasi_albert_graph(n, m, seed=rng), f"m={m}")


def _connected(n: int, seed: int, draw: Callable[[random.Random], Any], given: str) -> LabelGraph:
    networkx = _networkx()
    rng = random.Random(whole_number("seed", seed, 0))
    width = len(str(n - 1))
    for _ in range(_MOST_DRAWS):
        drawn = draw(rng)
        if networkx.is_connected(drawn):
            return LabelGraph.from_networkx(networkx.relabel_nodes(drawn, lambda v: f"{v:0{width}d}"))
    raise InputError(
        f"{given}: none of {_MOST_DRAWS} draws on {n} labels is a connected graph; request more edges"
    )


def _probability(p: float) -> float:
    given = nonnegative_number("p", p)
    if given > 1:
        raise InputError(f"p: {p} given; a probability is between 0 and 1")
    return given


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError.of("networkx", "service", "drawing random graphs") from None
    return networkx

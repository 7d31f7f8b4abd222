"""Seeded random label graphs: the families on which prediction regions and selection are shown.

Keys are the vertex numbers, padded with zeros so that their byte order is their numeric order. The graphs are
drawn by networkx, with the generator of Python's standard library seeded by `seed`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ontology.errors import InputError, MissingExtraError
from ontology.labelgraph import LabelGraph

__all__ = ["barabasi_albert", "erdos_renyi", "random_tree", "watts_strogatz"]

_MOST_DRAWS = 1000


def random_tree(n: int, *, seed: int = 0) -> LabelGraph:
    """Draw a tree on `n` labels, each of the ``n^(n-2)`` labelled trees equally likely (by Prüfer sequences).

    Parameters
    ----------
    n : int
        Number of labels, positive.
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected, edges of length 1.

    Examples
    --------
    >>> tree = random_tree(12, seed=1)
    >>> tree.is_tree, sorted(tree.keys)[:3]
    (True, ['00', '01', '02'])
    """
    networkx = _networkx()
    _at_least("n", n, 1)
    return _connected(n, seed, lambda rng: networkx.random_labeled_tree(n, seed=rng), "")


def watts_strogatz(n: int, *, k: int = 5, p: float = 0.8, seed: int = 0) -> LabelGraph:
    """Draw a small-world graph: a ring of near neighbours, each edge rewired with probability `p`.

    Parameters
    ----------
    n : int
        Number of labels.
    k : int, default=5
        Each label is joined to ``k // 2`` neighbours on either side, so that 5 means 4.
    p : float, default=0.8
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected and connected; drawn again, from the same stream, until it is.

    Raises
    ------
    InputError
        If `n` is not larger than `k`, `k` is below 2, `p` is no probability, or 1,000 draws fall into parts.
    """
    networkx = _networkx()
    _at_least("k", k, 2)
    _at_least("n", n, k + 1)
    _probability(p)
    return _connected(n, seed, lambda rng: networkx.watts_strogatz_graph(n, k, p, seed=rng), f"k={k}, p={p}")


def erdos_renyi(n: int, *, p: float = 0.1, seed: int = 0) -> LabelGraph:
    """Draw a graph in which every pair of labels is joined with probability `p`.

    Parameters
    ----------
    n : int
        Number of labels, positive.
    p : float, default=0.1
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected and connected; drawn again, from the same stream, until it is.

    Raises
    ------
    InputError
        If `p` is no probability, or so small that 1,000 draws fall into parts.
    """
    networkx = _networkx()
    _at_least("n", n, 1)
    _probability(p)
    return _connected(n, seed, lambda rng: networkx.gnp_random_graph(n, p, seed=rng), f"p={p}")


def barabasi_albert(n: int, *, m: int = 2, seed: int = 0) -> LabelGraph:
    """Draw a graph that grows: each new label is joined to `m` earlier ones, the well-joined ones likelier.

    Parameters
    ----------
    n : int
        Number of labels, larger than `m`.
    m : int, default=2
    seed : int, default=0

    Returns
    -------
    graph : LabelGraph
        Undirected; connected by construction.
    """
    networkx = _networkx()
    _at_least("m", m, 1)
    _at_least("n", n, m + 1)
    return _connected(n, seed, lambda rng: networkx.barabasi_albert_graph(n, m, seed=rng), f"m={m}")


def _connected(n: int, seed: int, draw: Callable[[random.Random], Any], given: str) -> LabelGraph:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed: {seed!r} of type {type(seed).__name__}; a seed is a whole number")
    networkx = _networkx()
    rng = random.Random(seed)
    width = len(str(n - 1))
    for _ in range(_MOST_DRAWS):
        drawn = draw(rng)
        if networkx.is_connected(drawn):
            return LabelGraph.from_networkx(networkx.relabel_nodes(drawn, lambda v: f"{v:0{width}d}"))
    raise InputError(f"{given}: {_MOST_DRAWS} draws on {n} labels all fall into parts; ask for more edges")


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name}: {value!r} given; it is a whole number of at least {least}")


def _probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise InputError(f"p: {p} given; a probability is between 0 and 1")


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError.of("networkx", "service", "drawing random graphs") from None
    return networkx

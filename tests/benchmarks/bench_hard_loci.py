"""The general locus where labels all but tie, and the slowest of many matrix games made to be hard.

    python -m tests.benchmarks.bench_hard_loci [--seeds 40] [--hard 1]

First the leaves of WordNet's tree with lengths that are differences of information content, so that sums
differ in their last bits; without WordNet, a seeded synthetic graph of the same size. Then seeded distances
and games that are hard by construction (`tests.hard_games`). Every verdict is checked after the clock stops:
the mixtures of a game prove its sign in whole numbers, and a locus is found again with other random weights.
Prints one JSON document.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.loci.general import general_locus, measured_rows
from labelgrove.ontology.geometry.loci.proofs.exactgame import Settled, decide, exact_product
from labelgrove.ontology.geometry.loci.restrictedtree import nearest_at_hull
from tests.benchmarks.graphs import describe, noun_graph
from tests.benchmarks.measuring import one_thread, print_document, timed
from tests.hard_games import DISTANCES, GAMES

N_OBSERVED, N_ROWS, N_BITS = 60, 285, (24, 60, 150)


def content_space() -> tuple[TreeSpace, dict[str, Any]]:
    """The leaves of the noun graph's tree, with lengths by information content, and what graph that is.

    The content of a label is ``-log((leaves / depth + 1) / (all leaves + 1))`` (Sánchez and others, 2011),
    where `leaves` are those below it and its depth counts from one.
    """
    name, graph = noun_graph()
    plain = metric_space(graph, "tree")
    assert isinstance(plain, TreeSpace)
    tree = plain.tree
    size = tree.end - np.arange(len(tree))
    below = np.concatenate([[0], np.cumsum(size == 1)])
    level = np.ones(len(tree))
    for v in range(1, len(tree)):
        level[v] = level[tree.parent[v]] + 1
    content = -np.log(((below[tree.end] - below[:-1]) / level + 1) / (below[-1] + 1))
    length = np.maximum(np.abs(content - content[tree.parent]), 1e-9)
    length[0], parent = 0, tree.parent.copy()
    parent[0] = -1
    return TreeSpace.from_arrays(graph.keys, parent, length, size == 1), describe(name, graph)


def locus_seconds(distances: np.ndarray, tolerant: bool | None = None) -> dict[str, Any]:
    """Time one general locus, and find it again with other random weights."""
    taken, found = timed(lambda: general_locus(distances, tolerant=tolerant))
    again = general_locus(distances, seed=1, tolerant=tolerant)
    assert found.index.tolist() == again.index.tolist()
    assert found.unique_index.tolist() == again.unique_index.tolist()
    return {"seconds": round(taken, 3), "exact": found.proofs["exact"], "n_members": len(found.index)}


def prove(payoff: np.ndarray, found: Settled) -> None:
    """Check the proof of a game's sign."""
    if found.sign >= 0:
        assert min(found.weights) >= 0 < max(found.weights)
        assert (exact_product(payoff, found.weights) >= found.sign).all()
    if found.sign <= 0:
        assert min(found.multipliers) >= 0 < max(found.multipliers)
        assert (exact_product(payoff.T, found.multipliers) <= found.sign).all()


def game_seconds(kind: str, n_bits: int, seed: int) -> float:
    """Time one game, and check its proof."""
    payoff = GAMES[kind](np.random.default_rng(seed), N_ROWS, N_OBSERVED, n_bits)
    taken, found = timed(lambda: decide(payoff, np.arange(1), np.arange(N_OBSERVED)))
    prove(payoff, found)
    return round(taken, 3)


def worst(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum up runs by the slowest, and the seed it came from."""
    slowest = max(range(len(runs)), key=lambda seed: runs[seed]["seconds"])
    return {
        "n_runs": len(runs),
        "median_s": round(float(np.median([run["seconds"] for run in runs])), 3),
        "worst_s": runs[slowest]["seconds"],
        "worst_seed": slowest,
        "exact": sum(run["exact"] for run in runs),
    }


def main() -> None:
    """Run everything and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=40, help="sets of observed labels")
    parser.add_argument("--hard", type=int, default=1, help="seeds of each kind of hard instance")
    options = parser.parse_args()
    one_thread()
    general_locus(np.array([[0.1, 1.7], [1.3, 0.1]]))  # compiles the kernels
    space, graph = content_space()
    assert space.allowed is not None
    runs = []
    for seed in range(options.seeds):
        points = np.random.default_rng(seed).permutation(space.allowed)[:N_OBSERVED]
        distances = measured_rows(space, points, nearest_at_hull(space, points))
        runs.append(locus_seconds(distances))
    loci = {}
    for kind, make in DISTANCES.items():
        made = [make(np.random.default_rng(s), N_ROWS, N_OBSERVED) for s in range(options.hard)]
        loci[kind] = worst([locus_seconds(distances, tolerant=True) for distances in made])
    games = {
        kind: {
            str(n_bits): worst(
                [{"seconds": game_seconds(kind, n_bits, s), "exact": 1} for s in range(options.hard)]
            )
            for n_bits in N_BITS
        }
        for kind in GAMES
    }
    print_document(
        "labels that all but tie, and games made to be hard",
        0,
        graph=graph,
        n_observed=N_OBSERVED,
        n_rows=N_ROWS,
        information_content=worst(runs),
        loci=loci,
        games=games,
    )


if __name__ == "__main__":
    main()

"""From labels to supernodes and back: inverse to each other and majorities counted afresh."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from labelgrove.ontology.errors import InputError, UnknownLabelError
from labelgrove.ontology.geometry.summaries.expand import expand, push, push_index
from labelgrove.ontology.geometry.summaries.summary import summarize
from labelgrove.ontology.labelgraph import LabelGraph


def hierarchy(n: int, seed: int) -> LabelGraph:
    rng = np.random.default_rng(seed)
    pairs = {(c, int(rng.integers(c))) for c in range(1, n)}
    pairs |= {(c, int(rng.integers(c))) for c in range(2, n) if rng.random() < 0.3}
    return LabelGraph.from_edges([(f"{c:03d}", f"{p:03d}") for c, p in sorted(pairs)])


def test_pushing_and_expanding_are_inverse():
    graph = hierarchy(60, 5)
    summary = summarize(graph, 9)
    assert push(summary, graph.keys).tolist() == summary.assignment.tolist()
    for s, key in enumerate(summary.keys):
        assert push(summary, expand(summary, s)).tolist() == [s] * summary.sizes[s]
        assert expand(summary, key) == expand(summary, s)
        assert expand(summary, s)[0] == key


def test_the_majority_wins_and_the_lowest_number_among_equals():
    graph = LabelGraph.from_edges(
        [(f"{c}{i}", c) for c in "abc" for i in range(3)] + [(c, "~") for c in "abc"]
    )
    summary = summarize(graph, 4, method="subtree")
    of = dict(zip(graph.keys, summary.assignment.tolist(), strict=True))
    rows = [["c0", "c1", "a0"], ["c0", "a0"], ["b2"], ["b0", "c0", "b1", "c1", "a0"]]
    lowest = min(of["c0"], of["a0"])
    assert push(summary, rows).tolist() == [of["c0"], lowest, of["b2"], min(of["b0"], of["c0"])]


def test_votes_by_counting():
    rng = np.random.default_rng(0)
    summary = summarize(hierarchy(80, 6), 10)
    lengths = rng.integers(1, 7, 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    votes = rng.integers(0, 80, offsets[-1])
    found = push_index(summary, votes, offsets)
    for i in range(200):
        count = Counter(summary.assignment[votes[offsets[i] : offsets[i + 1]]].tolist())
        assert found[i] == min(count, key=lambda s: (-count[s], s))


def test_what_cannot_be_pushed_or_expanded_is_named():
    summary = summarize(hierarchy(30, 0), 5)
    with pytest.raises(UnknownLabelError):
        push(summary, ["nobody"])
    with pytest.raises(InputError, match="row 1 has no label"):
        push(summary, [["000"], []])
    with pytest.raises(InputError, match="mixed"):
        push(summary, ["000", ["001"]])
    with pytest.raises(InputError, match="single string"):
        push(summary, "000")
    with pytest.raises(InputError, match="index: index 30"):
        push_index(summary, [30])
    with pytest.raises(InputError, match="offsets"):
        push_index(summary, [1, 2], [0, 1])
    with pytest.raises(InputError, match="supernode: 5"):
        expand(summary, 5)
    inner = next(key for key in summary.source.keys if key not in summary.keys)
    with pytest.raises(InputError, match="not its key"):
        expand(summary, inner)
    assert push(summary, []).tolist() == []

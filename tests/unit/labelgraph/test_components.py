"""Components against their definition, and against scipy where the definition is too slow."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from labelgrove.ontology.components import connected, strongly_connected


def reached(n, tail, head):
    """Whether a walk leads from each label to each other, by as many squarings as a path may need."""
    walk = np.eye(n, dtype=bool)
    walk[tail, head] = True
    for _ in range(n.bit_length()):
        walk = walk @ walk
    return walk


def by_definition(together):
    """Number each label by the first that it is together with."""
    return np.unique(together.argmax(axis=1), return_inverse=True)[1].tolist()


@pytest.mark.parametrize("seed", range(300))
def test_components_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    tail, head = rng.integers(0, n, (2, int(rng.integers(0, 2 * n))))
    walk = reached(n, tail, head)
    assert strongly_connected(n, tail, head).tolist() == by_definition(walk & walk.T)
    both = reached(n, np.concatenate([tail, head]), np.concatenate([head, tail]))
    assert connected(n, tail, head).tolist() == by_definition(both)


def large(shape, rng):
    n = 20_000
    if shape == "path":
        order = rng.permutation(n)
        return n, order[:-1], order[1:]
    if shape == "ring with a tail":
        return n, np.arange(n), np.append(np.arange(1, n), n // 2)
    if shape == "tree":
        return n, rng.integers(0, np.arange(1, n)), np.arange(1, n)
    if shape == "rings on a path":  # each label of a path is a ring of two
        even = np.arange(0, n, 2)
        return n, np.concatenate([even, even + 1, even[:-1]]), np.concatenate([even + 1, even, even[1:]])
    return n, *rng.integers(0, n, (2, n))


@pytest.mark.parametrize("shape", ["path", "ring with a tail", "tree", "rings on a path", "random"])
def test_large_graphs_have_the_components_that_scipy_finds(shape):
    n, tail, head = large(shape, np.random.default_rng(0))
    matrix = coo_array((np.ones(len(tail)), (tail, head)), shape=(n, n)).tocsr()
    for connection, found in (
        ("strong", strongly_connected(n, tail, head)),
        ("weak", connected(n, tail, head)),
    ):
        other = connected_components(matrix, connection=connection)[1]
        assert len(set(zip(found.tolist(), other.tolist(), strict=True))) == len(set(found.tolist()))
        assert len(set(found.tolist())) == len(set(other.tolist()))
        assert found.dtype == np.int32

"""RootedTree: by passes over levels or by a loop over vertices, the numbers are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.geometry import rootedtree
from ontology.geometry.rootedtree import RootedTree

FIELDS = ("order", "position", "parent", "length", "depth", "end")


def drawn_parent(data, n):
    return np.array([-1, *(data.draw(st.integers(0, i - 1)) for i in range(1, n))])


def renumbered(parent, tree):
    """The same tree with its vertices numbered in preorder."""
    found = tree.position[parent[tree.order]]
    found[0] = -1
    return found


@given(data=st.data(), n=st.integers(1, 12), weighted=st.booleans())
def test_a_tree_in_preorder_is_the_tree_that_any_numbering_gives(data, n, weighted):
    parent = drawn_parent(data, n)
    length = np.array([data.draw(st.sampled_from([1.0, 2.0, 0.1, 300.0])) for _ in range(n)])
    given_tree = RootedTree(parent, length if weighted else None)
    inner = renumbered(parent, given_tree)
    by_levels = RootedTree(inner, length[given_tree.order] if weighted else None)
    assert by_levels.order is by_levels.position  # it was found to be in preorder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rootedtree, "_MOST_LEVELS", -1)
        by_loop = RootedTree(inner, length[given_tree.order] if weighted else None)
    assert by_loop.order is not by_loop.position
    for field in FIELDS:
        for one in (by_loop, given_tree) if field not in ("order", "position") else (by_loop,):
            np.testing.assert_array_equal(getattr(by_levels, field), getattr(one, field), err_msg=field)
    assert by_levels.dtype == by_loop.dtype == given_tree.dtype
    every = np.arange(n)
    np.testing.assert_array_equal(by_levels.distances(every, every), given_tree.distances(every, every))


@pytest.mark.parametrize(
    ("n", "dtype"),
    [(256, np.uint8), (257, np.uint16), (512, np.uint16), (1003, np.uint16), (70_000, np.float32)],
)
def test_a_path_takes_the_smallest_dtype_and_no_recursion(n, dtype):
    path = RootedTree(np.arange(-1, n - 1))
    assert path.dtype == dtype
    assert path.diameter() == n - 1
    assert path.distances(np.array([0]), np.array([n - 1])).tolist() == [[n - 1]]
    both_ways = np.arange(-1, n - 1)
    both_ways[n // 2] = 0  # two arms of a root between them
    arms = RootedTree(both_ways)
    assert arms.diameter() == n - 1
    assert arms.dtype == dtype


def test_lengths_of_one_are_no_lengths_at_all():
    parent = np.array([-1, 0, 1, 1, 0, 4])
    plain, given_ones = RootedTree(parent), RootedTree(parent, np.ones(6))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(plain, field), getattr(given_ones, field))
    assert plain.dtype == given_ones.dtype == np.uint8
    assert "length" not in vars(RootedTree(parent))  # made when it is asked for

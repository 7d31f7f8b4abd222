"""RootedTree: by passes over levels or by a loop over vertices, the numbers are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.geometry.paths import rootedtree
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree

FIELDS = ("parent", "length", "depth", "end")


def drawn_parent(data, n):
    return np.array([-1, *(data.draw(st.integers(0, i - 1)) for i in range(1, n))])


def renumbered(parent, tree):
    """The same tree with its vertices numbered in preorder."""
    found = tree.positions(parent[tree.points(np.arange(len(tree)))])
    found[0] = -1
    return found


@given(data=st.data(), n=st.integers(1, 12), weighted=st.booleans())
def test_a_tree_in_preorder_is_the_tree_that_any_numbering_gives(data, n, weighted):
    parent = drawn_parent(data, n)
    length = np.array([data.draw(st.sampled_from([1.0, 2.0, 0.1, 300.0])) for _ in range(n)])
    given_tree = RootedTree(parent, length if weighted else None)
    inner, lengths = renumbered(parent, given_tree), None
    if weighted:
        lengths = length[given_tree.points(np.arange(n))]
    by_levels = RootedTree(inner, lengths)
    assert by_levels.in_preorder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rootedtree, "_MOST_LEVELS", -1)
        by_loop = RootedTree(inner, lengths)
    assert by_loop.in_preorder
    for field in FIELDS:
        for one in (by_loop, given_tree):
            np.testing.assert_array_equal(getattr(by_levels, field), getattr(one, field), err_msg=field)
    assert by_levels.dtype == by_loop.dtype == given_tree.dtype
    every = np.arange(n)
    for tree in (by_levels, by_loop, given_tree):
        np.testing.assert_array_equal(tree.points(tree.positions(every)), every)
        np.testing.assert_array_equal(tree.depth_at(every), tree.depth)
        again = RootedTree(*tree.by_point())
        np.testing.assert_array_equal(again.positions(every), tree.positions(every))
        np.testing.assert_array_equal(again.depth, tree.depth)
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
    assert given_ones.by_point()[1] is None


def test_what_is_held_is_narrow_and_nobody_elses_to_change():
    n = 20_000
    parent = np.array([-1, *(np.arange(n - 1) // 2)])  # numbered by level
    tree = RootedTree(parent)
    given_parent, _ = RootedTree(renumbered(parent, tree)).by_point()
    again = RootedTree(given_parent)
    arrays = {name: value for name, value in vars(again).items() if isinstance(value, np.ndarray)}
    assert arrays["_parent"] is given_parent
    assert sum(array.nbytes for array in arrays.values()) / n <= 4 + 4 + 1 + 1
    with pytest.raises(ValueError, match="read-only"):
        given_parent[1] = 5
    mutable = np.array([-1, 0, 1])
    copied = RootedTree(mutable)
    mutable[2] = 0
    assert copied.parent.tolist() == [0, 0, 1]

"""Shares of branches, levels of detail and pages."""

import json
from base64 import urlsafe_b64encode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.pages import cut
from labelgrove.ontology.browse.structure.levels import Levels
from labelgrove.ontology.browse.structure.marks import Marks
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph


def random_tree(n: int, seed: int) -> LabelGraph:
    draw = np.random.default_rng(seed)
    child = np.arange(1, n)
    parent = (child * draw.random(n - 1) ** 1.5).astype(int)
    return LabelGraph.from_edges(
        [(f"{c:05d}", f"{p:05d}") for c, p in zip(child, parent, strict=True)], labels=["00000"]
    )


@given(st.integers(1, 60), st.integers(0, 9), st.data())
def test_marks_are_counted_in_each_branch(n, seed, data):
    order = Order.of(random_tree(n, seed))
    chosen = data.draw(st.sets(st.integers(0, n - 1)))
    labels = np.arange(n)
    for marks in (
        Marks.of(order, np.array([*chosen, *chosen], dtype=int)),
        Marks(order, np.isin(labels, list(chosen))),
    ):
        wanted = [len(chosen & set(range(i, order.end[i]))) for i in range(n)]
        assert marks.count(labels).tolist() == wanted
        assert marks.share(labels).tolist() == [w / int(s) for w, s in zip(wanted, order.size, strict=True)]


def test_marks_of_another_graph_are_refused():
    order = Order.of(random_tree(5, 0))
    for wrong in (np.zeros(4, dtype=bool), np.zeros(5, dtype=int)):
        with pytest.raises(InputError, match="one bool for each of the 5 labels"):
            Marks(order, wrong)


@given(st.integers(1, 300), st.integers(0, 9), st.integers(1, 80), st.integers(1, 8), st.data())
def test_every_branch_is_drawn_or_crowded_at_its_place(n, seed, width, n_levels, data):
    order = Order.of(random_tree(n, seed))
    focus = data.draw(st.integers(0, n - 1))
    size = int(order.size[focus])
    rows = list(Levels(order).rows(focus, width=width, n_levels=n_levels))
    top = int(order.depth[focus])
    assert [row.depth for row in rows] == list(range(top, top + len(rows)))
    deepest = int(order.depth[focus : order.end[focus]].max())
    assert len(rows) == min(n_levels, deepest - top + 1)
    for row in rows:
        inside = [i for i in range(focus, order.end[focus]) if order.depth[i] == row.depth]
        drawn = [i for i in inside if int(order.size[i]) * (width / size) >= 1]
        assert row.labels.tolist() == drawn
        assert np.allclose(row.width, [order.size[i] * width / size for i in drawn])
        assert np.allclose(row.left, [(i - focus) * width / size for i in drawn])
        rest = {int((i - focus) * (width / size)) for i in inside if i not in drawn}
        assert row.crowded.tolist() == sorted(rest)


def test_a_map_without_room_is_refused():
    levels = Levels(Order.of(random_tree(5, 0)))
    for given_ in ({"width": 0}, {"width": 9, "n_levels": 0}):
        with pytest.raises(InputError, match="give 1 or more of each"):
            next(levels.rows(0, **given_))


@given(st.lists(st.integers()), st.integers(1, 7))
def test_pages_one_after_another_are_the_list(items, limit):
    after, seen = None, []
    while True:
        page = cut(items, ["v1", "children", 3], limit=limit, after=after)
        assert page.total == len(items)
        assert len(page.items) <= limit
        seen += page.items
        after = page.next
        if after is None:
            break
        assert len(page.items) == limit
    assert seen == items


def test_a_cursor_continues_only_its_own_list():
    after = cut(range(9), ["v1", "children", 3], limit=2).next
    assert after is not None
    forged = urlsafe_b64encode(json.dumps(["0" * 16, 2]).encode()).decode()
    deep = urlsafe_b64encode(b"[" * 100_000).decode()
    for wrong, question in [
        (after, ["v2", "children", 3]),
        (after, ["v1", "children", 4]),
        *((text, ["v1", "children", 3]) for text in ("", "x", "é", "====", forged, deep, after[:-4])),
    ]:
        with pytest.raises(InputError, match="not a cursor of this list"):
            cut(range(9), question, limit=2, after=wrong)
    with pytest.raises(InputError, match="not a cursor of this list"):
        cut(range(2), ["v1", "children", 3], limit=2, after=after)  # beyond its end
    for limit in (0, -1, 1_001):
        with pytest.raises(InputError, match="give 1 to 1,000"):
            cut(range(9), ["v1"], limit=limit)


@given(st.integers(1, 60), st.integers(0, 9))
def test_a_row_of_a_tree_counts_its_parents_and_the_labels_below(n, seed):
    graph = random_tree(n, seed)
    answers = Answers(LabelIndex.of(graph))
    above = {c: p for c, p in enumerate(graph.primary_parent.tolist()) if p >= 0}
    for label in range(n):
        below = sum(label in chain for chain in (chain_up(above, other) for other in range(n)))
        row = answers.row(label, level=3)
        assert (row["n_below"], row["n_parents"], row["level"]) == (below, int(label in above), 3)
        assert {**answers.item(label), **row} == row


def chain_up(above: dict[int, int], label: int) -> list[int]:
    """Return the labels above `label`."""
    found = []
    while label in above:
        label = above[label]
        found.append(label)
    return found


@given(st.integers(1, 60), st.integers(0, 9), st.data())
def test_the_label_at_a_place_is_that_of_its_depth_or_the_next(n, seed, data):
    order = Order.of(random_tree(n, seed))
    levels = Levels(order)
    label, depth = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, 9))
    wanted = [i for i in range(n) if order.depth[i] == depth and order.end[i] > label]
    assert levels.at(label, depth) == (wanted[0] if wanted else None)

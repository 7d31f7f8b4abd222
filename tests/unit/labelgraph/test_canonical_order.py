"""Canonical order: whole depths at a time and label by label give the same order."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from labelgrove.ontology import canonical
from labelgrove.ontology.labelgraph import LabelGraph

EDGES = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 39), st.integers(0, 2)), min_size=1, max_size=80
)


def plain_preorder(graph: LabelGraph) -> list[str]:
    """Walk the tree of primary parents, with the children of a label sorted by key."""
    children: dict[str, list[str]] = {}
    for i, parent in enumerate(graph.primary_parent.tolist()):
        children.setdefault(graph.keys[parent] if parent >= 0 else "", []).append(graph.keys[i])
    order, stack = [], sorted(children[""], reverse=True)
    while stack:
        order.append(stack.pop())
        stack += sorted(children.get(order[-1], ()), reverse=True)
    return order


@given(EDGES)
@pytest.mark.parametrize("rounds", [1, 3, 64])
def test_the_order_is_a_preorder_however_deep_the_graph_is(rounds, edges):
    ranks = {(f"k{a}", f"k{b % a}"): rank for a, b, rank in edges}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonical, "_BULK_ROUNDS", rounds)
        graph = LabelGraph.from_edges(ranks, ranks=ranks.values())
    assert list(graph.keys) == plain_preorder(graph)

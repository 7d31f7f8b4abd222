"""Results that no graph has a place for are refused before a store is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.graph.results import GraphResult, check_result
from labelgrove.ontology.labelgraph import LabelGraph
from tests.contracts.graph_results import one_result_of_each_label

OTHER = LabelGraph.from_edges([("b", "a"), ("c", "a"), ("d", "b")])


def changed_links(result: GraphResult, **changes: Any) -> GraphResult:
    return replace(result, links=(replace(result.links[0], **changes), *result.links[1:]))


def changed_supernodes(**changes: Any) -> GraphResult:
    return replace(SUMMARY, supernodes=replace(SUMMARY.supernodes, **changes))


COVER, SUMMARY = (one_result_of_each_label(OTHER)[i] for i in (1, -1))
BROKEN = {
    "id of the job": replace(COVER, job="1234"),
    "the id is": replace(COVER, id="A" * 64),
    "no such node": replace(COVER, label="Label"),
    "properties are kind, expected": replace(COVER, properties={"kind": "minimum"}),
    "properties are kind, more, size": replace(COVER, properties=dict(COVER.properties, more=1)),
    "size is True": replace(COVER, properties={"kind": "minimum", "size": True}),
    "expected a finite float": replace(
        one_result_of_each_label(OTHER)[-1],
        properties={"target": 2, "size": 2, "largest_share": float("nan")},
    ),
    "links are none": replace(COVER, links=()),
    "links are PICKS": changed_links(COVER, type="PICKS"),
    "outside 0..3": changed_links(COVER, index=np.array([0, 4])),
    "occurs twice in its index": changed_links(COVER, index=np.array([1, 1])),
    "expected integers in one dimension": changed_links(COVER, index=np.array([0.0, 1.0])),
    "INCLUDES: properties are none": changed_links(COVER, properties={}),
    "rank is float64": changed_links(COVER, properties={"rank": np.array([0.5, 1.5])}),
    "a Summary must have supernodes": replace(SUMMARY, supernodes=None),
    "`of` has 3 entries": changed_supernodes(of=np.array([0, 1, 1])),
    "`size` is not": changed_supernodes(size=np.array([0, 4, 0, 0])),
    "does not fit `weight` of shape": changed_supernodes(weight=np.ones(7)),
    "contains a pair twice": changed_supernodes(ends=np.array([[1, 0]]), weight=np.ones(1)),
    "not positive and finite": changed_supernodes(ends=np.array([[0, 1]]), weight=np.zeros(1)),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_the_graph_has_no_place_for_is_refused(message: str) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        check_result(BROKEN[message])


def test_what_is_tested_is_let_through() -> None:
    for result in one_result_of_each_label(OTHER):
        check_result(result)

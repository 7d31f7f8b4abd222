"""The columns of a bulk load, made as arrays, against the columns made one value at a time."""

import pyarrow
import pytest

from labelgrove.ontology.graph.labeltables import (
    edge_arrays,
    edge_columns,
    label_arrays,
    label_columns,
    uid,
    uid_array,
)
from labelgrove.ontology.labelgraph import LabelGraph

GRAPHS = [
    LabelGraph.from_edges(
        [("é", "a\nb"), ("日本", "é"), ("x", "é"), ("x", "a\nb")],
        weights=[1, 2.5, 3, 1e-9],
        ranks=[1, 0, 2, 0],
    ),
    LabelGraph.from_edges([("one", "two"), ("two", "three")], directed=False),
    LabelGraph.from_edges([], labels=["alone"]),
    LabelGraph.from_edges([("b", "a"), ("c", "a")], names={"a": " Straße ﬁr ", "b": "Tree", "c": ""}),
]


@pytest.mark.parametrize("graph", GRAPHS)
def test_identifiers_are_those_of_single_labels(graph):
    assert uid_array(graph).to_pylist() == [uid(graph.digest, key) for key in graph.keys]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (2, 2)])
def test_columns_of_edges_are_those_of_single_edges(graph, start, stop):
    found = edge_arrays(graph, uid_array(graph), start, stop)
    assert {name: pyarrow.array(column).to_pylist() for name, column in found.items()} == edge_columns(
        graph, start, stop
    )


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (0, 4), (1, 3), (1, 1)])
def test_columns_of_labels_are_those_of_single_labels(graph, start, stop):
    stop = min(stop, graph.n_labels)
    found = label_arrays(graph, uid_array(graph), "name", start, stop)
    assert {name: pyarrow.array(column).to_pylist() for name, column in found.items()} == label_columns(
        graph, "name", start, stop
    )

"""Where the labels that a result names are on the map."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.graph.results import Links
from labelgrove.service.kept.marking import MarkedLabels
from tests.unit.browse.test_browse_parts import random_tree

BIN = 3  # pixels of which one point is kept


@given(st.integers(1, 80), st.integers(0, 9), st.integers(1, 300), st.data())
def test_every_label_that_a_result_names_has_a_point_at_its_place_or_just_before(n, seed, width, data):
    order = Order.of(random_tree(n, seed))
    focus = data.draw(st.integers(0, n - 1))
    end = int(order.end[focus])
    named = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    links = (Links("OBSERVES", np.array(named[::-1], dtype=int), {}), Links("REACHES", np.arange(n), {}))
    marked = MarkedLabels(order, links)
    scale = width / (end - focus)
    for depth in range(int(order.depth.max()) + 1):
        points = marked.points(depth, focus, end, width=width)
        assert {*points} == {"OBSERVES"}  # shares tell what is reached
        inside = [i for i in named if focus <= i < end and order.depth[i] == depth]
        kept = {label: (left, wide) for label, left, wide in points["OBSERVES"]}
        assert {*kept} <= {*inside}
        for label, (left, wide) in kept.items():
            assert abs(left - (label - focus) * scale) <= 0.05 + 1e-9
            assert abs(wide - (order.end[label] - label) * scale) <= 0.05 + 1e-9
        bins = [int((label - focus) * scale / BIN) for label in kept]
        assert len(bins) == len({*bins})
        assert {int((label - focus) * scale / BIN) for label in inside} == {*bins}


def test_the_points_of_a_map_are_those_of_its_result(resulting):
    from tests.unit.service.service_cases import client_of

    home, ids = resulting
    with client_of(home) as client:
        drawn = client.get(f"/v1/ontologies/garden/map?width=500&marks={ids['locus']}").json()
        keys = {
            client.get(f"/v1/ontologies/garden/item?idx={point[0]}").json()["key"]
            for row in drawn["rows"]
            for point in row["points"]["OBSERVES"]
        }
        assert keys == {"oak", "elm"}
        assert drawn["first"] == 0
        plain = client.get("/v1/ontologies/garden/map?width=500").json()
        assert all("points" not in row for row in plain["rows"])


def test_the_label_at_a_place_of_the_map_is_told(reader):
    url = "/v1/ontologies/wide/item?idx={}&depth={}"
    assert reader.get(url.format(2, 1)).json()["key"] == "c0000"  # of the leaf below it
    assert reader.get(url.format(0, 1)).json()["key"] == "c0000"
    assert reader.get(url.format(3, 0)).json()["key"] == "many"
    refused = reader.get(url.format(3, 2)).json()
    assert (refused["status"], refused["type"]) == (404, "/reference#problem-not-found")

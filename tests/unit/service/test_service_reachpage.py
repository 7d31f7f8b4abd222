"""The page of the live locus: what it refuses, and which metrics it offers without a job."""

from __future__ import annotations

import re

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.service.service_cases import add, client_of


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"text": "a\n" * 10_001}, "texts: List should have at most 10000 items"),
        ({"text": "k" * 4_097}, "texts: String should have at most 4096 characters"),
        ({"observed": "k" * 4_097}, "observed: String should have at most 4096 characters"),
    ],
)
def test_more_than_the_route_takes_is_refused_as_there(reader, query, says):
    answer = reader.get("/o/garden/reach", params=query)
    assert (answer.status_code, says in answer.text) == (400, True), answer.text


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    home = tmp_path_factory.mktemp("reachpage") / "home"
    add(home, "complete", LabelGraph.complete(5))
    add(home, "line", LabelGraph.grid((1, 4)))
    add(home, "grid", LabelGraph.grid((2, 3)))
    add(home, "dag", LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("c", "b")]))
    with client_of(home) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "metrics", "at_once"),
    [
        ("complete", ["auto"], "auto,all"),
        ("line", ["auto"], "auto,all"),
        ("grid", ["auto"], ""),
        ("dag", ["tree", "graph"], "tree,all"),
    ],
)
def test_metrics_that_need_no_job_are_answered_to_anybody(graphs, name, metrics, at_once):
    text = graphs.get(f"/o/{name}/reach").text
    offered = re.search(r'<select name="metric">(.*?)</select>', text)[1]
    assert re.findall(r'value="(\w+)"', offered) == metrics
    assert re.search(r'data-at-once="([^"]*)"', text)[1].split() == at_once.split()
    for metric in metrics:
        known = f"{metric},all" in at_once.split()
        assert ("labels reached" in graphs.get(f"/o/{name}/reach?metric={metric}").text) is known
        asked = {"observed": [], "metric": metric}
        answer = graphs.post(f"/v1/ontologies/{name}/reach", json=asked)
        assert answer.status_code == (200 if known else 401)

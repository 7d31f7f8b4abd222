"""The page on jobs names every kind of ours with its queue, and all that stands in the files of results."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import find_kind
from tests.integration.workers_support import add_version, settings_in

PAGE = (Path(__file__).parents[3] / "docs" / "jobs.md").read_text(encoding="utf-8")
ROWS = {line.split("|")[1].strip(" `"): line for line in PAGE.splitlines() if line.startswith("| `")}
SHARED = {"format", "ontology", "metric", "n_labels", "n_points", "labels.allowed"}
SPARE = {"witness.weight.blob", "witness.weight.offsets"}

REQUESTS = {
    "cover": ({}, {}),
    "distances": ({}, {"labels": ["0,0", "1,1"]}),
    "locus": ({}, {"observed": ["0,0", "2,2"], "labels": ["0,1", "0,2"]}),
    "selection": ({"n": 1}, {"observed": ["0,0"]}),
    "summary": ({"target": 2}, {}),
}


@pytest.mark.parametrize("kind", ["bundle", "evaluation", "experiment", *REQUESTS])
def test_every_kind_and_its_queue_is_named(kind):
    assert f"`{find_kind(kind).queue}` |" in ROWS[kind]


@pytest.mark.parametrize("kind", REQUESTS)
def test_all_that_stands_in_a_result_is_named(kind, tmp_path):
    options, keys = REQUESTS[kind]
    with Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "grid", LabelGraph.grid((3, 3)))
        job = client.submit(workspace, kind, {"ontology": "grid", **options, **keys})
        arrays, metadata = workspace.artifacts.open_arrays(job.result_sha256)
    row = ROWS[metadata["format"]]
    assert {name for name in {*arrays, *metadata} - SHARED if f"`{name}`" not in row} == set()
    assert {name for name in SHARED | SPARE if f"`{name}`" not in PAGE} <= {"format"}

"""The form of a bundle is a parameter of its job; the default is the request that it was before."""

import json

import pytest

from labelgrove.adapter import open_bundle
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import Subject, find_kind
from labelgrove.workers.requests.plan import plan_job
from tests.integration.workers_support import add_version, settings_in

GIVEN = {"ontology": "a" * 64, "snapshot": "b" * 64, "observed": "c" * 64}


def test_the_default_has_the_key_of_a_request_without_a_form():
    kind = find_kind("bundle")
    assert plan_job(kind, GIVEN) == plan_job(kind, {**GIVEN, "form": "auto"})
    assert plan_job(kind, GIVEN).id == "cf6895685ef89ce1f85f6b9f1fc4f2244ba400caeae81b89ce18ecf416b54a7b"
    keys = {plan_job(kind, {**GIVEN, "form": form}).id for form in ("auto", "tree", "block")}
    assert len(keys) == 3
    assert "form" not in json.loads(plan_job(kind, GIVEN).spec_json)["parameters"]
    with pytest.raises(InputError, match="form is 'matrix'; choose auto, tree or block"):
        plan_job(kind, {**GIVEN, "form": "matrix"})


def test_a_job_builds_the_block_of_a_tree_and_estimates_it(tmp_path):
    pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    with Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "garden", LabelGraph.from_edges(pairs))
        for form, kind in (("block", "block"), ("auto", "tree"), ("tree", "tree")):
            job = client.build_bundle_job(workspace, "garden", form, ["oak", "moss"], form=form)
            assert open_bundle(f"garden/{form}", artifacts_url=workspace.artifacts.where).kind == kind
            assert job.state == "done"
    subject = Subject.of(LabelGraph.from_edges([(f"{i}", "root") for i in range(999)]), {"observed": 100})
    estimate = find_kind("bundle").estimate
    tree, block = (estimate({"metric": "tree", **form}, subject) for form in ({}, {"form": "block"}))
    assert block.n_bytes - tree.n_bytes > 8 * 90_000

"""Asking for jobs without any server: the pool in this process, and bundles as jobs."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ConflictError, InputError, NotFoundError, UnknownLabelError
from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import JobKind, find_kind, known_kinds, register
from labelgrove.workers.kinds.bundle import BUNDLE
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.running.pool import Pool
from tests.integration.workers_support import (
    GATED,
    PARTS,
    add_version,
    as_given,
    notes,
    registered,
    settings_in,
)

pytestmark = pytest.mark.long

CORNERS = ["0,0", "0,8", "8,0", "8,8"]


@pytest.fixture
def workspace(tmp_path: Path):
    with registered(PARTS, GATED), Workspace.open(settings_in(tmp_path)) as workspace:
        yield workspace


def test_a_job_is_run_here_and_only_once(workspace, tmp_path):
    request = {"numbers": [3, 4], "log": str(tmp_path / "log")}
    seen: list[str] = []
    job = client.submit(workspace, "parts", request, progress=lambda job: seen.append(job.state))
    assert job.state is State.DONE
    assert workspace.artifacts.open_arrays(job.result_sha256)[0]["value"].tolist() == [25]
    assert seen[-1] == "done"
    assert client.submit(workspace, "parts", request) == job
    assert sorted(notes(tmp_path / "log")) == ["3", "4"]
    assert client.status(workspace, job.id[:10]) == job
    assert client.list_jobs(workspace) == [job]


def test_a_job_left_behind_is_taken_up_by_the_next_process(workspace):
    job = client.submit(workspace, "parts", {"numbers": [1]}, wait=False)
    assert job.state is State.PENDING
    assert client.wait(workspace, job.id).state is State.DONE


@pytest.mark.parametrize("publish", [True, False])
def test_what_a_crash_left_is_finished(workspace, publish):
    plan = plan_job(PARTS, {"numbers": [1, 2]})
    ledger = Ledger(workspace.engine)
    ledger.submit(plan)
    dead = ledger.claim(plan.units[0].key, lease_s=0.2)  # its process is gone
    assert dead is not None
    assert client.wait(workspace, plan.id, timeout_s=60, publish=publish).state is State.DONE
    assert not ledger.commit(dead, "a" * 64, 1)


def test_who_waits_for_a_result_alone_takes_nothing_else_on(workspace, tmp_path):
    add_version(workspace, "trees", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    other = client.submit(workspace, "parts", {"numbers": [7], "log": str(tmp_path / "log")}, wait=False)
    asked = client.submit(workspace, "cover", {"ontology": "trees"}, wait=False)
    found = client.wait(workspace, asked.id, publish=False)
    assert (found.state, found.ended, found.finished) == (State.DONE, True, False)
    assert found.publishing  # the graph of these tests is away, and nobody has asked it
    assert client.wait(workspace, asked.id, publish=False) == found
    assert client.status(workspace, other.id).state is State.PENDING
    assert not (tmp_path / "log").exists()


def test_a_result_of_several_units_is_computed_stage_by_stage(workspace, tmp_path):
    request = {"numbers": [1, 2, 3, 4, 5, 6], "log": str(tmp_path / "log")}
    job = client.submit(workspace, "parts", request, wait=False)
    job = client.wait(workspace, job.id, publish=False)
    assert workspace.artifacts.open_arrays(job.result_sha256)[0]["value"].tolist() == [91]
    assert sorted(notes(tmp_path / "log")) == list("123456")


@pytest.mark.parametrize(
    "row", ["", "{", "[]", '{"inputs":[]}', '{"inputs":[],"parameters":3}', '{"inputs":[{}],"parameters":{}}']
)
def test_a_unit_whose_row_was_damaged_fails_and_the_worker_goes_on(workspace, row):
    damaged, sound = (client.submit(workspace, "parts", {"numbers": [n]}, wait=False) for n in (1, 2))
    key = Ledger(workspace.engine).units(damaged.id)[0]
    with writing(workspace.engine) as connection:
        connection.execute(sa.update(unit_table).where(unit_table.c.key == key).values(spec_json=row))
    job = client.wait(workspace, damaged.id, timeout_s=60)
    assert (job.state, job.units) == (State.FAILED, {"failed": 1, "cancelled": 1})
    assert f"the ledger records {row} for the unit" in str(job.error)
    assert client.wait(workspace, sound.id, timeout_s=60).state is State.DONE


def test_many_units_pass_through_a_small_window(workspace):
    job = client.submit(workspace, "parts", {"numbers": list(range(40))}, wait=False)
    with Pool(workspace, threads=1) as pool:
        pool.run_until(lambda: client.status(workspace, job.id).finished)
    assert client.status(workspace, job.id).units == {"done": 41}


def test_waiting_ends_with_its_time(workspace, tmp_path):
    job = client.submit(workspace, "gated", {"folder": str(tmp_path), "name": "x"}, wait=False)
    asked = itertools.count()

    def open_the_gate(job) -> None:
        if next(asked) == 3:
            (tmp_path / "go").touch()

    assert client.wait(workspace, job.id, timeout_s=0).state is State.PENDING
    assert client.wait(workspace, job.id, progress=open_the_gate).state is State.DONE


def test_a_cancelled_job_never_runs(workspace, tmp_path):
    request = {"numbers": [1], "log": str(tmp_path / "log")}
    job = client.submit(workspace, "parts", request, wait=False)
    assert client.cancel(workspace, job.id[:16]).state is State.CANCELLED
    client.submit(workspace, "parts", {"numbers": [2]})
    assert notes(tmp_path / "log") == []
    assert client.submit(workspace, "parts", request).state is State.DONE  # unless asked for again
    with pytest.raises(ConflictError, match="is done; only a pending or running job"):
        client.cancel(workspace, job.id)


def test_a_lost_result_is_computed_again(workspace):
    job = client.submit(workspace, "parts", {"numbers": [7]})
    workspace.artifacts.delete(job.result_sha256)
    again = client.submit(workspace, "parts", {"numbers": [7]})
    assert again.result_sha256 == job.result_sha256
    assert workspace.artifacts.exists(again.result_sha256)


def test_unknown_kinds_are_refused(workspace):
    with pytest.raises(InputError, match=r"'nonsense' is not known here; known kinds: .*gated, .*parts"):
        client.submit(workspace, "nonsense", {})
    newer = JobKind("parts", 2, PARTS.complete, PARTS.plan, PARTS.execute)
    plan = plan_job(newer, {"numbers": [1]})
    Ledger(workspace.engine).submit(plan)
    with pytest.raises(ConflictError, match="needs version 2 of the job kind 'parts'"):
        client.wait(workspace, plan.id)


def test_kinds_come_from_the_entry_points_and_names_are_unique():
    assert find_kind("bundle") is BUNDLE
    assert find_kind("bundle", BUNDLE.version + 1) is None
    assert BUNDLE in known_kinds()
    with pytest.raises(InputError, match="'bundle' is taken"):
        register(JobKind("bundle", 9, as_given, lambda parameters: [], lambda work: None))
    with pytest.raises(InputError, match="is a str"):
        register("bundle")


# ---- bundle --------------------------------------------------------------------------------------------


def test_a_bundle_is_built_and_named(workspace):
    add_version(workspace, "grid", LabelGraph.grid((9, 9)))
    job = client.build_bundle_job(workspace, "grid", "corners", CORNERS)
    assert (job.state, job.error) == (State.DONE, None)
    bundle = Bundle.from_arrays(*workspace.artifacts.open_arrays(job.result_sha256))
    assert list(bundle.observed_keys) == CORNERS
    assert bundle.n_labels == 81
    (named,) = workspace.catalog.bundles("grid")
    assert (named.name, named.sha256) == ("corners", job.result_sha256)
    assert workspace.artifacts.read_index("grid")["bundles"]["corners"]["sha256"] == job.result_sha256


def test_a_name_that_no_bundle_may_have_is_refused_before_anything_is_recorded(workspace):
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    with pytest.raises(InputError, match="bundle name 'Bad Name'"):
        client.build_bundle_job(workspace, "grid", "Bad Name", ["0,0"])
    assert client.list_jobs(workspace) == []


def test_one_job_can_have_two_names_and_a_name_can_move(workspace):
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    one = client.build_bundle_job(workspace, "grid", "a", ["0,0", "2,2"])
    same = client.build_bundle_job(workspace, "grid", "b", ["0,0", "2,2"])
    other = client.build_bundle_job(workspace, "grid", "a", ["0,0", "0,2"])
    assert (same.id, same.result_sha256) == (one.id, one.result_sha256)
    named = {bundle.name: bundle.sha256 for bundle in workspace.catalog.bundles("grid")}
    assert named == {"a": other.result_sha256, "b": one.result_sha256}
    assert len(client.list_jobs(workspace)) == 2


def test_allowed_labels_can_be_listed(workspace):
    add_version(
        workspace, "trees", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    )
    jobs = {
        labels: client.build_bundle_job(workspace, "trees", "x", ["oak", "plant"], labels=labels)
        for labels in ("all", "leaves", ("oak", "tree"))
    }
    sizes = {
        labels: Bundle.from_arrays(*workspace.artifacts.open_arrays(job.result_sha256)).n_labels
        for labels, job in jobs.items()
    }
    assert sizes == {"all": 4, "leaves": 2, ("oak", "tree"): 2}


def test_the_bytes_of_a_bundle_are_fixed(workspace):
    # A change here means other bytes for the same key: raise the version of the kind `bundle` with it.
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    job = client.build_bundle_job(workspace, "grid", "corners", ["0,0", "2,2"])
    assert (job.version, job.result_sha256) == (
        3,
        "45542fc130578b04beb6ce4a3ee3efb41bf6131ac1ab76b956d08e78a8d9fda0",
    )


def test_a_bundle_that_cannot_be_built_is_no_job(workspace):
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    with pytest.raises(UnknownLabelError, match="'7,7'"):
        client.build_bundle_job(workspace, "grid", "corners", ["0,0", "7,7"])
    with pytest.raises(UnknownLabelError, match="'8,8'"):
        client.build_bundle_job(workspace, "grid", "corners", ["0,0"], labels=["0,0", "8,8"])
    with pytest.raises(InputError, match="more than once"):
        client.build_bundle_job(workspace, "grid", "corners", ["0,0", "0,0"])
    assert client.list_jobs(workspace) == []
    with pytest.raises(NotFoundError, match="'nowhere'"):
        client.build_bundle_job(workspace, "nowhere", "corners", ["0,0"])


def test_a_snapshot_of_another_ontology_is_refused(workspace):
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    add_version(workspace, "other", LabelGraph.grid((4, 4)))
    grid, other = workspace.catalog.version("grid"), workspace.catalog.version("other")
    observed = workspace.artifacts.put_bytes(b'["0,0"]')
    request = {"ontology": grid.digest, "snapshot": other.snapshot_sha256, "observed": observed}
    job = client.submit(workspace, "bundle", request)
    assert job.state is State.FAILED
    assert f"contains ontology {other.digest}, but {grid.digest} is expected" in job.error


@pytest.mark.parametrize("content", [b"{", b'{"oak": 1}', b"[1, 2]"])
def test_an_artifact_that_is_no_list_of_keys_is_refused(workspace, content):
    add_version(workspace, "grid", LabelGraph.grid((3, 3)))
    grid = workspace.catalog.version("grid")
    request = {"ontology": grid.digest, "snapshot": grid.snapshot_sha256}
    job = client.submit(workspace, "bundle", {**request, "observed": workspace.artifacts.put_bytes(content)})
    assert job.state is State.FAILED
    assert "list of label keys" in job.error

"""Names of results: completed and checked before a job is recorded, and never waited for in vain."""

from __future__ import annotations

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.refresh import refresh
from labelgrove.workers.requests.request import plan_request
from labelgrove.workers.schedules.schedule import Timetable, add_schedule
from tests.integration.workers_support import PARTS, add_version, registered, settings_in

GARDEN = LabelGraph.from_edges([("tree", "plant"), ("oak", "tree"), ("elm", "tree"), ("moss", "plant")])
GROWN = LabelGraph.from_edges([("tree", "plant"), ("oak", "tree"), ("elm", "tree"), ("fern", "plant")])
BUNDLE = {"ontology": "garden", "observed": ["oak", "moss"]}


@pytest.fixture
def workspace(tmp_path):
    with registered(PARTS), Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "garden", GARDEN)
        add_version(workspace, "forest", GROWN)
        yield workspace


@pytest.mark.parametrize(
    ("kind", "parameters", "target", "error", "said"),
    [
        (
            "cover",
            {"ontology": "garden"},
            {"foo": "bar"},
            InputError,
            "results of the kind cover get no name; leave out",
        ),
        ("cover", {"ontology": "garden"}, {}, InputError, "results of the kind cover get no name"),
        ("bundle", BUNDLE, {"name": "mine"}, InputError, "and a name for the bundle"),
        ("bundle", BUNDLE, {}, InputError, "and a name for the bundle"),
        ("bundle", BUNDLE, {"bundle": "a b/c"}, InputError, "bundle name 'a b/c'"),
        ("bundle", BUNDLE, {"bundle": 7}, InputError, "the target's bundle is 7"),
        (
            "bundle",
            BUNDLE,
            {"bundle": "mine", "ontology": "nope"},
            NotFoundError,
            "'nope' is not in the catalog",
        ),
        ("bundle", BUNDLE, {"bundle": "mine", "ontology": "forest"}, NotFoundError, "has no version"),
        ("ingest", {"ontology": "garden"}, {"name": "x"}, InputError, "give only ontology=NAME"),
        ("ingest", {"ontology": "garden"}, {"ontology": "a b"}, InputError, "ontology name 'a b'"),
    ],
)
def test_a_target_that_cannot_be_is_refused_before_anything_is_recorded(
    workspace, kind, parameters, target, error, said
):
    with pytest.raises(error, match=said):
        client.submit(workspace, kind, parameters, target=target, wait=False)
    with pytest.raises(error, match=said):
        add_schedule(workspace, "nightly", "0 0 * * *", kind, parameters, target=target)
    assert client.list_jobs(workspace) == []
    assert Timetable(workspace.engine).schedules() == []


def test_a_bundle_is_named_in_the_ontology_that_the_request_names(workspace):
    asked = BUNDLE | {"ontology": f"garden@{GARDEN.digest[:8]}"}
    job = client.submit(workspace, "bundle", asked, target={"bundle": "mine"})
    assert job.error is None
    (named,) = workspace.catalog.bundles("garden")
    assert (named.name, named.sha256) == ("mine", job.result_sha256)
    add_schedule(workspace, "nightly", "0 0 * * *", "bundle", BUNDLE, target={"bundle": "mine"})
    (nightly,) = Timetable(workspace.engine).schedules()
    assert nightly.target == {"ontology": "garden", "bundle": "mine"}


@pytest.mark.parametrize(
    ("kind", "parameters", "target", "said"),
    [
        ("cover", {"ontology": "garden"}, {"foo": "bar"}, "results of the kind cover get no name"),
        ("bundle", BUNDLE, {"bundle": "mine"}, "and a name for the bundle"),
    ],
)
def test_a_wish_of_old_that_nothing_can_fulfill_ends_with_its_reason(
    workspace, kind, parameters, target, said
):
    ledger = Ledger(workspace.engine)
    plan = plan_request(workspace, kind_named(kind), parameters)
    ledger.submit(plan, target=target)
    job = client.wait(workspace, plan.id, timeout_s=30)
    assert (job.state, job.publishing) == (State.DONE, False)
    assert said in (job.error or "")


def test_a_refresh_takes_no_name_along_that_nothing_gives(workspace):
    plan = plan_request(workspace, kind_named("cover"), {"ontology": "garden"})
    Ledger(workspace.engine).submit(plan, target={"foo": "bar"})
    client.wait(workspace, plan.id, timeout_s=30)
    add_version(workspace, "garden", GROWN)
    (again,) = refresh(workspace, "garden")
    assert (again.targets, again.reason) == ((), None)
    assert client.wait(workspace, again.job_id, timeout_s=30).error is None

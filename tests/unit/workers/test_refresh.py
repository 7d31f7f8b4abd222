"""Stale results, and the same requests of the next version."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import JobKind, Product, Step, Subject, Work, kind_named
from labelgrove.workers.kinds.ingest import INGEST
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.refresh import Refreshed, is_stale, refresh, stale_jobs
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.requests.request import complete_request
from tests.integration.workers_support import PARTS, add_version, plan_parts, registered, settings_in

BOTH = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)], indirect=True
)
OLD = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
NEW = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
WITHOUT_ELM = LabelGraph.from_edges([("oak", "tree"), ("ash", "tree")])


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path}/catalog.db"
    return str(request.getfixturevalue("postgres_url"))


def _counted_complete(given: Any, subject: Subject | None) -> dict[str, Any]:
    if subject is not None:
        given = {"parts": subject.n_labels, "n_observed": subject.n_keys.get("observed", 0), **given}
    return {"depth": 1, **given}


def _plain_complete(given: Any, subject: Subject | None) -> dict[str, Any]:
    return {"depth": 1, **given}


def _counted_execute(work: Work) -> Product:
    return Product({"value": np.zeros(1, dtype=np.uint8)}, {"format": "counted"})


COUNTED = JobKind(
    "counted",
    1,
    _counted_complete,
    lambda parameters: [Step(parameters)],
    _counted_execute,
    publish=lambda naming: None,
)
"""Sizes decide two of its parameters."""

PLAIN = replace(COUNTED, name="plain", complete=_plain_complete)


@pytest.fixture
def workspace(database: str, tmp_path: Path) -> Iterator[Workspace]:
    engine = create_engine(database)
    upgrade(engine)
    engine.dispose()
    with (
        registered(PARTS, COUNTED, PLAIN),
        Workspace.open(settings_in(tmp_path, database_url=database)) as workspace,
    ):
        add_version(workspace, "trees", OLD)
        yield workspace


@pytest.fixture
def ask(workspace: Workspace) -> Callable[..., Job]:
    def run(kind: str = "plain", *, target: dict[str, str] | None = None, **parameters: Any) -> Job:
        job = client.submit(workspace, kind, {"ontology": "trees", **parameters}, target=target)
        assert job.state is State.DONE
        return job

    return run


def parameters_of(workspace: Workspace, refreshed: Refreshed) -> dict[str, Any]:
    return dict(client.status(workspace, refreshed.job_id).parameters)


def keys_at(workspace: Workspace, digest: str) -> Any:
    return json.loads(workspace.artifacts.read_bytes(digest))


# ---- what is stale -------------------------------------------------------------------------------------


@BOTH
def test_a_done_job_is_stale_once_its_version_is_not_current(workspace, ask):
    job = ask()
    assert stale_jobs(workspace) == []
    add_version(workspace, "trees", NEW)
    assert stale_jobs(workspace) == [job]
    assert stale_jobs(workspace, kind="counted") == []
    assert ask().id not in [stale.id for stale in stale_jobs(workspace)]
    add_version(workspace, "trees", OLD)
    assert job not in stale_jobs(workspace)


def test_a_version_that_another_name_answers_with_is_not_stale(workspace, ask):
    add_version(workspace, "wood", OLD)
    job = ask()
    add_version(workspace, "trees", NEW)
    assert stale_jobs(workspace) == []
    add_version(workspace, "wood", NEW)
    assert stale_jobs(workspace) == [job]


def test_a_version_that_is_gone_is_stale(workspace, ask):
    job = ask()
    lease = workspace.catalog.acquire("trees")
    workspace.catalog.forget_ontology(lease)
    assert stale_jobs(workspace) == [job]


@BOTH
def test_only_done_jobs_about_a_version_are_stale(workspace, ask):
    ledger = Ledger(workspace.engine)
    client.submit(workspace, "plain", {"ontology": "trees", "x": 1}, wait=False)  # pending
    ledger.submit(plan_parts([1]))  # about nothing
    ledger.submit(plan_job(PLAIN, {"ontology": "t" * 64}))  # a name as long as a digest
    ingest = plan_job(INGEST, complete_request(workspace, kind_named("ingest"), {"ontology": "trees"}))
    ledger.submit(ingest)
    for plan in (plan_parts([1]), plan_job(PLAIN, {"ontology": "t" * 64}), ingest):
        for unit in plan.units:
            ledger.commit(ledger.claim(unit.key, lease_s=60), unit.key, 1)
    ledger.settle()
    add_version(workspace, "trees", NEW)
    assert stale_jobs(workspace) == []
    assert not is_stale(ledger.job(ingest.id), [NEW.digest])


def test_the_newest_stale_jobs_come_first(workspace, ask):
    jobs = [ask(x=number) for number in range(3)]
    add_version(workspace, "trees", NEW)
    assert {job.id for job in stale_jobs(workspace)} == {job.id for job in jobs}
    assert stale_jobs(workspace, limit=2) == stale_jobs(workspace)[:2]


# ---- refresh -------------------------------------------------------------------------------------------


@BOTH
def test_the_same_request_is_made_of_the_new_version(workspace, ask):
    stale = ask(x="y")
    add_version(workspace, "trees", NEW)
    (found,) = refresh(workspace, "trees")
    assert (found.stale_id, found.kind, found.reason, found.targets) == (stale.id, "plain", None, ())
    version = workspace.catalog.version("trees")
    assert parameters_of(workspace, found) == {
        "ontology": version.digest,
        "snapshot": version.snapshot_sha256,
        "x": "y",
        "depth": 1,
    }
    assert client.wait(workspace, found.job_id).state is State.DONE
    assert refresh(workspace, "trees") == [found]
    assert len(client.list_jobs(workspace)) == 2


def test_what_sizes_decided_is_decided_anew_and_what_was_asked_for_stays(workspace, ask):
    fitted, asked = ask("counted", observed=["oak"]), ask("counted", observed=["oak"], parts=2, depth=7)
    assert (fitted.parameters["parts"], asked.parameters["parts"]) == (3, 2)
    add_version(workspace, "trees", NEW)
    found = {one.stale_id: parameters_of(workspace, one) for one in refresh(workspace, "trees")}
    new, kept = found[fitted.id], found[asked.id]
    assert (new["parts"], new["n_observed"], new["depth"]) == (4, 1, 1)
    assert (kept["parts"], kept["n_observed"], kept["depth"]) == (2, 1, 7)


def test_lists_and_amounts_are_looked_up_in_the_new_version(workspace, ask):
    """Sets come in the order of the new version; the order of observed labels is the model's."""
    listed = {"observed": ["oak", "elm"], "wanted": ["oak", "elm"], "costs": {"oak": "2"}}
    ask(**listed)
    changed = LabelGraph.from_edges([("oak", "tree"), ("elm", "oak")])
    add_version(workspace, "trees", changed)
    (found,) = refresh(workspace, "trees")
    parameters = parameters_of(workspace, found)
    assert found.job_id == client.submit(workspace, "plain", {"ontology": "trees", **listed}).id
    assert keys_at(workspace, parameters["observed"]) == ["oak", "elm"]
    assert keys_at(workspace, parameters["wanted"]) == ["oak", "elm"]  # elm, oak before
    assert keys_at(workspace, parameters["costs"]) == {"oak": "2"}


def test_an_input_that_is_no_list_of_labels_is_passed_on(workspace, ask):
    given = workspace.artifacts.put_bytes(b"\x00vectors")
    ask(vectors=given)
    add_version(workspace, "trees", NEW)
    (found,) = refresh(workspace, "trees")
    assert parameters_of(workspace, found)["vectors"] == given


def test_a_label_that_is_gone_stops_that_job_alone(workspace, ask):
    lost, kept = ask(observed=["elm"]), ask(observed=["oak"])
    add_version(workspace, "trees", WITHOUT_ELM)
    found = {one.stale_id: one for one in refresh(workspace, "trees")}
    assert found[lost.id].job_id is None
    assert "elm" in found[lost.id].reason
    assert found[kept.id].reason is None
    assert client.status(workspace, found[kept.id].job_id).state is State.PENDING


def test_a_kind_that_is_not_known_here_stops_that_job_alone(workspace, ask):
    with registered(replace(PLAIN, name="foreign")):
        ask("foreign")
    ask()
    add_version(workspace, "trees", NEW)
    reasons = {one.kind: one.reason for one in refresh(workspace, "trees")}
    assert reasons["plain"] is None
    assert "foreign" in reasons["foreign"]


def test_a_bundle_name_moves_to_the_new_job(workspace, ask):
    mine = {"ontology": "trees", "bundle": "mine"}
    ask("bundle", observed=["oak", "elm"], target=mine)
    add_version(workspace, "trees", NEW)
    assert workspace.catalog.bundles("trees")[0].version == OLD.digest
    (found,) = refresh(workspace, "trees")
    assert found.targets == (mine,)
    job = client.wait(workspace, found.job_id)
    (bundle,) = workspace.catalog.bundles("trees")
    assert (bundle.name, bundle.version, bundle.sha256) == ("mine", NEW.digest, job.result_sha256)
    assert refresh(workspace, "trees")[0].targets == ()  # nothing is left to move


def test_every_name_of_a_result_moves_and_none_of_another_ontology(workspace, ask):
    add_version(workspace, "wood", OLD)
    names = [{"ontology": "trees", "bundle": name} for name in ("a", "b")]
    for target in (*names, {"ontology": "wood", "bundle": "c"}):
        ask("bundle", observed=["oak"], target=target)
    add_version(workspace, "trees", NEW)
    add_version(workspace, "wood", WITHOUT_ELM)
    (found,) = refresh(workspace, "trees")
    assert sorted(found.targets, key=str) == names
    client.wait(workspace, found.job_id)
    versions = {bundle.name: bundle.version for bundle in workspace.catalog.bundles()}
    assert versions == {"a": NEW.digest, "b": NEW.digest, "c": OLD.digest}


def test_jobs_of_two_versions_ago_become_one(workspace, ask):
    older = ask()
    add_version(workspace, "trees", NEW)
    newer = ask()
    add_version(workspace, "trees", WITHOUT_ELM)
    first, second = refresh(workspace, "trees")
    assert first.job_id == second.job_id
    assert (first.stale_id, second.stale_id) == (older.id, newer.id)


def test_only_jobs_of_the_ontology_are_refreshed(workspace, ask):
    add_version(workspace, "stones", LabelGraph.from_edges([("granite", "stone")]))
    ask(ontology="stones")
    ask()
    add_version(workspace, "stones", LabelGraph.from_edges([("basalt", "stone")]))
    add_version(workspace, "trees", NEW)
    (found,) = refresh(workspace, "stones")
    assert parameters_of(workspace, found)["ontology"] == workspace.catalog.current("stones")


def test_a_dry_run_records_nothing(workspace, ask):
    mine = {"ontology": "trees", "bundle": "mine"}
    ask("bundle", observed=["oak"], target=mine)
    add_version(workspace, "trees", NEW)
    would = refresh(workspace, "trees", dry_run=True)
    assert len(client.list_jobs(workspace)) == 1
    assert refresh(workspace, "trees") == would


def test_a_result_that_was_lost_is_computed_again(workspace, ask):
    ask()
    add_version(workspace, "trees", NEW)
    (found,) = refresh(workspace, "trees")
    done = client.wait(workspace, found.job_id)
    workspace.artifacts.delete(done.result_sha256)
    refresh(workspace, "trees")
    assert client.status(workspace, found.job_id).state is State.PENDING


def test_an_ontology_that_is_not_here_is_said_so(workspace):
    with pytest.raises(NotFoundError, match="moss"):
        refresh(workspace, "moss")

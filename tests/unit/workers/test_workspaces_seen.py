"""Workspaces as somebody sees them: other ontologies, and jobs about them, are as if they did not exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import LONGEST_NAME
from labelgrove.workers.ledger.states import State
from labelgrove.workers.refresh import stale_jobs
from labelgrove.workers.requests.request import complete_request

GARDEN = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
ZOO = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet")])
LATER = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet"), ("cow", "pet")])


@pytest.fixture(params=["sqlite", "postgres_url"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with the ontologies ``garden`` and ``zoo``, and a done cover of each."""
    env = {"GROVE_HOME": str(tmp_path / "home")}
    if request.param != "sqlite":
        env["GROVE_DATABASE_URL"] = request.getfixturevalue(request.param)
    settings = Settings.from_env(env)
    if request.param != "sqlite":
        from labelgrove.ontology.sql.database import create_engine, upgrade

        engine = create_engine(settings.database_url)
        upgrade(engine)
        engine.dispose()
    with Workspace.open(settings) as workspace:
        register(workspace, "garden", GARDEN)
        register(workspace, "zoo", ZOO)
        for name in ("garden", "zoo"):
            client.submit(workspace.seen_by(f"token:{name}"), "cover", {"ontology": name})
        yield workspace


def test_other_ontologies_are_as_if_they_did_not_exist(whole):
    garden = whole.seen_by("token:ci", ["garden", "to-come"])
    assert garden.catalog.names() == ["garden"]
    assert garden.catalog.currents() == {"garden": GARDEN.digest}
    assert {version.ontology for version in garden.catalog.versions()} == {"garden"}
    assert garden.catalog.versions("zoo") == garden.catalog.bundles("zoo") == []
    assert garden.catalog.current("zoo") is None
    told = []
    for name in ("zoo", "never-was"):
        with pytest.raises(NotFoundError) as refused:
            garden.label_graph(name)
        told.append(str(refused.value).replace(name, "NAME"))
    assert told[0] == told[1]
    assert "zoo" not in told[1]
    assert whole.catalog.names() == whole.seen_by("x").catalog.names() == ["garden", "zoo"]
    assert whole.seen_by("nobody", []).catalog.names() == []


def test_a_bundle_of_another_ontology_is_not_listed(whole):
    client.build_bundle_job(whole, "zoo", "mine", ["cat", "dog"])
    client.build_bundle_job(whole, "garden", "ours", ["oak", "elm"])
    assert [one.name for one in whole.seen_by("x", ["garden"]).catalog.bundles()] == ["ours"]
    assert len(whole.catalog.bundles()) == 2


def test_only_jobs_about_visible_ontologies_are_found(whole):
    garden = whole.seen_by("token:ci", ["garden"])
    (mine,) = client.list_jobs(garden)
    assert mine.parameters["ontology"] == GARDEN.digest
    (other,) = (job for job in client.list_jobs(whole) if job.id != mine.id)
    assert client.list_jobs(whole.seen_by("nobody", [])) == []
    assert client.list_jobs(garden, state=State.DONE, kind="cover", limit=1) == [mine]
    for ask in (client.status, client.cancel, client.retry, client.list_units):
        told = []
        for job in (other.id, "0" * 64):
            with pytest.raises(NotFoundError) as refused:
                ask(garden, job)
            told.append(str(refused.value).replace(job, "JOB"))
        assert told[0] == told[1]
    assert client.status(garden, mine.id[:8]) == mine
    assert client.status(whole, other.id).state is State.DONE


def test_a_stale_job_about_another_ontology_is_not_found(whole):
    register(whole, "zoo", LATER)
    assert len(stale_jobs(whole)) == 1
    assert stale_jobs(whole.seen_by("x", ["garden"])) == []
    assert len(stale_jobs(whole.seen_by("x", ["zoo"]))) == 1


def test_an_ingest_is_seen_before_its_version_exists(whole):
    later = whole.seen_by("token:ci", ["later"])
    job = client.submit_ingest(later, "later", LATER, wait=False)
    assert client.list_jobs(later) == [job]
    assert job.asked_by == "token:ci"
    assert job not in client.list_jobs(whole.seen_by("x", ["garden"]))


def test_no_job_is_submitted_about_another_ontology(whole):
    garden = whole.seen_by("token:ci", ["garden"])
    before = client.list_jobs(whole), whole.catalog.versions()
    for ontology in ("zoo", ZOO.digest, f"zoo@{ZOO.digest[:8]}"):
        with pytest.raises((NotFoundError, InputError)):
            client.submit(garden, "cover", {"ontology": ontology}, wait=False)
    with pytest.raises(NotFoundError, match="not in the catalog"):
        client.submit_ingest(garden, "zoo", LATER, wait=False)
    with pytest.raises(NotFoundError):
        client.submit(
            garden,
            "bundle",
            {"ontology": "garden", "observed": ["oak"]},
            target={"ontology": "zoo", "bundle": "mine"},
            wait=False,
        )
    with pytest.raises(NotFoundError, match="about none of the ontologies that you may see; name one of gar"):
        client.submit(garden, "rebuild-graph", {"request": "x"}, wait=False)
    assert (client.list_jobs(whole), whole.catalog.versions()) == before


def test_the_first_who_asks_for_a_job_stays_recorded(whole):
    (job,) = client.list_jobs(whole.seen_by("x", ["garden"]))
    assert job.asked_by == "token:garden"
    assert client.submit(whole.seen_by("proxy:eve"), "cover", {"ontology": "garden"}).asked_by == job.asked_by
    unknown = client.submit(whole, "cover", {"ontology": "zoo", "method": "small"}, wait=False)
    assert unknown.asked_by is None
    long = client.submit(
        whole.seen_by("x" * 1_000), "locus", {"ontology": "zoo", "observed": ["cat"]}, wait=False
    )
    assert long.asked_by == "x" * LONGEST_NAME


def test_who_sees_a_workspace_closes_nothing(whole):
    with whole.seen_by("x", ["garden"]) as garden:
        assert garden.engine is whole.engine
        assert garden.artifacts is whole.artifacts
        assert garden.stores.graph is whole.graph
    assert "engine" in vars(whole)
    assert Ledger(whole.engine).jobs()


def test_nothing_is_estimated_about_another_ontology(whole):
    asked = complete_request(whole, kind_named("cover"), {"ontology": "zoo"})
    assert client.estimate(whole, "cover", asked) == client.estimate(
        whole.seen_by("x", ["zoo"]), "cover", asked
    )
    with pytest.raises(NotFoundError, match="none of the ontologies that you may see"):
        client.estimate(whole.seen_by("x", ["garden"]), "cover", asked)


def test_jobs_are_found_by_ontology_and_by_who_asked(whole):
    def found(workspace, **asked):
        jobs = client.list_jobs(workspace, **asked)
        assert client.count_jobs(workspace, **asked) == len(jobs)
        return {job.asked_by for job in jobs}

    assert found(whole, ontology="garden") == found(whole, asked_by="token:garden") == {"token:garden"}
    assert found(whole, ontology="garden", asked_by="token:zoo") == found(whole, ontology="none") == set()
    assert found(whole.seen_by("x", ["garden"]), ontology="zoo") == set()
    assert found(whole.seen_by("x", ["garden"]), asked_by="token:zoo") == set()

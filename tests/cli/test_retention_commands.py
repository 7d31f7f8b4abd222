"""``grove artifacts``, and what ``grove jobs`` and ``grove ingest`` say and do about stale results."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sqlalchemy as sa

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, writing
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import Estimate, JobKind, Product, Step, Work
from labelgrove.workers.kinds.inputs import read_graph
from labelgrove.workers.ledger.schema import job_table
from tests.integration.workers_support import add_version, as_given, registered

pytestmark = pytest.mark.long

OLD = (("oak", "tree"), ("elm", "tree"))
NEW = (*OLD, ("ash", "tree"))
INGEST = ("ingest", "garden", "garden.tsv", "--direction", "child-parent", "--no-header")
DAY_S = 86_400


def _three(work: Work) -> Product:
    count = read_graph(work).n_labels
    if count > 3:
        raise InputError(f"{count} labels are more than three")
    return Product({"count": np.array([count])}, {"format": "small"})


SMALL = JobKind("small", 1, as_given, lambda parameters: [Step(parameters)], _three)


@pytest.fixture
def as_json(call):
    return lambda *arguments, code=0: json.loads(call(*arguments, "--json", code=code).stdout)


def ingest(*pairs: tuple[str, str]) -> None:
    """Make the pairs (child, parent) the current version, in catalog and artifacts alone."""
    with Workspace.open(Settings.from_env()) as workspace:
        add_version(workspace, "garden", LabelGraph.from_edges(pairs))


def build(as_json, observed: str) -> dict:
    name = ("--target", "ontology=garden", "--target", "bundle=mine")
    return as_json(
        "jobs", "submit", "bundle", "--param", "ontology=garden", "--param", f"observed={observed}", *name
    )


def make_old(days: float) -> None:
    """Let every file and finished job be older than it is."""
    settings = Settings.from_env()
    store = open_store(settings.artifacts_url)
    for digest in list(store.digests()):
        os.utime(store.local_path(digest), (time.time() - days * DAY_S,) * 2)
    engine = create_engine(settings.database_url)
    with writing(engine) as connection:
        ended = job_table.c.finished_at - days * DAY_S
        connection.execute(sa.update(job_table).values(finished_at=ended))
        connection.execute(sa.text("UPDATE artifact SET touched_at = touched_at - :s"), {"s": days * DAY_S})
    engine.dispose()


def test_a_stale_job_is_shown_as_one(as_json, call):
    ingest(*OLD)
    job = build(as_json, '["oak"]')
    assert job["stale"] is False
    assert as_json("jobs", "list", "--stale") == []
    ingest(*NEW)
    assert as_json("jobs", "show", job["id"])["stale"] is True
    assert [(j["id"], j["stale"]) for j in as_json("jobs", "list", "--stale")] == [(job["id"], True)]
    assert [j["stale"] for j in as_json("jobs", "list", "--kind", "bundle")] == [True]
    assert as_json("jobs", "list", "--stale", "--kind", "cover") == []
    assert " stale " in call("jobs", "list").stdout.splitlines()[2]
    refused = call("jobs", "list", "--stale", "--state", "failed", code=2)
    assert "only done jobs can be stale" in refused.stderr


def test_refresh_makes_the_requests_again(as_json, call):
    ingest(*OLD)
    assert call("jobs", "refresh", "garden").stdout == "nothing is stale\n"
    job, lost = build(as_json, '["oak"]'), as_json(*_distances("elm"))
    ingest(("oak", "tree"), ("ash", "tree"))
    would = {one["stale_job"]: one for one in as_json("jobs", "refresh", "garden", "--dry-run")}
    assert len(as_json("jobs", "list", "--kind", "bundle")) == 1
    done = {one["stale_job"]: one for one in as_json("jobs", "refresh", "garden")}
    assert would[job["id"]] | {"state": "done"} == done[job["id"]]
    assert done[job["id"]]["targets"] == [{"ontology": "garden", "bundle": "mine"}]
    assert (done[lost["id"]]["job"], done[lost["id"]]["state"]) == (None, None)
    said = call("jobs", "refresh", "garden")
    assert f"job {lost['id'][:12]} of kind distances cannot be refreshed: " in said.stderr
    bundle = as_json("ontology", "show", "garden")["bundles"][0]
    assert bundle["version"] == as_json("ontology", "show", "garden")["digest"]
    call("jobs", "refresh", "moss", code=4)


def test_an_ingest_says_how_many_results_became_stale(as_json, call):
    Path("garden.tsv").write_text("".join(f"{child}\t{parent}\n" for child, parent in OLD))
    assert "for other versions" not in call(*INGEST).stderr
    build(as_json, '["oak"]')
    assert "for other versions" not in call(*INGEST).stderr
    Path("garden.tsv").write_text("".join(f"{child}\t{parent}\n" for child, parent in NEW))
    said = call(*INGEST).stderr
    assert "note: 1 result stored for other versions of garden; to compute the results for" in said
    assert "the current version: grove jobs refresh garden" in said


def test_a_job_larger_than_the_disk_is_said_to_be(call, monkeypatch):
    ingest(*OLD)
    submit = ("jobs", "submit", "distances", "--param", "ontology=garden", "--detach")
    assert "the results of this job may take" not in call(*submit).stderr
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000))
    assert re.search(
        r"note: the results of this job may take 2\.\d kB, but \S+ has only 1\.0 kB free",
        call(*submit).stderr,
    )


def test_a_job_for_which_there_is_no_room_is_refused_at_once_unless_it_is_done(call, as_json, monkeypatch):
    ingest(*OLD)
    submit = ("jobs", "submit", "distances", "--param", "ontology=garden")
    done = as_json(*submit)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1))
    assert as_json(*submit) == done
    said = call(*submit, "--param", "block=2", "--detach", code=2).stderr
    assert re.search(r"^error: distances: its results take at least 18 B, but \S+ has only 1 B free", said)
    assert [job["id"] for job in as_json("jobs", "list")] == [done["id"]]
    told = call(*submit, "--param", "block=2", "--estimate").stdout
    assert re.search(r"^artifacts +\d\.\d kB at most, \d+ B at least$", told, re.M)
    assert re.search(r"^free in the store +1 B, too little$", told, re.M)
    assert re.search(r"^time +about \S+ s on one core$", told, re.M)
    said = as_json(*submit, "--param", "block=2", "--estimate")
    assert (said["free_bytes"], said["units"]) == (1, 3)


def _distances(key: str) -> tuple[str, ...]:
    wanted = ("--param", "ontology=garden", "--param", f'columns=["{key}"]')
    return "jobs", "submit", "distances", *wanted


def test_results_come_back_whichever_command_opens_the_restored_graph_first(as_json, call, monkeypatch):
    Path("garden.tsv").write_text("".join(f"{child}\t{parent}\n" for child, parent in OLD))
    call(*INGEST)
    job = as_json("jobs", "submit", "cover", "--param", "ontology=garden")
    call("backup", "copy")
    monkeypatch.setenv("GROVE_HOME", str(Path("restored").absolute()))
    call("restore", "copy")
    call("doctor")
    assert as_json("cypher", "MATCH (j:Job) RETURN j.id AS job")["rows"] == [[job["id"]]]


def test_ingest_refreshes_when_asked_to(as_json, call):
    ingest(*OLD)
    job = build(as_json, '["oak"]')
    Path("garden.tsv").write_text("".join(f"{child}\t{parent}\n" for child, parent in NEW))
    refused = call(*INGEST, "--refresh", "--detach", code=2)
    assert "grove jobs refresh garden" in refused.stderr
    document = as_json(*INGEST, "--refresh")
    (one,) = document["refreshed"]
    assert (one["stale_job"], one["state"]) == (job["id"], "done")
    assert as_json("ontology", "show", "garden")["bundles"][0]["version"] == document["digest"]
    assert "refreshed" not in as_json(*INGEST)
    assert job["id"][:12] in call(*INGEST, "--refresh").stdout


def test_a_refreshed_job_that_fails_is_a_failure(as_json, call):
    ingest(*OLD)
    with registered(SMALL):
        assert as_json("jobs", "submit", "small", "--param", "ontology=garden")["state"] == "done"
        ingest(*NEW)
        said = call("jobs", "refresh", "garden", code=1)
    assert "ended without a result" in said.stderr
    assert "failed" in said.stdout


def test_artifacts_are_listed_measured_and_collected(as_json, call, monkeypatch):
    ingest(*OLD)
    job = as_json(*_distances("elm"))
    store = open_store(Settings.from_env().artifacts_url)
    stray = store.put_bytes(b"stray")
    listed = {a["sha256"]: a for a in as_json("artifacts", "list")}
    assert set(listed) == set(store.digests())
    assert (listed[stray]["size"], listed[stray]["referenced"]) == (5, False)
    assert listed[job["result_sha256"]]["referenced"] is True
    assert [a["sha256"] for a in as_json("artifacts", "list", "--unreferenced")] == [stray]
    assert len(as_json("artifacts", "list", "--limit", "1")) == 1
    assert as_json("artifacts", "size") == {
        "artifacts": len(listed),
        "bytes": sum(a["size"] for a in listed.values()),
        "unreferenced_artifacts": 1,
        "unreferenced_bytes": 5,
    }
    assert as_json("artifacts", "collect")["artifacts"] == 0  # not yet a day old
    make_old(days=2)
    nothing = {"jobs": 0, "temporaries": 0}
    would = as_json("artifacts", "collect", "--dry-run")
    assert would == nothing | {"dry_run": True, "artifacts": 1, "bytes": 5}
    assert store.exists(stray)
    assert "1 artifacts (5 bytes)" in call("artifacts", "collect").stdout
    assert not store.exists(stray)
    monkeypatch.setenv("GROVE_KEEP_JOBS_DAYS", "1")
    assert as_json("artifacts", "collect", "--dry-run")["jobs"] == 1
    assert as_json("artifacts", "collect") == nothing | {
        "dry_run": False,
        "jobs": 1,
        "artifacts": 1,  # the list of columns; the result has its day from now
        "bytes": len('["elm"]'),
    }
    assert store.exists(job["result_sha256"])


@pytest.mark.services
def test_a_unit_that_takes_longer_than_workers_let_it_is_noted(call, monkeypatch, redis_url):
    ingest(*OLD)
    submit = ("jobs", "submit", "distances", "--param", "ontology=garden", "--detach")
    slow = lambda *_: Estimate(units=2, n_bytes=10, graph_rows=1, seconds=1300.0)  # noqa: E731
    monkeypatch.setattr("labelgrove.workers.client.estimate", slow)
    assert "takes about" not in call(*submit).stderr  # nothing stops it here
    monkeypatch.setenv("GROVE_BROKER_URL", redis_url)
    said = call(*submit, "--param", "block=2").stderr
    assert "a unit of this job takes about 650 s, and workers stop units after 600 s" in said
    monkeypatch.setenv("GROVE_UNIT_TIME_LIMIT_S", "700")
    assert "takes about" not in call(*submit, "--param", "block=3").stderr

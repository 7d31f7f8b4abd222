"""`grove serve` as a process: how it ends, what survives when something is killed, and what it refuses."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.workspace import Workspace
from tests.integration.serving_process import ROOT, Serving, environment, gone, table
from tests.services import wait_until
from tests.services.process import free_port

pytestmark = pytest.mark.long

GARDEN = "id;name;parent\nplant;Plant;\ntree;Tree;plant\noak;Oak;tree\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the ontology ``old``."""
    path = tmp_path / "home"
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(path)})) as workspace:
        register(workspace, "old", LabelGraph.from_edges([("oak", "tree")]))
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_takes_its_worker_along(home, number):
    with Serving(home) as serving:
        worker = serving.worker()
        status = serving.end(number)
        gone(worker)
    assert status == (0 if number == signal.SIGTERM else 130)
    assert "Traceback" not in serving.said


def test_several_processes_answer_and_end_together(home):
    with Serving(home, "--workers", "2", "--no-worker") as serving:
        assert serving.get("/v1/ontologies")["total"] == 1
        children = [child.pid for child in psutil.Process(serving.process.pid).children(recursive=True)]
        assert serving.end(signal.SIGTERM) == 0
        for child in children:
            gone(child)
    assert "Traceback" not in serving.said


def test_an_upload_becomes_the_current_version_and_survives_a_killed_server(home):
    with Serving(home) as serving:
        serving.sign_in()
        serving.wait_for(serving.upload("garden", GARDEN), "garden")
        assert serving.get("/v1/ontologies/garden/label?key=oak")["name"] == "Oak"
        worker = serving.worker()
        session = serving.session
        assert serving.end(signal.SIGKILL) == -signal.SIGKILL
        gone(worker)
    with Serving(home) as again:
        assert {one["ontology"] for one in again.get("/v1/ontologies")["items"]} == {"old", "garden"}
        again.session = session
        again.wait_for(again.upload("garden", GARDEN + "elm;Elm;tree\n"), "garden", n_labels=4)
        assert again.get("/v1/ontologies/garden/children?key=tree")["total"] == 2
        assert again.end(signal.SIGTERM) == 0
    assert "Traceback" not in again.said


def test_a_killed_worker_is_started_again_and_ends_the_job(home):
    with Serving(home) as serving:
        serving.sign_in()
        worker = serving.worker()
        os.kill(worker, signal.SIGKILL)
        job = serving.upload("garden", GARDEN)
        wait_until(
            lambda: bool(serving.workers()) and serving.workers() != [worker],
            deadline_s=60,
            what="another worker",
        )
        serving.wait_for(job, "garden")
        assert serving.end(signal.SIGTERM) == 0
    assert "the worker ended with status -9 and is started again" in serving.said


def test_a_job_waits_for_a_worker(home):
    with Serving(home, "--no-worker") as serving:
        assert serving.workers() == []
        serving.sign_in()
        job = serving.upload("garden", GARDEN)
        assert serving.get(f"/v1/jobs/{job}")["state"] == "pending"
        assert serving.end(signal.SIGTERM) == 0
    with Serving(home) as again:
        again.wait_for(job, "garden")


def test_two_servers_on_one_home_answer_alike_and_share_sessions(home):
    with Serving(home) as one, Serving(home) as two:
        one.sign_in()
        two.session = one.session
        jobs = {"garden": one.upload("garden", GARDEN), "meadow": two.upload("meadow", GARDEN)}
        for (name, job), other in zip(jobs.items(), (two, one), strict=True):
            other.wait_for(job, name)
        shown = [serving.get("/v1/ontologies") for serving in (one, two)]
        assert shown[0] == shown[1]
        assert shown[0]["total"] == 3
        assert [serving.end(signal.SIGTERM) for serving in (one, two)] == [0, 0]
    assert "Traceback" not in one.said


def test_two_servers_with_a_worker_each_end_every_job_once(home):
    with Serving(home) as one, Serving(home) as two:
        one.sign_in()
        two.session = one.session
        workers = {one.worker(), two.worker()}
        jobs = {}
        for i in range(4):
            content = table(2_000 + i)
            jobs[f"o{i}"] = (one, two)[i % 2].upload(f"o{i}", content)
            assert (two, one)[i % 2].upload(f"o{i}", content) == jobs[f"o{i}"]
        for i, (name, job) in enumerate(jobs.items()):
            (two, one)[i % 2].wait_for(job, name, n_labels=2_000 + i)
            units = one.get(f"/v1/jobs/{job}/units")["items"]
            assert {(unit["state"], unit["attempts"]) for unit in units} == {("done", 1)}
            assert one.get(f"/v1/ontologies/{name}/versions")["total"] == 1
        assert {*one.workers(), *two.workers()} == workers
        assert two.get("/v1/jobs")["total"] == len(jobs)
        assert [serving.end(signal.SIGTERM) for serving in (one, two)] == [0, 0]
    assert "Traceback" not in one.said


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_nothing_that_was_accepted_is_lost_whenever_a_process_is_killed(home, kills):
    """Server or worker is killed right after the start, while idle, during an upload or during an ingest."""
    draw = random.Random(18)
    moments = [moment for moment in ("start", "idle", "upload", "ingest") for _ in range(kills // 4)]
    draw.shuffle(moments)
    accepted: dict[str, tuple[str, int]] = {}
    session = ""
    for i, moment in enumerate(moments):
        name, n_labels = f"o{i}", draw.choice([3, 1_000, 20_000]) + i
        if moment == "start":
            beginning = Serving(home)
            beginning.begin()
            beginning.kill()
            continue
        with Serving(home) as serving:
            if not session:
                serving.sign_in()
                session = serving.session
            serving.session = session
            kill = (serving.kill, serving.kill_worker)[draw.randrange(2)]
            if moment == "idle":
                serving.worker()
            elif moment == "ingest":
                accepted[name] = (serving.upload(name, table(n_labels)), n_labels)
                threading.Event().wait(draw.uniform(0, 1.5))  # whatever it does then
            elif moment == "upload":
                with contextlib.suppress(OSError, http.client.HTTPException):  # a killed server says nothing
                    accepted[name] = (serving.upload(name, table(n_labels), half_way=kill), n_labels)
            kill()
            if kill == serving.kill_worker:  # the server goes on without it
                assert serving.get("/healthz") == {"status": "ok"}
            serving.kill()
    assert len(accepted) > kills // 4
    with Serving(home) as last:
        before = last.said_before
        for name, (job, n_labels) in accepted.items():
            last.wait_for(job, name, n_labels=n_labels)
            assert last.get(f"/v1/ontologies/{name}/versions")["total"] == 1
        found = {one["ontology"] for one in last.get("/v1/ontologies")["items"]}
        assert found == {"old", *accepted}
        assert last.get("/v1/jobs")["total"] == len(accepted)
        assert last.end(signal.SIGTERM) == 0
    assert "Traceback" not in last.said.removeprefix(before)
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        assert [found["problems"] for found in verify_graph(workspace) if found["problems"]] == []


def refused(
    home: Path, *options: str, program: Sequence[str] = ("-m", "labelgrove"), **variables: str
) -> tuple[int, str]:
    """Return the exit status of a `grove serve` that must not start, and what it says; it leaves nothing."""
    with subprocess.Popen(
        [sys.executable, *program, "serve", *options],
        cwd=ROOT,
        env=environment(home) | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        printed, said = process.communicate(timeout=120)
    assert (printed, "Traceback" in said) == ("", False), said
    assert [one.pid for one in psutil.process_iter() if group(one.pid) == process.pid] == []
    return process.returncode, said


def group(pid: int) -> int | None:
    """Return the process group of a process; None if it ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_a_database_that_cannot_be_reached_is_told(tmp_path):
    url = f"postgresql+psycopg://grove:hunter2@127.0.0.1:{free_port()}/grove"
    for more in ((), ("--workers", "2"), ("--no-worker",)):
        status, said = refused(tmp_path / "home", "--port", "0", *more, GROVE_DATABASE_URL=url)
        assert status == 5
        assert "check that it runs and can be reached" in said
        assert "hunter2" not in said


def test_a_damaged_database_is_told(home):
    (home / "catalog.db").write_bytes(b"not a database " * 1_000)
    status, said = refused(home, "--port", "0")
    assert status == 5
    assert "it is damaged" in said


def test_a_database_of_another_release_is_told(home):
    with sqlite3.connect(home / "catalog.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    status, said = refused(home, "--port", "0")
    assert status == 1
    assert "9999" in said


@pytest.mark.services
def test_a_database_that_needs_a_migration_is_told(tmp_path, postgres_url):
    status, said = refused(tmp_path / "home", "--port", "0", GROVE_DATABASE_URL=postgres_url)
    assert status == 1
    assert "grove db upgrade" in said


def test_an_artifact_store_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "store").write_text("a file")
    status, said = refused(tmp_path / "home", "--port", "0", GROVE_ARTIFACTS_URL=str(tmp_path / "store"))
    assert status in (2, 5)
    assert "GROVE_ARTIFACTS_URL" in said


@pytest.mark.parametrize("package", ["fastapi", "jinja2", "limits", "uvicorn"])
def test_a_missing_package_of_the_service_is_told(tmp_path, package):
    blocked = f"import sys; sys.modules[{package!r}] = None; from labelgrove.__main__ import main; main()"
    status, said = refused(tmp_path / "home", "--port", "0", program=("-c", blocked))
    assert status == 1
    assert f"the HTTP service needs the package '{package}' of the extra 'web'; install it with: pip" in said


def test_a_setting_that_breaks_a_rule_is_told(tmp_path):
    status, said = refused(tmp_path / "home", "--port", "0", GROVE_UNIT_TIME_LIMIT_S="soon")
    assert status == 2
    assert "GROVE_UNIT_TIME_LIMIT_S" in said


def test_a_worker_that_cannot_start_says_why_in_a_line(home):
    """The service answers meanwhile: a broker that is away stops no reader."""
    url = f"redis://127.0.0.1:{free_port()}/0"
    with Serving(home, GROVE_BROKER_URL=url) as serving:
        wait_until(lambda: "worker: " in serving.said, deadline_s=60, what="the message of the worker")
        assert serving.get("/v1/ontologies")["total"] == 1
        assert serving.end(signal.SIGTERM) == 0
    assert "Traceback" not in serving.said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused_without_a_token(tmp_path, host):
    status, said = refused(tmp_path / "home", "--host", host, "--no-worker")
    assert status == 2
    assert "can be reached by other machines" in said
    assert "grove token create NAME --scope read,score" in said


@pytest.mark.parametrize("host", ["example.com", ""])
def test_a_host_that_is_not_an_address_is_refused(tmp_path, host):
    status, said = refused(tmp_path / "home", "--host", host, "--no-worker")
    assert status == 2
    assert "is not an address of this machine" in said


@pytest.mark.parametrize("processes", ["1", "2"])
def test_others_are_answered_with_a_token_and_by_the_names_of_the_service(home, processes):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        token = Tokens(workspace.engine).create("ci", ["read", "admin"])
    more = {"GROVE_SERVE_HOSTS": "grove.example.org", "GROVE_LOG_FORMAT": "json"}
    options = ("--host", "0.0.0.0", "--no-worker", "--workers", processes, "--port", str(free_port()))
    with Serving(home, *options, token=token, **more) as serving:
        assert "sign in with a token" in serving.said
        assert "/enter?code=" not in serving.said
        assert serving.get("/v1/ontologies", Host="grove.example.org")["total"] == 1
        for headers, status in (({"Host": "evil.example"}, 421), ({"Authorization": "Bearer x"}, 401)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                serving.get("/v1/ontologies", **headers)
            with refused.value as answer:
                assert answer.code == status
        serving.session = token
        job = serving.upload("garden", GARDEN)
        assert serving.get(f"/v1/jobs/{job}")["asked_by"] == "token:ci"
        assert serving.end(signal.SIGTERM) == 0
    (line,) = [json.loads(one) for one in serving.said.splitlines() if one.startswith("{")]
    assert line["actor"] == "token:ci"
    assert line["route"] == "POST /v1/ontologies/{ontology}/ingest"
    assert (line["job"], line["status"]) == (job, 202)
    assert token not in serving.said


def test_a_port_in_use_is_told(tmp_path):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        status, said = refused(tmp_path / "home", "--port", str(port), "--no-worker")
    assert status == 5
    assert f"port {port} of 127.0.0.1 cannot be used" in said


def test_a_new_link_is_printed_for_a_running_server(home):
    with Serving(home, "--no-worker") as serving:
        port = serving.url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "labelgrove", "serve", "--link", "--port", port],
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        serving.link = done.stdout.strip()
        assert serving.link.startswith(f"{serving.url}/enter?code=")
        serving.sign_in()
        assert serving.end(signal.SIGTERM) == 0

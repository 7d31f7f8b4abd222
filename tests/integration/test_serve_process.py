"""`grove serve` as a process: how it ends, what survives when something is killed, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.services import wait_until
from tests.services.process import free_port

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
CHILD = "labelgrove.service.child"


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a process over `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GROVE_")}
    return kept | {"GROVE_HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


class Serving:
    """A `grove serve` on a free port, which is killed at the end, with its worker, unless it ended before."""

    def __init__(self, home: Path, *options: str, token: str = "", env: dict[str, str] | None = None) -> None:
        self._home, self._options, self._token, self._env = home, options, token, env or {}
        self._log = home.with_name(f"{home.name}.log")
        self.session = ""

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "labelgrove", "serve", "--port", "0", *self._options],
                cwd=ROOT,
                env=environment(self._home) | self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        if self._token:
            self.url = f"http://127.0.0.1:{self._options[-1]}"
        else:
            self.link = self.process.stdout.readline().strip()
            assert self.link, self.said
            self.url = self.link.partition("/enter")[0]
        wait_until(self.answers, deadline_s=60, what="an answer")
        return self

    def __exit__(self, *_: object) -> None:
        found = [self.process.pid, *self.workers()] if self.process.poll() is None else []
        for pid in found:
            psutil.Process(pid).kill()
        self.process.communicate(timeout=30)

    @property
    def said(self) -> str:
        return self._log.read_text()

    def workers(self) -> list[int]:
        """Return the ids of the running workers beside the server."""
        children = psutil.Process(self.process.pid).children()
        return [child.pid for child in children if CHILD in " ".join(child.cmdline())]

    def worker(self) -> int:
        """Return the id of the worker once it runs."""
        wait_until(lambda: bool(self.workers()), deadline_s=60, what="the worker")
        return self.workers()[0]

    def answers(self) -> bool:
        assert self.process.poll() is None, self.said
        try:
            return bool(self.get("/readyz")["status"] == "ok")
        except OSError:
            return False

    def get(self, path: str, **headers: str) -> Any:
        known = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        request = urllib.request.Request(f"{self.url}{path}", headers=known | headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def sign_in(self) -> None:
        """Open the link, and keep the session."""

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        with pytest.raises(urllib.error.HTTPError) as moved:
            urllib.request.build_opener(Stay).open(self.link, timeout=60)
        with moved.value as answer:
            assert answer.code == 303
            cookie = answer.headers["Set-Cookie"]
        self.session = re.findall(r"grove-session=([^;]+)", cookie)[0]

    def upload(self, name: str, content: str) -> str:
        """Upload a hierarchy as the owner, and return the id of the job."""
        begin = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        request = urllib.request.Request(
            f"{self.url}/v1/ontologies/{name}/ingest",
            data=f"{begin}{content}\r\n--x--\r\n".encode(),
            headers={
                "Content-Type": "multipart/form-data; boundary=x",
                "Authorization": f"Bearer {self.session}",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 202
            return str(json.load(answer)["job"])

    def wait_for(self, job: str, name: str, *, n_labels: int = 3) -> None:
        """Wait until a job is done, and then until the current version of `name` has so many labels."""

        def ended() -> bool:
            return self.get(f"/v1/jobs/{job}")["state"] not in ("pending", "running")

        def current() -> bool:
            try:
                return bool(self.get(f"/v1/ontologies/{name}")["n_labels"] == n_labels)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 404:
                        raise
                return False

        wait_until(ended, deadline_s=120, what="the job")
        assert self.get(f"/v1/jobs/{job}")["state"] == "done"
        wait_until(current, deadline_s=120, what=f"{name} with {n_labels} labels")

    def end(self, number: signal.Signals) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    wait_until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE,
        deadline_s=60,
        what=f"the end of process {pid}",
    )


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


def refused(home: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "labelgrove", "serve", *options],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


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
    with Serving(home, *options, token=token, env=more) as serving:
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

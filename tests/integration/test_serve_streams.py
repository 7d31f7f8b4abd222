"""Streams of events about jobs: what is told, what is not told twice, and how they end."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from tests.integration.serving_process import Serving
from tests.services import patient
from tests.services.process import free_port

pytestmark = pytest.mark.long

SLOWEST_S = patient(5.0)  # an event comes about a second after its cause


@pytest.fixture
def home(tmp_path):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        for name in ("garden", "other"):
            register(workspace, name, LabelGraph.from_edges([(f"{name} oak", "tree"), ("elm", "tree")]))
    return tmp_path / "home"


@pytest.fixture
def workspace(home):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as opened:
        yield opened


class Stream:
    """A client of a stream of events."""

    def __init__(self, url: str, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        self.answer = self._connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["content-type"].startswith("text/event-stream")
        self.last = ""

    def events(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the documents of each event, until the stream ends."""
        while line := self.answer.readline().decode():
            name, _, value = line.strip().partition(": ")
            if name == "id":
                self.last = value
            if name == "data":
                yield json.loads(value)

    def until(self, state: str) -> list[str]:
        """Return the states of the only job, until it is in a state and no result of it is to be named."""
        found = []
        for jobs in self.events():
            found += [one["state"] for one in jobs]
            if found[-1:] == [state] and (state != "done" or not jobs[-1]["publishing"]):
                return found
        raise AssertionError(f"the stream ended: {found}")

    def close(self) -> None:
        self._connection.close()


def submit(workspace: Workspace, name: str) -> str:
    return client.submit(workspace, "cover", {"ontology": name}, wait=False).id


def session_of(serving: Serving, token: str) -> str:
    """Return a session that a token began."""
    connection = http.client.HTTPConnection(serving.url.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/sign-in", f"token={token}", form)
        cookie = connection.getresponse().headers["set-cookie"]
    return re.findall(r"grove-session=([^;]+)", cookie)[0]


def test_a_job_is_told_as_it_goes_on_and_only_what_a_client_does_not_know(home, workspace):
    port = str(free_port())
    with Serving(home, "--no-worker", "--port", port) as serving:
        job = submit(workspace, "garden")
        with contextlib.closing(Stream(serving.url, f"/v1/jobs/{job[:12]}/events")) as stream:
            assert stream.until("pending") == ["pending"]
            begin = time.monotonic()
            client.wait(workspace, job)
            states = stream.until("done")
            assert time.monotonic() - begin < SLOWEST_S
            assert set(states) <= {"pending", "running", "done"}
            last = stream.last
        serving.kill()
    with contextlib.ExitStack() as stack:
        again = stack.enter_context(Serving(home, "--no-worker", "--port", port))
        known = Stream(again.url, f"/v1/jobs/{job}/events", Last_Event_ID=last)
        every = Stream(again.url, "/v1/events")
        stack.callback(known.close)
        stack.callback(every.close)
        events = every.events()
        assert {one["id"] for one in next(events)} == {job}
        other = submit(workspace, "other")
        assert any({one["id"] for one in jobs} == {job, other} for jobs in events)
        assert again.end(signal.SIGTERM) == 0
        assert [*known.events()] == []  # its job did not change


def test_streams_end_with_the_server_and_do_not_hold_it_up(home):
    with Serving(home, "--no-worker") as serving:
        streams = [Stream(serving.url, "/v1/events") for _ in range(20)]
        for stream in streams:
            assert next(stream.events()) == []
        begin = time.monotonic()
        assert serving.end(signal.SIGTERM) == 0
        assert time.monotonic() - begin < SLOWEST_S
        for stream in streams:
            assert [*stream.events()] == []
            stream.close()


def test_a_token_is_told_only_of_jobs_that_it_may_see(home, workspace):
    mine = Tokens(workspace.engine).create("mine", ["read"], ontologies=["other"])
    hidden, seen = submit(workspace, "garden"), submit(workspace, "other")
    with Serving(home, "--no-worker") as serving:
        headers = {"Authorization": f"Bearer {mine}"}
        with contextlib.closing(Stream(serving.url, "/v1/events", **headers)) as stream:
            events = stream.events()
            assert [one["id"] for one in next(events)] == [seen]
            client.cancel(workspace, hidden)
            client.cancel(workspace, seen)
            assert [(one["id"], one["state"]) for one in next(events)] == [(seen, "cancelled")]
        connection = http.client.HTTPConnection(serving.url.removeprefix("http://"), timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", f"/v1/jobs/{hidden}/events", headers=headers)
            assert connection.getresponse().status == 404


@pytest.mark.parametrize("how", ["token", "session"])
def test_a_stream_ends_before_it_tells_anything_to_a_token_that_was_revoked(home, workspace, how):
    tokens = Tokens(workspace.engine)
    secret = tokens.create("mine", ["read"])
    with Serving(home, "--no-worker") as serving:
        headers = {"Authorization": f"Bearer {secret}"}
        if how == "session":
            headers = {"Cookie": f"grove-session={session_of(serving, secret)}"}
        with contextlib.closing(Stream(serving.url, "/v1/events", **headers)) as stream:
            events = stream.events()
            assert next(events) == []
            job = submit(workspace, "garden")
            assert [one["id"] for one in next(events)] == [job]
            tokens.revoke("mine")
            client.cancel(workspace, job)
            begin = time.monotonic()
            assert next(events, None) is None
            assert time.monotonic() - begin < SLOWEST_S

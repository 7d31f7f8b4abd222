"""`grove serve` as a process of its own, for tests and screenshots."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from tests.services import wait_until

__all__ = ["ROOT", "Serving", "environment", "gone", "table"]

ROOT = Path(__file__).parents[2]
CHILD = "labelgrove.service.processes.child"


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a process over `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GROVE_")}
    return kept | {"GROVE_HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


class Serving:
    """A `grove serve` on a free port, which is killed at the end, with its worker, unless it ended before.

    With a `token`, the last of the options is the port: such a server prints no link.
    """

    def __init__(self, home: Path, *options: str, token: str = "", **variables: str) -> None:
        self._home, self._options, self._variables = home, options, variables
        self.token = token
        self._log = home.with_name(f"{home.name}.log")
        self.session = ""

    def begin(self) -> None:
        """Start the server, and wait until it has printed its link; it may not answer yet."""
        self.said_before = self._log.read_text() if self._log.exists() else ""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "labelgrove", "serve", "--port", "0", *self._options],
                cwd=ROOT,
                env=environment(self._home) | self._variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        if self.token:
            self.url = f"http://127.0.0.1:{self._options[-1]}"
            return
        self.link = self.process.stdout.readline().strip()
        assert self.link, self.said
        self.url = self.link.partition("/enter")[0]

    def __enter__(self) -> Self:
        self.begin()
        wait_until(self.answers, deadline_s=60, what="an answer")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            server = psutil.Process(self.process.pid)
            for process in (server, *server.children(recursive=True)):  # it replaces its children
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.communicate(timeout=30)

    @property
    def said(self) -> str:
        return self._log.read_text()

    def workers(self) -> list[int]:
        """Return the ids of the running workers beside the server."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
                found += [child.pid] * (CHILD in " ".join(child.cmdline()))
        return found

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
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
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

    def upload(self, name: str, content: str, half_way: Callable[[], object] = lambda: None) -> str:
        """Upload a hierarchy as the owner, and return the id of the job; call `half_way` in the middle."""
        begin = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        body = f"{begin}{content}\r\n--x--\r\n".encode()
        sending = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        with contextlib.closing(sending):
            sending.putrequest("POST", f"/v1/ontologies/{name}/ingest")
            sending.putheader("Content-Type", "multipart/form-data; boundary=x")
            sending.putheader("Content-Length", str(len(body)))
            sending.putheader("Authorization", f"Bearer {self.session}")
            sending.endheaders(body[: len(body) // 2])
            half_way()
            sending.send(body[len(body) // 2 :])
            answer = sending.getresponse()
            document = json.load(answer)
            assert answer.status == 202, document
            return str(document["job"])

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

    def kill(self) -> None:
        """Kill the server, and wait until its worker has noticed."""
        workers = self.workers() if self.process.poll() is None else []
        self.process.kill()
        self.process.communicate(timeout=60)
        for worker in workers:
            gone(worker)

    def kill_worker(self) -> None:
        """Kill the worker beside the server if it runs at this moment."""
        for worker in self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

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


def table(n_labels: int) -> str:
    """Return a hierarchy of so many labels."""
    rows = [f"l{i};label {i};l{(i - 1) // 8}" for i in range(1, n_labels)]
    return "\n".join(["id;name;parent", "l0;root;", *rows]) + "\n"

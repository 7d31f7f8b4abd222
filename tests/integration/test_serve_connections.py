"""A hundred thousand connections that say nothing keep nobody from being answered."""

from __future__ import annotations

import collections
import resource
import socket
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from labelgrove.service.limits import Limits
from tests.integration.serving_process import Serving
from tests.services import patient

pytestmark = pytest.mark.long

KEPT = 12_000  # at once by this process, of which the server keeps fewer
PAUSE_S = 0.05
SLOWEST_S = patient(5.0)
MOST_MEMORY_MB = 400
FEW_MORE = 3_000  # accepted, and closed, within one turn of the event loop


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open as many files as the test needs, and later tests as many as before."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (KEPT + 500, max(KEPT + 500, before[1])))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("n_idle", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_idle_connections_keep_nobody_out_and_cost_little(tmp_path, n_idle):
    with Serving(tmp_path / "home", "--no-worker") as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        process = psutil.Process(server.process.pid)
        before = process.memory_info().rss
        waited: list[float] = []
        ending = threading.Event()

        def ask() -> None:
            while not ending.wait(PAUSE_S):
                began = time.monotonic()
                server.get("/healthz")
                waited.append(time.monotonic() - began)

        asking = threading.Thread(target=ask)
        asking.start()
        held: collections.deque[socket.socket] = collections.deque()
        most_files = 0
        try:
            for i in range(n_idle):
                # One address of this machine has too few ports.
                held.append(socket.create_connection((host, int(port)), 60, (f"127.0.0.{2 + i % 8}", 0)))
                if len(held) > KEPT:
                    held.popleft().close()
                if i % 1_000 == 0:
                    most_files = max(most_files, process.num_fds())
            grown_mb = (process.memory_info().rss - before) >> 20
        finally:
            ending.set()
            asking.join()
            for one in held:
                one.close()
        assert len(waited) > 10
        assert max(waited) < SLOWEST_S
        assert most_files < Limits().connections + FEW_MORE
        assert grown_mb < MOST_MEMORY_MB
        assert "Traceback" not in server.said

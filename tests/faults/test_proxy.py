"""The proxy does to a connection what it says, and the database's clocks answer a silent one."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.faults.proxy import Proxy

LATENCY_S = 0.3


class Echo(socketserver.BaseRequestHandler):
    """Says again what it hears."""

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with Proxy(f"tcp://user:secret@127.0.0.1:{server.server_address[1]}/0", seed=7) as proxy:
                yield proxy
        finally:
            server.shutdown()
            thread.join()


def connected(proxy: Proxy) -> socket.socket:
    parts = urlsplit(proxy.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def echoed(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    heard = b""
    while len(heard) < len(data) and (more := client.recv(1 << 16)):
        heard += more
    return heard


def test_it_passes_everything_on_and_keeps_the_login(proxy: Proxy):
    data = bytes(range(256)) * 4096
    with connected(proxy) as client:
        assert echoed(client, data) == data
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert proxy.url.startswith("tcp://user:secret@127.0.0.1:")
    assert proxy.url.endswith("/0")


def test_latency_is_kept_both_ways_and_nothing_is_overtaken_when_it_ends(proxy: Proxy):
    with connected(proxy) as client:
        proxy.slow(LATENCY_S)
        begin = time.monotonic()
        assert echoed(client, b"late") == b"late"
        assert time.monotonic() - begin >= 2 * LATENCY_S
        client.sendall(b"first ")
        time.sleep(LATENCY_S / 3)
        proxy.heal()
        assert echoed(client, b"second.").startswith(b"first s")


def test_half_open_swallows_on_old_connections_and_leaves_new_ones_alone(proxy: Proxy):
    with connected(proxy) as old:
        assert echoed(old, b"a") == b"a"
        proxy.half_open()
        proxy.heal()
        old.sendall(b"b")
        with connected(proxy) as new:
            assert echoed(new, b"c") == b"c"
        old.settimeout(0.3)
        with pytest.raises(TimeoutError):
            old.recv(1)
    assert proxy.broken == 1


def test_a_cut_ends_connections_and_refuses_new_ones_until_it_is_healed(proxy: Proxy):
    with connected(proxy) as old:
        assert echoed(old, b"a") == b"a"
        proxy.cut()
        with pytest.raises(ConnectionError):
            assert old.recv(1), "ended without a reset"
    with contextlib.suppress(ConnectionError), connected(proxy) as refused:
        assert refused.recv(1) == b""
    proxy.heal()
    with connected(proxy) as new:
        assert echoed(new, b"b") == b"b"


def test_resets_come_with_the_chance_asked_for(proxy: Proxy):
    proxy.reset(0.05)
    passed = 0
    while proxy.broken < 10:
        with contextlib.suppress(ConnectionError), connected(proxy) as client:
            while echoed(client, b"x"):
                passed += 1
    assert 20 <= passed <= 500  # 10 resets in some 200 chunks, two for each echo

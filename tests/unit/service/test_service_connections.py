"""Connections: how many there are, how long they may say or take nothing, and what is not HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import select
import socket
import struct
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from labelgrove.service import connections, running
from labelgrove.service.limits import Limits
from tests.services import wait_until
from tests.unit.service.service_cases import serving

ASKED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HASTY_S = 0.3
SMALL = 4_096


@contextlib.contextmanager
def connected(address: tuple[str, int], *sent: bytes) -> Iterator[socket.socket]:
    """Yield a connection over which some bytes were sent."""
    with socket.create_connection(address, timeout=30) as connection:
        for part in sent:
            connection.sendall(part)
        yield connection


def read_to_end(connection: socket.socket) -> bytes:
    """Return all that the server sends until it closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            found += part
    return found


def problem_in(said: bytes) -> tuple[int, str, dict[str, Any]]:
    """Return status, type and document of the only problem in what was said."""
    head, _, body = said.partition(b"\r\n\r\n")
    document = json.loads(body)
    assert b"application/problem+json" in head
    return int(head.split()[1]), document["type"].removeprefix("/reference#problem-"), document


def read_answer(connection: socket.socket) -> bytes:
    """Return one answer."""
    found = b""
    while b"\r\n\r\n" not in found or len(found.partition(b"\r\n\r\n")[2]) < _length(found):
        part = connection.recv(1 << 16)
        assert part, found
        found += part
    return found


def _length(found: bytes) -> int:
    return int(re.findall(rb"(?i)content-length: (\d+)", found)[0])


def post(path: str, kind: str, n_bytes: int) -> bytes:
    """Return the head of a request with a body."""
    head = (f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", f"Content-Length: {n_bytes}")
    return "\r\n".join((*head, "\r\n")).encode()


def answers(connection: socket.socket) -> bool:
    """Return whether a request over a connection is answered."""
    try:
        connection.sendall(ASKED)
        return connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


@pytest.fixture(scope="module")
def address(filled):
    with serving(filled, Limits(requests_per_second=0)) as found:
        yield found


def test_the_connection_that_waited_longest_makes_room_for_a_new_one(filled):
    limits = Limits(connections=8, requests_per_second=0)
    with serving(filled, limits) as address, contextlib.ExitStack() as stack:
        opened = []
        for _ in range(20):
            opened.append(stack.enter_context(connected(address)))
            # One that asks at once is answered, however many wait.
            with connected(address) as other:
                assert answers(other)
        assert [answers(one) for one in opened[:10]] == [False] * 10
        assert answers(opened[-1])


def test_a_connection_whose_request_is_being_answered_is_kept(filled):
    body = b'{"rows": [[0.5, 0.5]]}'
    with serving(filled, Limits(connections=4, requests_per_second=0)) as address:
        head = post("/v1/bundles/zoo/none/score", "application/json", len(body))
        expecting = head.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
        with connected(address, expecting) as busy, contextlib.ExitStack() as stack:
            assert busy.recv(1 << 16).startswith(b"HTTP/1.1 100")
            for _ in range(10):
                stack.enter_context(connected(address))
            busy.sendall(body)
            assert busy.recv(1 << 16).startswith(b"HTTP/1.1 404")


def test_a_head_that_does_not_arrive_is_told_so_and_silence_is_closed(filled):
    limits = Limits(request_s=HASTY_S, requests_per_second=0)
    with serving(filled, limits) as address:
        for sent in (b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"):
            with connected(address, sent) as slow:
                status, kind, document = problem_in(read_to_end(slow))
                assert (status, kind) == (408, "slow")
                assert "head" in document["detail"]
        with connected(address) as silent:
            assert read_to_end(silent) == b""
        with connected(address, ASKED) as second:
            assert second.recv(1 << 16).startswith(b"HTTP/1.1 200")
            second.sendall(b"GET /h")
            assert b" 408 " in read_to_end(second)


def test_who_still_sends_can_read_the_refusal(address):
    """A proxy that is still passing a body on gets the refusal, not a reset connection."""
    refused = post("/v1/cypher", "application/json", 1_000_000_000).replace(
        b"Host: localhost", b"Host: localhost\r\nConnection: close\r\nOrigin: https://evil.example"
    )
    with connected(address, refused) as sending:
        select.select([sending], [], [], 30)
        for _ in range(100):
            sending.sendall(b"-" * 100_000)
        assert problem_in(read_to_end(sending))[:2] == (403, "origin")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/bundles/zoo/tree/score", "application/json"),
        ("/v1/cypher", "application/json"),
        ("/v1/ontologies/a/ingest", "multipart/form-data; boundary=x"),
    ],
)
def test_a_body_that_does_not_arrive_is_refused_wherever_it_is_sent(filled, path, kind):
    limits = Limits(body_s=HASTY_S, upload_s=HASTY_S, requests_per_second=0)
    with serving(filled, limits) as address, connected(address, post(path, kind, 100), b"-") as slow:
        assert problem_in(read_answer(slow))[:2] == (408, "slow")


MANY = b"GET /v1/ontologies/wide/children?key=many&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextlib.contextmanager
def holding_little(filled):
    """Yield a connection with a small buffer, to a server that soon gives up who takes nothing."""
    limits = Limits(sending_s=HASTY_S, requests_per_second=0)
    with serving(filled, limits) as address, socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        one.settimeout(30)
        one.connect(address)
        yield one


def test_a_client_that_takes_nothing_of_its_answer_is_cut_off(filled):
    with holding_little(filled) as greedy:
        ended = False
        while not ended:
            try:
                greedy.sendall(MANY)
            except ConnectionError:
                ended = True


def test_a_client_that_takes_its_answer_slowly_gets_all_of_it(filled, monkeypatch):
    listening = running.listening

    def with_small_buffers(host, port):
        bound = listening(host, port)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        return bound

    monkeypatch.setattr(running, "listening", with_small_buffers)
    with holding_little(filled) as slow:
        slow.sendall(MANY)
        found, begin = b"", time.monotonic()
        while b"\r\n\r\n" not in found or len(found.partition(b"\r\n\r\n")[2]) < _length(found):
            part = slow.recv(SMALL)
            assert part, f"cut off after {len(found)} bytes"
            found += part
            time.sleep(HASTY_S / 20)  # the rate of a slow line
        assert time.monotonic() - begin > 2 * HASTY_S


def test_a_socket_for_the_web_is_not_offered(address):
    sent = (
        b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
    )
    with connected(
        address, sent, b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n"
    ) as connection:
        assert not connection.recv(100).startswith(b"HTTP/1.1 101")


def test_requests_that_were_sent_together_are_all_answered(address):
    with connected(address, ASKED * 50) as connection:
        found = b""
        while found.count(b"HTTP/1.1 200") < 50:
            found += connection.recv(1 << 16)


def test_a_sound_client_is_answered(address):
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/healthz", timeout=30) as answer:
        assert answer.status == 200


def test_bodies_of_all_clients_together_take_bounded_memory(with_bundles):
    limits = Limits(bodies_bytes=10_000, requests_per_second=0, body_s=60.0)
    query = post("/v1/cypher", "application/json", 8_000)
    score = post("/v1/bundles/zoo/tree/score", "application/json", 8_000)

    def status() -> int:
        with connected(address, query, b" " * 8_000) as further:
            return int(read_answer(further).split()[1])

    with serving(with_bundles, limits) as address:
        assert status() == 400
        with connected(address, score, b" " * 7_000), connected(address, score, b" " * 7_000):
            assert status() == 400  # requests for scores are counted by `scores_waiting`
        with connected(address, query, b" " * 7_000) as slow:
            wait_until(lambda: status() == 503, deadline_s=30, what="a full memory")
            slow.sendall(b" " * 1_000)
            assert b"HTTP/1.1 400" in read_answer(slow)
            assert status() == 400
        with connected(address, query, b" " * 7_000):
            wait_until(lambda: status() == 503, deadline_s=30, what="a full memory")
        wait_until(lambda: status() == 400, deadline_s=30, what="the end of a client who went away")


def test_a_peer_that_went_away_ends_a_lingering_close():
    async def outcome() -> tuple[bool, bool]:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        class Served(asyncio.Protocol):
            def connection_made(self, transport):
                self.transport = connections.LingeringTransport(transport, lambda: True)
                accepted.set_result(self)

            def connection_lost(self, error):
                ended.set()

        accepted: asyncio.Future[Served] = loop.create_future()
        listening = await loop.create_server(Served, "127.0.0.1", 0)
        peer = socket.create_connection(listening.sockets[0].getsockname())
        served = await accepted
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()  # resets the connection
        served.transport.close()
        await asyncio.wait_for(ended.wait(), 1)
        listening.close()
        await listening.wait_closed()
        return served.transport.is_closing(), ended.is_set()

    assert asyncio.run(outcome()) == (True, True)

"""Each hostile request is refused with the problem that names its rule, and costs the server nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import time

import psutil
import pytest

from labelgrove.ontology.scopes import SCOPES
from tests.integration.serving_process import Serving
from tests.unit.service.hostile import framing, parameters, scores, senders, tensors, uploads, work
from tests.unit.service.hostile.hostile_case import TOKEN, Case
from tests.unit.service.scoring_cases import fill_with_bundles
from tests.unit.service.service_cases import fill, token_of

pytestmark = pytest.mark.xdist_group("hostile requests")  # one server answers them all

CASES = [
    case for part in (framing, senders, parameters, work, uploads, scores, tensors) for case in part.CASES
]
BY_RULE = {case.rule: case for case in CASES}
MOST_MEMORY = 1_500 << 20


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    home = tmp_path_factory.mktemp("hostile") / "home"
    fill(home)
    fill_with_bundles(home)
    return home, token_of(home, "all", *SCOPES)["Authorization"].removeprefix("Bearer ")


@pytest.fixture(scope="module")
def server(secret):
    with Serving(secret[0], "--no-worker") as serving:
        yield serving


def answer_to(server: Serving, token: str, case: Case) -> tuple[int, dict[str, str], bytes]:
    """Send the bytes of a case, and return the only answer; come again if too many were sent."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    sent = case.sent.replace(TOKEN.encode(), token.encode())
    while True:
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            with contextlib.suppress(ConnectionError):  # it may be refused before all is sent
                connection.sendall(sent)
            said = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    said += part
        head, _, body = said.partition(b"\r\n\r\n")
        assert head, case.rule
        lines = head.decode("latin-1").split("\r\n")
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
        status = int(lines[0].split()[1])
        if status != 429:
            return status, headers, body
        time.sleep(float(headers["retry-after"]))


@pytest.mark.parametrize("rule", BY_RULE)
def test_it_is_refused_and_its_rule_is_named(server, secret, rule):
    case = BY_RULE[rule]
    status, headers, body = answer_to(server, secret[1], case)
    assert headers["content-type"] == "application/problem+json", (status, headers, body[:500])
    if not body:  # of HEAD
        assert status == case.status
        return
    document = json.loads(body)
    kind = document["type"].removeprefix("/reference#problem-")
    assert (status, kind) == (case.status, case.kind), document
    assert case.says in document["detail"]
    assert document["status"] == status
    assert document["next_step"]
    for private in (str(secret[0]), secret[1], "grove-score", "Traceback"):
        assert private not in body.decode()


def test_the_rules_are_different_ones():
    assert len(CASES) == len(BY_RULE)
    assert len(BY_RULE) >= 300


def test_the_server_is_as_it_was_and_its_log_has_no_secret(server, secret):
    process = psutil.Process(server.process.pid)
    assert server.answers()
    assert process.memory_info().rss < MOST_MEMORY
    assert process.num_fds() < 100
    assert secret[1] not in server.said
    assert "Traceback" not in server.said

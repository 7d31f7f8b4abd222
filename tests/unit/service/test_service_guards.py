"""Guards: whose requests are answered, how large and how many they may be, and what browsers are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.guards import LOOPBACK_NAMES, Guards, LargeBodies
from labelgrove.service.access.identity import Identity
from labelgrove.service.limits import Limits
from tests.unit.service.service_cases import client_of, sign_in

HEADERS = {
    "content-security-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
}
QUERY = {"statement": "RETURN 1 AS n"}


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:1", "localhost:8321", "[::1]:65535", "LocalHost:80"],
)
def test_the_names_of_this_machine_are_answered_with_any_port(reader, host):
    assert reader.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8321",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8321",
        "evil.example#127.0.0.1",
        "user@localhost",
        "localhost:80@evil.example",
        "127.0.0.1:8321, evil.example",
        "127.1",
        "0.0.0.0",
        "192.168.0.7",
        "::1",
        "[::2]:8321",
        "[::ffff:127.0.0.1]",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_refused(reader, host):
    answer = reader.get("/v1/ontologies", headers={"host": host})
    assert (answer.status_code, answer.json()["type"]) == (421, "/reference#problem-host")
    assert {*answer.headers} >= HEADERS


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8321"},
        {"origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_page_of_this_service_may_send_what_changes_something(reader, headers):
    assert reader.post("/v1/cypher", json=QUERY, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:8321.evil.example"},
        {"origin": "ftp://127.0.0.1:8321"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8321"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_page_of_another_site_may_not(reader, headers, method):
    answer = reader.request(method, "/v1/cypher", json=QUERY, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (403, "/reference#problem-origin")
    assert reader.get("/healthz", headers=headers).status_code == 200


@pytest.fixture(scope="module")
def small(filled):
    limits = Limits(body_bytes=1_000, upload_bytes=5_000, requests_per_second=0)
    with client_of(filled, limits) as client:
        sign_in(client)
        yield client


def _chunks(n_bytes: int) -> Any:
    for begin in range(0, n_bytes, 300):
        yield b" " * min(300, n_bytes - begin)


def test_a_body_may_be_as_large_as_its_limit(small):
    body = b'{"statement": "RETURN 1 AS n"}'
    for content in (body.ljust(1_000), [body, *_chunks(1_000 - len(body))]):
        sent = iter(content) if isinstance(content, list) else content
        answer = small.post("/v1/cypher", content=sent, headers={"content-type": "application/json"})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("path", "kind", "n_bytes"),
    [
        ("/v1/cypher", "application/json", 1_001),
        ("/v1/ontologies/a/ingest", "multipart/form-data; boundary=x", 5_001),
        ("/v1/ontologies/a/validate", "multipart/form-data; boundary=x", 50_000),
    ],
)
def test_a_larger_body_is_refused_whether_or_not_its_length_is_told(small, path, kind, n_bytes, chunked):
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    content = begin + b" " * (n_bytes - len(begin)) if "form" in kind else b" " * n_bytes
    sent = iter([content[i : i + 300] for i in range(0, n_bytes, 300)]) if chunked else content
    answer = small.post(path, content=sent, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["type"]) == (413, "/reference#problem-body")
    assert {*answer.headers} >= HEADERS


@pytest.mark.parametrize("length", ["-1", "1e2", "", "²", "9" * 5_000, "1001"])
def test_a_length_that_is_not_a_small_number_is_refused(length):
    assert _asked(Limits(body_bytes=1_000), [(b"content-length", length.encode("latin-1"))]) == [413]


def test_two_names_of_the_host_are_refused():
    assert _asked(Limits(), [(b"host", b"evil.example")]) == [421]


def test_a_large_upload_of_somebody_who_may_not_is_refused_before_it_is_read():
    limits = Limits(body_bytes=1_000, upload_bytes=5_000)
    for length, status in ((b"1000", 200), (b"1001", 401), (b"5001", 401)):
        assert _asked(limits, [(b"content-length", length)], path="/a/ingest") == [status]


def _asked(limits: Limits, headers: list[tuple[bytes, bytes]], *, path: str = "/") -> list[int]:
    """Return the status that the guards answer alone; behind them is an application that says 200."""
    sent: list[Message] = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    settings = Settings.from_env({"GROVE_HOME": "/nowhere"})
    identity = Identity(Workspace.open(settings), local=True)
    guards = Guards(
        behind,
        limits,
        hosts=LOOPBACK_NAMES,
        bodies=(LargeBodies(("/ingest",), 1 << 30, 1.0, "admin"),),
        identity=identity,
    )
    scope = {"type": "http", "path": path, "method": "GET", "headers": [(b"host", b"localhost"), *headers]}
    asyncio.run(guards(scope, receive, send))
    return [message["status"] for message in sent if message["type"] == "http.response.start"]


def test_the_guards_let_a_sound_request_through():
    assert _asked(Limits(body_bytes=1_000), [(b"content-length", b"1000")]) == [200]


def test_more_requests_than_allowed_are_told_when_to_come_again(filled):
    with client_of(filled, Limits(requests_per_second=3)) as client:
        answers = [client.get("/about") for _ in range(40)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    for answer in refused:
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["type"] == "/reference#problem-rate"
        assert {*answer.headers} >= HEADERS


@pytest.mark.parametrize(
    "url",
    [
        "/healthz",
        "/openapi.json",
        "/v1/ontologies/garden/label?key=oak",
        "/v1/ontologies/garden/export?format=skos",
        "/v1/ontologies/nothing",
        "/v1/ontologies/garden/label",
        "/enter?code=used",
        "/nowhere",
        "/static/0/nothing.js",
        "/static/0/explorer.css",
    ],
)
def test_every_answer_has_the_headers_that_guard_a_browser(reader, url):
    headers = reader.get(url).headers
    assert {*headers} >= HEADERS
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "url",
    ["/", "/healthz", "/about", "/v1/ontologies", "/v1/ontologies/garden/label?key=oak", "/v1/jobs/nothing"],
)
def test_head_is_answered_as_get(reader, url):
    got, head = reader.get(url), reader.head(url)
    assert head.status_code == got.status_code
    assert head.headers["content-type"] == got.headers["content-type"]


def test_head_is_refused_where_get_is_and_does_not_use_a_link_up(reader):
    assert reader.head("/v1/cypher").status_code == 405
    assert reader.head("/v1/events").status_code == 405
    link = f"/enter?code={reader.app.state.identity.sessions.new_link_code()}"
    assert reader.head(link).status_code == 405
    assert reader.get(link, follow_redirects=False).status_code == 303


def test_an_unchanged_answer_and_a_refused_method_have_them_too(reader):
    tag = reader.get("/v1/ontologies/garden").headers["etag"]
    unchanged = reader.get("/v1/ontologies/garden", headers={"if-none-match": tag})
    assert (unchanged.status_code, {*unchanged.headers} >= HEADERS) == (304, True)
    refused = reader.put("/healthz")
    assert (refused.status_code, {*refused.headers} >= HEADERS) == (405, True)

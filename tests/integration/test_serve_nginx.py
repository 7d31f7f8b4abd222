"""The service behind nginx, configured as docs/service.md says: TLS, names, origins, cookies, streams."""

from __future__ import annotations

import contextlib
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import ClassVar

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.conftest import serving
from tests.integration.nginx import PUBLIC, Nginx
from tests.integration.serving_process import ROOT, Serving, table

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
(DOCUMENTED,) = re.findall(r"```nginx\n(.*?)```", PAGE, re.DOTALL)
READER = "Basic " + b64encode(b"reader:made-up").decode()
CLOSED = re.compile(r"^    location ~ .*return 403; }\n", re.M)

WIDE = LabelGraph.from_edges([(f"label number {i} " + "x" * 400, "root") for i in range(20_000)])


class Documented(Nginx):
    """nginx with the server that docs/service.md shows."""

    known: ClassVar = {"Authorization": READER}

    def __init__(self, upstream: str, configuration: str) -> None:
        super().__init__(configuration)
        self._upstream = upstream

    def _changes(self) -> dict[str, str]:
        (self.home / "labels.passwords").write_text("reader:{PLAIN}made-up\n")
        return {
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "/etc/ssl/labels.pem": str(self.certificate),
            "/etc/ssl/labels.key": str(self.key),
            "/etc/nginx/": f"{self.home}/",
            "127.0.0.1:8321": self._upstream.removeprefix("http://"),
        }

    def _whole(self, changed: str) -> str:
        folders = [
            f"{kind}_temp_path {self.home}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        ]
        return (
            f"pid {self.home}/pid;\nerror_log {self.home}/error.log info;\ndaemon off;\nuser root;\n"
            "events {}\nhttp {\naccess_log off;\n" + "\n".join(folders) + f"\n{changed}}}\n"
        )


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("nginx") / "home"
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        register(workspace, "wide", WIDE)
    with Serving(home) as one:
        yield one


@pytest.fixture(scope="module")
def closed(served) -> Iterator[Nginx]:
    """The proxy as documented."""
    with serving(Documented(served.url, DOCUMENTED)) as nginx:
        yield nginx


@pytest.fixture(scope="module")
def opened(served) -> Iterator[Nginx]:
    """The proxy without the line that keeps everybody behind it from ingesting."""
    assert len(CLOSED.findall(DOCUMENTED)) == 1
    with serving(Documented(served.url, CLOSED.sub("", DOCUMENTED))) as nginx:
        yield nginx


QUERY = b'{"statement": "RETURN 1 AS n"}'
JSON = {"Content_Type": "application/json"}


def test_readers_are_asked_for_their_password_and_get_every_page(closed):
    assert closed.ask("GET", "/", Authorization="").status == 401
    (style,) = re.findall(r'href="(/static/[^"]+\.css)"', closed.ask("GET", "/").text)
    for path in ("/", "/o/wide", "/v1/ontologies", style, "/openapi.json"):
        assert closed.ask("GET", path).status == 200, path


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/enter?code=x"),
        ("GET", "/ingest"),
        ("POST", "/ingest"),
        ("POST", "/v1/ontologies/wide/validate"),
        ("POST", "/v1/ontologies/wide/ingest"),
    ],
)
def test_nobody_behind_the_proxy_ingests(closed, method, path):
    answer = closed.ask(method, path, b"" if method == "POST" else None)
    assert (answer.status, "nginx" in answer.text) == (403, True)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": f"https://{PUBLIC}", "Sec_Fetch_Site": "same-origin"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"http://{PUBLIC}"}, 403),
        ({"Origin": f"https://{PUBLIC}.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"https://{PUBLIC}", "Sec_Fetch_Site": "cross-site"}, 403),
    ],
)
def test_pages_under_the_public_name_may_ask_and_those_of_other_sites_may_not(closed, headers, status):
    answer = closed.ask("POST", "/v1/cypher", QUERY, **JSON, **headers)
    assert answer.status == status, answer.text


def test_the_owner_signs_in_through_the_proxy_and_the_cookie_is_for_tls_alone(served, opened):
    answer = opened.ask("GET", served.link.removeprefix(served.url))
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    said = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert said >= {"httponly", "samesite=strict", "secure", "path=/"}
    assert not any(part.startswith("domain=") for part in said)
    served.session = cookie.partition(";")[0].partition("=")[2]
    page = opened.ask("GET", "/ingest", Cookie=f"grove-session={served.session}")
    assert "needs the scope" not in page.text


def form(content: str) -> tuple[bytes, dict[str, str]]:
    begin = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    return f"{begin}{content}\r\n--x--\r\n".encode(), {"Content_Type": "multipart/form-data; boundary=x"}


def test_an_upload_becomes_a_version(served, opened):
    if not served.session:
        served.sign_in()
    body, headers = form(table(100_000))
    cookie = {"Cookie": f"grove-session={served.session}", "Origin": f"https://{PUBLIC}"}
    answer = opened.ask("POST", "/v1/ontologies/sent/ingest", body, **headers, **cookie)
    assert answer.status == 202, answer.text
    served.wait_for(json.loads(answer.text)["job"], "sent", n_labels=100_000)
    assert "is buffered to a temporary file" not in opened.said


def test_an_upload_is_passed_on_as_it_comes(opened):
    """The service refuses a page of another site by the headers: before the proxy has got the whole body."""
    with contextlib.closing(opened.connect()) as connection:
        connection.putrequest("POST", "/v1/ontologies/sent/ingest")
        for name, value in {
            "Authorization": READER,
            "Origin": "https://evil.example",
            "Content-Length": "1000000000",
        }.items():
            connection.putheader(name, value)
        connection.endheaders(b"-" * 1_000_000)
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)["type"]) == (403, "/reference#problem-origin")


def test_more_than_the_limit_is_refused_by_the_proxy_at_once(opened):
    with contextlib.closing(opened.connect()) as connection:
        connection.putrequest("POST", "/v1/ontologies/sent/ingest")
        connection.putheader("Authorization", READER)
        connection.putheader("Content-Length", str((1 << 30) + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_an_export_is_passed_on_as_it_comes(opened):
    """A reader that pauses holds up the service, instead of filling the disk of the proxy."""
    with contextlib.closing(opened.connect()) as connection:
        headers = {"Authorization": READER, "Accept-Encoding": "identity"}
        connection.request("GET", "/v1/ontologies/wide/export?format=outline", headers=headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read(4)) == (200, b"root")
        assert answer.read().count(b"\n") == WIDE.n_labels
    assert "is buffered to a temporary file" not in opened.said

"""The service behind deploy/nginx.conf, as the Compose profile `tls` runs it: TLS and tokens."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import ssl
from collections.abc import Iterator

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.conftest import serving
from tests.deployment.compose import ROOT, SERVICES, words
from tests.integration.compose_support import need, run_health_check
from tests.integration.nginx import PUBLIC, Nginx
from tests.integration.serving_process import Serving
from tests.services.process import free_port

pytestmark = pytest.mark.long

JSON = {"Content_Type": "application/json"}
QUERY = b'{"statement": "RETURN 1 AS n"}'


class ComposeTls(Nginx):
    """nginx with the command and configuration of the Compose service."""

    def __init__(self, upstream: str) -> None:
        super().__init__((ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8"))
        self._upstream, self.plain_port = upstream, free_port()

    def _changes(self) -> dict[str, str]:
        return {
            "listen 8443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "listen 8080;": f"listen 127.0.0.1:{self.plain_port};",
            "/tls/": f"{self.home}/",
            "/tmp/": f"{self.home}/",
            "error_log stderr": f"error_log {self.home}/error.log",
            "web:8321": self._upstream.removeprefix("http://"),
        }

    def _whole(self, changed: str) -> str:
        # A container begins as its user; here, root would give its workers to another user than its files.
        return f"user root;\n{changed}" if os.getuid() == 0 else changed

    def _command(self) -> list[str]:
        program, *options = words("tls", "command")
        assert program == "nginx"
        return [*super()._command(), *options]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("tls") / "home"
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        register(workspace, "trees", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
        token = Tokens(workspace.engine).create("me", ["read", "query"])
    with Serving(home, "--port", str(free_port()), token=token, GROVE_SERVE_HOSTS=PUBLIC) as one:
        yield one


@pytest.fixture(scope="module")
def tls(served) -> Iterator[ComposeTls]:
    with serving(ComposeTls(served.url)) as nginx:
        yield nginx


@pytest.fixture
def bearer(served) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.token}"}


def test_who_has_a_token_gets_answers_and_others_get_none(tls, bearer):
    assert tls.ask("GET", "/v1/ontologies", **bearer).status == 200
    assert tls.ask("GET", "/v1/ontologies").status == 401
    assert tls.ask("GET", "/v1/ontologies", Authorization="Bearer made-up").status == 401


def test_the_service_is_known_by_its_public_name_alone(tls, bearer):
    assert tls.ask("GET", "/v1/ontologies", Host="evil.example", **bearer).status == 421


def test_without_tls_everything_leads_to_tls(tls):
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", tls.plain_port, timeout=60)
    ) as connection:
        connection.request("POST", "/v1/cypher?x=1", QUERY, {"Host": PUBLIC})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (308, f"https://{PUBLIC}/v1/cypher?x=1")


def test_old_versions_of_tls_are_refused(tls):
    context = ssl.create_default_context(cafile=str(tls.certificate))
    context.check_hostname = False
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    old = http.client.HTTPSConnection("127.0.0.1", tls.port, context=context, timeout=60)
    with contextlib.closing(old), pytest.raises(ssl.SSLError):
        old.connect()
    assert tls.ask("GET", "/about").headers["Strict-Transport-Security"]


def test_who_signs_in_gets_a_cookie_for_tls_alone(served, tls):
    form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": f"https://{PUBLIC}"}
    answer = tls.ask("POST", "/sign-in", f"token={served.token}".encode(), **form)
    assert answer.status == 303, answer.text
    cookie = answer.headers["Set-Cookie"]
    said = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert said >= {"httponly", "samesite=strict", "secure", "path=/"}
    session = cookie.partition(";")[0]
    assert tls.ask("GET", "/v1/ontologies", Cookie=session).status == 200


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (PUBLIC, f"https://{PUBLIC}", 200),
        (f"{PUBLIC}:8443", f"https://{PUBLIC}:8443", 200),
        (PUBLIC, f"https://{PUBLIC}:8443", 403),
        (PUBLIC, "https://evil.example", 403),
    ],
)
def test_pages_of_the_service_may_ask_on_whatever_port_it_is_published(tls, bearer, host, origin, status):
    answer = tls.ask("POST", "/v1/cypher", QUERY, Host=host, Origin=origin, **JSON, **bearer)
    assert answer.status == status, answer.text


def test_events_come_while_their_stream_goes_on(tls, bearer):
    with contextlib.closing(tls.connect()) as connection:
        connection.request("GET", "/v1/events", headers={"Host": PUBLIC, **bearer})
        answer = connection.getresponse()
        assert answer.status == 200
        assert re.match(r"(id|event|data|retry): |:", answer.readline().decode())  # long before it ends


def test_uploads_may_be_as_large_as_those_of_the_service(tls, bearer):
    with contextlib.closing(tls.connect()) as connection:
        connection.putrequest("POST", "/v1/ontologies/trees/ingest", skip_host=True)
        for name, value in {"Host": PUBLIC, **bearer, "Content-Length": str((1 << 30) + 1)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, "nginx" in answer.read().decode()) == (413, True)


def test_the_health_check_asks_the_service_through_tls(served):
    need(("wget", "wget"))
    with serving(ComposeTls(served.url)) as nginx:
        port = {"8443": str(nginx.port)}
        assert run_health_check("tls", port) == 0
        nginx.stop()
        assert run_health_check("tls", port) != 0


def test_what_it_mounts_is_what_its_configuration_reads():
    files = [mount.rpartition(":")[0].rpartition(":")[2] for mount in SERVICES["tls"]["volumes"]]
    assert files == ["/etc/nginx/nginx.conf", "/tls"]
    assert all(mount.endswith(":ro") for mount in SERVICES["tls"]["volumes"])

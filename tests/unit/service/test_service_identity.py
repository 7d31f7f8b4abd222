"""Identity: tokens, sessions and proxies show who asks; what cannot be checked is never believed."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.scopes import SCOPES
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.sessions import COOKIE
from labelgrove.service.limits import Limits
from labelgrove.service.running import bare_address, check_who_may, is_local
from labelgrove.workers import client as jobs
from labelgrove.workers.running.logs import FIELDS
from tests.unit.service.service_cases import GARDEN as HIERARCHY
from tests.unit.service.service_cases import URL, add, client_of, settings_of, sign_in, token_of

READ = "/v1/ontologies"
VALIDATE = "/v1/ontologies/a/validate"
INGEST = "/v1/ontologies/a/ingest"
FILE = {"file": ("a.csv", b"id;name;parent\na;A;\nb;B;a\n")}
PROXY = {"GROVE_SERVE_PROXY_HEADER": "X-Forwarded-User", "GROVE_SERVE_PROXY_PEERS": "10.0.0.0/8,::1"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the ontology ``garden``."""
    made = tmp_path_factory.mktemp("planted") / "home"
    add(made, "garden", HIERARCHY)
    return made


@pytest.fixture
def home(planted: Path, tmp_path: Path) -> Path:
    """A copy of the home with ``garden``, which the test may change."""
    shutil.copytree(planted, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def exposed(home: Path) -> Iterator[TestClient]:
    """A client of a service that others reach."""
    with client_of(home, local=False) as client:
        yield client


def revoke(home: Path, name: str) -> None:
    with Workspace.open(settings_of(home)) as workspace:
        Tokens(workspace.engine).revoke(name)


def test_the_use_of_a_token_is_recorded(home, exposed):
    header = token_of(home, "ci", "read")
    before = time.time()
    for _ in range(3):
        assert exposed.get(READ, headers=header).status_code == 200
    with Workspace.open(settings_of(home)) as workspace:
        used = Tokens(workspace.engine).named("ci").last_used_at
    assert used is not None
    assert abs(used - before) < 60


def test_a_database_that_cannot_be_written_refuses_no_reader(home, exposed, monkeypatch, caplog):
    header = token_of(home, "ci", "read")

    def full(*_: object) -> None:
        raise ServiceError("the disk is full")

    monkeypatch.setattr(Tokens, "used", full)
    assert exposed.get(READ, headers=header).status_code == 200
    assert "the use of token ci was not recorded: the disk is full" in caplog.text


# ---- sessions of tokens --------------------------------------------------------------------------------


def sign_in_with(client: TestClient, header: dict[str, str], next_: str = "/", **headers: str) -> Any:
    token = header["Authorization"].removeprefix("Bearer ")
    return client.post(
        "/sign-in", data={"token": token, "next": next_}, headers=headers, follow_redirects=False
    )


def test_a_pasted_token_begins_a_session_with_its_scopes_until_it_is_revoked(home, exposed):
    header = token_of(home, "ci", "read", "admin")
    answer = sign_in_with(exposed, header, "/o/garden?key=oak")
    assert (answer.status_code, answer.headers["location"]) == (303, "/o/garden?key=oak")
    assert answer.headers["cache-control"] == "no-store"
    said = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert said >= {"httponly", "samesite=strict", "path=/"}
    assert "secure" not in said
    assert header["Authorization"].removeprefix("Bearer grove_") not in answer.headers["set-cookie"]
    assert exposed.get("/").status_code == exposed.post(VALIDATE, files=FILE).status_code == 200
    assert exposed.get("/cypher", follow_redirects=False).status_code == 403
    assert "token:ci" in exposed.get("/sign-in").text
    revoke(home, "ci")
    assert exposed.get("/", follow_redirects=False).headers["location"] == "/sign-in?next=%2F"
    assert exposed.get(READ).status_code == exposed.post(VALIDATE, files=FILE).status_code == 401


def test_a_session_made_over_tls_is_sent_over_tls_alone(home):
    with client_of(home, local=False) as client:
        client.base_url = "https://127.0.0.1:8321"  # type: ignore[assignment]
        answer = sign_in_with(client, token_of(home, "ci", "read"), origin="https://127.0.0.1:8321")
        assert "secure" in answer.headers["set-cookie"].lower()
        client.base_url = URL  # type: ignore[assignment]
        for protocol, secure in (("https", True), ("http", False)):
            code = client.app.state.identity.sessions.new_link_code()  # type: ignore[attr-defined]
            told = {"x-forwarded-proto": protocol}
            answer = client.get(f"/enter?code={code}", headers=told, follow_redirects=False)
            assert ("secure" in answer.headers["set-cookie"].lower()) is secure


@pytest.mark.parametrize("token", ["", "grove_x", "x" * 1_999, "grove_" + "A" * 43, "<script>"])
def test_another_text_begins_no_session_and_is_not_shown_again(exposed, token):
    answer = exposed.post("/sign-in", data={"token": token})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "has expired or was revoked" in answer.text
    assert not token or f'value="{token}"' not in answer.text


@pytest.mark.parametrize(
    "next_",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "",
        "/\n/evil",
        "\\",
    ],
)
def test_signing_in_leads_nowhere_else(home, exposed, next_):
    assert sign_in_with(exposed, token_of(home, "ci", "read"), next_).headers["location"] == "/"
    assert 'name="next" value="/"' in exposed.get("/sign-in", params={"next": next_}).text


def test_signing_out_ends_the_session_of_the_browser(home, exposed):
    sign_in_with(exposed, token_of(home, "ci", "read"))
    assert exposed.get(READ).status_code == 200
    exposed.post("/sign-out")
    assert COOKIE not in exposed.cookies
    assert exposed.get(READ).status_code == 401


def test_a_page_of_another_site_cannot_sign_anybody_in(home, exposed):
    answer = sign_in_with(exposed, token_of(home, "ci", "read"), origin="https://evil.example")
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_a_session_that_ended_is_nobody_and_not_an_error(home):
    with client_of(home) as client:
        client.cookies.set(COOKIE, "1.owner." + "0" * 64)
        assert client.get(READ).status_code == 200
        assert client.post(VALIDATE, files=FILE).status_code == 401


# ---- proxies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["10.1.2.3", "::1", "::ffff:10.1.2.3"])
def test_a_trusted_proxy_says_who_asks(home, peer):
    with client_of(home, local=False, peer=peer, **PROXY) as client:
        header = {"x-forwarded-user": "alice@example.org"}
        assert client.get(READ, headers=header).status_code == 200
        assert "proxy:alice@example.org" in client.get("/sign-in", headers=header).text
        assert client.post(VALIDATE, files=FILE, headers=header).status_code == 403
        assert client.get(READ).status_code == 401
        ci = token_of(home, "ci", "admin")
        assert client.post(VALIDATE, files=FILE, headers=header | ci).status_code == 200


def test_what_users_of_a_proxy_may_do_is_a_setting(home):
    with client_of(home, local=False, peer="10.1.2.3", **PROXY, GROVE_SERVE_PROXY_SCOPES="admin") as client:
        header = {"x-forwarded-user": "alice"}
        assert client.post(VALIDATE, files=FILE, headers=header).status_code == 200
        assert client.get(READ, headers=header).status_code == 403


@pytest.mark.parametrize("peer", ["127.0.0.1", "11.0.0.1", "::2", "unknown", "testclient", "::ffff:11.0.0.1"])
def test_the_header_from_anybody_else_is_refused_even_with_a_token(home, peer):
    with client_of(home, local=False, peer=peer, **PROXY) as client:
        for further in ({}, token_of(home, "ci", "read")):
            answer = client.get(READ, headers={"X-Forwarded-User": "root"} | further)
            assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-proxy")
            assert "GROVE_SERVE_PROXY_PEERS" in answer.json()["next_step"]
        assert client.get("/healthz", headers={"X-Forwarded-User": "root"}).status_code == 400


@pytest.mark.parametrize("value", ["", " ", "x" * 201, "a\tb"])
def test_a_header_that_names_nobody_is_refused(home, value):
    with client_of(home, local=False, peer="10.1.2.3", **PROXY) as client:
        answer = client.get(READ, headers={"X-Forwarded-User": value})
        assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-proxy")
        two = [("X-Forwarded-User", "alice"), ("X-Forwarded-User", "root")]
        assert client.get(READ, headers=two).status_code == 400


def test_without_the_setting_the_header_says_nothing(home, exposed):
    assert exposed.get(READ, headers={"X-Forwarded-User": "alice"}).status_code == 401


# ---- how the service may start -------------------------------------------------------------------------

JWT = {
    "GROVE_SERVE_JWT_ISSUER": "https://id.example",
    "GROVE_SERVE_JWT_AUDIENCE": "grove",
    "GROVE_SERVE_JWT_KEYS": "/keys.json",
}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_only_a_loopback_address_without_others_is_local(tmp_path, host):
    def settings(**more: str) -> Any:
        return settings_of(tmp_path).from_env({"GROVE_HOME": str(tmp_path), **more})

    assert is_local(settings(), host)
    assert not is_local(settings(), "0.0.0.0")
    for others in (PROXY, JWT, {"GROVE_SERVE_HOSTS": "grove.example.org"}):
        assert not is_local(settings(**others), host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_others_are_not_served_before_somebody_could_show_who_they_are(tmp_path, host):
    settings = settings_of(tmp_path)
    with pytest.raises(SettingsError, match="grove token create NAME --scope read,score"):
        check_who_may(settings, host)
    check_who_may(settings, "127.0.0.1")
    for others in (PROXY, JWT):
        check_who_may(settings.from_env({"GROVE_HOME": str(tmp_path), **others}), host)
    token_of(tmp_path, "short", "read", lasts_s=-1)
    token_of(tmp_path, "revoked", "read")
    revoke(tmp_path, "revoked")
    with pytest.raises(SettingsError):
        check_who_may(settings, host)
    token_of(tmp_path, "live", "read")
    check_who_may(settings, host)


@pytest.mark.parametrize(
    "host", ["", "example.com", "127.1", "1.2.3.4:80", "[::1", "0x7f000001", "::1\n", "[1.2.3.4]"]
)
def test_a_host_is_an_address(host):
    with pytest.raises(SettingsError, match="is not an address of this machine"):
        bare_address(host)


# ---- limits, bodies and the log ------------------------------------------------------------------------


def test_each_actor_has_a_limit_of_requests_and_all_anonymous_ones_of_an_address_one(home):
    with client_of(home, Limits(requests_per_second=5), local=False) as client:
        a, b = (token_of(home, name, "read") for name in ("a", "b"))

        def refused(header: dict[str, str]) -> bool:
            return client.get("/about", headers=header).status_code == 429

        assert any(refused(a) for _ in range(20))
        assert not refused(b)
        assert not refused({})
        wrong = {"Authorization": "Bearer grove_" + "A" * 43}
        assert any(refused(wrong) for _ in range(20))
        assert refused({})
        assert not refused(b)
        elsewhere = TestClient(client.app, base_url=URL, client=("192.0.2.7", 1))
        assert elsewhere.get("/about").status_code == 200


def test_a_large_upload_of_somebody_who_may_not_is_refused_as_a_small_one(home):
    limits = Limits(requests_per_second=0, body_bytes=1_000, upload_bytes=100_000)
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid;parent\n'
    body += b"a;\n" * 2_000 + b"\r\n--x--\r\n"
    kind = {"content-type": "multipart/form-data; boundary=x"}

    def parts() -> Iterator[bytes]:
        for begin in range(0, len(body), 500):
            yield body[begin : begin + 500]

    with client_of(home, limits, local=False) as client:
        for header, status in (
            ({}, 401),
            (token_of(home, "r", "read"), 403),
            (token_of(home, "a", "admin"), 200),
        ):
            answer = client.post(VALIDATE, content=body, headers=kind | header)
            assert answer.status_code == status, answer.text
            assert client.post(VALIDATE, content=parts(), headers=kind | header).status_code == status


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """Return the audited fields of each line since the last call."""
    caplog.set_level(logging.INFO, "labelgrove.service.access.audit")

    def take() -> list[dict[str, Any]]:
        records = [record for record in caplog.records if record.name == "labelgrove.service.access.audit"]
        found = [{name: vars(one)[name] for name in FIELDS if name in vars(one)} for one in records]
        caplog.clear()
        return found

    return take


def test_one_line_says_who_changed_what_and_how_it_ended(home, exposed, logged):
    header = token_of(home, "ci", "read", "admin")
    reader = token_of(home, "reader", "read")
    answer = exposed.post(INGEST, files=FILE, headers=header)
    job = answer.json()["job"]
    shared = {"scope": "admin", "route": "POST /v1/ontologies/{ontology}/ingest", "ontology": "a"}
    assert logged() == [shared | {"actor": "token:ci", "job": job, "status": 202}]
    exposed.post(INGEST, files=FILE, headers=reader)
    exposed.post(INGEST, files=FILE)
    assert logged() == [
        shared | {"actor": "token:reader", "status": 403},
        shared | {"actor": "anonymous", "status": 401},
    ]
    exposed.get(READ, headers=header)
    exposed.get("/healthz")
    assert logged() == []
    page = {"ontology": "a", "action": "ingest"}
    exposed.post("/ingest", files=FILE, data=page, headers=header)
    assert logged() == [
        {"actor": "token:ci", "scope": "admin", "route": "POST /ingest", "job": job, "status": 200}
    ]


def test_a_path_cannot_forge_a_line_of_the_log(exposed, logged, caplog):
    for path in (
        "/v1/ontologies/x%0Aforged/ingest",
        f"/v1/jobs/{'y' * 3_000}/cancel",
        "/v1/jobs/a%20b/cancel",
    ):
        exposed.post(path)
    assert not any("\n" in record.getMessage() for record in caplog.records)
    lines = logged()
    assert [line.get("ontology", line.get("job")) for line in lines] == [
        "'x\\nforged'",
        f"'{'y' * 80}'",
        "'a b'",
    ]


def test_sessions_are_logged_without_what_opened_them(home, exposed, logged, caplog):
    header = token_of(home, "ci", "read")
    code = exposed.app.state.identity.sessions.new_link_code()
    exposed.get(f"/enter?code={code}", follow_redirects=False)
    owner = exposed.cookies[COOKIE]
    exposed.post("/sign-out")
    exposed.get(f"/enter?code={code}")
    sign_in_with(exposed, header)
    session = exposed.cookies[COOKIE]
    exposed.post("/sign-in", data={"token": "grove_" + "B" * 43})
    said = json.dumps([vars(record) for record in caplog.records], default=str)
    assert [(line["actor"], line["route"], line["status"]) for line in logged()] == [
        ("owner", "GET /enter", 303),
        ("owner", "POST /sign-out", 303),
        ("anonymous", "GET /enter", 410),
        ("token:ci", "POST /sign-in", 303),
        ("token:ci", "POST /sign-in", 401),
    ]
    for secret in (code, owner, session, header["Authorization"].removeprefix("Bearer "), "B" * 43):
        assert secret not in said


def test_a_job_says_who_asked_for_it(home, exposed):
    job = exposed.post(INGEST, files=FILE, headers=token_of(home, "ci", "admin", "read")).json()["job"]
    sign_in(exposed)
    assert exposed.get(f"/v1/jobs/{job}").json()["asked_by"] == "token:ci"
    assert "token:ci" in exposed.get(f"/jobs/{job}").text
    with Workspace.open(settings_of(home)) as workspace:
        assert jobs.status(workspace, job).asked_by == "token:ci"


def test_the_page_that_ingests_refuses_an_ontology_that_cannot_be_seen(home, exposed):
    header = token_of(home, "ci", "admin", "read", ontologies=["mine"])
    told = []
    for ontology in ("garden", "never-was"):
        page = exposed.post(
            "/ingest", files=FILE, data={"ontology": ontology, "action": "ingest"}, headers=header
        )
        assert "is not in the catalog" in page.text
        shown = page.text.replace('placeholder="garden"', "")
        told.append(shown.replace(ontology, "NAME"))
    assert told[0] == told[1]
    with Workspace.open(settings_of(home)) as workspace:
        assert jobs.list_jobs(workspace) == []
        assert workspace.catalog.names() == ["garden"]


def test_a_refusal_shows_no_secret(home, exposed):
    secrets = [
        "grove_" + "C" * 43,
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.",
        "hunter2",
        f"{9**12}.owner.{'a' * 64}",
    ]
    for secret in secrets:
        for headers in ({"Authorization": f"Bearer {secret}"}, {"Cookie": f"{COOKIE}={secret}"}):
            answer = exposed.get(READ, headers=headers)
            assert answer.status_code == 401
            assert secret not in answer.text + str(answer.headers)


def test_the_owner_has_every_scope_and_is_named_so(home, exposed):
    sign_in(exposed)
    assert ", ".join(sorted(SCOPES)) in exposed.get("/sign-in").text
    assert exposed.post(VALIDATE, files=FILE).status_code == 200

"""Who may: every route of the OpenAPI document, asked with every scope and with tokens that do not work."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.scopes import SCOPES
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.identity import Actor
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.workers import client as jobs
from labelgrove.workers.schedules.schedule import add_schedule
from tests.unit.service.service_cases import client_of, settings_of, sign_in, token_of

PAGE = (Path(__file__).parents[3] / "docs" / "service.md").read_text(encoding="utf-8")

OPEN = {"/healthz", "/readyz", "/about", "/v2", "/v2/health/live", "/v2/health/ready"}

LIMITS = Limits(requests_per_second=0, watchers=0)  # streams would not end
FREE = {"read", "score", "query"}

QUERY = {"key": "oak", "q": "oak", "name": "oak", "from": "oak", "to": "elm", "idx": "0"}


def _document() -> dict[str, Any]:
    with Workspace.open(settings_of(Path("/nowhere"))) as workspace:
        return make_app(workspace).openapi()


def _needed(operation: dict[str, Any]) -> str | None:
    found = [scope for one in operation.get("security", []) for scope in one["token"]]
    assert len(found) <= 1
    return found[0] if found else None


ROUTES = {
    f"{method.upper()} {path}": _needed(operation)
    for path, methods in _document()["paths"].items()
    for method, operation in methods.items()
}


@pytest.fixture(scope="module")
def home(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the filled home, with a job, bundle ``m`` and schedule of ``garden`` and of ``odd``."""
    home = tmp_path_factory.mktemp("scopes") / "home"
    shutil.copytree(filled, home)
    with Workspace.open(settings_of(home)) as workspace:
        for name in ("garden", "odd"):
            jobs.submit(workspace.seen_by("owner"), "cover", {"ontology": name})
            add_schedule(workspace, name, "0 0 * * *", "cover", {"ontology": name})
            jobs.build_bundle_job(workspace, name, "m", workspace.label_graph(name).keys.take([0, 1]))
    return home


@pytest.fixture(scope="module")
def tokens(home: Path) -> dict[str, dict[str, str]]:
    """A header for each scope, for tokens that do not work, and for one that sees another ontology."""
    made = {scope: token_of(home, scope, scope) for scope in SCOPES}
    made |= {"expired": token_of(home, "expired", *SCOPES, lasts_s=-1)}
    made |= {"revoked": token_of(home, "revoked", *SCOPES)}
    made |= {"other": token_of(home, "other", "read", "score", "work", "admin", ontologies=["odd"])}
    made |= {"none": {}, "unknown": {"Authorization": f"Bearer grove_{'A' * 43}"}}
    made |= {"all": token_of(home, "all", *SCOPES)}
    with Workspace.open(settings_of(home)) as workspace:
        Tokens(workspace.engine).revoke("revoked")
    return made


@pytest.fixture(scope="module")
def exposed(home: Path) -> Iterator[TestClient]:
    """A client of a service that others reach."""
    with client_of(home, LIMITS, local=False) as client:
        yield client


@pytest.fixture(scope="module")
def local(home: Path) -> Iterator[TestClient]:
    """A client of a service that only this machine reaches."""
    with client_of(home, LIMITS) as client:
        yield client


def named(ontology: str, job: str) -> dict[str, str]:
    """Return what stands for the parameters of paths."""
    return {
        "{ontology}": ontology,
        "{job}": job,
        "{bundle}": "m",
        "{schedule}": ontology,
        "{model}": f"{ontology}~m",
        "/versions/{version}": "/versions/00000000",
    }


def ask(client: TestClient, route: str, headers: dict[str, str], *, ontology: str = "garden") -> Any:
    """Send a request that is right for any route but for who sends it."""
    method, _, path = route.partition(" ")
    (job,) = (
        one["id"]
        for one in client.app.state.jobs_of[ontology]  # type: ignore[attr-defined]
    )
    for name, value in named(ontology, job).items():
        path = path.replace(name, value)
    sent: dict[str, Any] = {"headers": headers, "follow_redirects": False}
    if method == "GET":
        return client.get(path, params=QUERY if "/ontologies/" in path else {}, **sent)
    if path.endswith(("/ingest", "/validate")):
        return client.request(method, path, files={"file": ("a.csv", b"id;parent\na;\nb;a\n")}, **sent)
    # On another metric, a job computes what is reached, and that takes a further scope.
    body = {"statement": "RETURN 1 AS n", "metric": "tree"}
    return client.request(method, path, json=body, **sent)


@pytest.fixture(autouse=True, scope="module")
def _known_jobs(home: Path, exposed: TestClient, local: TestClient) -> None:
    with Workspace.open(settings_of(home)) as workspace:
        found = {
            name: [{"id": job.id} for job in jobs.list_jobs(workspace.seen_by("x", [name]), kind="cover")]
            for name in ("garden", "odd")
        }
    for client in (exposed, local):
        client.app.state.jobs_of = found  # type: ignore[attr-defined]


def test_the_manual_states_the_scope_of_each_route():
    named = re.findall(r"^\| `((?:GET|POST|DELETE|PUT) /[^`?]*)` \| (?:`(\w+)`)? ?\|", PAGE, re.M)
    told = {route: scope or None for route, scope in named}
    assert {route: told[route] for route in ROUTES} == ROUTES
    assert {route.partition(" ")[2] for route, needed in ROUTES.items() if needed is None} == OPEN


def test_every_scope_is_described():
    assert {*re.findall(r"^\| `(\w+)` \| [a-z]", PAGE.partition("## Who may ask")[2], re.M)} >= {*SCOPES}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_route_needs_its_scope_and_no_other(exposed, local, tokens, route, scope):
    for client in (exposed, local):
        answer = ask(client, route, tokens[scope])
        if ROUTES[route] in (None, scope):
            assert answer.status_code not in (401, 403), answer.text
            continue
        assert answer.status_code == 403
        assert answer.json()["type"] == "/reference#problem-scope"
        assert f"token:{scope} has {scope}" in answer.json()["detail"]
        assert answer.json()["next_step"].endswith(f"grove token create NAME --scope {ROUTES[route]}")
        challenge = f'Bearer error="insufficient_scope", scope="{ROUTES[route]}"'
        assert answer.headers["www-authenticate"] == challenge


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("token", ["none", "unknown", "expired", "revoked"])
def test_a_token_that_does_not_work_allows_nothing(exposed, tokens, route, token):
    answer = ask(exposed, route, tokens[token])
    if ROUTES[route] is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 401
    assert answer.json()["type"] == "/reference#problem-not-signed-in"
    assert f"--scope {ROUTES[route]}" in answer.json()["next_step"]
    challenge = "Bearer" if token == "none" else 'Bearer error="invalid_token"'
    assert answer.headers["www-authenticate"] == challenge
    if token != "none":
        assert tokens[token]["Authorization"].removeprefix("Bearer grove_") not in answer.text


@pytest.mark.parametrize("route", ROUTES)
def test_on_one_machine_everybody_may_read_and_a_token_that_does_not_work_may_not(local, tokens, route):
    free = ROUTES[route] in (None, *FREE)
    assert (ask(local, route, {}).status_code != 401) is free
    for token in ("unknown", "expired", "revoked"):
        assert (ask(local, route, tokens[token]).status_code == 401) is (ROUTES[route] is not None)


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route])
def test_what_a_token_may_not_see_is_answered_as_if_it_did_not_exist(exposed, tokens, route):
    answer = ask(exposed, route, tokens["other"])
    assert answer.status_code == 404, answer.text
    told = re.sub(r"'garden(/m(@0+)?)?'|grove ingest garden", "", answer.text)  # what was asked for
    assert "garden" not in told
    method, _, path = route.partition(" ")
    for name, value in named("absent", "0" * 64).items():
        path = path.replace(name, value)
    absent = exposed.request(
        method,
        path,
        params=QUERY,
        files={"file": ("a.csv", b"id;parent\na;\n")} if "POST" in route else None,
        headers=tokens["other"],
    )
    assert absent.status_code == 404
    garden = exposed.app.state.jobs_of["garden"][0]["id"]
    assert answer.text.replace("garden", "absent").replace(garden, "0" * 64) == absent.text


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route])
def test_what_it_may_see_is_answered(exposed, tokens, route):
    answer = ask(exposed, route, tokens["other"], ontology="odd")
    assert answer.status_code not in (401, 403), answer.text
    old = "versions/{version}" in route  # of a bundle, only the newest is answered
    assert answer.status_code != 404 or old or answer.json()["type"].endswith("unknown-label")


def test_others_are_left_out_of_lists(exposed, tokens):
    assert [
        one["ontology"] for one in exposed.get("/v1/ontologies", headers=tokens["other"]).json()["items"]
    ] == ["odd"]
    assert exposed.get("/v1/ontologies", headers=tokens["read"]).json()["total"] == 4
    bundles = exposed.get("/v1/bundles", headers=tokens["other"]).json()["items"]
    assert [one["bundle"] for one in bundles] == ["odd/m"]
    models = exposed.post("/v2/repository/index", headers=tokens["other"]).json()
    assert [one["name"] for one in models] == ["odd~m"]
    for stale in ("false", "true"):
        found = exposed.get("/v1/jobs", params={"stale": stale}, headers=tokens["other"]).json()["items"]
        garden = exposed.app.state.jobs_of["garden"][0]["id"]
        assert garden not in [one["id"] for one in found]
    for page in ("/", "/jobs"):
        assert "garden" not in exposed.get(page, headers=tokens["other"]).text


def test_marks_of_a_job_that_cannot_be_seen_are_not_shown(exposed, tokens):
    garden = exposed.app.state.jobs_of["garden"][0]["id"]
    for marks in (garden, "0" * 64):
        answer = exposed.get("/v1/ontologies/odd/map", params={"marks": marks}, headers=tokens["other"])
        assert answer.status_code == 404
        assert answer.json()["detail"] == f"there is no job '{marks}'; `grove jobs list` shows all jobs"


def test_a_version_that_cannot_be_seen_is_not_opened_even_if_it_is_kept_open(exposed):
    shared = exposed.app.state.shared
    assert shared.versions.open("garden").version.ontology == "garden"
    seen = shared.seen_by(Actor("token:x", frozenset(), frozenset(["odd"])))
    assert seen.versions.open("odd").version.ontology == "odd"
    with pytest.raises(NotFoundError, match="known: odd"):
        seen.versions.open("garden")


def test_a_restricted_token_cannot_query_whatever_its_row_says(home, exposed):
    header = token_of(home, "edited", "read", "query")
    with Workspace.open(settings_of(home)) as workspace, workspace.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE token SET ontologies_json = '[\"odd\"]' WHERE name = 'edited'")
    for route in ("POST /v1/cypher", "GET /v1/recipes"):
        answer = ask(exposed, route, header)
        assert answer.status_code == 403
        assert "a query reads the whole graph" in answer.json()["detail"]


def test_every_page_needs_a_session_and_leads_to_the_page_for_it(exposed, home):
    garden = exposed.app.state.jobs_of["garden"][0]["id"]
    pages = [
        "/",
        "/jobs",
        f"/jobs/{garden}",
        f"/jobs/{garden}/result",
        f"/jobs/{garden}/result.csv",
        "/cypher",
        "/ingest",
        "/o/garden",
        "/o/garden/label?key=oak",
        "/o/garden/search?q=oak",
    ]
    for page in pages:
        answer = exposed.get(page, follow_redirects=False)
        assert answer.status_code == 303, page
        assert answer.headers["location"].startswith("/sign-in?next=%2F"), page
    for page in ("/sign-in", "/reference"):
        assert exposed.get(page, follow_redirects=False).status_code == 200
    with client_of(home, local=False) as client:
        sign_in(client)
        for page in pages:
            assert client.get(page, follow_redirects=False).status_code == 200, page


def test_every_page_states_a_scope():
    with Workspace.open(settings_of(Path("/nowhere"))) as workspace:
        app = make_app(workspace)
    open_ = set()
    for route in app.routes:
        if isinstance(route, APIRoute):
            calls = {getattr(one.call, "__name__", "") for one in route.dependant.dependencies}
            if "_allowed" not in calls:
                open_.add(route.path)
    assert open_ == {"/sign-in", "/sign-out", "/enter", "/reference", *OPEN}

"""The command line and the REST interface give the same documents about the same home.

What is enclosed differently is written down here, once: `BARE` are the commands that print a list without
``total``, and `FURTHER` are entries that only REST has.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from tests.unit.service.service_cases import ODD_KEYS, client_of, sign_in

BARE = {"ontology list", "jobs list", "jobs logs"}
"""Commands that print the ``items`` of a REST list alone."""

FURTHER = {"ontology show": {"state_tag"}, "labels search": {"close"}}
"""Entries of REST documents that the command line does not print: it has no caches, and writes to stderr."""

LABELS = [
    ("labels show garden oak", "ontologies/garden/label?key=oak"),
    ("labels show garden elm", "ontologies/garden/label?key=elm"),
    ("labels search garden o", "ontologies/garden/labels?q=o"),
    ("labels search garden eiche --facets", "ontologies/garden/labels?q=eiche&facets=true"),
    ("labels search garden e --under tree --leaf", "ontologies/garden/labels?q=e&under=tree&leaf=true"),
    ("labels search garden e --inner --depth 1", "ontologies/garden/labels?q=e&leaf=false&depth=1"),
    ("labels search garden e --language de", "ontologies/garden/labels?q=e&language=de"),
    ("labels search garden e --current", "ontologies/garden/labels?q=e&deprecated=false"),
    ("labels search wide c --limit 3", "ontologies/wide/labels?q=c&limit=3"),
    ("labels children garden tree", "ontologies/garden/children?key=tree"),
    ("labels children wide many --limit 7", "ontologies/wide/children?key=many&limit=7"),
    ("labels siblings garden oak", "ontologies/garden/siblings?key=oak"),
    ("labels descendants garden plant", "ontologies/garden/descendants?key=plant"),
    ("labels ancestors garden oak", "ontologies/garden/ancestors?key=oak"),
    ("labels path garden oak elm", "ontologies/garden/path?from=oak&to=elm"),
    ("labels path grid 0,0 1,1", "ontologies/grid/path?from=0,0&to=1,1"),
    ("labels lca garden oak elm", "ontologies/garden/lca?from=oak&to=elm"),
    ("ontology list", "ontologies"),
    ("ontology show garden", "ontologies/garden"),
    ("ontology show grid", "ontologies/grid"),
    ("jobs list", "jobs"),
    ("jobs list --state done --limit 1", "jobs?state=done&limit=1"),
    ("jobs list --stale", "jobs?stale=true"),
]


@pytest.fixture(scope="module")
def both(filled, tmp_path_factory):
    """Return a function that runs a command and returns its document, and a client, both of one home."""
    home = tmp_path_factory.mktemp("twins") / "home"
    shutil.copytree(filled, home)

    def run(*arguments: str, code: int = 0) -> Any:
        done = CliRunner().invoke(grove, [*arguments, "--json"], env={"GROVE_HOME": str(home)})
        assert done.exit_code == code, (arguments, done.output, done.exception)
        return json.loads(done.stdout)

    with client_of(home) as client:
        sign_in(client)
        yield run, client


@pytest.fixture(scope="module")
def job(both):
    """The id of a job that is done."""
    run, _ = both
    submitted = run("jobs", "submit", "cover", "--param", "ontology=wide")
    assert submitted["state"] == "done"
    return submitted["id"]


def same(command: str, printed: Any, answered: Any) -> bool:
    """Return whether the documents are equal but for what `BARE` and `FURTHER` name."""
    if command in BARE:
        return bool(answered["items"] == printed and answered["total"] >= len(printed))
    more = FURTHER.get(command, set())
    return bool({k: v for k, v in answered.items() if k not in more} == printed)


@pytest.mark.parametrize(("command", "url"), LABELS, ids=[command for command, _ in LABELS])
def test_a_command_and_its_route_give_the_same_document(both, command, url):
    run, client = both
    words = command.split()
    answered = client.get(f"/v1/{url}").json()
    empty = words[:2] == ["labels", "search"] and not answered["total"]
    printed = run(*words, code=4 if empty else 0)
    assert same(" ".join(words[:2]), printed, answered)


@pytest.mark.parametrize("key", ODD_KEYS, ids=range(len(ODD_KEYS)))
def test_odd_keys_give_the_same_document_too(both, key):
    run, client = both
    answered = client.get("/v1/ontologies/odd/label", params={"key": key}).json()
    assert run("labels", "show", "odd", key) == answered


def test_the_pages_of_a_list_have_the_same_cursors(both):
    run, client = both
    url, after = "/v1/ontologies/wide/children?key=many&limit=1000", ""
    while after is not None:
        answered = client.get(url + (f"&after={after}" if after else "")).json()
        options = ["--after", after] if after else []
        assert run("labels", "children", "wide", "many", "--limit", "1000", *options) == answered
        after = answered["next"]


@pytest.mark.parametrize(
    ("command", "route"),
    [("jobs show", "jobs/{}"), ("jobs logs", "jobs/{}/units"), ("jobs result", "jobs/{}/result")],
)
def test_a_job_is_told_in_the_same_way(both, job, command, route):
    run, client = both
    for beginning in (job, job[:8]):
        printed = run(*command.split(), beginning)
        assert same(command, printed, client.get(f"/v1/{route.format(beginning)}").json())


def test_a_version_that_is_no_longer_current_is_told_in_the_same_way(both):
    run, client = both
    old, new = (one["digest"] for one in client.get("/v1/ontologies/garden/versions").json()["items"])
    for digest in (old, new, old[:6]):
        answered = client.get(f"/v1/ontologies/garden?version={digest}").json()
        assert same("ontology show", run("ontology", "show", f"garden@{digest}"), answered)
        shown = client.get(f"/v1/ontologies/garden/label?key=oak&version={digest}").json()
        assert run("labels", "show", f"garden@{digest}", "oak") == shown


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (l:Label {version: $version}) RETURN l.key, l.depth, l.leaf ORDER BY l.idx",
        "MATCH (l:Label {version: $version}) RETURN l.idx AS idx ORDER BY idx LIMIT 1",
        "RETURN 0.0 / 0.0 AS nothing, null AS absent, [1, 2] AS list",
    ],
)
def test_a_query_gives_the_same_rows(both, statement):
    run, client = both
    answered = client.post("/v1/cypher", json={"statement": statement, "ontology": "garden"})
    if "$version" not in statement:
        answered = client.post("/v1/cypher", json={"statement": statement})
        assert run("cypher", statement) == answered.json()
    else:
        assert run("cypher", statement, "--ontology", "garden") == answered.json()
    few = client.post("/v1/cypher", json={"statement": "UNWIND [1, 2, 3] AS n RETURN n", "max_rows": 2})
    assert run("cypher", "UNWIND [1, 2, 3] AS n RETURN n", "--max-rows", "2") == few.json()


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        ("id;name;parent\na;A;\nb;B;a\n", {}, 0),
        ("id;name;parent\na;A;\nb;B;zz\n", {}, 3),
        ("id;name;parent\nr;R;\na;A;b\nb;B;a\n", {}, 3),
        ("id;name;parent\nr;R;\na;A;b\nb;B;a\n", {"policy": ["cycle=fix", "roots=virtual"]}, 0),
        ("child,parent\nb,a\nb,a\n", {"format": "edges", "policy": ["duplicate-edge=error"]}, 3),
    ],
    ids=range(5),
)
def test_a_hierarchy_is_judged_in_the_same_way(both, tmp_path, monkeypatch, content, options, code):
    run, client = both
    monkeypatch.chdir(tmp_path)
    (tmp_path / "animals.csv").write_text(content)
    words = [f"--{k}={v}" for k, given in options.items() for v in ([given] if k == "format" else given)]
    printed = run("ontology", "validate", "animals.csv", *words, code=code)
    sent = client.post(
        "/v1/ontologies/animals/validate", files={"file": ("animals.csv", content.encode())}, data=options
    )
    assert sent.json() == printed


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        ("json", "garden"),
        ("records", "garden"),
        ("edges", "garden"),
        ("skos", "garden"),
        ("obo", "garden"),
        ("graphml", "garden"),
        ("outline", "wide"),
    ],
)
def test_an_export_has_the_same_text(both, filled, format_, name):
    _, client = both
    words = ["ontology", "export", name, "--format", format_, "--leave-out"]
    written = CliRunner().invoke(grove, words, env={"GROVE_HOME": str(filled)})
    assert written.exit_code == 0, written.output
    sent = client.get(f"/v1/ontologies/{name}/export?format={format_}&leave_out=true")
    assert sent.text.rstrip("\n") == written.stdout.rstrip("\n")
    assert sent.headers["content-disposition"].startswith(f'attachment; filename="{name}.')


@pytest.mark.parametrize(("format_", "name"), [("outline", "garden"), ("skos", "garden"), ("obo", "grid")])
def test_what_a_format_cannot_hold_is_refused_before_the_first_byte(both, filled, format_, name):
    _, client = both
    words = ["ontology", "export", name, "--format", format_]
    refused = CliRunner().invoke(grove, words, env={"GROVE_HOME": str(filled)})
    sent = client.get(f"/v1/ontologies/{name}/export?format={format_}")
    assert (sent.status_code, sent.json()["exit_code"]) == (400, refused.exit_code)

"""The command line and the REST interface give the same documents about the same home.

What is enclosed differently is written down here, once: `BARE` are the commands that print a list without
``total``, and `FURTHER` are entries that only REST has.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.workers import client as jobs_client
from tests.unit.service.service_cases import ODD_KEYS, client_of, fill, settings_of, sign_in

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
def both(tmp_path_factory):
    """Return a function that runs a command and returns its document, and a client, both of one home."""
    home = tmp_path_factory.mktemp("twins") / "home"
    fill(home)

    def run(*arguments: str, code: int = 0) -> Any:
        done = CliRunner().invoke(grove, [*arguments, "--json"], env={"GROVE_HOME": str(home)})
        assert done.exit_code == code, (arguments, done.output, done.exception)
        return json.loads(done.stdout)

    run("cover", "garden", "--job") if False else None
    with client_of(home) as client:
        sign_in(client)
        yield run, client


def same(command: str, printed: Any, answered: Any) -> bool:
    """Return whether the documents are equal but for what `BARE` and `FURTHER` name."""
    if command in BARE:
        return bool(answered["items"] == printed and answered["total"] == len(printed))
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

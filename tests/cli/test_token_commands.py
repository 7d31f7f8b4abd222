"""`grove token`: a token is printed once, alone on stdout, and what is listed shows none."""

from __future__ import annotations

import json


def test_a_token_is_printed_once_and_listed_without_it(call):
    created = call("token", "create", "ci", "--scope", "score,read", "--ontology", "garden")
    secret = created.stdout.strip()
    assert secret.startswith("grove_")
    assert "token ci allows read, score until" in created.stderr
    assert secret not in created.stderr
    (listed,) = json.loads(call("token", "list", "--json").stdout)
    assert (listed["name"], listed["state"], listed["scopes"]) == ("ci", "live", ["read", "score"])
    assert listed["ontologies"] == ["garden"]
    assert secret not in str(listed) + call("token", "list").stdout


def test_a_token_as_json_has_what_the_list_says_and_the_token(call):
    created = json.loads(call("token", "create", "ci", "--expires", "never", "--json").stdout)
    assert created.pop("token").startswith("grove_")
    assert created["expires_at"] is None
    assert [created] == json.loads(call("token", "list", "--json").stdout)


def test_a_revoked_token_stays_listed(call):
    call("token", "create", "ci")
    assert "its sessions have ended" in call("token", "revoke", "ci").stdout
    assert json.loads(call("token", "revoke", "ci", "--json").stdout)["state"] == "revoked"
    assert "revoked" in call("token", "list").stdout
    assert "one token forever" in call("token", "create", "ci", code=1).stderr


def test_what_cannot_be_is_refused_with_the_next_step(call):
    assert "give one or more of read, score" in call("token", "create", "x", "--scope", "all", code=2).stderr
    assert "such as 12h, 90d or 2w" in call("token", "create", "x", "--expires", "90", code=2).stderr
    query = ("token", "create", "x", "--scope", "query", "--ontology", "a")
    assert "leave out query, or allow all ontologies" in call(*query, code=2).stderr
    assert "see: grove token list" in call("token", "revoke", "x", code=4).stderr


def test_a_job_of_a_command_records_who_ran_it(call, tmp_path):
    import getpass
    import socket

    (tmp_path / "garden.csv").write_text("parent,child\nplant,tree\ntree,oak\n")
    call("ingest", "garden", str(tmp_path / "garden.csv"))
    call("jobs", "submit", "cover", "--param", "ontology=garden")
    (job,) = json.loads(call("jobs", "list", "--kind", "cover", "--json").stdout)
    assert job["asked_by"] == f"{getpass.getuser()}@{socket.gethostname()}"
    assert job["asked_by"] in call("jobs", "show", job["id"]).stdout

"""Commands take the version that is named, and say what is meant where a name or a key is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labelgrove.ontology import read

OLD = "key,name,parent\nfood,food,\nfruit,fruit,food\napple,apple,fruit\nherb,herb,food\n"
NEW = OLD + "pear,pear,fruit\n"


@pytest.fixture
def call(call, filled_home):
    def fill():
        for text in (OLD, NEW):
            Path("food.csv").write_text(text)
            call("ingest", "food", "food.csv")

    filled_home(fill)
    Path("food.csv").write_text(NEW)
    return call


def versions(call) -> tuple[str, str]:
    """Return the digests of the earlier and the current version."""
    shown = json.loads(call("ontology", "show", "food", "--json").stdout)
    (old,) = (v["digest"] for v in shown["versions"] if not v["current"])
    return old, shown["digest"]


@pytest.mark.parametrize(
    "command",
    [
        ("cover", "{}"),
        ("locus", "{}", "--observed", "apple,herb"),
        ("summarize", "{}", "--target", "2"),
    ],
)
def test_a_command_on_the_geometry_takes_the_version_that_is_named(command, call):
    old, new = versions(call)
    for at, digest in {"food": new, f"food@{old[:12]}": old, f"food@{new}": new}.items():
        found = json.loads(call(*(word.format(at) for word in command), "--json").stdout)
        assert (found["ontology"], found["digest"]) == ("food", digest)


def test_labels_and_exports_of_the_version_that_is_named(call):
    old, _ = versions(call)
    for at, n in {"food": 2, f"food@{old[:8]}": 1}.items():
        assert json.loads(call("labels", "children", at, "fruit", "--json").stdout)["total"] == n
        assert json.loads(call("ontology", "show", at, "--json").stdout)["n_labels"] == 3 + n
        call("ontology", "export", at, "--out", "copy.tsv")
        assert read("copy.tsv").graph.n_labels == 3 + n
        rows = call(
            "cypher", "--ontology", at, "MATCH (l:Label {version: $version}) RETURN count(l)", "--csv"
        )
        assert rows.stdout.split()[-1] == str(3 + n)
    assert "has no version '00000000'" in call("cover", "food@00000000", code=4).stderr


def test_where_a_name_alone_is_taken_that_is_said(call):
    old, _ = versions(call)
    refused = call("ingest", f"food@{old[:8]}", "food.csv", code=2).stderr
    assert "leave out the @ and what follows" in refused


@pytest.mark.parametrize("name", ["food@0bb4", "Food"])
def test_only_what_would_be_a_name_is_told_to_leave_the_version_out(name, call):
    said = call("ontology", "delete", name, "--yes", code=2).stderr
    assert ("leave out the @ and what follows" in said) == ("@" in name)


def test_cypher_completes_a_version_and_refuses_one_that_is_not_there(call):
    old, new = versions(call)
    count = "MATCH (l:Label {version: $version}) RETURN count(l)"
    for digest, n in {old[:12]: 4, old: 4, new[:12]: 5}.items():
        assert call("cypher", count, "-p", f"version={digest}", "--csv").stdout.split()[-1] == str(n)
    for wrong in ("0" * 12, "0" * 64, ""):
        said = call("cypher", count, "-p", f"version={wrong}", code=4).stderr
        assert old[:12] in said
        assert new[:12] in said
    assert "give --ontology NAME" in call("cypher", count, code=2).stderr
    assert call("cypher", "RETURN $version", "-p", "version:=7", "--csv").stdout.split()[-1] == "7"


def test_an_export_is_in_the_format_that_the_file_is_called_by(call):
    call("ontology", "export", "food", "--out", "food.json")
    assert json.loads(Path("food.json").read_text())["format"].startswith("labelgrove/export/")
    call("ontology", "export", "food", "--out", "food")
    assert Path("food").read_text() == Path("food.json").read_text()
    for name, start in {
        "food.tsv": ("key\t", "child\t"),
        "food.ttl": "@prefix",
        "food.obo": "format-version: 1.4",
        "food.graphml": "<?xml",
    }.items():
        call("ontology", "export", "food", "--out", name)
        assert Path(name).read_text().startswith(start)
    call("ontology", "export", "food", "--out", "other.txt", "--format", "json")
    assert json.loads(Path("other.txt").read_text())["labels"]
    for name, given in {"new.json": "edges", "new.tsv": "json"}.items():
        assert (
            f"contradicts --format {given}"
            in call("ontology", "export", "food", "--out", name, "--format", given, code=2).stderr
        )
        assert not Path(name).exists()
    refused = call("ontology", "export", "food", "--out", "safe.json", "--spreadsheet-safe", code=2)
    assert "--format edges" in refused.stderr


def test_a_job_is_listed_with_the_ontology_it_was_asked_for(call):
    Path("food.csv").write_text(NEW)
    call("ingest", "alike", "food.csv")
    call("ingest", "zest", "food.csv")
    call("bundle", "build", "food", "mine", "--observed", "apple,herb")
    call("jobs", "submit", "cover", "--param", "ontology=food")
    rows = {line.split()[1]: line for line in call("jobs", "list").stdout.splitlines()[2:]}
    assert rows["bundle"].split()[2] == "food"
    assert " alike, food, zest " in rows["cover"]


def test_a_key_that_is_not_there_comes_with_the_command_that_finds_it(call):
    for command in (("children", "food"), ("ancestors", "food"), ("path", "food", "apple")):
        said = call("labels", *command, "an apple", code=4).stderr
        assert "search for a part of it: grove labels search food 'an apple'" in said


def test_a_search_without_a_hit_shows_what_is_close(call):
    found = call("labels", "search", "food", "Appel", "--json", code=4)
    assert json.loads(found.stdout)["items"] == []
    assert found.stderr == "nothing found; close to it: apple\n"
    assert call("labels", "search", "food", "apple").stderr == ""
    assert call("labels", "search", "food", "xyzzy", code=4).stderr == "nothing found\n"


def test_a_home_that_is_a_file_is_named_by_its_variable(call, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(Path("food.csv").absolute()))
    for command in (("ontology", "list"), ("doctor",)):
        assert "GROVE_HOME" in (said := call(*command, code=2).stderr)
        assert "is a file; name a folder" in said


def test_doctor_names_a_file_of_settings_where_there_is_one(call):
    assert "environment and .env" not in call("doctor").stdout
    Path(".env").write_text("")
    assert "environment and .env" in call("doctor").stdout


def test_one_label_is_counted_as_one(call):
    Path("one.csv").write_text("key,parent\nfood,\n")
    assert ": 1 label, 0 edges (" in call("ingest", "one", "one.csv").stdout

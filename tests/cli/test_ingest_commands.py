"""`grove ingest`, `ontology validate`, `show` and `export`: what they say, and what they refuse."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.readers.foreign_samples import FOREIGN, JSON_DOCUMENTS

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"
OTHER = "parent,child\nplant,tree\ntree,oak\n"


def digest(call, name: str = "garden") -> str:
    return json.loads(call("ontology", "show", name, "--json").stdout)["digest"]


@pytest.fixture
def garden(call, filled_home):
    Path("garden.csv").write_text(EDGES)
    filled_home(lambda: call("ingest", "garden", "garden.csv"))
    return call


def test_no_foreign_file_replaces_an_ontology(garden):
    before = digest(garden)
    files = [(name, held[0], ()) for name, held in FOREIGN.items()]
    documents = [(name, json.dumps(held[0]).encode()) for name, held in JSON_DOCUMENTS.items()]
    for name, content, options in [*files, *((*document, ("--format", "json")) for document in documents)]:
        Path("foreign").write_bytes(content)
        allowed = ("--shrink", "--policy", "all=fix", "--policy", "roots=virtual")
        result = garden("ingest", "garden", "foreign", *options, *allowed, code=3)
        assert f"this looks like {name}" in result.stderr
        assert garden("ontology", "validate", "foreign", *options, code=3).stdout.count("foreign-file") == 1
    assert digest(garden) == before


def test_an_ingest_says_what_became_current_in_place_of_what(call):
    Path("garden.csv").write_text(EDGES)
    said = [call("ingest", "garden", "garden.csv").stdout]
    first = digest(call)[:12]
    Path("other.csv").write_text(OTHER)
    said += [call("ingest", "garden", "other.csv").stdout]
    second = digest(call)[:12]
    said += [call("ingest", "garden", source).stdout for source in ("garden.csv", "garden.csv")]
    assert [line.partition(": ")[0] for line in said] == [
        f"garden is now version {first}",
        f"garden is now version {second}, in place of {first}",
        f"garden is version {first} again, in place of {second}",
        f"garden already was version {first}",
    ]


def test_the_same_stands_in_the_json_document(garden):
    first = digest(garden)
    Path("other.csv").write_text(OTHER)
    second = json.loads(garden("ingest", "garden", "other.csv", "--json").stdout)
    third = json.loads(garden("ingest", "garden", "garden.csv", "--json").stdout)
    fourth = json.loads(garden("ingest", "garden", "garden.csv", "--json").stdout)
    assert (second["created"], second["replaced"]) == (True, first)
    assert (third["created"], third["replaced"], third["digest"]) == (False, second["digest"], first)
    assert (fourth["created"], fourth["replaced"]) == (False, None)


def test_show_marks_the_current_version(garden):
    Path("other.csv").write_text(OTHER)
    garden("ingest", "garden", "other.csv")
    garden("ingest", "garden", "garden.csv")
    shown = json.loads(garden("ontology", "show", "garden", "--json").stdout)
    assert [(v["n_labels"], v["current"]) for v in shown["versions"]] == [(5, True), (3, False)]
    lines = garden("ontology", "show", "garden").stdout.splitlines()
    (marked,) = (line for line in lines if line.split()[1:2] == ["yes"])
    assert marked.split()[0] == shown["digest"][:12]


def test_an_unchanged_source_is_told_with_its_earlier_report(call):
    Path("twins.csv").write_text("key,parent,name\nr,,Root\na,r,same\nb,r,same\n")
    first = call("ingest", "twins", "twins.csv")
    again = call("ingest", "twins", "twins.csv")
    assert "duplicate-name (1)" in first.stderr
    assert first.stderr in again.stderr
    said = again.stderr.splitlines()[0]
    assert said.startswith("twins.csv is unchanged since it was read at 20")
    assert said.endswith("Z, so it is not read again; its report from then:")
    document = json.loads(call("ingest", "twins", "twins.csv", "--json").stdout)
    assert document["unchanged_since"] in said
    assert document["report"]["defects"][0]["code"] == "duplicate-name"
    fresh = json.loads(call("ingest", "other", "twins.csv", "--json").stdout)
    assert fresh["unchanged_since"] is None


def test_each_defect_is_printed_once(call):
    Path("bad.csv").write_text("parent,child\na,b\nb,a\nc,c\n")
    for arguments in (("ingest", "bad", "bad.csv"), ("ontology", "validate", "bad.csv")):
        output = call(*arguments, code=3).output
        for line in ("bad.csv:3: a > b > a", "bad.csv:4: c", "error cycle (1)", "error self-loop (1)"):
            assert output.count(line) == 1, output
    assert call("ingest", "bad", "bad.csv", code=3).stderr.endswith(
        "error: 4 errors, listed above; nothing was ingested\n"
    )


def test_a_document_that_holds_the_report_is_not_printed_beside_it(call):
    Path("twins.csv").write_text("key,parent,name\nr,,Root\na,r,same\nb,r,same\n")
    result = call("ingest", "twins", "twins.csv", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["report"]["defects"][0]["code"] == "duplicate-name"


def test_less_than_half_of_the_labels_needs_an_option(garden):
    Path("tiny.csv").write_text("a,b\n")
    before = digest(garden)
    for more in ((), ("--detach",), ("--json",)):
        result = garden("ingest", "garden", "tiny.csv", *more, code=2)
        assert "'garden' has 5 labels, and would have 2" in result.stderr
        assert "--shrink" in result.stderr
    assert digest(garden) == before
    assert json.loads(garden("jobs", "list", "--json").stdout) == []
    document = json.loads(garden("ingest", "garden", "tiny.csv", "--shrink", "--json").stdout)
    assert document["replaced"] == before


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
def test_a_terminal_is_asked(garden, answer, code):
    Path("tiny.csv").write_text("a,b\n")
    before = digest(garden)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "labelgrove", "ingest", "garden", "tiny.csv"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, answer.encode())
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # what Linux says at the end
                break
            if not part:
                break
            seen += part
        assert process.stdout is not None
        assert (before[:12].encode() in process.stdout.read()) == (code == 0)
    os.close(ours)
    assert process.returncode == code
    assert b"'garden' has 5 labels, and would have 2" in seen
    assert (digest(garden) == before) == (code == 1)


def test_a_relation_and_semicolons_from_the_command_line(call):
    Path("parts.csv").write_text("child;parent;relation\nb;a;is_a\nc;a;part_of\n")
    assert "several-relations" in call("ingest", "parts", "parts.csv", code=3).stderr
    call("ingest", "parts", "parts.csv", "--relation", "is_a", "--delimiter", "semicolon")
    assert json.loads(call("ontology", "show", "parts", "--json").stdout)["n_labels"] == 2


def test_obo_with_two_relations_and_a_namespace_from_the_command_line(call):
    term = "[Term]\nid: {}\nname: {}\nnamespace: {}\n"
    Path("zoo.obo").write_text(
        term.format("X:1", "animal", "body")
        + term.format("X:2", "tail", "body")
        + "relationship: part_of X:1\n"
        + term.format("X:3", "running", "process")
    )
    assert "a new root was added" in call("ingest", "zoo", "zoo.obo").stderr
    call("ingest", "zoo", "zoo.obo", "--relation", "is_a,part_of", "--namespace", "body")
    shown = json.loads(call("ontology", "show", "zoo", "--json").stdout)
    assert (shown["n_labels"], shown["n_edges"]) == (2, 1)


def test_a_sheet_becomes_a_named_ontology_with_one_command(call):
    Path("tiere.csv").write_bytes(
        "\ufeffid;name;parent;synonyms\r\n1;Tier;;\r\n2;Hund;Tier;Haushund|Canis lupus\r\n;;;\r\n".encode()
    )
    call("ingest", "tiere", "tiere.csv")
    document = json.loads(call("ontology", "export", "tiere", "--format", "json").stdout)
    assert [(one["key"], one["name"]) for one in document["labels"]] == [("1", "Tier"), ("2", "Hund")]
    assert [(one["child"], one["parent"]) for one in document["edges"]] == [("2", "1")]


def test_columns_separators_and_levels_from_the_command_line(call):
    Path("taxa.csv").write_text("Code;Titel;Ober;Stufe\na;A;;genus\nb;B;a;section\nc;C;a/b;species\n")
    columns = ("key=Code", "name=Titel", "parent=Ober", "level=Stufe")
    chosen = [word for column in columns for word in ("--column", column)]
    more = ("--separator", "/", "--level", "genus", "--level", "species")
    call("ingest", "taxa", "taxa.csv", "--format", "records", *chosen, *more)
    document = json.loads(call("ontology", "export", "taxa", "--format", "json").stdout)
    assert [(one["child"], one["parent"]) for one in document["edges"]] == [("c", "a")]
    refused = call("ingest", "taxa", "taxa.csv", "--format", "records", "--column", "key", code=2)
    assert "write ROLE=WORD, for example key=Code" in refused.stderr


@pytest.mark.parametrize("format", ["edges", "json"])
def test_an_export_is_ingested_as_the_same_version(call, format):
    Path("pets.csv").write_text("key,parent,name,definition\nr,,Pets,kept\n#1,r,Rex,barks\n")
    call("ingest", "pets", "pets.csv")
    call("ontology", "export", "pets", "--format", format, "--out", "copy")
    assert "already was" in call("ingest", "pets", "copy").stdout
    call("ingest", "copy", "copy", *(("--format", "json") if format == "json" else ()))
    assert digest(call, "copy") == digest(call, "pets")
    copies = [call("ontology", "export", name, "--format", format).stdout for name in ("pets", "copy")]
    assert copies[0].replace('"pets"', '"copy"') == copies[1]


def test_a_sheet_with_unknown_words_is_read_with_columns_named(call):
    Path("tiere.csv").write_bytes(
        "\ufeffNummer;Bezeichnung;Oberbegriff;Quelle\r\n1;Tiere;;x\r\n2;Säugetiere;1;x\r\n".encode()
    )
    refused = call("ingest", "tiere", "tiere.csv", code=3).stderr
    assert "use --column key=WORD --column parent=WORD" in refused
    assert "--format paths --separator ';'\n" in refused
    columns = ("key=Nummer", "name=Bezeichnung", "parent=Oberbegriff")
    call("ingest", "tiere", "tiere.csv", *(word for one in columns for word in ("--column", one)))
    assert "Säugetiere" in call("labels", "show", "tiere", "2").stdout


def test_a_misspelt_parent_is_compared_with_names(call):
    Path("tiere.csv").write_text("id;name;parent\n1;Tiere;\n2;Säugetiere;Tiere\n3;Hund;Saugetiere\n")
    assert "Saugetiere; close to it: 'Säugetiere'" in call("ingest", "tiere", "tiere.csv", code=3).stderr


@pytest.mark.parametrize(
    "text",
    [
        '{"id":{"0":1,"1":2},"name":{"0":"a","1":"b"},"parent":{"0":null,"1":1.0}}',
        '{"columns":["id","parent"],"index":[0,1],"data":[[1,null],[2,1]]}',
    ],
)
def test_a_table_of_pandas_says_how_to_write_it(call, text):
    Path("table.json").write_text(text)
    said = call("ingest", "table", "table.json", code=3).stderr
    assert "a table of columns" in said
    assert "orient='records'" in said

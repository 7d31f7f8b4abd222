"""CSV that spreadsheets open: every text is one cell, and none is run as a formula if that is asked for."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import build_bundle
from labelgrove.documents.spreadsheet import as_csv, safe_cell
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace

HOSTILE = ["=1+1", "+elm", "-oak", "@SUM(A1)", "\tfern", "\rash", "\nyew", "＝1", "＋1", "－1", "＠x"]
TAME = ["plain", "a=b", "'=1"]
KEYS = [*HOSTILE, *TAME]
GRAPH = LabelGraph.from_edges([(key, "root") for key in KEYS])


@pytest.fixture
def call(call, filled_home):
    build_bundle(GRAPH, KEYS).save("b.safetensors")
    np.save("p.npy", np.eye(len(KEYS)))

    def fill():
        with Workspace.open(Settings.from_env()) as workspace:
            register(workspace, "hostile", GRAPH)

    filled_home(fill)
    return call


def cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


STATEMENT = "MATCH (l:Label {version: $version}) RETURN l.key AS key, -1.5 AS `=header` ORDER BY l.idx"


@pytest.mark.parametrize(
    ("command", "to_file"),
    [
        (("score", "./b.safetensors", "p.npy", "--columns", "bundle"), False),
        (("score", "./b.safetensors", "p.npy", "--columns", "bundle"), True),
        (("cypher", STATEMENT, "--ontology", "hostile", "--csv"), False),
        (("locus", "hostile", "--observed", "plain,a=b", "--labels", "leaves"), True),
        (("cover", "hostile"), True),
        (("select", "hostile"), True),
        (("summarize", "hostile", "--target", "3"), True),
        (("jobs", "result", "JOB"), True),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "file" if given else "stdout",
)
def test_no_cell_of_any_command_begins_a_formula(command, to_file, call):
    if "JOB" in command:
        call("jobs", "submit", "cover", "--param", "ontology=hostile")
        job = json.loads(call("jobs", "list", "--json").stdout)[0]["id"]
        command = (*command[:-1], job)

    def written(*options):
        if to_file:
            call(*command, "--out", "found.csv", *options)
            return cells(Path("found.csv").read_bytes().decode())
        return cells(call(*command, *options).stdout_bytes.decode().removesuffix("\n"))

    plain, safe = written(), written("--spreadsheet-safe")
    assert len({len(row) for row in plain}) == 1
    assert len(plain) == len(safe) > 1
    texts = [(p, s) for a, b in zip(plain, safe, strict=True) for p, s in zip(a, b, strict=True)]
    assert all(s in (p, f"'{p}") for p, s in texts)
    hostile = [s for p, s in texts if p in HOSTILE or p == "=header"]
    assert hostile or command[0] == "locus"
    assert all(s.startswith("'") for s in hostile)
    assert [s for p, s in texts if p == "-1.5"] in ([], ["-1.5"] * (len(KEYS) + 1))  # a number stays one
    assert all(s == p for p, s in texts if p in TAME)


def test_an_edge_list_is_made_safe_too(call):
    graph = LabelGraph.from_edges([(key, "root") for key in KEYS if key.isprintable()])
    with Workspace.open(Settings.from_env()) as workspace:
        register(workspace, "printable", graph)
    command = ("ontology", "export", "printable", "--format", "edges")
    plain, safe = call(*command).stdout, call(*command, "--spreadsheet-safe").stdout
    assert safe != plain
    assert cells(safe, "\t") == [[safe_cell(cell) for cell in row] for row in cells(plain, "\t")]


@pytest.mark.parametrize(
    "command",
    [
        ("score", "./b.safetensors", "p.npy", "--json"),
        ("score", "./b.safetensors", "p.npy", "--explain", "0"),
        ("cypher", "RETURN 1 AS x"),
        ("cover", "hostile"),
        ("select", "hostile", "--out", "found.json"),
        ("jobs", "result", "0000", "--out", "found.json"),
        ("ontology", "export", "hostile", "--format", "json"),
    ],
)
def test_where_no_csv_is_written_it_is_refused(command, call):
    assert "--spreadsheet-safe: needs CSV" in call(*command, "--spreadsheet-safe", code=2).stderr
    assert not list(Path().glob("found.*"))


def test_a_file_of_no_known_ending_is_refused_before_anything_is_computed(call, monkeypatch):
    monkeypatch.setattr("labelgrove.ontology.geometry.locus_cover", None)
    assert "name a .csv or a .json file" in call("cover", "hostile", "--out", "found.txt", code=2).stderr


@given(
    st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2), max_size=8),
    st.booleans(),
)
def test_every_text_is_one_cell(rows, safe):
    found = cells(as_csv(("a", "b"), rows, safe=safe))
    expected = [[safe_cell(cell) for cell in row] for row in rows] if safe else rows
    assert found == [["a", "b"], *expected]

"""``grove ontology export``: branches, what is left out, and files that are ingested as the same version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TABLE = "key,parents,name,definition,synonyms,deprecated,replaced_by\n" + "\n".join(
    [
        "r,,Animals,,,,",
        "c,r,Canines,,,,",
        "p,r,Pets,,,,",
        'd,"[""c"", ""p""]",Dog,it barks,domestic dog|canis familiaris,,',
        "old,,Hound,,,true,d",
    ]
)


def digest(call, name: str) -> str:
    return str(json.loads(call("ontology", "show", name, "--json").stdout)["digest"])


@pytest.mark.parametrize("file", ["copy.json", "copy.csv", "copy.ttl", "copy.obo"])
def test_an_export_is_ingested_with_its_digest_and_annotations(call, file):
    Path("pets.csv").write_text(TABLE)
    call("ingest", "pets", "pets.csv")
    call("ontology", "export", "pets", "--out", file)
    call("ingest", "copy", file)
    assert digest(call, "copy") == digest(call, "pets")
    first, again = (
        json.loads(call("ontology", "export", name).stdout) | {"ontology": ""} for name in ("pets", "copy")
    )
    assert first == again
    assert first["retired"][0]["replaced_by"] == ["d"]


def test_a_branch_is_named_by_key_or_name_and_says_what_it_lacks(call):
    Path("pets.csv").write_text(TABLE)
    call("ingest", "pets", "pets.csv")
    found = call("ontology", "export", "pets", "--under", "Canines")
    assert [label["key"] for label in json.loads(found.stdout)["labels"]] == ["c", "d"]
    assert "left out: parents outside the branch: 1 (the first at 'd')" in found.stderr
    assert "wolf" in call("ontology", "export", "pets", "--under", "wolf", code=4).stderr


def test_what_a_format_cannot_hold_is_refused_or_left_out_and_listed(call):
    Path("pets.csv").write_text(TABLE)
    call("ingest", "pets", "pets.csv")
    refused = call("ontology", "export", "pets", "--out", "pets.tsv", code=2).stderr
    assert "exact names: 2 (the first at 'd')" in refused
    assert "leave these out with --leave-out" in refused
    assert not Path("pets.tsv").exists()
    said = call("ontology", "export", "pets", "--out", "pets.tsv", "--leave-out").stderr
    assert "left out: exact names: 2 (the first at 'd')" in said
    assert "left out: retired keys: 1 (the first at 'old')" in said
    assert Path("pets.tsv").read_text().startswith("key\tparent\tname\tdefinition\n")
    safe = call("ontology", "export", "pets", "--format", "records", "--spreadsheet-safe").stdout
    assert safe == call("ontology", "export", "pets", "--format", "records").stdout


@pytest.mark.parametrize("file", ["pets.xml", "pets.csv.gz"])
def test_an_ending_of_no_format_is_refused(call, file):
    Path("pets.csv").write_text(TABLE)
    call("ingest", "pets", "pets.csv")
    said = call("ontology", "export", "pets", "--out", file, code=2).stderr
    assert (
        f"--out {file}: {Path(file).suffix} is not the ending of a format: .json (json), .csv (records)"
        in said
    )
    assert not Path(file).exists()
    call("ontology", "export", "pets", "--out", file, "--format", "skos")
    assert Path(file).read_text().startswith("@prefix")

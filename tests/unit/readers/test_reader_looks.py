"""Files of another kind are called by their names and never read; hierarchies are never refused."""

from __future__ import annotations

import bz2
import configparser
import csv
import gzip
import io
import json
import logging
import lzma
import pickle
import sqlite3
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
import yaml
from hypothesis import given

from labelgrove.adapter import build_bundle
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import DefectsError
from labelgrove.ontology.readers import formats, read
from labelgrove.ontology.readers.detection import looks
from labelgrove.ontology.readers.detection.looks import LOOKS, look_of
from labelgrove.ontology.readers.detection.sniff import sniff
from labelgrove.ontology.readers.formats.records import jsonshapes
from labelgrove.ontology.readers.text.cells import MARKS
from labelgrove.ontology.readers.text.head import Head, head
from tests.unit.readers.foreign_samples import FOREIGN, JSON_DOCUMENTS
from tests.unit.readers.reader_corpus import LABELS, SOUND

ROOT = Path(__file__).parents[3]
SAMPLES = [(name, content) for name, held in FOREIGN.items() for content in held]
DOCUMENTS = [(name, value) for name, held in JSON_DOCUMENTS.items() for value in held]
OPEN = {"all": "fix", "roots": "virtual"}
"""Policies under which nearly anything would pass for an ontology."""


def place(folder: Path, content: bytes, name: str = "source") -> Path:
    source = folder / name
    source.write_bytes(content)
    return source


def foreign(source: Path, **options: Any) -> str:
    """Return what a file is called, which is the only defect it has and which no policy lets pass."""
    for policies in ({}, OPEN, {"all": "warn", "roots": "keep"}):
        result = read(source, strict=False, policies=policies, **options)
        assert result.graph is None, result.graph
        (defect,) = result.report.errors
        assert (defect.code, defect.count) == ("foreign-file", 1)
    return defect.examples[0][2]


# ---- the table -----------------------------------------------------------------------------------------


def test_every_row_has_its_own_name_and_a_sample_or_a_reader():
    names = [look.name for look in LOOKS if look.reader is None]
    assert sorted(names) == sorted(FOREIGN)
    known = {f.name for f in formats()}
    for look in LOOKS:
        assert (look.reader in known) != bool(look.advice), look.name


@pytest.mark.parametrize(("name", "content"), SAMPLES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SAMPLES)])
def test_a_file_of_another_kind_is_called_by_its_name(name, content, tmp_path):
    source = place(tmp_path, content)
    assert foreign(source).startswith(f"this looks like {name}: ")
    assert read(source, strict=False).report.format == "unknown"
    with pytest.raises(DefectsError, match=r"foreign-file at .*source:1"):
        read(source)


@pytest.mark.parametrize("format", [f.name for f in formats()])
def test_no_reader_takes_a_file_of_another_kind(format, tmp_path):
    for i, (name, content) in enumerate(SAMPLES):
        assert foreign(place(tmp_path, content, f"s{i}"), format=format).startswith(
            f"this looks like {name}: "
        )


@pytest.mark.parametrize("name", FOREIGN)
def test_without_its_row_a_kind_is_not_known(name, monkeypatch):
    left = tuple(look for look in LOOKS if look.name != name)
    monkeypatch.setattr(looks, "LOOKS", left)
    for content in FOREIGN[name]:
        found = look_of(Head(content))
        assert found is None or found.name != name


def _array() -> bytes:
    held = io.BytesIO()
    np.save(held, np.array([["animal", "dog"], ["animal", "cat"]]))
    return held.getvalue()


OF_ONE_FORMAT = {
    "Parquet": b"PAR1\x15\x04",
    "a numpy array": _array(),
    "a table of levels with a header": b"level1,level2\nanimal,dog\n",
    "names of folders that are label paths": b"".join(
        b"%05d_Animalia_Chordata_Mammalia_Carnivora_Canidae_Canis_%s\n" % (i, name)
        for i, name in enumerate((b"lupus", b"latrans"))
    ),
    "JSON Lines": b'{"key": "animal"}\n{"key": "dog", "parent": "animal"}\n',
    "records of labels in JSON": b'[{"key": "dog", "parent": "animal"}]',
    "RDF/XML": b'<?xml version="1.0"?>\n<!-- Animals -->\n<rdf:RDF xmlns:rdf="x"></rdf:RDF>',
    "JSON-LD": b'[{"@id": "http://e.org/dog", "name": "dog", "children": []}]',
    "N-Triples or N-Quads": b'_:b <http://e.org/label> "a dog"@en .\n'
    b"<http://e.org/b> <http://e.org/is a> _:b <http://e.org/g> .\n",
}
"""A file of each row whose reader reads other rows as well."""


@pytest.mark.parametrize("row", [look.name for look in LOOKS if look.reader])
def test_what_one_format_alone_reads_is_refused_by_the_others(row, tmp_path):
    look = next(look for look in LOOKS if look.name == row)
    source = place(tmp_path, OF_ONE_FORMAT.get(row, SOUND[look.reader]))
    assert look_of(head(source)) is look
    assert sniff(source, head(source), look) == look.reader
    for other in formats():
        if other.name not in (look.reader, *look.also, "json" if look.reader == "export" else None):
            assert foreign(source, format=other.name).startswith(f"this looks like {row}: ")


def test_only_the_start_of_a_file_is_looked_at_and_lines_that_are_cut_do_not_count(tmp_path):
    source = place(tmp_path, b"a b\n" + b"".join(b"a c%d\n" % i for i in range(20_000)))
    start = head(source)
    assert (len(start.start), start.whole) == (1 << 16, False)
    assert all(line.startswith("a ") for line in start.lines)
    assert look_of(start) is None


def test_the_start_of_a_packed_file_is_unpacked(tmp_path):
    long = b"".join(b"a c%d\n" % i for i in range(20_000))
    for content, whole in (
        (SOUND["edges"], True),
        (long, False),
        (np.random.default_rng(0).bytes(1 << 17), False),
    ):
        start = head(place(tmp_path, gzip.compress(content)))
        assert start.whole == whole
        assert content.startswith(start.start)
        assert len(start.start) >= min(len(content), 65_000)
    parts = gzip.compress(b"a b\n") + gzip.compress(b"a c\n")
    assert not head(place(tmp_path, parts)).whole
    for damaged in (gzip.compress(long)[:100], b"\x1f\x8b" + bytes(30)):
        assert look_of(head(place(tmp_path, damaged))) is None


SLOW = {
    "comments of a graph": b"// " * 20_000,
    "blocks of comments": b"/* */ " * 10_000,
    "comments of XML": b"<?xml version='1.0'?>" + b"<!--" * 16_000,
    "declarations of XML": b"<!DOCTYPE x [" * 5_000,
    "quotes in a triple": b'<a> <b> "' + b'"x' * 30_000,
    "blanks": b" " * 60_000,
    "blanks in a word of a header": b"name" + b" " * 60_000 + b":,parent\n",
    "languages of a name": b"name" + b":de" * 20_000 + b",parent\n",
    "an id of a path": b"1" * 60_000 + b" > \n",
    "words of a header": b"key," * 16_000 + b"parent\n",
    "blanks and a bar": b" " * 60_000 + b"|",
    "words": b"a " * 30_000,
    "brackets": b"a(" * 30_000,
    "colons": b"a:" * 30_000,
    "numbers": b"1, 2" * 15_000,
    "features": b"1 1:1" * 12_000,
    "dashes": b"- " * 30_000,
    "opening brackets": b"[" * 60_000,
    "opening parentheses": b"(" * 60_000 + b",)",
    "creators": b"creator\n" * 8_000,
}


@pytest.mark.parametrize("content", SLOW.values(), ids=SLOW)
def test_no_text_takes_long_to_look_at(content, tmp_path):
    """Each of these makes a careless pattern try every way to split it; the limit of a test would end it."""
    assert look_of(Head(content, whole=False)) is look_of(Head(content, whole=False))
    result = read(place(tmp_path, content), strict=False)
    assert result.graph is None


# ---- JSON documents ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), DOCUMENTS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(DOCUMENTS)])
def test_a_json_document_that_is_no_tree_is_called_by_its_name(name, value, tmp_path):
    for indent in (None, 2):
        source = place(tmp_path, json.dumps(value, indent=indent).encode(), "document.json")
        assert foreign(source, format="json").startswith(f"this looks like {name}")


def test_every_shape_has_a_sample():
    names = {shape.name.removesuffix(" ({})") for shape in jsonshapes.SHAPES}
    assert names == set(JSON_DOCUMENTS)


@pytest.mark.parametrize("name", JSON_DOCUMENTS)
def test_without_its_shape_a_document_is_still_refused_but_not_by_name(name, monkeypatch):
    left = tuple(s for s in jsonshapes.SHAPES if s.name.removesuffix(" ({})") != name)
    monkeypatch.setattr(jsonshapes, "SHAPES", (*left, jsonshapes.Shape("nothing known", lambda *_: True, "")))
    for value in JSON_DOCUMENTS[name]:
        assert not str(jsonshapes.foreign_shape(value)).startswith(f"this looks like {name}:")


@pytest.mark.parametrize(
    "value",
    [
        {"name": "animal"},
        {"id": 1, "definition": "x", "weight": 2},
        [{"name": "animal", "children": []}, {"name": "plant", "children": []}],
        {"key": "a", "children": [{"key": "b", "size": 3}]},
        {"children": [{"name": "dog"}]},
        {"version": "1", "license": "x", "name": "animal", "children": [{"name": "dog"}]},
    ],
)
def test_a_tree_of_labels_is_a_tree(value, tmp_path):
    source = place(tmp_path, json.dumps(value).encode())
    assert read(source, policies={"roots": "keep"}).graph is not None


# ---- files as programs write them ----------------------------------------------------------------------


def written(folder: Path) -> dict[str, tuple[Path, str]]:
    """Write a file with each of the programs that people use, and say what it should be called."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.orc

    graph = nx.DiGraph([("dog", "animal"), ("cat", "animal")])
    table = pa.table({"parent": ["animal"], "child": ["dog"]})
    made: dict[str, tuple[Path, str]] = {}

    def named(name: str, kind: str) -> Path:
        made[name] = folder / name, kind
        return folder / name

    np.savez(named("a.npz", "a numpy .npz archive"), a=np.arange(3))
    pyarrow.feather.write_feather(table, str(named("a.feather", "Arrow or Feather")))
    pyarrow.orc.write_table(table, str(named("a.orc", "ORC")))
    nx.write_graphml(graph, named("a.graphml", "GraphML"))
    nx.write_gexf(graph, named("a.gexf", "GEXF"))
    nx.write_gml(graph, named("a.gml", "GML"))
    nx.write_pajek(graph, named("a.net", "Pajek"))
    named("links.json", "a graph of nodes and links").write_text(
        json.dumps(nx.node_link_data(graph, edges="links"))
    )
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        named(f"{protocol}.pickle", "a Python pickle").write_bytes(pickle.dumps({"a": 1}, protocol))
    named("a.bz2", "bzip2").write_bytes(bz2.compress(SOUND["edges"]))
    named("a.xz", "xz").write_bytes(lzma.compress(SOUND["edges"]))
    with sqlite3.connect(named("a.db", "a SQLite database")) as connection:
        connection.execute("CREATE TABLE taxon (name TEXT)")
        named("a.sql", "SQL").write_text("\n".join(connection.iterdump()))
    connection.close()
    tree = {"animal": {"dog": ["rex", "fido"], "cat": None}}
    named("a.yaml", "YAML").write_text(yaml.safe_dump(tree))
    named("b.yaml", "YAML").write_text(yaml.safe_dump([{"name": "animal", "children": [{"name": "dog"}]}]))
    named("c.yaml", "YAML").write_text(yaml.safe_dump({"dog": "animal", "cat": "animal"}))
    settings = configparser.ConfigParser()
    settings["core"] = {"level": "info", "color": "red"}
    with named("a.ini", "a settings file (TOML or INI)").open("w") as file:
        settings.write(file)
    handler = logging.FileHandler(named("a.log", "a log file"))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for word in ("one", "two", "three"):
        handler.emit(logging.LogRecord("grove", logging.INFO, "", 1, f"ingest {word}", None, None))
    handler.close()
    bundle = build_bundle(LabelGraph.from_edges([("dog", "animal")]), ["dog"])
    bundle.save(named("a.safetensors", "a labelgrove artifact, such as a bundle"))
    return made


def test_files_as_programs_write_them_are_called_by_their_names(tmp_path):
    sklearn = pytest.importorskip("sklearn.datasets")
    made = written(tmp_path)
    path = tmp_path / "a.svm"
    sklearn.dump_svmlight_file(np.eye(3), np.arange(3), str(path))
    made["a.svm"] = path, "documents with features (svmlight)"
    for name, (source, kind) in made.items():
        assert foreign(source).startswith(f"this looks like {kind}"), name


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("README.md", "Markdown"),
        ("docs/*.md", "Markdown"),
        ("ontology/readers/*.py", "Python source"),
        ("pyproject.toml", "a settings file"),
        ("docker-compose.yml", "YAML"),
        ("docs/pictures/*.svg", "a picture (SVG)"),
        ("docs/pictures/*.png", "a picture (PNG)"),
        ("tests/benchmarks/measured/*.json", "a"),
    ],
)
def test_the_files_of_this_project_are_called_by_their_names(pattern, kind):
    found = sorted(ROOT.glob(pattern))
    assert found
    for path in found:
        assert foreign(path).startswith(f"this looks like {kind}"), path


def test_a_command_that_prints_labels_as_json_is_not_read_back_as_an_ontology(tmp_path):
    rows = [{"key": "oak", "name": "oak", "depth": 2}]
    source = place(tmp_path, json.dumps(rows).encode())
    assert "a list of records (key, name, depth)" in foreign(source)


# ---- tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "id,title,price\n1,Dog food,3.50\n2,Cat food,2.50\n",
        "sepal_length,sepal_width,petal_length,species\n5.1,3.5,1.4,setosa\n4.9,3,1.4,setosa\n",
        "island\tphylum\tnest\tname\nAnimalia\tChordata\tMammalia\tdog\n",
        "a;b;c\nd;e;f\n",
        '"a, b","c","d"\n"e","f","g"\n',
    ],
)
def test_a_table_without_parent_and_child_is_named_with_its_columns(text, tmp_path):
    source = place(tmp_path, text.encode(), "table.csv")
    said = foreign(source)
    first = next(csv.reader(io.StringIO(text), delimiter=next(m for m in "\t;," if m in text)))
    assert f"a table of {len(first)} columns ({', '.join(first)})" in said


@pytest.mark.parametrize("text", ["a\tb\nc\td\n", "a,b\nc,d\n", "a;b\nc;d\n"])
def test_an_outline_is_no_table(text, tmp_path):
    assert "this looks like a table" in foreign(place(tmp_path, text.encode()), format="outline")


@pytest.mark.parametrize("name", [n for n in FOREIGN if n != "documents with features (svmlight)"])
def test_a_class_list_of_another_kind_is_called_by_its_name(name, tmp_path):
    source, labels = place(tmp_path, SOUND["lshtc"]), place(tmp_path, FOREIGN[name][0], "labels")
    result = read(source, format="lshtc", labels=labels, strict=False, policies=OPEN)
    (defect,) = result.report.errors
    assert (defect.code, defect.places) == ("foreign-file", ((str(labels), 1),))
    assert f"this looks like {name}: " in defect.examples[0][2]


# ---- hierarchies ---------------------------------------------------------------------------------------

LABELS_OF_OUTLINES = [
    "Kingdom: Animalia\n  Phylum: Chordata\n    Class: Mammalia\n",
    "- Kingdom: Animalia\n  - Phylum: Chordata\n  - Phylum: Arthropoda\n",
    "Animals:\n  Dogs:\n    Rex\n",
    "# Outline\n## second edition\nanimal\n  dog\n  cat\n",
    "animal (Metazoa)\n  dog (Canis lupus)\n  cat = Felis catus\n",
    "Neoplasms of lip, oral cavity and pharynx\n"
    "  Malignant neoplasm of base of tongue, unspecified\n"
    "  Malignant neoplasm of other and unspecified parts of tongue\n",
    "[animals]\n  dog\n  cat\n",
    "* animal\n  * dog; wild\n  * cat, tame\n",
    "-- animal\n---- dog\n---- cat\n",
    "class Mammalia\n  order Carnivora\n    if unsure\n",
]


@pytest.mark.parametrize("text", LABELS_OF_OUTLINES)
def test_an_outline_with_punctuation_stays_an_outline(text, tmp_path):
    result = read(place(tmp_path, text.encode()), policies={"roots": "keep"})
    assert result.report.format == "outline"
    assert result.graph.n_edges >= 2


LISTS = [
    "GO:0008150\tGO:0000003\nGO:0008150\tGO:0009987\n",
    "GO:0008150 GO:0000003\nGO:0008150 GO:0009987\n",
    "# taxa\n## of 2024\nanimal dog\nanimal cat\n",
    "<http://e.org/animal> <http://e.org/dog>\n<http://e.org/animal> <http://e.org/cat>\n",
    "<root> animal\nanimal dog\n",
    "import goods\nimport cars\n",
    "ERROR,ERROR parse\nERROR,ERROR type\n",
    "[UNK],[PAD]\n[UNK],[CLS]\n",
    "{}\tset\nset\tpair\n",
    "a=1,b=2\na=1,c=3\n",
    "2024-01-01 2024-01-02\n2024-01-01 2024-01-03\n",
    "(animal),(dog)\n(animal),(cat)\n",
    'parent,child\nanimal,"dog: wild"\nanimal,"cat: tame"\n',
    "parent\tchild\n# a comment\nanimal\tdef dog():\n",
    "1 2\n1 3\n",
    "1 2 0.5\n1 3 0.25\n",
    "Movies: Action,Movies: Drama\nMovies: Action,Movies: Crime\n",
]


@pytest.mark.parametrize("text", LISTS)
def test_an_edge_list_with_odd_keys_stays_an_edge_list(text, tmp_path):
    result = read(place(tmp_path, text.encode()), policies={"roots": "keep"})
    assert result.report.format == "edges"
    assert result.graph.n_edges >= 1


words = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)
names = st.lists(words, min_size=1, max_size=3).map(" ".join)


@given(
    keys=st.lists(names, min_size=2, max_size=12, unique=True),
    form=st.sampled_from(["tab", "comma", "outline", "json"]),
)
def test_hierarchies_of_words_are_never_refused(keys, form, tmp_path_factory):
    """A label of several words, in any script, whatever the format."""
    if form == "json":
        text = json.dumps({"name": keys[0], "children": [{"name": key} for key in keys[1:]]})
    elif form == "outline":
        text = "\n".join([keys[0], *(f"  {key}" for key in keys[1:])])
    else:
        mark = str(MARKS[form])
        text = "\n".join(keys[0] + mark + key for key in keys[1:])
    start = Head(text.encode())
    look = look_of(start)
    assert look is None or look.reader == form
    assert sniff(Path("source"), start, look) in (form, "edges", "superclass")


@pytest.mark.parametrize("name", SOUND)
def test_sound_sources_are_never_foreign(name, tmp_path):
    (tmp_path / "train.csv").write_bytes(LABELS)
    options = {"labels": tmp_path / "train.csv"} if name == "lshtc" else {}
    for content in (SOUND[name], b"\xef\xbb\xbf" + SOUND[name], SOUND[name].replace(b"\n", b"\r\n")):
        source = place(tmp_path, content)
        result = read(source, format=name, strict=False, policies={"roots": "keep"}, **options)
        assert result.graph is not None
        assert "foreign-file" not in {d.code for d in result.report.defects}


def test_lines_of_blanks_take_no_time_to_recognize():
    text = b"[section]\n" + b"".join(b" " * (i % 500) + b"a%d\n" % i for i in range(400))
    start = time.process_time()
    for look in LOOKS:
        look.fits(Head(text + b"a = 1\n"))
    assert time.process_time() - start < 2

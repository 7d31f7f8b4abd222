"""Run the commands that the reports of refused files name: each must make a file that can be read."""

from __future__ import annotations

import bz2
import json
import lzma
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pytest
import yaml

from labelgrove.ontology.readers import read
from labelgrove.ontology.readers.detection.looks import LOOKS
from tests.conftest import unavailable

GRAPH = nx.DiGraph([("red animal", "dog"), ("red animal", "cat")])
TABLE = pa.table({"key": ["red animal", "dog", "cat"], "parent": [None, "red animal", "red animal"]})
TEXT = b"parent,child\nred animal,dog\nred animal,cat\n"


def graphml(path: Path) -> None:
    nx.write_graphml(GRAPH, path)


def gexf(path: Path) -> None:
    nx.write_gexf(GRAPH, path)


def gml(path: Path) -> None:
    nx.write_gml(GRAPH, path)


def pajek(path: Path) -> None:
    nx.write_pajek(GRAPH, path)


def links(path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(GRAPH, edges="links")))


def nodes(path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(GRAPH, edges="edges")))


def cytoscape(path: Path) -> None:
    path.write_text(json.dumps(nx.cytoscape_data(GRAPH)))


def feather(path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, str(path))


def orc(path: Path) -> None:
    pyarrow.orc.write_table(TABLE, str(path))


def packed_bzip2(path: Path) -> None:
    path.write_bytes(bz2.compress(TEXT))


def packed_xz(path: Path) -> None:
    path.write_bytes(lzma.compress(TEXT))


def utf16(path: Path) -> None:
    path.write_bytes(TEXT.decode().encode("utf-16"))


def database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "TABLE" (parent TEXT, child TEXT)')
        connection.executemany('INSERT INTO "TABLE" VALUES (?, ?)', GRAPH.edges)
    connection.close()


def as_yaml(path: Path) -> None:
    path.write_text(yaml.safe_dump({"name": "red animal", "children": [{"name": "dog"}, {"name": "cat"}]}))


@pytest.mark.parametrize(
    ("write", "name", "made"),
    [
        (graphml, "a.graphml", "edges.tsv"),
        (gexf, "a.gexf", "edges.tsv"),
        (gml, "a.gml", "edges.tsv"),
        (pajek, "a.net", "edges.tsv"),
        (links, "links.json", "edges.tsv"),
        (nodes, "nodes.json", "edges.tsv"),
        (cytoscape, "elements.json", "edges.tsv"),
        (feather, "a.feather", "table.parquet"),
        (orc, "a.orc", "table.parquet"),
        (packed_bzip2, "a.csv.bz2", "a.csv"),
        (packed_xz, "a.csv.xz", "a.csv"),
        (utf16, "a.csv", "labels.txt"),
        (database, "a.db", "table.csv"),
        (as_yaml, "a.yaml", "labels.json"),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_the_command_makes_a_file_that_is_read(write, name, made, tmp_path):
    write(tmp_path / name)
    (defect,) = read(tmp_path / name, strict=False).report.errors
    assert defect.code == "foreign-file"
    command = defect.examples[0][2].rpartition(": ")[2] if "python -c" not in defect.examples[0][2] else (
        "python -c" + defect.examples[0][2].partition("python -c")[2]
    )  # fmt: skip
    assert "..." not in command, "cut"
    tool = command.split()[0]
    if tool != "python" and shutil.which(tool) is None:
        unavailable(f"needs {tool}")
    command = re.sub("^python ", f"{shlex.quote(sys.executable)} ", command).replace("FILE", name)
    command = command.replace("FROM TABLE", "FROM 'TABLE'")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, timeout=60)
    result = read(tmp_path / made)
    assert result.graph.n_labels == 3
    assert len(result.graph.leaves) == 2


def test_no_advice_is_cut_in_a_report():
    for look in LOOKS:
        assert len(str(look)) <= 240, look.name

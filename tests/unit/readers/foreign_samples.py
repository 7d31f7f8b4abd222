"""A small file of every kind that no reader takes in, and of every JSON document that is not a tree."""

from __future__ import annotations

import io
import json
import tarfile
import textwrap
import zipfile
from typing import Any


def _zip(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(
                name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "x"
            )
    return held.getvalue()


def _tar() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("edges.csv"), io.BytesIO())
    return held.getvalue()


def _safetensors(metadata: dict[str, str]) -> bytes:
    header = json.dumps({"__metadata__": metadata}, separators=(",", ":")).encode()
    return len(header).to_bytes(8, "little") + header


def _text(text: str) -> bytes:
    return textwrap.dedent(text).lstrip("\n").encode()


FOREIGN: dict[str, list[bytes]] = {
    "an Excel spreadsheet": [_zip("[Content_Types].xml", "xl/workbook.xml")],
    "an OpenDocument spreadsheet or text": [_zip("mimetype", "content.xml")],
    "a numpy .npz archive": [_zip("keys.npy")],
    "a zip archive": [_zip("edges.csv"), b"PK\x03\x04rest"],
    "bzip2": [b"BZh91AY&SY"],
    "xz": [b"\xfd7zXZ\x00\x00"],
    "zstandard": [b"\x28\xb5\x2f\xfd\x00"],
    "lz4": [b"\x04\x22\x4d\x18d@\xa7"],
    "a 7z archive": [b"7z\xbc\xaf\x27\x1c\x00"],
    "a rar archive": [b"Rar!\x1a\x07\x01\x00"],
    "a tar archive": [_tar()],
    "Arrow or Feather": [b"ARROW1\x00\x00"],
    "ORC": [b"ORC\x0a\x03"],
    "Avro": [b"Obj\x01\x04"],
    "HDF5": [b"\x89HDF\r\n\x1a\n"],
    "a SQLite database": [b"SQLite format 3\x00"],
    "a Python pickle": [b"\x80\x04\x95\x0a.", b"\x80\x02}q\x00."],
    "a labelgrove artifact, such as a bundle": [_safetensors({"format": "labelgrove/bundle/1"})],
    "safetensors": [_safetensors({"format": "pt"})],
    "a Word or Excel document in the older format": [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
    "a PDF": [b"%PDF-1.7\n"],
    "PostScript": [b"%!PS-Adobe-3.0\n"],
    "RTF": [b"{\\rtf1\\ansi dog}\n"],
    "a picture (PNG)": [b"\x89PNG\r\n\x1a\n"],
    "a picture (JPEG)": [b"\xff\xd8\xff\xe0"],
    "a picture (GIF)": [b"GIF89a"],
    "a picture (TIFF)": [b"II*\x00\x08"],
    "a program (ELF)": [b"\x7fELF\x02"],
    "UTF-16": ["a b\n".encode("utf-16")],
    "big-endian UTF-16": [b"\xfe\xff" + "a b\n".encode("utf-16-be")],
    "UTF-32": ["a b\n".encode("utf-32")],
    "big-endian UTF-32": [b"\x00\x00\xfe\xff" + "a b\n".encode("utf-32-be")],
    "UTF-16 without a byte order mark": ["dog animal\ncat animal\n".encode("utf-16-le")],
    "big-endian UTF-16 without a byte order mark": ["dog animal\ncat animal\n".encode("utf-16-be")],
    "binary data": [bytes(range(256)), b"\x0a\x07\x12\x05\x08\x01\x10\x02"],
    "a Git LFS pointer": [b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"],
    "an HTML page": [
        b"\n<!DOCTYPE HTML><title>404</title>",
        b"<HTML><body>404</body>",
        b"<ul>\n<li>dog</li>\n</ul>\n",
    ],
    "OWL/XML": [b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>'],
    "GraphML": [b'<?xml version="1.0"?>\n<graphml xmlns="x"><graph/></graphml>'],
    "GEXF": [b'<gexf xmlns="x"><graph/></gexf>'],
    "a lexicon (WN-LMF)": [b'<?xml version="1.0"?><!DOCTYPE LexicalResource SYSTEM "x"><LexicalResource/>'],
    "MeSH descriptors in XML": [
        b'<?xml version="1.0"?><DescriptorRecordSet><DescriptorRecord/></DescriptorRecordSet>'
    ],
    "an outline in OPML": [b'<?xml version="1.0"?><opml version="2.0"><body/></opml>'],
    "a picture (SVG)": [b'<svg xmlns="http://www.w3.org/2000/svg"/>'],
    "a Pascal VOC annotation": [b"<annotation>\n\t<folder>VOC</folder>\n</annotation>"],
    "XML": [b'<?xml version="1.0"?><a/>', b"<taxa>\n  <taxon>dog</taxon>\n</taxa>"],
    "a settings file (TOML or INI)": [
        _text('[project]\nname = "x"\n\n[tool.ruff]\nselect = [\n  "E",\n]\n'),
        _text("; comment\n[core]\n\trepository: 0\n"),
    ],
    "OWL in functional or Manchester syntax": [
        b"Prefix(:=<http://e.org/>)\nOntology(<http://e.org/>)\n",
        b"Prefix: ex: <http://e.org/>\nClass: ex:Dog\n",
    ],
    "NEXUS": [b"#NEXUS\nBEGIN TREES;\n"],
    "Newick": [b"((dog:1,cat:2)carnivore:1,oak);\n", b"[&R] (a,b);"],
    "a Graphviz graph": [
        b"digraph G {\n  dog -> animal;\n}\n",
        b"// animals\nstrict graph {\n a -- b }\n",
    ],
    "GML": [b"graph [\n  directed 1\n  node [\n    id 0\n  ]\n]\n", b'Creator "x"\ngraph [\n]\n'],
    "Pajek": [b"*Vertices 2\n1 dog\n2 animal\n*Arcs\n1 2\n"],
    "LaTeX": [b"% animals\n\\documentclass{article}\n\\begin{document}\n"],
    "BibTeX": [b"@article{loki,\n  title = {Geometry}\n}\n"],
    "ARFF": [b"@RELATION iris\n@ATTRIBUTE class {a,b}\n@DATA\n1,a\n"],
    "a script": [b"#!/bin/sh\necho dog\n", b"#! /usr/bin/env python3\nprint(1)\n"],
    "Python source": [
        b'"""Animals."""\n\nimport os\n\n\ndef dog():\n    return os\n',
        b"from os import path\nimport sys\n",
    ],
    "SQL": [b"CREATE TABLE taxa (id int);\nINSERT INTO taxa VALUES (1);\n", b"select id from taxa;\n"],
    "a log file": [
        b"2024-01-01 12:00:00 INFO started\n2024-01-01 12:00:01 INFO ended\n",
        b"Jan  1 12:00:00 host grove: started\n",
        b'10.0.0.1 - - [01/Jan/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 2\n',
        b"INFO: started\nERROR: ended\n",
        b"[WARNING] started late\n",
    ],
    "documents with features (svmlight)": [
        b"1 1:0.5 3:1\n-1 2:1e-3\n",
        b"Data\n545, 32 8:1 18:2\n3 7:1\n4 qid:2 1:0.5\n",
        b"+1 qid:1 1:2 # note\n2 1:1\n",
    ],
    "MeSH tree numbers": [b"Body Regions;A01\nAbdomen;A01.923.047\n"],
    "environment variables": [b"GROVE_HOME=/srv\nexport GROVE_CACHE_URL=redis://x\n"],
    "properties (name = value)": [b"log.level = info\nlog.file = x\n"],
    "source code": [
        b"function dog() {\n  return 1;\n}\n",
        b".dog {\n  color: red;\n}\n",
        b"subroutine dog(a)\n  integer a\n  a = 1\nend subroutine\n",
    ],
    "C source code": [b"#include <stdio.h>\n#define DOG 1\nint dog;\n"],
    "a manual page": [b".TH DOG 1\n.SH NAME\ndog\n.SH SYNOPSIS\n.B dog\n"],
    "Perl documentation": [b"=head1 NAME\n\nDog\n\n=cut\n"],
    "checksums": [
        b"d41d8cd98f00b204e9800998ecf8427e  usr/bin/dog\nd41d8cd98f00b204e9800998ecf8427f  usr/bin/cat\n"
    ],
    "YAML": [
        b"a: 1\nb:\n  c: 2\n  d: 3\n",
        b"---\n- dog\n- cat\n",
        b"animal:\n  - dog\n  - cat\n",
        b"- name: animal\n  children:\n    - name: dog\n    - name: cat\n      note: |\n"
        b"        purrs\n        a lot\n",
        b"# animals\ndog: animal\ncat: animal\n",
        b"%YAML 1.2\n---\na: b\n",
    ],
    "Markdown or reStructuredText": [
        b"# Animals\n\n## Dogs\n\n- Rex\n",
        b"Animals\n=======\n\ndogs\n",
    ],
    "Markdown": [
        b"# Animals\n\n- [Dogs](dogs.md)\n",
        b"Animals:\n\n```\ndog\n```\n",
        b"| key | name |\n|---|---|\n| a | b |\n",
    ],
    "running text": [
        b"The dog is an animal that barks,\nand the cat is one that purrs.\n"
        b"Both of them live with people in houses.\n",
    ],
}
"""Files by the name of the row that is to know them."""

JSON_DOCUMENTS: dict[str, list[Any]] = {
    "a labelgrove document": [
        {"format": "labelgrove/binding/1", "name": "x"},
        {"format": "labelgrove/export/3", "labels": []},
        {"format": "labelgrove/index/1", "name": "animals", "version": "ab", "children": []},
    ],
    "OBO Graphs": [{"graphs": [{"id": "x", "nodes": [], "edges": []}]}],
    "GeoJSON": [
        {"type": "FeatureCollection", "name": "parks", "features": []},
        {"type": "Point", "coordinates": []},
    ],
    "TopoJSON": [{"type": "Topology", "objects": {}, "arcs": []}],
    "a graph of nodes and links": [
        {"directed": True, "multigraph": False, "graph": {}, "nodes": [{"id": 1}], "links": []},
        {"nodes": [], "edges": []},
        {"graph": {"nodes": {}, "edges": []}},
        {"elements": {"nodes": [], "edges": []}},
    ],
    "an npm package": [
        {"name": "x", "version": "1.0.0", "dependencies": {}},
        {"name": "x", "version": "1", "lockfileVersion": 3},
    ],
    "a Jupyter notebook": [{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}],
    "a JSON schema": [{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}],
    "a description of an HTTP service (OpenAPI)": [{"openapi": "3.1.0", "paths": {}}, {"swagger": "2.0"}],
    "a list of records": [[{"species": "dog", "genus": "Canis"}], [{"id": 1, "title": "dog"}]],
    "a list of strings or numbers": [["dog", "cat"], [1, 2], [[1, 2], [3]], [None]],
    "a tree whose nodes have neither name nor id": [
        {"label": "animal", "children": [{"label": "dog"}]},
        {"children": []},
    ],
    "a table of columns": [
        {"id": {"0": 1, "1": 2}, "name": {"0": "a", "1": "b"}, "parent": {"0": None, "1": 1.0}},
        {"columns": ["id", "parent"], "index": [0, 1], "data": [[1, None], [2, 1]]},
    ],
    "nested objects": [{"animal": {"dog": {}, "cat": {}}}],
    "a table of members and values": [
        {"hello": 1},
        {"0": ["n01440764", "tench"]},
        {"dog": "animal", "cat": "animal"},
    ],
    "a JSON object": [{"title": "x", "data": {}}, {}],
    "a single JSON value": ["a", 1, None],
}
"""JSON documents by the name of the shape that is to know them."""

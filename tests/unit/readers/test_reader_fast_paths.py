"""With the fast checks of whole blocks and tables switched off, every reading is the same."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.readers import assemble as assemble_module
from labelgrove.ontology.readers import read, structure
from labelgrove.ontology.readers.formats import lshtc
from labelgrove.ontology.readers.formats.tables import edgelist
from labelgrove.ontology.readers.structure import Edges
from labelgrove.ontology.readers.text.cells import MARKS

ODD = [
    "1_0",
    "٣",
    "²",
    "０",
    "-1",
    "+1",
    "01",
    "00",
    "0",
    "1.0",
    "2.0",
    "9" * 18,
    "9" * 19,
    "a",
    "A",
    "é",
    "\x1c",
]
CELL = st.one_of(
    st.integers(0, 8).map(str), st.integers(0, 8).map(str), st.sampled_from([*ODD, "", "#1", '"1"'])
)
MARK = st.sampled_from([" ", " ", " ", ",", ",", "\t", "  ", "\xa0", "\u3000", ", ", ";"])
END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\x85\n", "\n# note\n", "\nparent,child\n"])
LINE = st.builds("".join, st.tuples(CELL, MARK, CELL, END) | st.tuples(CELL, END))
NUMBER = st.integers(0, 30).map(str)
PLAIN = st.builds("{} {}\n".format, NUMBER, NUMBER)
TEXT = st.lists(PLAIN | LINE, max_size=12).map("".join) | st.lists(PLAIN, max_size=40).map("".join)


def reading(text: str, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source.txt")
        source.write_bytes(text.encode())
        try:
            found = read(source, strict=False, **options)
        except GroveError as error:
            return str(error).replace(folder, "")
        report = str(found.report.to_dict()).replace(folder, "")
        return (found.graph.digest if found.graph else None), report, found.classes


def careful_reading(text: str, **options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edgelist, "_plain_columns", lambda *_: None)
        patch.setattr(lshtc, "_plain_cells", lambda *_: None)
        patch.setattr(assemble_module, "_are_plain", lambda *_: False)
        patch.setattr(structure, "_BULK_LEVELS", 1)
        return reading(text, **options)


ODD_LINES = [
    *(line for cell in [*ODD, "", "#1", '"1"'] for line in (f"{cell} 7", f"7 {cell}")),
    *(
        "",
        " ",
        "#",
        "1",
        "1 2 3",
        " 1 2",
        "1 2 ",
        "1  2",
        "1\t2",
        "1\xa02",
        "1,2",
        "parent child",
        "a\x7f b",
        "kk KK",
    ),
]


@pytest.mark.parametrize("policies", [{}, {"all": "fix", "roots": "keep"}], ids=["default", "fix"])
@pytest.mark.parametrize("delimiter", [None, *MARKS])
@pytest.mark.parametrize("odd", ODD_LINES)
def test_one_odd_line_among_plain_ones(odd, delimiter, policies):
    lines = ["parent child", "1 2", "1 3", odd, "3 4", "3 5"]
    options: dict[str, Any] = {"format": "edges", "delimiter": delimiter, "policies": policies}
    if delimiter is None:
        options = {"format": "lshtc", "policies": policies}
        lines = lines[1:]
    text = "\n".join(line.replace(" ", MARKS[delimiter or "space"] or " ") for line in lines)
    assert reading(text, **options) == careful_reading(text, **options)


@given(TEXT, st.sampled_from([{}, {"all": "fix", "roots": "keep"}]))
def test_category_hierarchies(text, policies):
    options = {"format": "lshtc", "policies": policies}
    assert reading(text, **options) == careful_reading(text, **options)


@given(
    TEXT,
    st.sampled_from(["parent,child\n", "child parent\n", "", "", "key,parent\n"]),
    st.sampled_from([None, *MARKS]),
    st.sampled_from([None, "undirected", "child-parent"]),
    st.sampled_from([{}, {"all": "fix", "roots": "keep"}]),
)
def test_edge_lists(text, header, delimiter, direction, policies):
    mark = MARKS.get(delimiter or "space") or " "
    options = {"format": "edges", "delimiter": delimiter, "direction": direction, "policies": policies}
    text = header + text.replace(" ", mark)
    assert reading(text, **options) == careful_reading(text, **options)


def test_every_blank_but_the_delimiter_takes_the_careful_path():
    blanks = {c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace() and c != "\n"}
    for delimiter, mark in MARKS.items():
        odd = blanks & set(edgelist._UNPLAIN[delimiter])
        assert blanks - odd == blanks & {mark or " "}


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(lambda e: e[0] > e[1]), unique=True))
@pytest.mark.parametrize("rounds", [1, 2, 3, 64])
def test_levels_are_longest_paths(rounds, pairs):
    child, parent = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    keys, zeros = [f"{i:02}" for i in range(41)], np.zeros(len(pairs), dtype=np.int64)
    edges = Edges(
        "file", keys, np.zeros(41, dtype=np.int64), child, parent, zeros, zeros, np.ones(len(pairs)), True
    )
    longest = [0] * 41
    for c in range(41):  # parents have smaller numbers
        longest[c] = max((longest[p] + 1 for d, p in pairs if d == c), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "_BULK_LEVELS", rounds)
        assert structure._levels(edges, np.bincount(child, minlength=41)) == longest

"""An export as records, SKOS or OBO has digest and annotations of what it was made of, or is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS, Annotations, Description, Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.exporting import EXPORT_FORMATS, export_graph
from tests.unit.exports.described_graphs import (
    KEPT,
    assert_same,
    described,
    graphs,
    keys,
    lines,
    read_back,
    texts,
)

READ_AS: dict[str, dict[str, Any]] = {
    "records": {"format": "records"},
    "obo": {"format": "obo"},
    "skos": {"format": "rdf"},
}
"""How each format is read back."""

filled = texts.filter(lambda text: text and "\0" not in text)


lasting = filled.filter(lambda text: not set(text) & set("\r\ufeff"))
"""Texts that OBO holds in quotes; elsewhere, they must not end in a special blank."""

unquoted = lasting.filter(lambda text: not text[-1].isspace() or text[-1] in " \n\t")

HELD: dict[str, dict[str, Any]] = {
    "records": {"keys": lines, "texts": filled, "definitions": lines | st.just("two\n\nlines")},
    "skos": {
        "keys": keys,
        "texts": filled.map(lambda text: " ".join(text.split())).filter(bool),
        "definitions": filled.map(str.strip).filter(bool),
        "notes": filled.map(str.strip).filter(bool),
    },
    "obo": {
        "keys": unquoted,
        "names": unquoted,
        "texts": lasting,
        "notes": unquoted.filter(lambda text: '"' not in text),
        "languages": st.just(""),
    },
}
"""The texts that each format holds, as docs/formats.md says."""


@st.composite
def holdable(draw: Any, format: str) -> tuple[LabelGraph, Annotations]:
    """What docs/formats.md says that a format holds, in any combination."""
    held, given = EXPORT_FORMATS[format].holds, HELD[format]
    texts, written_keys = given["texts"], given["keys"]
    own_names = given.get("names", written_keys if format == "records" else texts)
    graph = draw(graphs(written_keys, own_names, hierarchy=True, numbers=held.weights))
    languages = given.get("languages", st.sampled_from(["en", "de", "zh-hant"]))
    names = st.builds(Name, texts, st.sampled_from(NAME_KINDS[1:]), languages | st.just(""))
    if "preferred" in held.name_kinds:
        names |= st.builds(Name, texts, st.just("preferred"), languages)
    notes = {
        kind: st.lists(given.get("notes", texts), max_size=2).map(tuple)
        for kind in NOTE_KINDS
        if kind in held.notes
    }
    definitions = st.just("") | given.get("definitions", texts)
    one = st.builds(Description, st.lists(names, max_size=4).map(tuple), definitions, st.booleans(), **notes)
    subjects = st.sampled_from(list(graph.keys)) | written_keys
    found = draw(st.dictionaries(subjects, one, max_size=5))
    children = {child for child, _, _, _ in graph.edges()}
    for key, description in list(found.items()):
        if key not in graph.keys:
            own = Name(draw(own_names), "preferred")
            found[key] = replace(description, names=(own, *description.names))
        elif key not in children:
            found[key] = replace(description, deprecated=False)
    return graph, Annotations.of(graph, found)


@pytest.mark.parametrize("format", READ_AS)
@given(data=st.data())
def test_what_a_format_holds_reads_back_as_it_was(format, data):
    graph, annotations = data.draw(holdable(format))
    try:
        text = str(export_graph(graph, annotations, name="any", format=format))
    except InputError as error:
        if format != "skos" or "preferred names" not in str(error):  # of which one must be the name
            raise
        return
    assert_same(read_back(text, policies=KEPT, **READ_AS[format]), graph, annotations)


@pytest.mark.parametrize("format", READ_AS)
@given(made=described())
def test_anything_reads_back_as_it_was_or_is_refused(format, made):
    graph, annotations = made
    try:
        text = str(export_graph(graph, annotations, name="any", format=format))
    except InputError:
        return
    assert_same(read_back(text, policies=KEPT, **READ_AS[format]), graph, annotations)


@pytest.mark.parametrize("format", READ_AS)
@given(made=described(keys=lines))
def test_what_is_left_of_anything_can_be_read(format, made):
    graph, annotations = made
    try:
        exported = export_graph(graph, annotations, format=format, leave_out=True)
    except InputError:
        return
    again = read_back(str(exported), policies=KEPT, **READ_AS[format]).graph
    assert sorted(again.keys) == sorted(graph.keys)
    assert {edge[:2] for edge in again.edges()} == {edge[:2] for edge in graph.edges()}

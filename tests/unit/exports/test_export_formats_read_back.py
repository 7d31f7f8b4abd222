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

READ_AS: dict[str, dict[str, Any]] = {"records": {"format": "records"}}
"""How each format is read back."""

filled = texts.filter(lambda text: text and "\0" not in text)


def is_held(text: str, format: str) -> bool:
    return True


@st.composite
def holdable(draw: Any, format: str) -> tuple[LabelGraph, Annotations]:
    """What docs/formats.md says that a format holds, in any combination."""
    of_lines = format == "records"
    graph = draw(
        graphs(lines if of_lines else keys, lines if of_lines else filled, hierarchy=True, numbers=of_lines)
    )
    languages = st.sampled_from(["en", "de", "zh-hant"] if format != "obo" else [""])
    names = st.builds(Name, filled, st.sampled_from(NAME_KINDS[1:]), languages | st.just(""))
    if format != "obo":
        names |= st.builds(Name, filled, st.just("preferred"), languages)
    held = EXPORT_FORMATS[format].holds
    notes = {kind: st.lists(filled, max_size=2).map(tuple) for kind in NOTE_KINDS if kind in held.notes}
    definitions = (lines | st.just("") | st.just("two\n\nlines")) if of_lines else st.just("") | filled
    one = st.builds(Description, st.lists(names, max_size=4).map(tuple), definitions, st.booleans(), **notes)
    key = st.sampled_from(list(graph.keys)) | (lines if of_lines else keys)
    found = draw(st.dictionaries(key, one, max_size=5))
    ends = {end for child, parent, _, _ in graph.edges() for end in (child, parent)}
    for key, description in list(found.items()):
        if key not in graph.keys:
            own = Name(draw(lines if of_lines else filled), "preferred")
            found[key] = replace(description, names=(own, *description.names))
        elif key not in ends:
            found[key] = replace(description, deprecated=False)
    return graph, Annotations.of(graph, found)


@pytest.mark.parametrize("format", READ_AS)
@given(data=st.data())
def test_what_a_format_holds_reads_back_as_it_was(format, data):
    graph, annotations = data.draw(holdable(format))
    text = str(export_graph(graph, annotations, name="any", format=format))
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
    except InputError as error:
        assert "export as" in str(error)
        return
    again = read_back(str(exported), policies=KEPT, **READ_AS[format]).graph
    assert sorted(again.keys) == sorted(graph.keys)
    assert {edge[:2] for edge in again.edges()} == {edge[:2] for edge in graph.edges()}

"""Laws of reading: the graph depends on content alone, and no bytes at all bring a reader down."""

from __future__ import annotations

import gzip
import random
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import networkx as nx
import pytest
from hypothesis import given

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import read
from tests.unit.readers.reader_corpus import CASES, SOUND, as_json


def read_bytes(content: bytes, name: str = "source", **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / name
        source.write_bytes(content)
        return read(source, **options)


VARIANTS = {
    "as it is": lambda lines, mark: b"\n".join(lines) + b"\n",
    "no line end at the end": lambda lines, mark: b"\n".join(lines),
    "permuted": lambda lines, mark: b"\n".join(random.Random(1).sample(lines, len(lines))),
    "duplicated": lambda lines, mark: b"\n".join([*lines, *lines[::3]]),
    "CRLF": lambda lines, mark: b"\r\n".join(lines) + b"\r\n",
    "byte order mark": lambda lines, mark: b"\xef\xbb\xbf" + b"\n".join(lines),
    "gzip": lambda lines, mark: gzip.compress(b"\n".join(lines)),
    "gzip in two members": lambda lines, mark: b"".join(
        gzip.compress(b"\n".join(part) + b"\n") for part in (lines[:50], lines[50:])
    ),
    "comments and blank lines": lambda lines, mark: b"# c\n\n" + b"\n\n# c\n".join(lines),
    "all of it": lambda lines, mark: gzip.compress(
        b"\xef\xbb\xbf" + b"\r\n".join(random.Random(2).sample([*lines, *lines[:5]], len(lines) + 5))
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mark", [b" ", b"\t", b","], ids=["space", "tab", "comma"])
def test_an_edge_list_gives_one_digest_however_it_is_written(mark, variant):
    rng = random.Random(0)
    pairs = [(f"k\u00e9{i}", f"k\u00e9{rng.randrange(i)}") for i in range(1, 200)]
    lines = [mark.join((parent.encode(), child.encode())) for child, parent in pairs]
    graph = read_bytes(VARIANTS[variant](lines, mark)).graph
    assert graph.digest == LabelGraph.from_edges(pairs).digest


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "comments and blank lines"])
def test_wordnet_records_give_one_digest_however_they_are_written(variant):
    lines = SOUND["wordnet"].splitlines()
    expected = read_bytes(SOUND["wordnet"], format="wordnet").graph.digest
    result = read_bytes(VARIANTS[variant](lines, b" "), format="wordnet", policies={"duplicate-id": "fix"})
    assert result.graph.digest == expected


@pytest.mark.parametrize("name", SOUND)
def test_line_ends_and_compression_never_matter(name):
    policies = {"roots": "keep"}
    expected = read_bytes(SOUND[name], format=name, policies=policies).graph.digest
    crlf = SOUND[name].replace(b"\n", b"\r\n")
    for content in (crlf, gzip.compress(crlf), b"\xef\xbb\xbf" + SOUND[name], SOUND[name].rstrip(b"\n")):
        assert read_bytes(content, format=name, policies=policies).graph.digest == expected


edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=25)


@given(edges=edges, seed=st.integers(0, 99))
def test_repairs_leave_a_graph_that_holds_and_do_not_depend_on_the_order_of_lines(edges, seed):
    lines = [f"{parent} {child}" for parent, child in edges]
    policies = {"all": "fix", "roots": "keep"}
    result = read_bytes("\n".join(lines).encode(), format="edges", policies=policies, strict=False)
    random.Random(seed).shuffle(lines)
    again = read_bytes("\n".join(lines).encode(), format="edges", policies=policies, strict=False)
    assert result.graph == again.graph
    kept = {(p, c) for c, p, _, _ in result.graph.edges()}
    assert kept <= {(str(p), str(c)) for p, c in edges}
    assert result.graph.keys.find(str(edges[0][0])) >= 0


@given(edges=edges)
def test_cycles_and_roots_agree_with_networkx(edges):
    lines = "\n".join(f"{parent} {child}" for parent, child in edges).encode()
    graph = nx.DiGraph([(p, c) for p, c in edges if p != c])
    graph.add_nodes_from(v for pair in edges for v in pair)
    result = read_bytes(lines, format="edges", strict=False)
    codes = {d.code: d for d in result.report.defects}
    assert ("cycle" in codes) == (not nx.is_directed_acyclic_graph(graph))
    assert ("self-loop" in codes) == any(p == c for p, c in edges)
    if "cycle" not in codes:
        roots = [v for v in graph if graph.in_degree(v) == 0]
        assert ("roots" in codes) == (len(roots) > 1)
        redundant = set(graph.edges) - set(nx.transitive_reduction(graph).edges)
        found = codes["transitive-edge"].count if "transitive-edge" in codes else 0
        assert found == len(redundant)


def check(content: bytes, name: str | None) -> None:
    """Whatever the bytes: a report, or a typed error; a graph exactly where no error stands."""
    for policies in ({}, {"all": "fix", "roots": "virtual"}, {"all": "warn"}):
        try:
            result = read_bytes(content, format=name, policies=policies, strict=False)
        except GroveError:
            continue
        assert (result.graph is None) == bool(result.report.errors), result.report.render()
        assert result.report.render().encode()
        assert as_json(result.report.to_dict())
        for defect in result.report.defects:
            assert defect.count >= 1
            assert all(line >= 0 for _, line in defect.places)


formats = st.sampled_from([None, *SOUND])


@given(content=st.binary(max_size=200), name=formats)
def test_no_bytes_bring_a_reader_down(content, name):
    check(content, name)


alphabet = st.sampled_from([*'ab01 \t,\n\n-#"{}[]:|~@\r\0', "\ufeff", "parent", "name", "children", " n 01 "])


@given(text=st.lists(alphabet, max_size=60).map("".join), name=formats)
def test_no_text_brings_a_reader_down(text, name):
    check(text.encode(), name)


@given(data=st.data(), name=st.sampled_from(list(SOUND)))
def test_no_damage_to_a_sound_source_brings_its_reader_down(data, name):
    content = bytearray(SOUND[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert", "repeat"]))
        if action == "flip":
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        elif action == "cut":
            del content[at : at + data.draw(st.integers(1, 20))]
        elif action == "insert":
            content[at:at] = data.draw(st.binary(max_size=6))
        else:
            content[at:at] = content[at : at + 30]
        content = content or bytearray(b"\n")
    check(bytes(content), name)


@pytest.mark.parametrize("name", SOUND)
def test_every_format_survives_the_whole_corpus(name):
    for case in CASES:
        if len(case.content) < 10_000:
            try:
                result = read_bytes(case.content, format=name, strict=False)
            except GroveError:
                continue
            assert (result.graph is None) == bool(result.report.errors), case.id

"""Taxonomy dumps: what becomes of their files, against a plain parser, and dumps that break a rule."""

from __future__ import annotations

import csv
import gzip
import io
import random
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from labelgrove.ontology.errors import DefectsError, InputError
from labelgrove.ontology.readers import RULES, ReadResult, fingerprint, read
from labelgrove.ontology.readers.formats.taxdump import NAME_CLASSES
from tests.benchmarks.taxonomies import write_taxdump
from tests.unit.readers.reader_corpus import as_json
from tests.unit.readers.taxdump_corpus import DUMP, TAXDUMP_CASES, dump_lines


def place(folder: Path, files: Mapping[str, bytes] = DUMP) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def plain_rows(path: Path) -> Iterator[list[str]]:
    """Read a file of a dump with the csv module of Python alone."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE):
            yield [cell.strip("\t") for cell in row[:-1]]


def contents(result: ReadResult) -> Any:
    """Everything that a result holds, lines apart."""
    assert result.graph is not None
    assert result.annotations is not None
    described = result.annotations.descriptions(result.graph)
    return result.graph.digest, [
        (key, found.names, found.deprecated, found.alternative_id, found.replaced_by)
        for key, found in described
    ]


# ---- sound dumps ---------------------------------------------------------------------------------------


def test_a_folder_is_read_without_a_defect(tmp_path):
    result = read(place(tmp_path))
    assert result.report.defects == ()
    assert result.report.format == "taxdump"
    graph, held = result.graph, result.annotations
    assert {(c, p) for c, p, _, _ in graph.edges()} == {
        ("2", "131567"),
        ("9605", "131567"),
        ("9606", "9605"),
        ("63221", "9606"),
        ("131567", "1"),
        ("629395", "2"),
    }
    names = dict(zip(graph.keys, graph.names, strict=True))
    assert (names["2"], names["629395"]) == ("Bacteria <bacteria>", "Bacteria <genus>")
    found = {key: one for key, one in held.descriptions(graph)}
    assert [(n.text, n.kind, n.language) for n in found["9606"].names] == [
        ("Homo sapiens Linnaeus, 1758", "exact", ""),
        ("human", "exact", "en"),
    ]
    assert [n.text for n in found["629395"].names] == ["Bacteria"]
    assert found["9606"].alternative_id == ("12", "74109")
    assert list(held.retired) == ["77", "78"]
    assert (found["9606"].line, found["78"].line) == (4, 2)


def test_the_file_its_folder_and_packed_files_are_one_source(tmp_path):
    expected = contents(read(place(tmp_path)))
    assert contents(read(tmp_path / "nodes.dmp")) == expected
    packed = tmp_path / "packed"
    packed.mkdir()
    place(packed, {f"{name}.gz": gzip.compress(content) for name, content in DUMP.items()})
    assert contents(read(packed)) == expected
    assert contents(read(packed / "nodes.dmp.gz")) == expected


def test_a_generated_dump_is_what_a_plain_parser_reads(tmp_path):
    write_taxdump(tmp_path, 3000, seed=5)
    result = read(tmp_path)
    assert result.report.defects == ()
    graph, held = result.graph, result.annotations
    parents = {row[0]: row[1] for row in plain_rows(tmp_path / "nodes.dmp")}
    assert {(c, p) for c, p, _, _ in graph.edges()} == {(c, p) for c, p in parents.items() if c != p}
    names, others = {}, set()
    for key, text, unique, kind in plain_rows(tmp_path / "names.dmp"):
        if kind == "scientific name":
            names[key] = unique or text
            if unique:
                others.add((key, text, "exact", ""))
        else:
            others.add((key, text, *NAME_CLASSES[kind]))
    assert dict(zip(graph.keys, graph.names, strict=True)) == names
    described = dict(held.descriptions(graph))
    found = {(k, n.text, n.kind, n.language) for k, one in described.items() for n in one.names}
    assert found == others
    merged = {(new, old) for old, new in plain_rows(tmp_path / "merged.dmp")}
    assert {(k, old) for k, one in described.items() for old in one.alternative_id} == merged
    assert sorted(held.retired) == sorted(row[0] for row in plain_rows(tmp_path / "delnodes.dmp"))
    assert graph.is_tree


def test_the_order_of_lines_does_not_matter(tmp_path):
    write_taxdump(tmp_path, 500, seed=6)
    expected = contents(read(tmp_path))
    for seed in range(3):
        for name in DUMP:
            path = tmp_path / name
            lines = path.read_bytes().splitlines(keepends=True)
            random.Random(seed).shuffle(lines)
            path.write_bytes(b"".join([*lines, *(lines[:5] if name != "nodes.dmp" else [])]))
        assert contents(read(tmp_path)) == expected


@pytest.mark.parametrize("levels", [["species"], ["genus", "species"], ["family"]])
def test_levels_keep_the_taxa_of_some_ranks_below_the_closest_above(levels, tmp_path):
    write_taxdump(tmp_path, 2000, seed=7)
    result = read(tmp_path, levels=levels)
    assert result.report.defects == ()
    rows = list(plain_rows(tmp_path / "nodes.dmp"))
    parents = {row[0]: row[1] for row in rows}
    kept = {row[0] for row in rows if row[2] in levels} | {"1"}
    expected = nx.DiGraph()
    expected.add_nodes_from(kept)
    for key in kept - {"1"}:
        above = parents[key]
        while above not in kept:
            above = parents[above]
        expected.add_edge(key, above)
    assert set(result.graph.keys) == set(expected)
    assert {(c, p) for c, p, _, _ in result.graph.edges()} == set(expected.edges)


def test_levels_are_part_of_the_fingerprint_in_any_order(tmp_path):
    place(tmp_path)
    one = fingerprint(tmp_path, levels=["genus", "species"])
    assert one == fingerprint(tmp_path, levels=("species", "genus", "genus"))
    assert one != fingerprint(tmp_path, levels=["genus"])
    assert fingerprint(tmp_path) != one


@pytest.mark.parametrize("name", [name for name in DUMP if name != "nodes.dmp"])
def test_every_file_beside_it_is_part_of_the_fingerprint(name, tmp_path):
    before = fingerprint(place(tmp_path))
    (tmp_path / name).write_bytes(DUMP[name] + b"\n")
    assert fingerprint(tmp_path) != before
    (tmp_path / name).unlink()
    assert read(tmp_path, strict=False).graph is not None


def test_a_root_other_than_one_needs_no_edge_to_itself(tmp_path):
    place(tmp_path, {"nodes.dmp": dump_lines(("7", "7", "no rank"), ("8", "7", "genus"))})
    result = read(tmp_path)
    assert result.graph.roots == ("7",)
    assert [d.code for d in result.report.defects] == ["missing-file"]


# ---- other files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in DUMP if name != "nodes.dmp"])
def test_a_file_beside_it_is_not_a_source(name, tmp_path):
    place(tmp_path)
    with pytest.raises(DefectsError, match=f"{name} belongs to nodes.dmp: give nodes.dmp"):
        read(tmp_path / name, format="taxdump")


def test_an_archive_has_to_be_unpacked(tmp_path):
    archive = tmp_path / "taxdump.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in DUMP.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    with pytest.raises(DefectsError, match="this looks like a tar archive: unpack it"):
        read(archive)


def test_a_folder_without_a_source_says_what_is_looked_for(tmp_path):
    with pytest.raises(InputError, match=r"neither|data\.noun of WordNet or nodes\.dmp of a taxonomy dump"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"does not contain nodes\.dmp"):
        read(tmp_path, format="taxdump")
    with pytest.raises(InputError, match="this is a folder; give a file"):
        read(place(tmp_path), format="edges")


def test_levels_is_a_list_and_an_option_of_dumps_alone(tmp_path):
    place(tmp_path)
    with pytest.raises(InputError, match=r"levels: 'species' is one text; give a list"):
        read(tmp_path, levels="species")
    (tmp_path / "edges.csv").write_bytes(b"parent,child\na,b\n")
    with pytest.raises(InputError, match="levels: the format 'edges' does not have this option"):
        read(tmp_path / "edges.csv", levels=["species"])


# ---- malformed dumps -----------------------------------------------------------------------------------


def test_the_cases_differ():
    assert not [name for name, n in Counter(case.id for case in TAXDUMP_CASES).items() if n > 1]
    assert len({(case.code, case.file) for case in TAXDUMP_CASES}) >= 40


@pytest.mark.parametrize("case", TAXDUMP_CASES, ids=lambda case: case.id)
def test_a_malformed_dump_is_reported_with_file_and_line(case, tmp_path):
    result = read(place(tmp_path, case.files), strict=False, **case.options)
    found = {defect.code: defect for defect in result.report.defects}
    assert case.code in found, result.report.render()
    places = [(name, line) for name, line in found[case.code].places]
    assert (str(tmp_path / case.file), case.line) in places, result.report.render()
    assert (result.graph is None) == bool(result.report.errors)
    assert as_json(result.report.to_dict())


@pytest.mark.parametrize("case", TAXDUMP_CASES, ids=lambda case: case.id)
def test_a_policy_does_what_it_says(case, tmp_path):
    place(tmp_path, case.files)
    for policy in RULES[case.code].policies:
        result = read(tmp_path, strict=False, policies={case.code: policy}, **case.options)
        found = {defect.code: defect.policy for defect in result.report.defects}
        assert found[case.code] == policy
    everything = read(tmp_path, strict=False, policies={"all": "fix", "roots": "keep"}, **case.options)
    assert all("fix" not in RULES[defect.code].policies for defect in everything.report.errors)


@pytest.mark.parametrize("swapped", [False, True])
def test_of_several_successors_the_first_is_used_whatever_the_order(swapped, tmp_path):
    records = [("12", "9605"), ("12", "63221")]
    files = {**DUMP, "merged.dmp": dump_lines(*(records[::-1] if swapped else records))}
    result = read(place(tmp_path, files), policies={"former-id": "fix"})
    found = dict(result.annotations.descriptions(result.graph))
    assert [key for key, one in found.items() if one.alternative_id] == ["63221"]


def test_a_name_without_text_is_reported_once(tmp_path):
    files = {**DUMP, "names.dmp": DUMP["names.dmp"].replace(b"|\tHomo\t|", b"|\t\t|")}
    result = read(place(tmp_path, files))
    assert [(d.code, d.count) for d in result.report.defects] == [("missing-name", 1)]

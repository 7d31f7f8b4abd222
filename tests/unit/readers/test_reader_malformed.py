"""Malformed sources: each breaks a rule of its own and ends in a report with file and line."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from pathlib import Path

import pytest

from labelgrove.ontology.errors import DefectsError, InputError, NotFoundError
from labelgrove.ontology.readers import RULES, ReadResult, formats, read, structure
from labelgrove.ontology.readers.formats import icd
from labelgrove.ontology.readers.text import lines as lines_module
from tests.unit.readers.icd_cases import tabular
from tests.unit.readers.reader_corpus import CASES, LABELS, SOUND, Case, as_json, nested
from tests.unit.readers.taxdump_corpus import TAXDUMP_CASES


def place(case: Case, folder: Path) -> tuple[Path, dict[str, object]]:
    """Write the files of a case and return the source with the options to read it by."""
    source = folder / case.name
    source.write_bytes(case.content)
    for name, content in case.beside.items():
        (folder / name).write_bytes(content)
    options: dict[str, object] = {"format": case.format, **case.options}
    if case.labels is not None:
        (folder / "train.csv").write_bytes(case.labels)
        options["labels"] = folder / "train.csv"
    return source, options


def read_case(case: Case, folder: Path, **more: object) -> ReadResult:
    source, options = place(case, folder)
    policies = {**dict(options.pop("policies", {})), **dict(more.pop("policies", {}))}  # type: ignore[call-overload]
    return read(source, **options, **more, policies=policies, strict=False)  # type: ignore[arg-type]


def test_the_corpus_breaks_over_a_hundred_rules():
    rules = {(case.format, case.code) for case in CASES}
    assert len(rules) >= 100
    assert len(CASES) >= 200
    of_new_formats = [*TAXDUMP_CASES]
    of_new_formats += [
        case for case in CASES if case.format in ("export", "icd", "obo", "paths", "rdf", "records")
    ]
    assert len({case.id for case in of_new_formats}) >= 500
    twice = [name for name, n in Counter(case.id for case in CASES).items() if n > 1]
    assert not twice


def test_every_rule_of_the_table_is_broken_by_some_case():
    elsewhere = {"unreadable", "gzip-bomb", "transitive-unchecked", "xml-size"}  # by tests of their own below
    assert set(RULES) - {case.code for case in [*CASES, *TAXDUMP_CASES]} == elsewhere


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_malformed_source_is_reported_with_file_and_line(case, tmp_path):
    result = read_case(case, tmp_path)
    found = {defect.code: defect for defect in result.report.defects}
    file = str(tmp_path / case.in_file)
    assert case.code in found, result.report.render()
    assert (file, case.line) in found[case.code].places, result.report.render()
    assert found[case.code].count >= len(found[case.code].places) >= 1
    assert found[case.code].remedy
    assert (result.graph is None) == bool(result.report.errors)
    assert result.report.render().encode()
    assert as_json(result.report.to_dict())


def policy(case: Case) -> str:
    """The policy of the defect under the options of the case, its format and its rule."""
    own = next(f.policies for f in formats() if f.name == case.format)
    chosen = {case.code: RULES[case.code].default, **own, **case.options.get("policies", {})}
    return chosen[case.code]


@pytest.mark.parametrize("case", [c for c in CASES if policy(c) == "error"], ids=lambda case: case.id)
def test_a_defect_of_severity_error_raises_with_the_report(case, tmp_path):
    source, options = place(case, tmp_path)
    with pytest.raises(DefectsError) as caught:
        read(source, **options)
    assert case.code in {defect.code for defect in caught.value.report.errors}
    assert str(source) in str(caught.value)


@pytest.mark.parametrize(
    "case", [c for c in CASES if "fix" in RULES[c.code].policies], ids=lambda case: case.id
)
def test_fix_repairs_what_it_names_and_says_so(case, tmp_path):
    result = read_case(case, tmp_path, policies={case.code: "fix"})
    found = {defect.code: defect for defect in result.report.defects}
    assert found[case.code].severity == "info"
    assert found[case.code].remedy.startswith("repaired: ")
    assert (result.graph is None) == bool(result.report.errors)
    everything = read_case(case, tmp_path, policies={"all": "fix", "roots": "keep"})
    unfixable = {defect.code for defect in everything.report.errors}
    assert all("fix" not in RULES[code].policies for code in unfixable)
    assert (everything.graph is None) == bool(unfixable)


@pytest.mark.parametrize(
    "case", [c for c in CASES if "warn" in RULES[c.code].policies], ids=lambda case: case.id
)
def test_warn_keeps_what_it_names(case, tmp_path):
    result = read_case(case, tmp_path, policies={case.code: "warn"})
    found = {defect.code: defect for defect in result.report.defects}
    assert found[case.code].severity == "warn"
    assert case.code not in {defect.code for defect in result.report.errors}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_source_has_no_defect(name, tmp_path):
    case = Case(name, "", 0, SOUND[name], labels=LABELS if name == "lshtc" else None)
    result = read_case(case, tmp_path)
    assert {d.code for d in result.report.defects} <= {"roots", "class-not-leaf", "missing-file"}
    assert result.graph is not None


def test_every_defect_is_listed_not_only_the_first(tmp_path):
    source = tmp_path / "edges.csv"
    source.write_text("a,b\nb,b\n" + "a\n" * 30 + "a,c\na,c\nb,a\n,x\n")
    with pytest.raises(DefectsError, match="and 1 more kind,") as caught:
        read(source)
    report = caught.value.report
    counts = {d.code: d.count for d in report.defects}
    assert counts == {"columns": 30, "empty-key": 1, "self-loop": 1, "cycle": 1, "duplicate-edge": 1}
    columns = next(d for d in report.defects if d.code == "columns")
    assert [line for _, line in columns.places] == list(range(3, 33))
    assert len(columns.examples) == 20
    assert "... and 25 more" in report.render()
    assert report.counts["error"] == 33


def test_a_stream_that_unpacks_beyond_measure_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "RATIO_FLOOR", 1 << 20)
    for name, line in (("edges", b"animal,dog\n"), ("json", b"                \n"), ("lshtc", b"1 2\n")):
        source = tmp_path / f"{name}.gz"
        source.write_bytes(gzip.compress(line * ((3 << 20) // len(line)), compresslevel=9))
        result = read(source, format=name, strict=False)
        assert [d.code for d in result.report.errors] == ["gzip-bomb"]
        assert result.report.errors[0].places[0][1] > 1


def test_a_file_with_endless_elements_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(icd, "MOST_ELEMENTS", 1000)
    source = tmp_path / "endless.xml"
    source.write_bytes(tabular("<notes/>\n" * 2000))
    report = read(source, strict=False).report
    assert [(d.code, d.places[0][1]) for d in report.errors] == [("xml-size", 996)]
    assert "more than 1,000 elements" in report.render()


def test_the_limit_in_bytes_holds_whatever_the_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "UNPACKED_LIMIT", 1000)
    source = tmp_path / "edges.gz"
    source.write_bytes(gzip.compress(b"".join(b"a,%d\n" % i for i in range(1000))))
    assert [d.code for d in read(source, strict=False).report.errors] == ["gzip-bomb"]


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails: /proc/self/mem"
)
def test_a_read_error_of_the_system_is_a_defect():
    result = read("/proc/self/mem", format="edges", strict=False)
    assert [d.code for d in result.report.errors] == ["unreadable"]


def test_the_search_for_shortcuts_says_when_it_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(structure, "_SEARCH_LIMIT", 1)
    edges = [(i, j) for i, j in itertools.combinations(range(8), 2) if j - i < 4]
    source = tmp_path / "edges.txt"
    source.write_text("".join(f"{i} {j}\n" for i, j in edges))
    codes = [d.code for d in read(source).report.defects]
    assert codes == ["transitive-edge", "transitive-unchecked"]


@pytest.mark.parametrize("depth", [9_000 // 2, 100_000])
def test_a_deep_json_tree_is_read_or_reported_never_a_recursion_error(depth, tmp_path):
    source = tmp_path / "deep.json"
    source.write_bytes(nested(depth))
    result = read(source, strict=False)
    if depth < 5_000:
        assert result.graph is not None
        assert int(result.graph.depth.max()) == depth - 1
    else:
        assert [d.code for d in result.report.errors] == ["json-nesting"]


@pytest.mark.parametrize(
    "content",
    [
        b'{"name":' + b"[" * 9_990 + b"]" * 9_990 + b"}",
        b'{"children":' + b'{"a":' * 9_990 + b"1" + b"}" * 9_991,
    ],
    ids=["arrays", "objects"],
)
def test_deep_values_where_a_node_has_none_are_named_not_walked(content, tmp_path):
    source = tmp_path / "deep.json"
    source.write_bytes(content)
    assert read(source, strict=False).graph is None or content


def test_a_long_loop_is_named_by_its_start_and_length(tmp_path):
    source = tmp_path / "loop.txt"
    n = 20_000
    source.write_text("".join(f"{i:05d} {(i + 1) % n:05d}\n" for i in range(n)))
    defect = read(source, strict=False).report.errors[0]
    assert (defect.code, defect.count) == ("cycle", 1)
    assert "00000 > 00001 > " in defect.examples[0][2]
    assert "(20000 labels in the loop, 20000 in its group of loops)" in defect.message + defect.examples[0][2]


def test_loops_are_broken_below_the_label_that_hangs_from_outside(tmp_path):
    source = tmp_path / "loop.txt"
    lines = ["root b", "b c", "c a", "a b", "c b"]
    graphs = set()
    for order in itertools.permutations(lines):
        source.write_text("\n".join(order))
        result = read(source, policies={"cycle": "fix"})
        graphs.add(result.graph.digest)
        assert {(c, p) for c, p, _, _ in result.graph.edges()} == {("b", "root"), ("c", "b"), ("a", "c")}
    assert len(graphs) == 1


class TestArguments:
    """What is wrong with the call rather than the file raises at once."""

    def source(self, folder: Path) -> Path:
        source = folder / "edges.csv"
        source.write_bytes(SOUND["edges"])
        return source

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(NotFoundError, match=r"nowhere\.csv"):
            read(tmp_path / "nowhere.csv")

    def test_a_folder_without_a_database_file(self, tmp_path):
        with pytest.raises(InputError, match=r"data\.noun"):
            read(tmp_path)

    def test_a_device(self):
        with pytest.raises(InputError, match="device"):
            read("/dev/null")

    def test_a_path_with_a_nul(self):
        with pytest.raises((InputError, NotFoundError)):
            read("a\0b")

    def test_a_missing_labels_file(self, tmp_path):
        with pytest.raises(NotFoundError, match=r"train\.csv"):
            read(self.source(tmp_path), format="lshtc", labels=tmp_path / "train.csv")

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"format": "owl"}, "choose from: wordnet, edges"),
            ({"direction": "up"}, "'parent-child'"),
            ({"delimiter": ";"}, "'comma'"),
            ({"part": "noun"}, "its options: direction, header, delimiter, relation, root"),
            ({"format": "json", "direction": "undirected"}, "does not have this option"),
            ({"root": ""}, "root"),
            ({"root": "a\nb"}, "root"),
            ({"policies": {"loop": "fix"}}, "is not a defect code"),
            ({"policies": {"self-loop": "warn"}}, "choose from: error, fix"),
            ({"policies": {"all": "virtual"}}, "error, warn or fix"),
            ({"direction": "undirected", "policies": {"roots": "virtual"}}, "directed"),
        ],
    )
    def test_options_that_are_not_available(self, options, says, tmp_path):
        with pytest.raises(InputError, match=says):
            read(self.source(tmp_path), **options)

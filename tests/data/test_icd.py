"""Real ICD-10: what is read is what the packages with the files, and the XML parser of Python, find in it."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import pytest

from labelgrove.ontology.readers import ReadResult, read
from tests.data.parsers import parser
from tests.packagedata import package_file
from tests.unit.readers.reading import names, pairs

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("downloads")]

CM_2026 = ("simple-icd-10-cm", "1.5.0", "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml")
CM_2021 = ("simple-icd-10-cm", "1.0.5", "simple_icd_10_cm/data/icd10cm_tabular_2021.xml")
WHO_2019 = ("simple-icd-10", "2.1.1", "simple_icd_10/data/icd_10_v2019.xml")


def one_line(text: str) -> str:
    return " ".join(text.split())


def labels(result: ReadResult) -> dict[str, str]:
    """Names of all labels but the root that is put above the chapters."""
    return {key: name for key, name in names(result).items() if key != "root"}


def synonyms(result: ReadResult) -> set[tuple[str, str]]:
    return {
        (key, name.text)
        for key, described in result.annotations.descriptions(result.graph)
        for name in described.names
    }


def counted_defects(result: ReadResult) -> dict[str, int]:
    return {defect.code: defect.count for defect in result.report.defects}


def test_icd_10_cm_is_what_its_package_finds_in_it():
    package = parser("simple_icd_10_cm")
    result = read(package_file(*CM_2026))
    codes = {code for code in package.get_all_codes() if not package.is_extended_subcategory(code)}
    assert len(codes) == 47_161
    assert labels(result) == {code: one_line(package.get_description(code)) for code in codes}
    parents = {code: package.get_parent(code, prioritize_blocks=True) or "root" for code in codes}
    assert pairs(result) == set(parents.items())
    found: set[tuple[str, str]] = set()
    definitions: dict[str, str] = {}
    for code in codes:
        is_merged = package.get_description(code) != package.get_description(code, prioritize_blocks=True)
        for of_section in {False, is_merged}:
            texts = package.get_inclusion_term(code, of_section) + package.get_includes(code, of_section)
            found |= {(code, one_line(text)) for text in texts}
        if is_merged:
            title = one_line(package.get_description(code, prioritize_blocks=True))
            found.add((code, title.removesuffix(f"({code})").strip()))
        notes = package.get_notes(code) or package.get_notes(code, prioritize_blocks=True)
        if notes:
            definitions[code] = one_line(notes)
    named = labels(result)
    assert synonyms(result) == {(code, text) for code, text in found if text != named[code]}
    assert result.definitions == definitions


@pytest.mark.parametrize("file", [CM_2026, CM_2021], ids=["2026", "2021"])
def test_icd_10_cm_is_what_the_parser_of_python_finds_in_it(file):
    source = package_file(*file)
    result = read(source)
    found: dict[str, str] = {}
    parents: dict[str, str] = {}
    terms: set[tuple[str, str]] = set()

    def walk(above: ElementTree.Element, parent: str) -> None:
        for element in above:
            if element.tag not in ("chapter", "section", "diag"):
                continue
            key = element.get("id") or (element.findtext("name") or "").strip()
            title = one_line(element.findtext("desc") or "")
            if key != parent:
                parents[key] = parent
            else:  # a disease that is alone in its section
                terms.add((key, found[key].removesuffix(f"({key})").strip()))
            found[key] = title
            for name in ("inclusionTerm", "includes"):
                terms.update((key, one_line(note.text or "")) for note in element.findall(f"{name}/note"))
            walk(element, key)

    walk(ElementTree.parse(source).getroot(), "root")
    assert labels(result) == found
    assert pairs(result) == set(parents.items())
    assert synonyms(result) == {(key, text) for key, text in terms if text != found[key]}


def test_the_who_edition_is_what_its_package_finds_in_it():
    package = parser("simple_icd_10")
    result = read(package_file(*WHO_2019))
    codes = package.get_all_codes()
    assert len(codes) == len(set(codes)) == 12_542
    assert labels(result) == {code: one_line(package.get_description(code)) for code in codes}
    assert pairs(result) == {(code, package.get_parent(code) or "root") for code in codes}
    assert not synonyms(result)


def test_the_editions_have_the_counts_that_were_measured():
    now, before, who = (read(package_file(*file)) for file in (CM_2026, CM_2021, WHO_2019))
    assert [(r.graph.n_labels, r.graph.n_edges) for r in (now, before, who)] == [
        (47_162, 47_161),
        (45_298, 45_297),
        (12_543, 12_542),
    ]
    assert all(result.graph.is_tree for result in (now, before, who))
    gone, added = labels(before).keys() - labels(now).keys(), labels(now).keys() - labels(before).keys()
    assert (len(gone), len(added)) == (10, 1_874)
    kinds = Counter(name.kind for _, one in now.annotations.descriptions(now.graph) for name in one.names)
    assert kinds == {"exact": 10_695, "narrow": 2_911}
    assert counted_defects(now) == {"crlf": 1, "duplicate-name": 737, "roots": 22, "seventh-character": 508}
    assert counted_defects(before) == {
        "crlf": 1,
        "duplicate-name": 703,
        "roots": 22,
        "seventh-character": 507,
    }
    assert counted_defects(who) == {"bom": 1, "crlf": 1, "duplicate-name": 61, "roots": 22}

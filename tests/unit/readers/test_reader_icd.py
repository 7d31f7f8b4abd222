"""ICD-10 in XML: what becomes of each element, both shapes of the file, and that nothing else is loaded."""

from __future__ import annotations

import gzip
import socket
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labelgrove.ontology.annotations import Description, Name
from labelgrove.ontology.readers import ReadResult, read
from labelgrove.ontology.readers.formats.icd import PASSED
from tests.unit.readers.icd_cases import ICD_SOUND, ITEMS, tabular
from tests.unit.readers.reading import codes, names, pairs, read_text

EXTRACT = Path(__file__).with_name("samples") / "icd10cm-extract.xml"


def described(result: ReadResult, key: str) -> Description:
    return dict(result.annotations.descriptions(result.graph))[key]


def test_labels_are_chapters_sections_and_diseases(tmp_path):
    result = read_text(tmp_path, ICD_SOUND)
    assert result.report.format == "icd"
    assert names(result) == {
        "1": "Certain infectious diseases (A00-B99)",
        "A00-A09": "Intestinal infectious diseases (A00-A09)",
        "A00": "Cholera",
        "A00.0": "Cholera due to Vibrio cholerae 01",
    }
    assert pairs(result) == {("A00-A09", "1"), ("A00", "A00-A09"), ("A00.0", "A00")}
    assert described(result, "A00.0").line == 7


def test_items_are_labels_and_their_order_is_not_asked_for(tmp_path):
    result = read_text(tmp_path, "\ufeff" + ITEMS.replace("\n", "\r\n"))
    assert names(result) == {"I": "Certain infectious and parasitic diseases", "A00": "Cholera"}
    assert pairs(result) == {("A00", "I")}
    assert codes(result) == {"bom", "crlf"}
    item = "<name>A00</name>\n\t\t\t<description>Cholera</description>"
    assert item in ITEMS
    turned = ITEMS.replace(item, "<description>Cholera</description>\n\t\t\t<name>A00</name>")
    assert read_text(tmp_path, turned).graph.digest == result.graph.digest


def test_inclusion_terms_are_synonyms_and_included_conditions_are_narrower(tmp_path):
    inside = (
        "<inclusionTerm><note>cholera nostras</note><note>winter\n  cholera</note></inclusionTerm>"
        "<includes><note>cholera of travelers</note></includes>"
    )
    result = read_text(tmp_path, tabular(inside))
    assert not codes(result)
    assert set(described(result, "A00").names) == {
        Name("cholera nostras"),
        Name("winter cholera"),
        Name("cholera of travelers", "narrow"),
    }


@pytest.mark.parametrize(
    ("title", "kind"),
    [("Other cholera", "narrow"), ("OTHER: cholera", "narrow"), ("Otherwise cholera", "exact")],
)
def test_what_a_residual_class_includes_is_narrower_than_it(title, kind, tmp_path):
    text = f"<diag><name>A00.8</name><desc>{title}</desc><inclusionTerm><note>a</note></inclusionTerm></diag>"
    result = read_text(tmp_path, tabular(text))
    assert described(result, "A00.8").names == (Name("a", kind),)


def test_notes_are_the_definition(tmp_path):
    result = read_text(
        tmp_path, tabular("<notes><note>For acute\n cases.</note><note>By age.</note></notes>")
    )
    assert result.definitions == {"A00": "For acute cases. By age."}


def test_a_section_of_one_code_is_this_code(tmp_path):
    section = (
        '<section id="B20"><desc>HIV disease (B20)</desc><notes><note>of the section</note></notes>'
        "<includes><note>AIDS</note></includes>{}</section></chapter>"
    )
    disease = "<diag><name>B20</name><desc>{}</desc>{}<diag><name>B20.1</name><desc>a</desc></diag></diag>"
    notes = "<notes><note>of the code</note></notes>"
    text = tabular("").decode()

    def of(title: str, inside: str) -> ReadResult:
        one = section.format(disease.format(title, inside))
        return read_text(tmp_path, text.replace("</chapter>", one))

    other = of("Human immunodeficiency virus disease", notes)
    assert not codes(other)
    assert {(child, parent) for child, parent in pairs(other) if "B20" in child} == {
        ("B20", "1"),
        ("B20.1", "B20"),
    }
    assert names(other)["B20"] == "Human immunodeficiency virus disease"
    assert set(described(other, "B20").names) == {Name("HIV disease"), Name("AIDS", "narrow")}
    assert other.definitions == {"B20": "of the code"}
    same = of("HIV disease", "")
    assert described(same, "B20").names == (Name("AIDS", "narrow"),)
    assert same.definitions == {"B20": "of the section"}
    untitled = section.format("<diag><name>B20</name></diag>")
    assert names(read_text(tmp_path, text.replace("</chapter>", untitled)))["B20"] == "HIV disease"


@pytest.mark.parametrize("element", sorted(PASSED))
def test_what_tells_coders_what_to_do_is_passed_over(element, tmp_path):
    plain = read_text(tmp_path, tabular(""))
    inside = f"<{element}><note>a</note>text<other><note>b</note></other></{element}>"
    result = read_text(tmp_path, tabular(inside))
    assert codes(result) == ({"seventh-character"} if element == "sevenChrDef" else set())
    assert result.graph.digest == plain.graph.digest
    assert dict(result.annotations.descriptions(result.graph)) == dict(
        plain.annotations.descriptions(plain.graph)
    )


def test_a_label_in_a_passage_that_is_not_read_is_still_a_label(tmp_path):
    inside = "<excludes1><diag><name>A00.1</name><desc>a</desc></diag></excludes1>"
    result = read_text(tmp_path, tabular(inside), policies={"misplaced-label": "fix"})
    assert ("A00.1", "A00") in pairs(result)


def test_the_children_of_a_label_without_a_code_move_up(tmp_path):
    inside = "<diag><desc>a</desc><diag><name>A00.1</name><desc>b</desc></diag></diag>"
    result = read_text(tmp_path, tabular(inside), policies={"missing-code": "fix"})
    assert ("A00.1", "A00") in pairs(result)
    assert "a" not in result.graph.names


def test_sections_are_compared_with_the_index_of_the_whole_file(tmp_path):
    index = "".join(f'<sectionIndex><sectionRef id="{code}"/></sectionIndex>' for code in ("A00-A09", "B20"))
    text = tabular("").decode().replace("<section ", index + "<section ")
    (found,) = read_text(tmp_path, text).report.defects
    assert (found.code, found.count, found.examples[0][2]) == ("missing-section", 1, "B20")


def test_comments_instructions_and_cdata_are_read_as_xml_has_them(tmp_path):
    inside = (
        "<!-- <desc>a</desc> --><?app <desc>b</desc>?>"
        "<notes><note>a <![CDATA[<b> &]]>&amp;&#x63;</note></notes>"
    )
    result = read_text(tmp_path, tabular(inside, "<!DOCTYPE ICD10CM.tabular>\n"))
    assert not codes(result)
    assert result.definitions == {"A00": "a <b> &&c"}


def test_a_file_whose_root_is_called_like_a_label_has_no_labels(tmp_path):
    text = f"<!-- {'a' * 70_000} -->\n<diag><name>A00</name></diag>\n"  # the root is beyond what is sniffed
    report = read_text(tmp_path, text, format="icd", strict=False).report
    assert {defect.code for defect in report.defects} == {"no-records", "unknown-element"}


def test_a_compressed_file_is_the_same(tmp_path):
    plain = read(EXTRACT)
    packed = read_text(tmp_path, gzip.compress(EXTRACT.read_bytes()), name="icd.xml.gz")
    assert packed.report.format == "icd"
    assert packed.graph.digest == plain.graph.digest


def test_a_real_extract_is_what_the_parser_of_python_finds_in_it():
    result = read(EXTRACT)
    expected: dict[str, str] = {}

    def walk(above: ElementTree.Element, parent: str) -> None:
        for element in above:
            if element.tag in ("chapter", "section", "diag"):
                key = element.get("id") or element.findtext("name") or ""
                if key != parent:  # a disease that is alone in its section
                    expected[key] = parent
                walk(element, key)

    walk(ElementTree.parse(EXTRACT).getroot(), "root")
    assert pairs(result) == set(expected.items())
    assert (result.graph.n_labels, result.graph.n_edges) == (36, 35)
    assert {d.code: d.count for d in result.report.defects} == {"roots": 2, "seventh-character": 1}
    described_all = dict(result.annotations.descriptions(result.graph))
    kinds = Counter(name.kind for one in described_all.values() for name in one.names)
    assert kinds == {"exact": 8, "narrow": 1}
    assert names(result)["B99"] == "Other and unspecified infectious diseases"
    assert Name("Other infectious diseases") in described_all["B99"].names


def test_nothing_is_loaded_from_the_network(tmp_path, monkeypatch):
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    before = '<!DOCTYPE ICD10CM.tabular PUBLIC "-//A" "http://127.0.0.1:9/a.dtd">\n'
    assert [d.code for d in read_text(tmp_path, tabular("", before), strict=False).report.errors] == [
        "xml-external"
    ]

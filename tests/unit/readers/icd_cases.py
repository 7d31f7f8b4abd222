"""ICD-10 in XML: two small sound files, and malformed and hostile ones; each breaks a rule of its own."""

from __future__ import annotations

from tests.unit.readers.cases import Case

__all__ = ["ICD_CASES", "ICD_SOUND", "ITEMS", "tabular"]

ICD_SOUND = b"""<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular><version>2026</version><introduction/>
<chapter><name>1</name><desc>Certain infectious diseases (A00-B99)</desc>
<sectionIndex><sectionRef first="A00" last="A09" id="A00-A09">Intestines</sectionRef></sectionIndex>
<section id="A00-A09"><desc>Intestinal infectious diseases (A00-A09)</desc>
<diag><name>A00</name><desc>Cholera</desc>
<diag><name>A00.0</name><desc>Cholera due to Vibrio cholerae 01</desc>
<inclusionTerm><note>Classical cholera</note></inclusionTerm></diag>
</diag></section></chapter></ICD10CM.tabular>
"""

ITEMS = """<icd_10_v2019>
\t<item type="chapter">
\t\t<name>I</name>
\t\t<description>Certain infectious and parasitic diseases</description>
\t\t<item type="category">
\t\t\t<name>A00</name>
\t\t\t<description>Cholera</description>
\t\t</item>
\t</item>
</icd_10_v2019>
"""

_BEFORE = """<ICD10CM.tabular>
<chapter><name>1</name><desc>Infections</desc>
<section id="A00-A09"><desc>Intestines</desc>
<diag><name>A00</name><desc>Cholera</desc>
"""
_AFTER = "</diag>\n</section></chapter></ICD10CM.tabular>\n"
_SECTION = '<section id="A00-A09"><desc>Intestines</desc>\n'
_INDEX = '<sectionIndex><sectionRef id="A10-A19"/></sectionIndex>\n'
_OF_ITEM = "<description>a</description></item>"


def tabular(inside: str, before: str = "") -> bytes:
    """Return a tabular list in which `inside` is a part of the code A00, from line 5 on."""
    return (before + _BEFORE + inside + _AFTER).encode()


LIST = tabular("").decode()


def _part(code: str, note: str, inside: str, line: int = 5) -> Case:
    return Case("icd", code, line, tabular(inside + "\n"), name="source.xml", note=note)


def _before(code: str, note: str, text: str, line: int = 1) -> Case:
    """A defect in what stands before the list."""
    return Case("icd", code, line, tabular("", text + "\n"), name="source.xml", note=note)


def _file(code: str, note: str, line: int, text: str) -> Case:
    return Case("icd", code, line, text.encode(), name="source.xml", note=note)


def _diag(code: str, inside: str = "") -> str:
    return f"<diag><name>{code}</name><desc>of {code}</desc>{inside}</diag>"


ICD_CASES = [
    # XML that is not well formed.
    _part("xml-syntax", "end tag of another element", "<diag><name>A00.0</desc></diag>"),
    _part("xml-syntax", "ampersand", "<notes><note>typhoid & paratyphoid</note></notes>"),
    _part("xml-syntax", "unknown entity", "<notes><note>caf&eacute;</note></notes>"),
    _part("xml-syntax", "attribute twice", '<notes a="1" a="2"/>'),
    _part("xml-syntax", "control character by number", "<notes><note>&#1;</note></notes>"),
    _part("xml-syntax", "instruction called xml", "<?xml version='1.0'?>"),
    _file("xml-syntax", "cut off", 5, _BEFORE + "<diag><name>A00.0"),
    _file("xml-syntax", "text after the end", 7, LIST + "the end"),
    _before("xml-syntax", "another encoding", '<?xml version="1.0" encoding="ISO-8859-1"?>'),
    # XML that would harm its reader.
    _before("xml-entity", "", '<!DOCTYPE ICD10CM.tabular [<!ENTITY a "b">]>'),
    _before("xml-external", "entity", '<!DOCTYPE ICD10CM.tabular [<!ENTITY a SYSTEM "file:///etc/passwd">]>'),
    _before("xml-external", "document type", '<!DOCTYPE ICD10CM.tabular SYSTEM "http://e.org/a.dtd">'),
    _part("xml-nesting", "labels", "<diag>" * 300),
    _part("xml-nesting", "elements that are passed over", "<excludes1>" + "<a>" * 300),
    _part("xml-length", "note", "<notes><note>" + "a\n" * 40_000, 32_773),
    _part("xml-length", "title", "<diag><desc>" + "a" * 70_000),
    _part("xml-length", "tag", "<diag a='" + "a\n" * 30_000, 23_170),
    _part("xml-length", "comment", "<!-- " + (9_999 * "a" + "\n") * 130, 110),
    # Labels.
    _part("missing-code", "none", "<diag><desc>of nothing</desc></diag>"),
    _part("missing-code", "empty", "<diag><name> </name><desc>of nothing</desc></diag>"),
    _file("missing-code", "section", 3, LIST.replace(' id="A00-A09"', "")),
    _file("missing-code", "chapter", 2, LIST.replace("<name>1</name>", "")),
    _file("missing-code", "item", 5, ITEMS.replace("<name>A00</name>", "")),
    _part("several-codes", "disease", "<diag><name>A00.0</name><name>A00.1</name><desc>a</desc></diag>"),
    _file("several-codes", "section", 3, LIST.replace("<desc>Int", "<name>A00-A10</name><desc>Int")),
    _part("duplicate-id", "siblings", _diag("A00.0") + "\n" + _diag("A00.0"), 6),
    _part("duplicate-id", "disease in itself", _diag("A00"), 4),
    _part("self-loop", "disease in itself", _diag("A00")),
    _part("cycle", "disease in itself", _diag("A00.0", _diag("A00"))),
    _part("conflicting-texts", "titles", "<desc>Cholera nostras</desc>"),
    _part("missing-name", "none", "<diag><name>A00.0</name></diag>"),
    _part("missing-name", "empty", "<diag><name>A00.0</name><desc> </desc></diag>"),
    _part("duplicate-name", "", "<diag><name>A00.0</name><desc>Cholera</desc></diag>"),
    _part("look-alike-keys", "case", _diag("A00.0a") + _diag("A00.0A")),
    _part("invisible-character", "escaped", _diag("A00.0&#x200b;")),
    _part("control-character", "escaped", _diag("A00.0&#x9b;")),
    _part("key-too-long", "", _diag("A" * 4001)),
    _part("misplaced-label", "section in a disease", '<section id="A01"><desc>a</desc></section>'),
    _part("misplaced-label", "chapter in a disease", "<chapter><name>2</name><desc>a</desc></chapter>"),
    _part("misplaced-label", "item in a disease", "<item><name>2</name><desc>a</desc></item>"),
    _part("misplaced-label", "disease in a note", f"<notes><note>a {_diag('A00.0')}</note></notes>"),
    _part("misplaced-label", "disease in an unknown element", f"<group>{_diag('A00.0')}</group>"),
    _part("misplaced-label", "disease in a title", f"<desc>Cholera {_diag('A00.1')}</desc>"),
    _file("misplaced-label", "in a chapter", 3, LIST.replace(_SECTION, "").replace("</section>", "")),
    _file("misplaced-label", "in the file", 2, f"<ICD10CM.tabular>\n{_diag('A00')}</ICD10CM.tabular>"),
    _file("roots", "two chapters", 2, ITEMS.replace("</icd", "<item><name>II</name>" + _OF_ITEM + "</icd")),
    # Other elements.
    _part("unknown-element", "misspelt", "<desk>Cholera</desk>"),
    _part("unknown-element", "title in a list", "<notes><desc>a</desc></notes>"),
    _part("unknown-element", "note outside a list", "<note>a</note>"),
    _part("unknown-element", "inside a title", "<diag><name>A00.0</name><desc>a <i>b</i></desc></diag>"),
    _file("unknown-element", "title of the file", 2, LIST.replace("<chapter>", "<desc>a</desc><chapter>")),
    _part("stray-text", "in a disease", "cholera"),
    _part("stray-text", "in a list", "<includes>cholera</includes>"),
    _part("empty-note", "none", "<includes><note/></includes>"),
    _part("empty-note", "blank", "<inclusionTerm><note> </note></inclusionTerm>"),
    _part("seventh-character", "", '<sevenChrDef><extension char="A">initial</extension></sevenChrDef>'),
    _file("missing-section", "", 3, LIST.replace("<section ", _INDEX + "<section ")),
]  # fmt: skip

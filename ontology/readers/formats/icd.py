"""Read ICD-10 in XML: the tabular list of ICD-10-CM, and trees of items such as those of the WHO edition.

In the tabular list, the elements ``chapter``, ``section`` and ``diag`` are labels, each inside its parent::

    <chapter><name>1</name><desc>Infectious diseases</desc>
      <section id="A00-A09"><desc>Intestinal infectious diseases</desc>
        <diag><name>A00</name><desc>Cholera</desc></diag></section></chapter>

In a tree of items, each label is an ``item`` with a ``name`` and a ``description``. The key of a label is its
code as the file writes it: the number of a chapter, the range of a section, or the code of a disease. A
section that contains a single code has this code as its id; both are one label.

``inclusionTerm`` gives synonyms, ``includes`` narrower names, and ``notes`` the definition. The elements in
`PASSED` tell coders which code to choose or to add, and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.lines import Lines
from labelgrove.ontology.readers.text.xmltext import XmlParser

__all__ = ["LONGEST_TEXT", "MOST_ELEMENTS", "PASSED", "read_icd"]

LONGEST_TEXT = 1 << 16
"""Length in characters of the longest code, title or note that is read."""

MOST_ELEMENTS = 2_000_000
"""Number of elements in a file that are read; the tabular list of ICD-10-CM has fewer than 200,000."""

_ROOT = ""
_PARENTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "chapter": frozenset({_ROOT}),
        "section": frozenset({"chapter", "section"}),
        "diag": frozenset({"section", "diag"}),
        "item": frozenset({_ROOT, "item"}),
    }
)
"""The elements of labels, and the elements in which each may be."""

_TEXTS = frozenset({"name", "desc", "description"})
_LISTS = frozenset({"includes", "inclusionTerm", "notes"})

PASSED = frozenset(
    {
        "version",
        "introduction",
        "sectionIndex",
        "excludes1",
        "excludes2",
        "codeFirst",
        "codeAlso",
        "useAdditionalCode",
        "sevenChrNote",
        "sevenChrDef",
        "visualImpairment",
    }
)
"""Elements of the format that are not read; the index of sections is only compared with the sections."""

_OTHER = re.compile(r"other\b", re.IGNORECASE)


def read_icd(path: Path, into: Collector, _options: Options) -> None:
    """Read ICD-10 in XML into a collector."""
    classification = _Classification(into)
    parser = classification.parser
    at = 0
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            if not parser.feed(line, at):
                return
    if at:
        parser.close(at)
    classification.finish()


@dataclass
class _Label:
    """A label whose element is open."""

    element: str
    line: int
    codes: set[str] = field(default_factory=set)
    titles: list[tuple[str, int]] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _LISTS})
    children: list[tuple[str, str, int]] = field(default_factory=list)
    """(element, code, line) of each child."""


@dataclass
class _Open:
    """An element that is open: its text if it is read, and whether it is passed over."""

    name: str
    line: int
    text: list[str] | None = None
    passed: bool = False
    length: int = 0


class _Classification:
    """Turn the elements of a file into labels, names and edges."""

    def __init__(self, into: Collector) -> None:
        self.parser = XmlParser(
            into.defect,
            broken="xml-syntax",
            nested="xml-nesting",
            entities=False,
            start=self._start,
            end=self._end,
            text=self._text,
        )
        self._into = into
        self._open: list[_Open] = []
        self._labels: list[_Label] = []
        self._n_elements = 0
        self._indexed: dict[str, int] = {}
        self._sections: set[str] = set()

    def finish(self) -> None:
        """Report what only the whole file shows."""
        for code, line in self._indexed.items():
            if code and code not in self._sections:
                self._into.defect("missing-section", line, code)
        self._into.report_unnamed()

    # ---- elements ----------------------------------------------------------------------------------

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._n_elements += 1
        if self._n_elements > MOST_ELEMENTS:
            self.parser.refuse("xml-size", f"more than {MOST_ELEMENTS:,} elements")
        opened = _Open(name, self.parser.line)
        if self._open:  # the first element is the file itself
            self._look_at(opened, attributes)
        self._open.append(opened)

    def _look_at(self, opened: _Open, attributes: Mapping[str, str]) -> None:
        """Decide what becomes of an element by its name and the element around it."""
        name, line = opened.name, opened.line
        around = self._open[-1]
        inside = around.name if len(self._open) > 1 else _ROOT
        if name in _PARENTS:
            if inside not in _PARENTS[name]:
                self._into.defect("misplaced-label", line, f"<{name}> in <{around.name}>")
            code = attributes.get("id", "").strip() if name == "section" else ""
            self._labels.append(_Label(name, line, {code} - {""}))
        elif around.passed:
            opened.passed = True
            if name == "sectionRef":
                self._indexed.setdefault(attributes.get("id", ""), line)
        elif name in PASSED:
            opened.passed = True
            if name == "sevenChrDef":
                self._into.defect("seventh-character", line, f"of codes below {self._shown()}")
        elif (inside in _PARENTS and name in _TEXTS) or (inside in _LISTS and name == "note"):
            opened.text = []
        elif not (inside in _PARENTS and name in _LISTS):
            opened.passed = True
            self._into.defect("unknown-element", line, f"<{name}> in <{around.name}>")

    def _shown(self) -> str:
        return min(self._labels[-1].codes, default="a label without a code") if self._labels else "the file"

    def _text(self, piece: str) -> None:
        opened = self._open[-1]
        if opened.text is None:
            if not opened.passed and not piece.isspace():
                self._into.defect("stray-text", self.parser.line, f"{piece.strip()} in <{opened.name}>")
            return
        opened.text.append(piece)
        opened.length += len(piece)
        if opened.length > LONGEST_TEXT:
            self.parser.refuse("xml-length", f"a text of more than {LONGEST_TEXT:,} characters")

    def _end(self, name: str) -> None:
        closed = self._open.pop()
        if name in _PARENTS and self._open:
            self._close_label(self._labels.pop())
        elif closed.text is not None:
            self._take(closed, " ".join("".join(closed.text).split()))

    def _take(self, closed: _Open, text: str) -> None:
        """Record the text of an element of the innermost open label."""
        label = self._labels[-1]
        if not text:
            if closed.name == "note":
                self._into.defect("empty-note", closed.line, f"in <{self._open[-1].name}> of {self._shown()}")
        elif closed.name == "name":
            label.codes.add(text)
        elif closed.name == "note":
            label.notes[self._open[-1].name].append(text)
        else:
            label.titles.append((text, closed.line))

    # ---- labels ------------------------------------------------------------------------------------

    def _close_label(self, label: _Label) -> None:
        """Record a label with its texts and the edges to its children."""
        into = self._into
        if label.element == "section":
            self._sections |= label.codes
        if len(label.codes) > 1:
            into.defect("several-codes", label.line, ", ".join(sorted(label.codes)))
        above = self._labels[-1].children if self._labels else []
        if not label.codes:
            title = label.titles[0][0] if label.titles else "without a title"
            into.defect("missing-code", label.line, f"<{label.element}> {title}")
            above += label.children
            return
        key = min(label.codes)
        is_its_code = label.element == "section" and ("diag", key) in {(e, k) for e, k, _ in label.children}
        for element, child, line in label.children:
            if not (is_its_code and (element, child) == ("diag", key)):
                into.edge(child, key, line)
        above.append((label.element, key, label.line))
        if is_its_code:
            self._join(key, label)
        else:
            self._record(key, label)

    def _record(self, key: str, label: _Label) -> None:
        """Record a label and its texts."""
        into = self._into
        if key in into.labels:
            into.defect("duplicate-id", label.line, f"<{label.element}> {key}")
        into.describe(key, label.line)
        for title, line in label.titles:
            into.name(key, title, line)
        if label.notes["notes"]:
            into.define(key, " ".join(label.notes["notes"]), label.line)
        self._add_names(key, label)

    def _join(self, key: str, section: _Label) -> None:
        """Record the texts of a section as those of its only code, whose own name and definition are kept."""
        into = self._into
        for title, line in section.titles:
            bare = title.removesuffix(f"({key})").strip()
            if key not in into.names:
                into.name(key, bare, line)
            elif bare != into.names[key]:
                into.annotations.name(key, bare)
        if section.notes["notes"] and key not in into.definitions:
            into.define(key, " ".join(section.notes["notes"]), section.line)
        self._add_names(key, section)

    def _add_names(self, key: str, label: _Label) -> None:
        """Record the terms of a label; below a title such as "Other headaches" they are narrower than it."""
        is_rest = any(_OTHER.match(title) for title, _ in label.titles)
        for text in label.notes["inclusionTerm"]:
            self._into.annotations.name(key, text, "narrow" if is_rest else "exact")
        for text in label.notes["includes"]:
            self._into.annotations.name(key, text, "narrow")

"""Read OBO files, versions 1.0 to 1.4, line by line.

A file is a header and then *stanzas*: a line such as ``[Term]``, and clauses ``tag: value`` up to the next
such line. Each term is a label; its key is its id as it is written, and ``is_a`` gives its parents. The
option `relation` names the relationships that make the hierarchy, separated by commas and ranked in this
order (``is_a,part_of``); by default ``is_a`` alone does. Clauses of logical definitions are not parents. A
value may go on in the next line if its line ends in a backslash. `ontology.readers.formats.obotext` takes
values apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.formats.obotext import first_word, is_string, quoted, stripped, unescaped
from labelgrove.ontology.readers.formerids import settle_former_ids
from labelgrove.ontology.readers.text.head import Head
from labelgrove.ontology.readers.text.lines import LONGEST_LINE, Lines
from labelgrove.ontology.spelling import close_to

__all__ = ["looks_like_obo", "read_obo"]

_STANZAS = ("Term", "Typedef", "Instance")
_STANZA = re.compile(r"\[([^\[\]]*)\]\s*(?:!.*)?")
_TAG = re.compile(r"[A-Za-z][\w-]*")
_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "GO_1.0", "GO_1.2")
_SCOPES = {"EXACT": "exact", "NARROW": "narrow", "BROAD": "broad", "RELATED": "related"}
_FLAGS = {"true": True, "false": False}
_OTHER_TAGS = frozenset(
    {
        "builtin",
        "comment",
        "created_by",
        "creation_date",
        "disjoint_from",
        "equivalent_to",
        "id",
        "intersection_of",
        "is_anonymous",
        "namespace",
        "property_value",
        "subset",
        "union_of",
    }
)
_READ = ("header", "Term")


def looks_like_obo(start: Head) -> bool:
    """Return whether a file starts as OBO does: with its version, or with the header of a stanza."""
    lines = [line for line in start.lines if line.strip() and not line.startswith("!")]
    if lines and re.match(r"format-version:", lines[0]):
        return True
    header = next((i for i, line in enumerate(lines) if re.fullmatch(r"\[\w+\]\s*(!.*)?", line)), None)
    if header is None or lines[header].split("]")[0][1:].capitalize() not in _STANZAS:
        return False
    clauses = [*lines[:header], *lines[header + 1 : header + 2]]
    return all(re.match(r"[\w-]+\s*:", line) for line in clauses)


def read_obo(path: Path, into: Collector, options: Options) -> None:
    """Read an OBO file into a collector; 195,000 lines take about a second."""
    terms = _Terms(into, options)
    reader = _Clauses(into, terms)
    for number, lines in Lines(path, into.recorder).blocks():
        for at, line in enumerate(lines, number):
            reader.take(line, at)
    reader.close()
    terms.close()


class _Clauses:
    """Join lines to clauses and clauses to stanzas, and hand each term over."""

    def __init__(self, into: Collector, terms: _Terms) -> None:
        self._into = into
        self._terms = terms
        self._stanza: str | None = "header"  # None in a stanza that is not read
        self._began = 0
        self._clauses: list[tuple[str, str, int]] = []
        self._held: list[str] = []  # parts of a value that goes on in the next line
        self._began_value = 0
        self._size = 0

    def take(self, line: str, at: int) -> None:
        """Read a line; a value that goes on is kept until its last line."""
        if self._held or line.endswith("\\"):
            joined = self._join(line, at)
            if joined is None:
                return
            line, at = joined
        line = line.strip()
        if not line or line[0] == "!":
            return
        if line[0] == "[":
            self._open(line, at)
            return
        tag, colon, value = line.partition(":")
        if self._stanza is None:
            return
        if not colon or not _TAG.fullmatch(tag):
            self._into.defect("obo-line", at, line)
        elif self._stanza in _READ:
            self._clauses.append((tag, value, at))

    def close(self) -> None:
        """Hand over the last stanza."""
        self._break_off()
        self._end()

    def _join(self, line: str, at: int) -> tuple[str, int] | None:
        """Return the line to read now, and its number; None if the value goes on in the next line."""
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1  # an escaped backslash is one of two
        if self._held and (not line.strip() or _STANZA.fullmatch(line.strip())):
            self._break_off()
            return line, at
        if not self._held:
            self._began_value, self._size = at, 0
        if self._size <= LONGEST_LINE:
            self._held.append(line[:-1] if goes_on else line)
            self._size += len(line)
            if self._size > LONGEST_LINE:
                self._into.defect("line-too-long", self._began_value, self._held[0])
                self._held = ["!"]  # the value is read as a comment, and the rest of it is not kept
        if goes_on:
            return None
        parts, self._held = self._held, []
        return "".join(parts), self._began_value

    def _break_off(self) -> None:
        """Read a value whose last line ends in a backslash although its stanza or the file ends there."""
        if self._held:
            parts, self._held = self._held, []
            self._into.defect("continued-line", self._began_value, "".join(parts))
            self.take("".join(parts).rstrip("\\"), self._began_value)

    def _open(self, line: str, at: int) -> None:
        self._end()
        found = _STANZA.fullmatch(line)
        name = found[1] if found else line
        self._stanza = name if name in _STANZAS else None
        self._began = at
        if self._stanza is None:
            self._into.defect("obo-stanza", at, lambda: line + close_to(name, _STANZAS))

    def _end(self) -> None:
        clauses, self._clauses = self._clauses, []
        if self._stanza == "header":
            self._terms.begin(clauses)
        elif self._stanza == "Term":
            self._terms.take(clauses, self._began)


class _Terms:
    """Turn the clauses of terms into labels, names, notes and edges."""

    def __init__(self, into: Collector, options: Options) -> None:
        self._into = into
        self._wanted = options.namespace
        self._ranks = _ranks(options.relation)
        self._default = ""  # namespace of terms that name none
        self._namespaces: dict[str, int] = {}  # number of terms
        self._elsewhere: set[str] = set()  # ids of terms of other namespaces
        self._left: dict[str, tuple[int, int]] = {}  # relation: number of clauses left out, first line
        self._met: set[str] = set()
        self._unknown: set[str] = set()
        self._handlers: dict[str, Callable[[str, str, int], None]] = {
            "name": self._name,
            "def": self._definition,
            "synonym": self._synonym,
            "exact_synonym": lambda key, value, at: self._synonym(key, value, at, "exact"),
            "narrow_synonym": lambda key, value, at: self._synonym(key, value, at, "narrow"),
            "broad_synonym": lambda key, value, at: self._synonym(key, value, at, "broad"),
            "related_synonym": lambda key, value, at: self._synonym(key, value, at, "related"),
            "is_a": self._is_a,
            "relationship": self._relationship,
            "is_obsolete": self._obsolete,
            "alt_id": lambda key, value, at: self._note("alternative_id", key, value, at),
            "replaced_by": lambda key, value, at: self._note("replaced_by", key, value, at),
            "consider": lambda key, value, at: self._note("consider", key, value, at),
            "use_term": lambda key, value, at: self._note("consider", key, value, at),
            "xref": self._reference,
            "xref_analog": self._reference,
            "xref_unk": self._reference,
            "xref_unknown": self._reference,
        }

    def begin(self, clauses: list[tuple[str, str, int]]) -> None:
        """Read the header."""
        into = self._into
        for tag, value, at in clauses:
            text = unescaped(self._text(value, at))
            if tag == "format-version" and text not in _VERSIONS:
                into.defect("obo-version", at, text)
            elif tag == "import":
                into.defect("not-imported", at, text)
            elif tag == "id":
                into.defect("obo-stanza", at, f"id: {text} before the first stanza")
        self._default = self._only(clauses, "default-namespace")

    def take(self, clauses: list[tuple[str, str, int]], began: int) -> None:
        """Read a term, which began at line `began`."""
        into = self._into
        key = self._only(clauses, "id")
        if not key:
            into.defect("missing-id", began, "[Term]")
            return
        namespace = self._only(clauses, "namespace") or self._default
        self._namespaces[namespace] = self._namespaces.get(namespace, 0) + 1
        if self._wanted not in (None, namespace):
            self._elsewhere.add(key)
            return
        at = next(line for tag, _, line in clauses if tag == "id")
        if key in into.labels:
            into.defect("duplicate-id", at, f"{key}, first in line {into.labels[key]}")
        into.describe(key, at)
        for tag, value, line in clauses:
            handler = self._handlers.get(tag)
            if handler is not None:
                handler(key, value, line)
            elif tag not in _OTHER_TAGS and tag not in self._unknown:
                self._unknown.add(tag)
                into.defect("unknown-tag", line, partial(self._near_tag, tag))

    def close(self) -> None:
        """Report what can be found only after the last term, and settle the parents."""
        into = self._into
        self._check_options()
        for relation, (number, line) in self._left.items():
            into.defect("other-relation", line, f"{relation} in {counted(number, 'clause')}")
        into.report_unnamed()
        settle_former_ids(into)
        self._leave_namespace()
        into.report_undescribed()

    def _near_tag(self, tag: str) -> str:
        return tag + close_to(tag, self._handlers)

    # ---- clauses -----------------------------------------------------------------------------------

    def _name(self, key: str, value: str, at: int) -> None:
        text, marks = stripped(value, after_blank=True)
        if "{" in marks:
            self._into.defect("obo-modifiers", at, value.strip())
        if "!" in marks:
            self._into.defect("obo-comment", at, value.strip())
        if text:
            self._into.name(key, unescaped(text), at)

    def _definition(self, key: str, value: str, at: int) -> None:
        said, words = self._quoted(value, at)
        if words:
            self._into.defect("obo-text", at, value.strip())
        elif said:
            self._into.define(key, said, at)

    def _synonym(self, key: str, value: str, at: int, kind: str = "") -> None:
        said, words = self._quoted(value, at)
        if not said:
            return
        scope = words.split(maxsplit=1)[:1]
        if not kind and scope and scope[0] not in _SCOPES:
            self._into.defect("synonym-scope", at, lambda: scope[0] + close_to(scope[0].upper(), _SCOPES))
        found = _SCOPES.get(scope[0], "related") if scope else "related"
        self._into.annotations.name(key, said, kind or found)

    def _quoted(self, value: str, at: int) -> tuple[str, str]:
        """Return a text in quotes and the words after it; ("", "") if there is none, which is reported."""
        found = quoted(value.strip())
        if found is None:
            self._into.defect("obo-text", at, value.strip())
            return "", ""
        said, words, defect = found
        if defect:
            self._into.defect(defect, at, value.strip())
        return said, words

    def _is_a(self, key: str, value: str, at: int) -> None:
        self._edge(key, "is_a", value, at)

    def _relationship(self, key: str, value: str, at: int) -> None:
        relation, target = first_word(self._text(value, at))
        if not target:
            self._into.defect("obo-relationship", at, value.strip())
            return
        self._edge(key, relation, target, at)

    def _edge(self, key: str, relation: str, target: str, at: int) -> None:
        self._met.add(relation)
        rank = self._ranks.get(relation)
        if rank is None:
            number, first = self._left.get(relation, (0, at))
            self._left[relation] = number + 1, first
            return
        parent = self._id(target, at)
        if parent:
            self._into.edge(key, parent, at, rank)
        else:
            self._into.defect("empty-key", at, f"{relation} of {key}")

    def _obsolete(self, key: str, value: str, at: int) -> None:
        text = self._text(value, at)
        if text not in _FLAGS:
            self._into.defect("obo-flag", at, f"is_obsolete: {text}")
        elif _FLAGS[text]:
            self._into.annotations.deprecated.add(key)

    def _note(self, kind: str, key: str, value: str, at: int) -> None:
        text = self._id(value, at)
        if text:
            self._into.annotations.note(key, kind, text)
        else:
            self._into.defect("empty-key", at, f"{kind.replace('_', ' ')} of {key}")

    def _reference(self, key: str, value: str, at: int) -> None:
        text, said = first_word(self._text(value, at))
        if not text or '"' in text or (said and not is_string(said)):
            self._into.defect("obo-references", at, f"cross-reference of {key}: {value.strip()}")
        if text := text.rstrip('"'):
            self._into.annotations.note(key, "reference", text)

    # ---- values ------------------------------------------------------------------------------------

    def _text(self, value: str, at: int) -> str:
        """Return a value without comment and modifiers, still escaped."""
        text, marks = stripped(value)
        if marks:
            self._into.defect("obo-modifiers", at, value.strip())
        return text

    def _id(self, value: str, at: int) -> str:
        """Return an id; if text follows it that is not a comment, this is reported."""
        text = self._text(value, at)
        key, rest = first_word(text)
        if rest:
            self._into.defect("obo-id", at, text)
        return key

    def _only(self, clauses: list[tuple[str, str, int]], tag: str) -> str:
        """Return the value of a tag that a stanza has once; empty if it is missing.

        Of several different values, the first in the order of UTF-8 bytes is returned, and the others are
        reported.
        """
        found = [(self._id(value, at), at) for name, value, at in clauses if name == tag]
        chosen = min((text for text, _ in found if text), default="")
        for text, at in found:
            if text not in (chosen, ""):
                self._into.defect("repeated-tag", at, f"{tag}: {text} beside {chosen}")
        return chosen

    # ---- the file as a whole -----------------------------------------------------------------------

    def _check_options(self) -> None:
        """Raise `InputError` if an option names a relation or a namespace that the file does not have."""
        file, wanted = self._into.file, self._wanted
        missing = [relation for relation in self._ranks if relation not in self._met and relation != "is_a"]
        if missing and self._namespaces:
            raise InputError(
                f"relation: {file} has no relationship {missing[0]!r}{close_to(missing[0], self._met)}; name "
                "relations of the file, separated by commas, for example is_a,part_of"
            )
        if wanted is not None and self._namespaces and wanted not in self._namespaces:
            listed = ", ".join(sorted(self._namespaces)[:8]) or "none"
            raise InputError(
                f"namespace: {file} has no term in {wanted!r}; the namespaces of its terms are: {listed}"
            )

    def _leave_namespace(self) -> None:
        """Take out the edges to terms of other namespaces."""
        into = self._into
        elsewhere = self._elsewhere - into.labels.keys()
        if not elsewhere:
            return
        keys = list(into.numbers)
        kept = []
        for i, number in enumerate(into.parent):
            if keys[number] in elsewhere:
                into.defect("other-namespace", into.line[i], f"{keys[into.child[i]]} under {keys[number]}")
            else:
                kept.append(i)
        into.keep(kept)


def _ranks(relations: str | None) -> dict[str, int]:
    """Return the rank of the edges of each relation that makes the hierarchy."""
    if relations is None:
        return {"is_a": 0}
    names = [name.strip() for name in relations.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(
            f"relation: {relations!r} is not a list of different relations separated by commas; write for "
            "example is_a,part_of"
        )
    return {name: rank for rank, name in enumerate(names)}

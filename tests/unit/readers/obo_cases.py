"""Malformed OBO: (code, note, line of the defect, content, options of the read) of each case."""

from __future__ import annotations

from typing import Any

__all__ = ["OBO"]

HEAD = "format-version: 1.4\n\n[Term]\nid: X:1\nname: animal\n\n"
"""Six lines: what a case adds begins in line 7."""

DOG = "[Term]\nid: X:2\nname: dog\nis_a: X:1\n"
"""Four lines: a clause that a case adds to it is line 11 of the file."""


def _file(
    code: str, note: str, line: int, text: str, **options: Any
) -> tuple[str, str, int, str, dict[str, Any]]:
    return code, note, line, text, options


def _more(code: str, note: str, line: int, text: str, **options: Any) -> Any:
    """A defect in what follows the root; `line` is counted from there."""
    return _file(code, note, 6 + line, HEAD + text, **options)


def _clause(code: str, note: str, clause: str, line: int = 1, **options: Any) -> Any:
    """A defect in the clauses that are added to the term X:2."""
    return _file(code, note, 10 + line, HEAD + DOG + clause + "\n", **options)


def _term(key: str, *clauses: str) -> str:
    return "\n".join(["[Term]", f"id: {key}", f"name: of {key}", *clauses, "", ""])


OBO: list[tuple[str, str, int, str, dict[str, Any]]] = [
    # Lines and stanzas.
    _clause("obo-line", "no colon", "is_a X:1"),
    _clause("obo-line", "no tag", ": X:1"),
    _clause("obo-line", "blank in tag", "is a: X:1"),
    _clause("obo-line", "hash", "# a comment of another format"),
    _clause("obo-line", "digit", "1: X:1"),
    _file("obo-line", "header", 2, "format-version: 1.4\nremark\n" + DOG.replace("is_a: X:1\n", "")),
    _more("obo-line", "typedef", 6, DOG + "[Typedef]\nid part_of\n"),
    _more("obo-stanza", "case", 5, DOG + "[term]\nid: X:3\n"),
    _more("obo-stanza", "misspelt", 5, DOG + "[Trem]\nid: X:3\n"),
    _more("obo-stanza", "open", 5, DOG + "[Term\nid: X:3\n"),
    _more("obo-stanza", "empty", 5, DOG + "[]\nid: X:3\n"),
    _more("obo-stanza", "text after it", 5, DOG + "[Term] X:3\nid: X:3\n"),
    _more("obo-stanza", "blank inside", 5, DOG + "[ Term ]\nid: X:3\n"),
    _file("obo-stanza", "id in the header", 2, "format-version: 1.2\nid: X:0\n" + DOG),
    _file("obo-version", "later", 1, "format-version: 2.0\n" + DOG),
    _file("obo-version", "empty", 1, "format-version:\n" + DOG),
    _file("obo-version", "word", 1, "format-version: latest\n" + DOG),
    _file("not-imported", "file", 2, "format-version: 1.4\nimport: unit.obo\n" + DOG),
    _file("not-imported", "address", 2, "format-version: 1.4\nimport: http://e.org/a.obo\n" + DOG),
    # Ids.
    _more("missing-id", "none", 5, DOG + "[Term]\nname: cat\n"),
    _more("missing-id", "empty", 5, DOG + "[Term]\nid:\nname: cat\n"),
    _more("missing-id", "comment only", 5, DOG + "[Term]\nid: ! X:3\nname: cat\n"),
    _more("missing-id", "modifiers only", 5, DOG + '[Term]\nid: {a="b"}\nname: cat\n'),
    _more("missing-id", "empty stanza", 5, DOG + "[Term]\n"),
    _clause("repeated-tag", "id", "id: X:3"),
    _more("repeated-tag", "smaller id first", 8, DOG + "[Term]\nid: X:0\nname: cat\nid: X:3\nis_a: X:1\n"),
    _clause("repeated-tag", "namespace", "namespace: a\nnamespace: b", 2),
    _file("repeated-tag", "default namespace", 2, "default-namespace: a\ndefault-namespace: b\n" + DOG),
    _clause("duplicate-id", "same term", DOG, 2),
    _more("duplicate-id", "other texts", 6, DOG + "[Term]\nid: X:2\ncomment: again\n"),
    _more("obo-id", "id", 6, DOG + "[Term]\nid: X:3 cat\nname: cat\nis_a: X:1\n"),
    _clause("obo-id", "parent without !", "is_a: X:1 animal"),
    _clause("obo-id", "relationship without !", "relationship: part_of X:1 animal", relation="is_a,part_of"),
    _clause("obo-id", "former id", "alt_id: X:8 dog"),
    _clause("obo-id", "replacement", "replaced_by: X:1 animal"),
    _clause("obo-id", "consider", "consider: X:1\tanimal"),
    _clause("obo-id", "namespace", "namespace: my animals"),
    _clause("empty-key", "parent", "is_a:"),
    _clause("empty-key", "parent is a comment", "is_a: ! animal"),
    _clause("empty-key", "former id", "alt_id:"),
    _clause("empty-key", "replacement", "replaced_by: "),
    _clause("empty-key", "consider", 'consider: {a="b"}'),
    _clause("look-alike-keys", "case", "\n[Term]\nid: x:2\nname: cat\nis_a: X:1", 3),
    _clause("key-too-long", "", f"\n[Term]\nid: X:{'9' * 4001}\nname: cat\nis_a: X:1", 3),
    _clause("control-character", "escaped line end", "\n[Term]\nid: X:\\n3\nname: cat\nis_a: X:1", 3),
    _clause("invisible-character", "", "\n[Term]\nid: X:\u202e3\nname: cat\nis_a: X:1", 3),
    # Texts.
    _more("missing-name", "none", 6, DOG + "[Term]\nid: X:3\nis_a: X:1\n"),
    _more("missing-name", "empty", 6, DOG + "[Term]\nid: X:3\nname:\nis_a: X:1\n"),
    _more("missing-name", "comment only", 6, DOG + "[Term]\nid: X:3\nname: ! cat\nis_a: X:1\n"),
    _clause("duplicate-name", "", "\n" + _term("X:3", "is_a: X:1").replace("of X:3", "dog"), 3),
    _clause("conflicting-texts", "name", "name: hound"),
    _clause("conflicting-texts", "definition", 'def: "It barks." []\ndef: "It bites." []', 2),
    _clause("conflicting-texts", "two terms", "\n[Term]\nid: X:2\nname: hound", 4),
    _clause("obo-text", "definition without quotes", "def: It barks. [PMID:1]"),
    _clause("obo-text", "definition not closed", 'def: "It barks. [PMID:1]'),
    _clause("obo-text", "escaped closing quote", r'def: "It barks.\" [PMID:1]'),
    _clause("obo-text", "quote inside", 'def: "It says "wow" often." []'),
    _clause("obo-text", "definition with words", 'def: "It barks." EXACT []'),
    _clause("obo-text", "definition empty", "def:"),
    _clause("obo-text", "synonym without quotes", "synonym: hound EXACT []"),
    _clause("obo-text", "synonym not closed", 'synonym: "hound EXACT []'),
    _clause("obo-text", "synonym with a quote inside", 'synonym: "the "hound" dog" EXACT []'),
    _clause("obo-text", "older synonym", "exact_synonym: hound"),
    _clause("obo-text", "single quotes", "synonym: 'hound' EXACT []"),
    _clause("obo-references", "definition without", 'def: "It barks."'),
    _clause("obo-references", "definition not closed", 'def: "It barks." [PMID:1'),
    _clause("obo-references", "quote not closed", 'def: "It barks." [PMID:1 "a]'),
    _clause("obo-references", "synonym without", 'synonym: "hound" EXACT'),
    _clause("obo-references", "synonym not closed", 'synonym: "hound" EXACT ['),
    _clause("obo-references", "older synonym without", 'narrow_synonym: "hound"'),
    _clause("obo-references", "empty", "xref:"),
    _clause("obo-references", "quote inside", r'xref: value-type:xsd\:int" The type."'),
    _clause("obo-references", "description without quotes", "xref: UMLS:1 a dog"),
    _clause("obo-references", "comment only", "xref: ! UMLS:1"),
    _clause("synonym-scope", "misspelt", 'synonym: "hound" EXCAT []'),
    _clause("synonym-scope", "lower case", 'synonym: "hound" exact []'),
    _clause("synonym-scope", "type alone", 'synonym: "hound" layperson []'),
    _clause("synonym-scope", "type first", 'synonym: "hound" layperson EXACT []'),
    _clause("obo-modifiers", "name", "name: dog {barks}"),
    _clause("obo-modifiers", "not closed", 'is_a: X:1{source="a"', policies={"roots": "keep"}),
    _clause("obo-modifiers", "quote not closed", 'alt_id: X:8{source="a}'),
    _clause("obo-modifiers", "after cross-references", 'def: "It barks." [] {source=}'),
    _clause("obo-modifiers", "text after cross-references", 'synonym: "hound" EXACT [] layperson'),
    _clause("obo-comment", "mark in a name", "name: dog!"),
    _clause("obo-comment", "pattern", "name: (?<=[KR])(?!P)"),
    # Relations and flags.
    _clause("obo-relationship", "no target", "relationship: part_of"),
    _clause("obo-relationship", "target is a comment", "relationship: part_of ! X:1"),
    _clause("obo-relationship", "empty", "relationship:"),
    _clause("obo-flag", "yes", "is_obsolete: yes"),
    _clause("obo-flag", "capital", "is_obsolete: True"),
    _clause("obo-flag", "empty", "is_obsolete:"),
    _clause("other-relation", "part_of", "relationship: part_of X:1"),
    _clause("other-relation", "is_a", "relationship: part_of X:1", 0, relation="part_of"),
    _clause("unknown-tag", "hyphen", "is-a: X:1"),
    _clause("unknown-tag", "capital", "Name: dog"),
    _clause("unknown-tag", "invented", "color: brown"),
    _clause("continued-line", "end of file", "comment: goes on \\"),
    _clause("continued-line", "next stanza", "comment: goes on \\\n[Term]\nid: X:3\nname: cat\nis_a: X:1"),
    _clause("continued-line", "blank line", "comment: goes on \\\n\n[Term]\nid: X:3\nname: cat\nis_a: X:1"),
    _clause("line-too-long", "continued", "comment: " + "\\\n".join(["x" * (1 << 19)] * 3)),
    # The hierarchy.
    _clause("parent-without-record", "", "is_a: X:9"),
    _clause("parent-without-record", "typedef", "is_a: part_of\n\n[Typedef]\nid: part_of"),
    _clause("parent-without-record", "name in place of the id", "is_a: animal"),
    _clause("placeholder-parent", "", "is_a: null"),
    _clause(
        "former-id-parent", "", "\n" + _term("X:3", "is_a: X:8") + _term("X:4", "alt_id: X:8", "is_a: X:1"), 5
    ),
    _clause(
        "ambiguous-former-id", "two labels", "alt_id: X:8\n\n" + _term("X:3", "alt_id: X:8", "is_a: X:1"), 4
    ),
    _clause("ambiguous-former-id", "a label", "alt_id: X:1", -2),
    _clause("ambiguous-former-id", "itself", "alt_id: X:2", -2),
    _clause(
        "obsolete-parent", "replaced", "is_a: X:3\n\n" + _term("X:3", "is_obsolete: true", "replaced_by: X:1")
    ),
    _clause("obsolete-parent", "not replaced", "is_a: X:3\n\n" + _term("X:3", "is_obsolete: true")),
    _clause(
        "obsolete-parent",
        "two replacements",
        "is_a: X:3\n\n" + _term("X:3", "is_obsolete: true", "replaced_by: X:1", "replaced_by: X:2"),
    ),
    _clause("obsolete-label", "", "\n" + _term("X:3", "is_obsolete: true"), 3),
    _clause(
        "unknown-replacement", "replaced", "\n" + _term("X:3", "is_obsolete: true", "replaced_by: X:9"), 3
    ),
    _clause("unknown-replacement", "consider", "\n" + _term("X:3", "is_obsolete: true", "consider: X:9"), 3),
    _clause(
        "replacement-loop",
        "two",
        "\n"
        + _term("X:3", "is_obsolete: true", "replaced_by: X:4")
        + _term("X:4", "is_obsolete: true", "replaced_by: X:3"),
        3,
    ),
    _clause("replacement-loop", "itself", "\n" + _term("X:3", "is_obsolete: true", "replaced_by: X:3"), 3),
    _clause(
        "other-namespace",
        "",
        "namespace: b\nis_a: X:3\n\n" + _term("X:3", "namespace: c", "is_a: X:1"),
        2,
        namespace="b",
        policies={"roots": "keep"},
    ),
    _clause("self-loop", "", "is_a: X:2"),
    _clause("duplicate-edge", "", "is_a: X:1"),
    _clause("duplicate-edge", "two relations", "relationship: part_of X:1", relation="is_a,part_of"),
    _clause("cycle", "", "is_a: X:3\n\n" + _term("X:3", "is_a: X:2")),
    _clause("transitive-edge", "", "\n" + _term("X:3", "is_a: X:1", "is_a: X:2"), 5),
    _clause("roots", "", "\n" + _term("X:3"), 3),
    _clause("root-taken", "", "\n" + _term("root"), 3, policies={"roots": "virtual"}),
]

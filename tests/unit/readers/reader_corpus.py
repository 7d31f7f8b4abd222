"""Small sound sources in every format, and the malformed corpus made from them."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.unit.readers.cases import Case
from tests.unit.readers.foreign_samples import FOREIGN, JSON_DOCUMENTS
from tests.unit.readers.icd_cases import ICD_CASES, ICD_SOUND
from tests.unit.readers.obo_cases import OBO
from tests.unit.readers.rdf_corpus import RDF_CASES, RDF_SOUND
from tests.unit.readers.table_corpus import TABLE_CASES

HEADER = "  1 a license line starts with two blanks  \n"


def wordnet(
    synsets: list[tuple[str, list[tuple[str, int]], str]], letter: str = "n", tail: str = ""
) -> bytes:
    """WordNet records of (word, [(symbol, number of the target)], gloss), offsets being byte positions."""
    lines: list[str] = []
    offsets = [0] * len(synsets)
    for final in (False, True):
        lines, position = [], len(HEADER)
        for i, (word, pointers, gloss) in enumerate(synsets):
            if not final:
                offsets[i] = position
            listed = "".join(f" {s} {offsets[t]:08d} {letter} 0000" for s, t in pointers)
            lines.append(
                f"{offsets[i]:08d} 03 {letter} 01 {word} 0 {len(pointers):03d}{listed}{tail} | {gloss}  "
            )
            position += len(lines[-1]) + 1
    return (HEADER + "\n".join(lines) + "\n").encode()


NOUNS = [
    ("entity", [("~", 1)], "that which is"),
    ("animal", [("@", 0), ("~", 2), ("~", 3)], "a living one"),
    ("wild_dog", [("@", 1), ("~i", 4)], "barks"),
    ("cat", [("@", 1)], "purrs"),
    ("Rex", [("@i", 2)], "a dog of note"),
]
SOUND: dict[str, bytes] = {
    "wordnet": wordnet(NOUNS),
    "edges": b"parent,child\nanimal,dog\nanimal,cat\ndog,rex\n",
    "records": b"key,name,parent,synonyms\nanimal,Animal,,beast\ndog,Dog,animal,hound|cur\n"
    b"cat,Cat,animal,\nrex,Rex,dog,\n",
    "paths": b"animal > dog\nanimal > dog > rex\nanimal > cat\n",
    "lshtc": b"1 2\n1 3\n2 4\n2 5\n",
    "superclass": b"pets\tdog, cat\nfish\tcod, eel\ntrees\toak, elm\n",
    "outline": b"animal\n  dog\n    rex\n  cat\n",
    "taxdump": b"1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tgenus\t|\n"
    b"3\t|\t2\t|\tspecies\t|\n4\t|\t2\t|\tspecies\t|\n",
    "obo": b"format-version: 1.4\ndata-version: 1\n\n[Term]\nid: X:1\nname: animal\n\n"
    b'[Term]\nid: X:2\nname: dog\ndef: "It barks." [PMID:1]\nsynonym: "domestic dog" EXACT []\n'
    b"is_a: X:1 ! animal\n",
    "icd": ICD_SOUND,
    "json": b'{"name": "animal", "children": [\n {"name": "dog", "children": [\n  {"name": "rex"}]},\n'
    b' {"name": "cat"}]}\n',
    "rdf": RDF_SOUND,
    "export": b'{"format": "labelgrove/export/1", "layout": "hierarchy", "labels": [\n'
    b'{"key": "animal", "name": "Animal"},\n{"key": "dog", "name": "Dog", "definition": "barks"},\n'
    b'{"key": "cat", "name": "Cat"}], "edges": [\n'
    b'{"child": "dog", "parent": "animal", "weight": 1.5, "rank": 1},\n'
    b'{"child": "cat", "parent": "animal"}]}\n',
}
EMPTY = {
    "wordnet": HEADER.encode(),
    "obo": b"format-version: 1.4\n",
    "icd": b"<ICD10CM.tabular/>",
    "json": b"[]",
    "export": b'{"format": "labelgrove/export/1", "labels": [], "edges": []}',
}
LABELS = b"Data\n2, 4 1:1 2:3\n3 7:1\n"


def _with_line(source: bytes, number: int, change: Any) -> bytes:
    lines = source.split(b"\n")
    lines[number - 1] = change(lines[number - 1])
    return b"\n".join(lines)


def _middle(line: bytes, piece: bytes) -> bytes:
    return line[:-3] + piece + line[-3:]


def _file_cases() -> list[Case]:
    cases = []
    for name, source in SOUND.items():
        cases += [
            Case(name, "nul", 2, _with_line(source, 2, lambda t: _middle(t, b"\0"))),
            Case(name, "encoding", 3, _with_line(source, 3, lambda t: _middle(t, b"\xe9"))),
            Case(name, "carriage-return", 2, _with_line(source, 2, lambda t: _middle(t, b"\r"))),
            Case(name, "bom-inside", 3, _with_line(source, 3, lambda t: b"\xef\xbb\xbf" + t)),
            Case(
                name, "replacement-character", 2, _with_line(source, 2, lambda t: _middle(t, b"\xef\xbf\xbd"))
            ),
            Case(name, "bom", 1, b"\xef\xbb\xbf" + source),
            Case(name, "crlf", 1, source.replace(b"\n", b"\r\n")),
            Case(name, "gzip-truncated", source.count(b"\n") + 1, gzip.compress(source)[:-4]),
            Case(name, "gzip-damaged", source.count(b"\n") + 1, _damaged(source)),
            Case(name, "empty-file", 0, b""),
            Case(name, "no-records", 0, EMPTY.get(name, b"\n\n")),
        ]
        if name not in ("json", "export"):
            cases.append(
                Case(name, "line-too-long", 2, _with_line(source, 2, lambda t: t + b"x" * (1 << 20)))
            )
    return cases


def _damaged(source: bytes) -> bytes:
    packed = bytearray(gzip.compress(source))
    packed[-6] ^= 0xFF  # the checksum
    return bytes(packed)


def _foreign_cases() -> list[Case]:
    kinds = [Case("edges", "foreign-file", 1, held[0], note=kind) for kind, held in FOREIGN.items()]
    documents = [
        Case("json", "foreign-file", 1, json.dumps(held[0]).encode(), note=kind)
        for kind, held in JSON_DOCUMENTS.items()
    ]
    return kinds + documents


INVISIBLE = {
    "override": "c\u202ed",
    "embedding": "c\u202ad",
    "isolate": "c\u2066d\u2069",
    "left-to-right mark": "c\u200e",
    "Arabic letter mark": "\u0627\u061c",
    "zero width space": "c\u200bd",
    "word joiner": "c\u2060d",
    "invisible plus": "c\u2064",
    "deprecated control": "c\u206a",
    "soft hyphen": "c\u00add",
    "grapheme joiner": "c\u034fd",
    "Hangul filler": "c\u3164",
    "half filler": "c\uffa0",
    "Hangul vowel filler": "\u1160c",
    "Khmer vowel": "c\u17b4",
    "Mongolian separator": "c\u180e",
    "annotation": "c\ufff9d",
    "object": "c\ufffc",
    "shorthand": "c\U0001bca0",
    "musical": "c\U0001d173",
    "language tag": "c\U000e0001",
    "tag letter": "c\U000e0061",
    "joiner in Latin": "c\u200dd",
    "non-joiner in Latin": "c\u200cd",
    "joiner first": "\u200d\u0915",
    "joiner last": "\u0915\u200d",
    "selector behind a letter": "c\ufe0f",
    "selector first": "\ufe0fc",
    "ideographic selector in Latin": "c\U000e0100",
    "Mongolian selector in Latin": "c\u180b",
    "flag that does not end": "\U0001f3f4\U000e0067",
}
"""Keys with a character that shows nothing, each by a rule of its own."""


def _edge_cases() -> list[Case]:
    def edges(code: str, line: int, text: str, note: str = "", **options: Any) -> Case:
        return Case("edges", code, line, text.encode("utf-8", "surrogatepass"), options, note=note)

    long = "k" * 4001
    return [
        edges("columns", 2, "a,b\nc\na,d\n", "too few"),
        edges("columns", 3, "parent,child\na,b\na,b,c\n", "too many"),
        edges("columns", 2, "a b\nc d e\na f\n", "blanks in a label"),
        edges("mixed-delimiters", 2, "a,b\na\tc\na,d\n", "tab among commas"),
        edges("mixed-delimiters", 2, "a\tb\na,c\na\td\n", "comma among tabs"),
        edges("mixed-delimiters", 2, "a b\na,c\na d\n", "comma among blanks"),
        edges("mixed-delimiters", 2, "a b\na, c\na d\n", "comma and blank among blanks"),
        edges("mixed-delimiters", 2, "a,b\na c\na,d\n", "blank among commas"),
        edges("quote", 2, 'a,b\na,"c\na,d\n'),
        edges("empty-key", 2, "a,b\na,\na,d\n", "child"),
        edges("empty-key", 2, "a,b\n,c\na,d\n", "parent"),
        edges("key-too-long", 2, f"a,b\na,{long}\n"),
        edges("control-character", 2, "a,b\na,c\x1b[31m\n"),
        edges("control-character", 2, "a,b\na,c\x85d\n", "C1"),
        edges("padded-cell", 2, "a,b\na, c\n"),
        *(edges("invisible-character", 2, f"a,b\na,{key}\n", note) for note, key in INVISIBLE.items()),
        edges(
            "look-alike-keys", 2, "a,b\na,b\u200b\n", "invisible", policies={"invisible-character": "warn"}
        ),
        edges("look-alike-keys", 2, "a,b\na,B\n", "case"),
        edges("look-alike-keys", 2, "a,caf\u00e9\na,cafe\u0301\n", "Unicode form"),
        edges("look-alike-keys", 2, "a\tred fox\na\tred  fox\n", "blanks"),
        edges("header", 1, "parent,color,weight\na,b,1\n", "child missing"),
        edges("header", 1, "id,name\n1,animal\n", "no parent"),
        edges("header", 1, "weight,height,age\n1,2,3\n", "weight in another place"),
        edges("header", 1, "parent,child,parent\na,b,c\n", "parent twice"),
        edges("header", 1, "one,two,three,four\na,b,c,d\n", "four unknown words", header=True),
        edges("header", 1, "onlyone\na\n", "one column", header=True, delimiter="comma"),
        edges("repeated-header", 3, "parent,child\na,b\nparent,child\na,c\n"),
        edges("extra-column", 1, "parent,child,color\na,b,red\n"),
        edges("extra-column", 1, "source,target,name\na,b,B\n", "the name of which end"),
        edges("several-relations", 3, "parent,child,relation\na,b,is_a\na,c,part_of\na,d,is_a\n"),
        edges("other-relation", 2, "parent,child,relation\na,b,part_of\na,c,is_a\n", relation="is_a"),
        edges("parent-without-record", 3, "id,parent_id\n1,\n2,one\n"),
        edges("decimal-parent", 3, "id,parent_id\n1,\n2,1.0\n", "of ids"),
        edges("decimal-parent", 3, "child,parent\n2,1\n3,2.0\n", "of children"),
        *(
            edges("placeholder-parent", 2, f"key,parent\na,{text}\nb,a\n", text)
            for text in ("nan", "None", "null", "NA", "N/A", "<NA>")
        ),
        edges("conflicting-texts", 3, "key,parent,name\na,,A\na,,B\n", "names"),
        edges("conflicting-texts", 4, "key,parent,definition\nr,,x\na,r,y\na,r,z\n", "definitions"),
        edges("missing-name", 3, "key,parent,name\na,,A\nb,a,\n"),
        edges("empty-key", 2, "key,parent\n,a\nb,\n", "key"),
        edges("direction-header", 1, "key,parent\na,\nb,a\n", "records", direction="parent-child"),
        edges("direction-header", 1, "key,neighbor\na,b\n", "neighbors", direction="parent-child"),
        edges("mixed-delimiters", 2, "a;b\na,c\na;d\n", "comma among semicolons"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,0;5\na,d,2\n", "semicolon"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,heavy\na,d,2\n"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,1_0\na,d,2\n", "underscore"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,\uff11\na,d,2\n", "wide digit"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,\na,d,2\n", "empty"),
        edges("weight-not-a-number", 2, "a,b,1\na,c,0x10\na,d,2\n", "hexadecimal"),
        edges("weight-not-finite", 2, "a,b,1\na,c,NaN\na,d,2\n", "nan"),
        edges("weight-not-finite", 2, "a,b,1\na,c,-inf\na,d,2\n", "infinity"),
        edges("weight-not-finite", 2, "a,b,1\na,c,1e999\na,d,2\n", "overflow"),
        edges("weight-not-positive", 2, "a,b,1\na,c,0\na,d,2\n", "zero"),
        edges("weight-not-positive", 2, "a,b,1\na,c,-2\na,d,2\n", "negative"),
        edges("weight-not-positive", 2, "a,b,1\na,c,1e-999\na,d,2\n", "underflow"),
        edges("weight-out-of-range", 2, "a,b,1\na,c,1e76\na,d,2\n", "too large"),
        edges("weight-out-of-range", 2, "a,b,1\na,c,9e-76\na,d,2\n", "too small"),
        edges("rank", 2, "parent,child,rank\na,b,first\na,c,1\n", "word"),
        edges("rank", 2, "parent,child,rank\na,b,-1\na,c,1\n", "negative"),
        edges("rank", 2, "parent,child,rank\na,b,2147483648\na,c,1\n", "too large"),
        edges("self-loop", 2, "a,b\nb,b\n"),
        edges("duplicate-edge", 3, "a,b\na,c\na,b\n"),
        edges("duplicate-edge", 3, "a,b\na,c\nb,a\n", "undirected", direction="undirected"),
        edges("conflicting-weights", 3, "a,b,1\na,c,1\na,b,2\n"),
        edges("cycle", 4, "r,a\na,b\nb,c\nc,a\n", "below a root"),
        edges("cycle", 3, "r,s\na,b\nb,a\n", "without a root above"),
        edges("cycle", 4, "a,b\nb,c\nb,d\nd,a\nc,b\n", "two in one knot"),
        edges("roots", 3, "a,b\na,c\nx,y\n", "parts"),
        edges("roots", 2, "a,b\nx,b\n", "connected"),
        edges("roots", 2, "a,b\nx,y\n", "undirected", direction="undirected"),
        edges("root-taken", 1, "root,b\nx,y\n", policies={"roots": "virtual"}),
        edges("direction-swapped", 0, "a,r\nb,r\nc,s\nd,s\n"),
        edges("direction-header", 1, "parent,child\na,b\n", direction="child-parent"),
        edges("transitive-edge", 3, "a,b\nb,c\na,c\n"),
    ]


def _wordnet_cases() -> list[Case]:
    sound = SOUND["wordnet"]
    offsets = [line[:8] for line in sound.decode().splitlines()[1:]]

    def changed(code: str, line: int, old: str, new: str, note: str = "") -> Case:
        content = _with_line(sound, line, lambda t: t.replace(old.encode(), new.encode(), 1))
        if content == sound:
            raise ValueError(f"{code}: {old!r} is not in line {line}")
        return Case("wordnet", code, line, content, note=note)

    def grown(code: str, line: int, synsets: list[Any], note: str = "") -> Case:
        return Case("wordnet", code, line, wordnet(synsets), note=note)

    def pointing(i: int, pointers: list[tuple[str, int]]) -> list[Any]:
        return [(w, pointers if j == i else p, g) for j, (w, p, g) in enumerate(NOUNS)]

    verbs = wordnet(
        [("be", [("~", 1)], "exist"), ("run", [("@", 0)], "move")], letter="v", tail=" 01 + 02 00"
    )
    return [
        changed("columns", 4, sound.decode().splitlines()[3], "00000001 03 n"),
        changed("synset-offset", 4, offsets[2], "0000x304"),
        Case("wordnet", "offset-moved", 5, sound.replace(b"barks", b"barks aloud")),
        changed("lexicographer-file", 4, " 03 n", " 99 n"),
        changed("part-of-speech", 4, " 03 n", " 03 v"),
        changed("no-hierarchy", 2, " 03 n", " 00 a", "adjective in the file"),
        Case("wordnet", "no-hierarchy", 0, sound, name="data.adj", note="adjective file"),
        changed("word-count", 4, " n 01 ", " n 02 ", "too high"),
        changed("word-count", 4, " n 01 ", " n 00 ", "zero"),
        changed("word-count", 4, " n 01 ", " n zz ", "not hexadecimal"),
        changed("lexical-id", 4, "dog 0 ", "dog q "),
        changed("pointer-count", 4, " 002 ", " 003 ", "too high"),
        changed("pointer-count", 4, " 002 ", " 001 ", "too low"),
        changed("pointer-symbol", 4, " ~i ", " ?? "),
        changed("pointer-offset", 4, f"@ {offsets[1]}", "@ 1234567"),
        changed("pointer-scope", 4, f"@ {offsets[1]} n 0000", f"@ {offsets[1]} n 0101"),
        changed("cross-part-of-speech", 4, f"@ {offsets[1]} n", f"@ {offsets[1]} v"),
        changed("dangling-parent", 4, f"@ {offsets[1]}", "@ 99999999"),
        changed("one-sided-pointer", 5, f"@ {offsets[1]}", f"@ {offsets[2]}", "hypernym alone"),
        Case(
            "wordnet",
            "one-sided-pointer",
            5,
            sound.replace(f"~ {offsets[3]}".encode(), f"! {offsets[3]}".encode()),
            note="hyponym not listed",
        ),
        Case(
            "wordnet",
            "word-uses",
            2,
            sound,
            name="data.noun",
            beside={"cntlist.rev": b"wild_dog%1:03:00:: 1 7\ncat%1:03:00:: 1\n"},
        ),
        Case(
            "wordnet",
            "word-uses",
            1,
            sound,
            name="data.noun",
            note="a count of 5,000 digits",
            beside={"cntlist.rev": b"wild_dog%1:03:00:: 1 " + b"9" * 5000 + b"\n"},
        ),
        changed("missing-gloss", 4, " | barks", "", "no bar"),
        changed("missing-gloss", 4, " | barks", " | ", "nothing behind the bar"),
        Case("wordnet", "duplicate-id", 7, sound + sound.splitlines()[3] + b"\n"),
        Case("wordnet", "frame-count", 3, verbs.replace(b"02 00 | move", b"02 | move"), name="data.verb"),
        Case(
            "wordnet",
            "frame-count",
            3,
            verbs.replace(b"01 + 02 00 | move", b"9" * 5000 + b" + 02 00 | move"),
            name="data.verb",
            note="a count of 5,000 digits",
        ),
        grown("self-loop", 4, pointing(2, [("@", 1), ("@", 2), ("~i", 4)])),
        grown("duplicate-edge", 4, pointing(2, [("@", 1), ("@i", 1), ("~i", 4)])),
        grown("cycle", 3, pointing(1, [("@", 0), ("@", 4), ("~", 2), ("~", 3)])),
        grown("one-sided-pointer", 3, pointing(3, []), "hypernym missing"),
        grown("roots", 5, pointing(3, [])),
        grown("transitive-edge", 6, pointing(4, [("@i", 2), ("@i", 1)])),
        grown("duplicate-name", 6, [(w if w != "Rex" else "cat", p, g) for w, p, g in NOUNS]),
    ]


def _category_cases() -> list[Case]:
    def lines(code: str, line: int, text: bytes, note: str = "", **options: Any) -> Case:
        return Case("lshtc", code, line, text, options, note=note)

    def labels(code: str, line: int, text: bytes, note: str = "") -> Case:
        return Case("lshtc", code, line, SOUND["lshtc"], labels=text, note=note)

    return [
        lines("columns", 2, b"1 2\n1 3 4\n"),
        lines("columns", 2, b"1 2\n1\n1 3\n", "one column"),
        lines("not-an-integer", 2, b"1 2\n1 dog\n", "word"),
        lines("not-an-integer", 2, b"1 2\n1 -3\n", "negative"),
        lines("not-an-integer", 2, "1 2\n1 \u0663\n".encode(), "Arabic digit"),
        lines("leading-zeros", 2, b"1 2\n1 007\n"),
        lines("not-an-integer", 2, b"1 2\n1 " + b"9" * 26 + b"\n", "26 digits"),
        lines("not-an-integer", 2, b"1 2\n1 9223372036854775808\n", "65 bits"),
        lines("self-loop", 2, b"1 2\n2 2\n"),
        lines("duplicate-edge", 2, b"1 2\n1 2\n"),
        lines("cycle", 3, b"1 2\n2 3\n3 2\n"),
        lines("roots", 2, b"1 2\n3 4\n"),
        lines("root-taken", 1, b"1 2\n3 4\n", policies={"roots": "virtual"}, root="1"),
        lines("transitive-edge", 3, b"1 2\n2 3\n1 3\n"),
        labels("labels-header", 1, b"2 1:1\n3 1:1\n"),
        labels("no-label", 2, b"Data\n 1:1 2:1\n"),
        labels("label-list", 2, b"Data\n4,,5 1:1\n", "two commas"),
        labels("label-list", 2, b"Data\n4 5 1:1\n", "no comma"),
        labels("not-an-integer", 2, b"Data\n4, x 1:1\n", "class"),
        labels("leading-zeros", 2, b"Data\n04 1:1\n", "class"),
        labels("feature", 2, b"Data\n4 1:1 2\n"),
        labels("hidden-label", 2, b"Data\n0 1:1\n"),
        labels("repeated-class", 2, b"Data\n4, 4 1:1\n"),
        labels("unknown-class", 3, b"Data\n4 1:1\n77 1:1\n"),
        labels("class-not-leaf", 2, b"Data\n2 1:1\n"),
        labels("encoding", 2, b"Data\n4 1:1\xff\n", "labels"),
        labels("nul", 2, b"Data\n4 1:1\0\n", "labels"),
        labels("empty-file", 0, b"", "labels"),
        labels("gzip-truncated", 4, gzip.compress(LABELS)[:-4], "labels"),
    ]


def _superclass_cases() -> list[Case]:
    def lines(code: str, line: int, text: str, note: str = "", **options: Any) -> Case:
        return Case("superclass", code, line, text.encode(), options, note=note)

    long = "k" * 4001
    return [
        lines("columns", 2, "a\tb, c\nd e, f\n", "no tab"),
        lines("columns", 2, "a\tb, c\nd\te\tf\n", "two tabs"),
        lines("empty-key", 2, "a\tb, c\n \td, e\n", "superclass"),
        lines("empty-key", 2, "a\tb, c\nd\te,, f\n", "class"),
        lines("no-classes", 2, "a\tb, c\nd\t\n"),
        lines("repeated-superclass", 3, "a\tb, c\nd\te\na\tf\n"),
        lines("repeated-label", 2, "a\tb, c\nd\tb, e\n"),
        lines("self-loop", 2, "a\tb, c\nd\td, e\n"),
        lines("duplicate-edge", 1, "a\tb, b\n"),
        lines("cycle", 2, "a\tb, c\nb\ta, d\n"),
        lines("roots", 2, "a\tb, c\nd\te\n", policies={"roots": "error"}),
        lines("root-taken", 2, "a\tb, c\nd\troot\n"),
        lines("transitive-edge", 1, "a\tb, c\nb\tc\n"),
        lines("look-alike-keys", 2, "a\tb, c\nd\tB\n"),
        lines("control-character", 1, "a\tb\x07, c\n"),
        lines("key-too-long", 1, f"a\t{long}, c\n"),
    ]


def _outline_cases() -> list[Case]:
    def lines(code: str, line: int, text: str, note: str = "", **options: Any) -> Case:
        return Case("outline", code, line, text.encode(), options, note=note)

    long = "k" * 4001
    return [
        lines("indent-outside", 2, "  a\nb\n  c\n"),
        lines("indent-jump", 3, "a\n b\n   c\n"),
        lines("indent-jump", 3, "-- a\n---- b\n-------- c\n", "dashes"),
        lines("indent-between", 3, "a\n    b\n  c\n", "outwards"),
        lines("indent-between", 3, "a\n    b\n      c\n", "inwards"),
        lines("indent-mixed", 3, "a\n  b\n\tc\n", "tab after blanks"),
        lines("indent-mixed", 2, "a\n \tb\n", "both in one line"),
        lines("indent-mixed", 3, "-- a\n---- b\n  -- c\n", "blanks before dashes"),
        lines("empty-key", 2, "-- a\n----\n---- b\n", "dashes alone"),
        lines("empty-key", 2, "a\n  - \n  b\n", "bullet alone"),
        lines("repeated-label", 4, "a\n  b\n  c\n    b\n"),
        lines("duplicate-edge", 3, "a\n  b\n  b\n"),
        lines("self-loop", 2, "a\n  a\n"),
        lines("cycle", 3, "a\n  b\n    a\n"),
        lines("roots", 3, "a\n  b\nc\n"),
        lines("root-taken", 1, "root\n  b\nc\n", policies={"roots": "virtual"}),
        lines("transitive-edge", 4, "a\n  b\n    c\n  c\n"),
        lines("look-alike-keys", 3, "a\n  b\n  B\n"),
        lines("control-character", 2, "a\n  b\x07c\n"),
        lines("key-too-long", 2, f"a\n  {long}\n"),
    ]


def _json_cases() -> list[Case]:
    def text(code: str, line: int, content: str, note: str = "", **options: Any) -> Case:
        return Case("json", code, line, content.encode(), options, note=note)

    def tree(code: str, child: str, note: str = "", **options: Any) -> Case:
        return text(code, 2, f'{{"name": "a", "children": [\n{child}]}}', note, **options)

    return [
        text("json-syntax", 2, '{"name": "a",\n "children": [}', "bracket"),
        text("json-syntax", 2, '{"name": "a",\n "children": [', "cut off"),
        text("json-syntax", 2, '{"name": "a"\n "children": []}', "comma missing"),
        text("json-syntax", 2, '{"name": "a",\n name: "b"}', "member without quotes"),
        text("json-syntax", 2, '{"name": "a",\n "children" []}', "colon missing"),
        text("json-syntax", 2, '{"name": "a",\n "n": 01}', "leading zero"),
        text("json-syntax", 2, '{"name": "a",\n "n": "\\q"}', "escape"),
        text("json-syntax", 2, '{"name": "a",\n "n": "\t"}', "control character"),
        text("json-syntax", 2, '{"name": "a",\n "n": "b}', "open string"),
        text("json-syntax", 2, '{"name": "a",\n}', "comma at the end"),
        text("json-trailing", 2, '{"name": "a"}\n{"name": "b"}'),
        text("json-nesting", 1, "[" * 100_000, "arrays"),
        text("json-nesting", 1, '{"name": "a", "children": [' * 100_000, "nodes"),
        text("json-constant", 2, '{"name": "a",\n "size": NaN}', "NaN"),
        text("json-constant", 2, '{"name": "a",\n "size": -Infinity}', "Infinity"),
        tree("json-duplicate-member", '{"name": "b", "name": "c"}'),
        tree("json-surrogate", '{"name": "b\\ud800"}'),
        text("json-node", 2, '[\n{"name": "a", "children": [\n"b"]}]', "string"),
        text("json-node", 2, '[\n{"name": "a", "children": [\n7]}]', "number"),
        text("json-node", 2, '[\n{"name": "a", "children": [\n[[{"name": "b"}]]]}]', "array"),
        tree("json-node", '{"size": 3}', "neither name nor id"),
        tree("extra-column", '{"name": "b", "size": 3}'),
        tree("conflicting-texts", '{"name": "b", "id": "x"}, {"name": "c", "id": "x"}'),
        tree("invisible-character", '{"name": "b\\u202e"}'),
        tree("json-children", '{"name": "b", "children": {"name": "c"}}', "object"),
        tree("json-children", '{"name": "b", "children": "c"}', "string"),
        tree("json-name", '{"name": 7}'),
        tree("json-id", '{"name": "b", "id": 1.5}', "fraction"),
        tree("json-id", '{"name": "b", "id": true}', "boolean"),
        tree("json-id", '{"name": "b", "id": ""}', "empty"),
        tree("empty-key", '{"name": "  "}'),
        tree("missing-name", '{"id": "b"}'),
        tree("duplicate-id", '{"name": "b", "id": "x"}, {"name": "c", "id": "x"}'),
        tree("repeated-sibling", '{"name": "b"}, {"name": "b"}'),
        tree("duplicate-name", '{"name": "b", "id": "x"}, {"name": "b", "id": "y"}'),
        tree("weight-not-a-number", '{"name": "b", "weight": "1"}'),
        tree("weight-not-finite", '{"name": "b", "weight": 1e999}'),
        tree("weight-not-positive", '{"name": "b", "weight": -1}'),
        tree("nul", '{"name": "b\\u0000"}', "escaped"),
        tree("control-character", '{"name": "b\\u001b"}'),
        tree("key-too-long", f'{{"name": "{"k" * 4001}"}}'),
        tree("look-alike-keys", '{"name": "b"}, {"name": "B"}'),
        text("roots", 2, '[{"name": "a"},\n{"name": "b"}]'),
        text("root-taken", 1, '[{"name": "root"},\n{"name": "b"}]', policies={"roots": "virtual"}),
    ]


def _export_cases() -> list[Case]:
    labels = '{"key": "a", "name": "A"},\n{"key": "b", "name": "B"}'
    edges = '{"child": "b", "parent": "a", "weight": 1.0, "rank": 0}'

    def case(
        code: str, line: int, note: str = "", labels: str = labels, edges: str = edges, **more: Any
    ) -> Case:
        head = '{"format": "labelgrove/export/1", ' + more.pop("head", '"layout": "hierarchy"')
        text = f'{head}, "labels": [\n{labels}\n], "edges": [\n{edges}\n]}}'
        return Case("export", code, line, text.encode(), more, note=note)

    return [
        case("digest-differs", 1, head='"layout": "hierarchy", "digest": "' + "ab" * 32 + '"'),
        *(
            case("annotation", 3, note, labels=f'{{"key": "a"}},\n{{"key": "b", {member}}}')
            for note, member in (
                ("deprecated", '"deprecated": "yes"'),
                ("names that are not a list", '"names": {"text": "B"}'),
                ("a name that is not a text", '"names": [{"text": 7}]'),
                ("a kind of names", '"names": [{"text": "B", "kind": "best"}]'),
                ("a language", '"names": [{"text": "B", "language": 7}]'),
                ("a use below 0", '"names": [{"text": "B", "use": -1}]'),
                ("notes that are not a list", '"notation": "B1"'),
                ("a note that is not a text", '"replaced_by": [1]'),
            )
        ),
        case("digest-differs", 1, "grid", head='"layout": "grid:3,3", "digest": "' + "ab" * 32 + '"'),
        case("json-name", 1, "layout", head='"layout": 7'),
        case("json-name", 2, "key", labels='{"key": 7}'),
        case("json-name", 2, "name", labels='{"key": "a", "name": 7}'),
        Case("export", "json-node", 1, b" " * 70_000 + b"[1]", note="array behind blanks"),
        case("json-node", 2, "label", labels='"a", {"key": "b"}'),
        case("json-node", 5, "edge", edges="7"),
        Case(
            "export",
            "json-children",
            1,
            b'{"format": "labelgrove/export/1", "labels": {}, "edges": []}',
            note="labels",
        ),
        case("empty-key", 3, "label", labels='{"key": "a"},\n{"key": ""}'),
        case("empty-key", 5, "edge", edges='{"child": "b"}'),
        case("duplicate-id", 3, labels='{"key": "a"},\n{"key": "a"}'),
        case("conflicting-texts", 3, labels='{"key": "a", "name": "A"},\n{"key": "a", "name": "B"}'),
        case("parent-without-record", 5, edges='{"child": "b", "parent": "c"}'),
        case("weight-not-a-number", 5, edges='{"child": "b", "parent": "a", "weight": "1"}'),
        case("weight-not-positive", 5, edges='{"child": "b", "parent": "a", "weight": 0}'),
        case("weight-not-finite", 5, edges='{"child": "b", "parent": "a", "weight": 1e999}'),
        case("rank", 5, "fraction", edges='{"child": "b", "parent": "a", "rank": 0.5}'),
        case("rank", 5, "too large", edges='{"child": "b", "parent": "a", "rank": 2147483648}'),
        case("rank", 5, "too small", edges='{"child": "b", "parent": "a", "rank": -2147483649}'),
        case("roots", 3, edges="", policies={"roots": "error"}),
        case(
            "control-character",
            2,
            labels='{"key": "a\\u0007"}',
            edges="",
            policies={"control-character": "error"},
        ),
        case(
            "invisible-character",
            2,
            labels='{"key": "a\\u202e"}',
            edges="",
            policies={"invisible-character": "error"},
        ),
        case("self-loop", 5, edges='{"child": "b", "parent": "b"}'),
        case("cycle", 5, edges='{"child": "b", "parent": "a"}, {"child": "a", "parent": "b"}'),
        case("json-syntax", 6, edges="{"),
    ]


CASES: list[Case] = [
    *_file_cases(),
    *_foreign_cases(),
    *_edge_cases(),
    *_wordnet_cases(),
    *_category_cases(),
    *_superclass_cases(),
    *_outline_cases(),
    *_json_cases(),
    *_export_cases(),
    *ICD_CASES,
    *RDF_CASES,
    *TABLE_CASES,
    *(Case("obo", code, line, text.encode(), options, note=note) for code, note, line, text, options in OBO),
]


def nested(depth: int) -> bytes:
    """A JSON chain of nodes with ids, `depth` deep."""
    opened = "".join(f'{{"id": {i}, "name": "n", "children": [' for i in range(depth))
    return (opened + "]}" * depth).encode()


def as_json(value: Any) -> str:
    """Strict JSON of a report."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)

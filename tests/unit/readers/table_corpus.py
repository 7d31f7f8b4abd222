"""Malformed records and label paths: each case breaks one rule of a table, a JSON document or a path."""

from __future__ import annotations

import gzip
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tests.unit.readers.cases import Case


def _record_cases() -> list[Case]:
    def table(code: str, line: int, text: str, note: str = "", **options: Any) -> Case:
        return Case("records", code, line, text.encode("utf-8", "surrogatepass"), options, note=note)

    long = "k" * 4001
    nested = "[" * 50_000 + "]" * 50_000
    return [
        # Lines and cells.
        table("columns", 3, "key,parent\na,\nb\nc,a\n", "too few"),
        table("columns", 3, "key,parent\na,\nb,a,x\n", "too many"),
        table("columns", 2, "key\tparent\na\nb\tc\n", "a tab missing"),
        table("mixed-delimiters", 3, "key,parent\na,\nb;a\n", "semicolon among commas"),
        table("mixed-delimiters", 3, "key\tparent\na\t\nb,a\n", "comma among tabs"),
        table("quote", 3, 'key,parent,name\na,,A\nb,a,"B\nc,a,C\n', "not closed"),
        table("quote", 3, 'key,parent,name\na,,A\nb,a,"B"x\nc,a,C\n', "text behind it"),
        table("quote", 2, 'key,parent,name\na,,"' + "x" * 140_000 + '"\n', "a cell too long"),
        table("quote", 1, 'key,"parent\na,\n', "in the header"),
        table("padded-cell", 3, "key,parent\na,\nb, a\n", "blank"),
        table("padded-cell", 3, "key,parent\na,\nb,a\u00a0\n", "no-break space"),
        table("repeated-header", 3, "key,parent\na,\nkey,parent\nb,a\n"),
        table("empty-key", 3, "key,parent\na,\n,a\nb,a\n"),
        table("empty-key", 2, "name,parent\n,a\na,\n", "name that is the key"),
        # The header.
        table("header", 1, "id,key,parent\n1,a,\n2,b,a\n", "two columns of keys"),
        table("header", 1, "id,name,title,parent\n1,a,A,\n", "two columns of names"),
        table("header", 1, "id,description,gloss,parent\n1,a,A,\n", "two columns of definitions"),
        table("header", 1, "id,parent,deprecated,obsolete\n1,,,\n", "two columns of flags"),
        table("header", 1, "id,parent,parent,rank,rank\n1,,,0,0\n", "two columns of ranks"),
        table("header", 1, "id,parent,weight,length\n1,,1,1\n", "two columns of weights"),
        table("header", 1, "id,parent,level,taxonRank\n1,,a,b\n", "two columns of levels"),
        table("header", 1, "id,parent,acceptedID,acceptedNameUsageID\n1,,,\n", "two columns of accepted"),
        table("header", 1, "id,supercategory,supercategory\n1,a,a\n", "two columns of groups"),
        table("header", 1, "id,parent,relation,predicate\n1,,a,a\n", "two columns of relations"),
        table("header", 1, "one,two\na,b\n", "unknown words"),
        table("header", 1, "parents,children\na,b\n", "places without a label"),
        table("header", 1, "onlyone\na\n", "one column"),
        table("extra-column", 1, "id,parent,color\n1,,red\n", "unknown word"),
        table("extra-column", 1, ",id,parent\n0,1,\n", "without a name"),
        table("extra-column", 1, "id,code,parent\n1,a,\n", "beside a chosen one", columns={"key": "code"}),
        # Parents and children.
        table("parent-without-record", 3, "id,parent\n1,\n2,one\n"),
        table("parent-without-record", 4, "id,name,parents\n1,a,\n2,b,1\n3,c,1|4\n", "one of several"),
        table("parent-without-record", 3, "id,name,parent\n1,a,\n2,b,x\n3,x,1\n4,x,1\n", "a name of two"),
        table("parent-by-name", 3, "id,name,parent\n1,animal,\n2,dog,animal\n"),
        table("parent-by-name", 3, "id,name,parents\n1,a,\n2,b,a|c\n3,c,\n", "several"),
        table("decimal-parent", 3, "id,parent\n1,\n2,1.0\n"),
        table("decimal-parent", 4, "id,parents\n1,\n2,1\n3,1.0|2\n", "one of several"),
        *(
            table("placeholder-parent", 3, f"id,parent\n1,\n2,{text}\n", text)
            for text in ("nan", "NULL", "None", "N/A")
        ),
        table("child-without-record", 2, "id,children\n1,2|3\n2,\n", "in a list"),
        table("duplicate-edge", 3, "id,parents\n1,\n2,1|1\n", "twice in a cell"),
        table("duplicate-edge", 4, "id,parent\n1,\n2,1\n2,1\n", "in two records"),
        table("duplicate-edge", 3, "id,parent1,parent2\n1,,\n2,1,1\n", "in two columns"),
        table("self-loop", 2, "id,parent\n1,1\n2,1\n", "parent"),
        table("self-loop", 2, "id,children\n1,1|2\n2,\n", "child"),
        table("cycle", 2, "id,parent\n1,2\n2,1\n", "of two"),
        table("cycle", 3, "id,parent,children\n1,,\n2,3,3\n3,,\n", "parent and child"),
        table("roots", 3, "id,parent\n1,\n2,\n"),
        table("roots", 2, "id,supercategory\n1,a\n2,b\n", "groups"),
        table("root-taken", 2, "id,parent\nroot,\n2,\n", policies={"roots": "virtual"}),
        table("transitive-edge", 4, "id,parents\n1,\n2,1\n3,1|2\n"),
        table("conflicting-weights", 4, "id,parent,weight\n1,,1\n2,1,1\n2,1,2\n"),
        # Numbers.
        table("rank", 3, "id,parent,rank\n1,,\n2,1,first\n", "word"),
        table("rank", 3, "id,parent,rank\n1,,\n2,1,2147483648\n", "too large"),
        table("rank", 4, "id,parents,rank\n1,,\n2,1,0\n3,1|2,0|1|2\n", "three for two"),
        table("weight-not-a-number", 3, "id,parent,weight\n1,,\n2,1,heavy\n", "word"),
        table("weight-not-a-number", 3, 'id,parent,weight\n1,,\n2,1,"0,5"\n', "decimal comma among commas"),
        table("weight-not-a-number", 4, "id,parents,weight\n1,,\n2,1,1\n3,1|2,1|2|3\n", "three for two"),
        table("weight-not-finite", 3, "id,parent,weight\n1,,\n2,1,inf\n"),
        table("weight-not-positive", 3, "id,parent,weight\n1,,\n2,1,0\n"),
        table("weight-out-of-range", 3, "id,parent,weight\n1,,\n2,1,1e80\n"),
        # Texts.
        table("conflicting-texts", 4, "id,parent,name\n1,,a\n2,1,b\n2,1,c\n", "names"),
        table("conflicting-texts", 4, "id,parent,description\n1,,a\n2,1,b\n2,1,c\n", "definitions"),
        table("missing-name", 3, "id,name,parent\n1,a,\n2,,1\n"),
        table("missing-name", 3, "id,name:de,name:fr,name,parent\n1,,,a,\n2,,,,1\n", "in every language"),
        table("duplicate-name", 3, "id,name,parent\n1,a,\n2,a,1\n"),
        table("duplicate-name", 2, "id,name,supercategory\n1,a,a\n", "of a group"),
        table("deprecated-value", 3, "id,parent,deprecated\n1,,no\n2,1,perhaps\n"),
        table("obsolete-label", 3, "id,parent,deprecated\n1,,\n2,,true\n"),
        table("cell-list", 3, 'id,parent,synonyms\n1,,\n2,1,"[""a"", ""b"""\n', "not closed"),
        table("cell-list", 3, 'id,parent,synonyms\n1,,\n2,1,"[""a"", 1, ""b""]"\n', "a number inside"),
        table("cell-list", 3, f'id,parent,synonyms\n1,,\n2,1,"[""a"",{nested},""b""]"\n', "nested deep"),
        table("cell-list", 3, "id,parent,synonyms\n1,,\n2,1,\"['it's', 'b']\"\n", "a quote inside"),
        table("cell-list", 3, 'id,parents\n1,\n2,"[""1"", "\n', "of parents"),
        table("look-alike-keys", 3, "id,parent\na,\nA,a\n"),
        table("control-character", 3, "id,parent\na,\nb\x1b,a\n"),
        table("control-character", 3, 'id,parent\na,\n"b\nc",a\n', "line break"),
        table("invisible-character", 3, "id,parent\na,\nb\u200b,a\n"),
        table("key-too-long", 3, f"id,parent\na,\n{long},a\n"),
        # Relations, levels and synonyms.
        table("several-relations", 4, "id,parent,relation\n1,,\n2,1,is_a\n3,2,part_of\n4,2,is_a\n"),
        table(
            "other-relation",
            4,
            "id,parent,relation\n1,,\n2,1,is_a\n2,1,part_of\n",
            relation="is_a",
        ),
        table("other-level", 3, "id,parent,level\n1,,top\n2,1,mid\n3,2,low\n", levels=["top", "low"]),
        table("other-level", 4, "id,parent,level\n1,,top\n2,1,top\n3,2,\n", "none", levels=["top"]),
        table("accepted-without-record", 3, _TAXA + "2\t\t9\tLupus\n", "unknown"),
        table("accepted-without-record", 3, _TAXA + "2\t\t3\tLupus\n3\t\t2\tVulpes\n", "in a circle"),
        table("former-id-parent", 4, _TAXA + "2\t\t1\tLupus\n3\t2\t\tVulpes\n"),
        table("ambiguous-former-id", 2, _TAXA + "2\t\t1\tLupus\n2\t1\t\tVulpes\n", "also a label"),
        table("ambiguous-former-id", 3, "id,parent,alternative_ids\n1,,x\n2,1,x\n", "of two"),
        table("obsolete-parent", 3, "id,parent,deprecated\n1,,yes\n2,1,\n"),
        table("unknown-replacement", 3, "id,parent,replaced_by\n1,,\n2,1,3\n", "one"),
        table("unknown-replacement", 3, "id,parent,consider\n1,,\n2,1,1|3\n", "one of several"),
        table("replacement-loop", 2, "id,parent,replaced_by\n1,,2\n2,1,1\n"),
        table("missing-level", 2, "id,name,kingdom,phylum,class\n1,a,A,,C\n", policies={"roots": "keep"}),
    ]


_TAXA = "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\n1\t\t\tCanis\n"


def _json_record_cases() -> list[Case]:
    def text(code: str, line: int, content: str, note: str = "", **options: Any) -> Case:
        return Case("records", code, line, content.encode(), options, name="source.json", note=note)

    def record(code: str, member: str, note: str, **options: Any) -> Case:
        return text(code, 2, f'[{{"id": 1, "name": "a", "parent": null}},\n{{{member}}}]', note, **options)

    nodes = '{"LabelName": "a", "Subcategory": [\n'

    def named(code: str, line: int, names: str, note: str) -> Case:
        content = (nodes + '{"LabelName": "b"}]}').encode()
        return Case(
            "records", code, line, content, labels=names.encode(), name="source.json", note=f"images {note}"
        )

    return [
        named("quote", 2, 'a,A\nb,"B\n', "names"),
        named("columns", 2, "a,A\nb,B,C\n", "names"),
        named("padded-cell", 2, "a,A\nb, B\n", "names"),
        named("empty-key", 2, "a,A\n,B\n", "names"),
        named("conflicting-texts", 3, "a,A\nb,B\nb,C\n", "names"),
        text("json-syntax", 2, '[{"id": 1, "parent": null},\n{"id": }]', "JSON value"),
        text("json-syntax", 2, '[{"id": 1, "parent": null},\n{"id": 2, "parent": 1', "JSON cut off"),
        text("json-trailing", 2, '[{"id": 1, "parent": null}]\n[]', "JSON"),
        text("json-constant", 2, '[{"id": 1, "parent": null},\n{"id": 2, "parent": NaN}]', "JSON NaN"),
        text("json-nesting", 1, '[{"id": 1, "parent": ' + "[" * 20_000, "JSON"),
        record("json-duplicate-member", '"id": 2, "id": 3, "parent": 1', "JSON"),
        record("json-surrogate", '"id": "b\\ud800", "parent": 1', "JSON"),
        record("json-member", '"id": 2, "name": "b", "parent": {"id": 1}', "parent is an object"),
        record("json-member", '"id": 2, "name": "b", "parents": [1, {"id": 1}]', "object among parents"),
        record("json-member", '"id": 2, "name": "b", "parent": 1, "synonyms": [["b"]]', "list in a list"),
        record("json-member", '"id": 2, "name": "b", "parent": 1, "description": {"en": "x"}', "text"),
        record("json-member", '"id": 2, "name": {"en": {"x": 1}}, "parent": 1', "name in a language"),
        record("empty-key", '"id": null, "name": "b", "parent": 1', "JSON null"),
        record("empty-key", '"id": [2], "name": "b", "parent": 1', "JSON list"),
        record("decimal-parent", '"id": 2, "name": "b", "parent": 1.0', "JSON number"),
        record("parent-without-record", '"id": 2, "name": "b", "parent": 7', "JSON"),
        record("child-without-record", '"id": 2, "name": "b", "parent": 1, "child_ids": [3]', "JSON"),
        record("nul", '"id": "b\\u0000", "name": "b", "parent": 1', "JSON"),
        text("extra-column", 1, '[{"id": 1, "parent": null, "size": 3}]', "JSON"),
        text("json-record", 1, '[{"id": 1, "parent": null}, "b"]', "text"),
        text("json-record", 1, '[{"id": 1, "parent": null}, 7]', "number"),
        text("json-record", 3, '{"id": 1, "parent": null}\n{"id": 2, "parent": 1}\n[1]\n', "line"),
        text("json-syntax", 3, '{"id": 1, "parent": null}\n{"id": 2, "parent": 1}\n{"id": \n', "line"),
        text("json-trailing", 3, '{"id": 1, "parent": ""}\n{"id": 2, "parent": 1}\n{} {}\n', "line"),
        text("header", 1, '[{"id": 1, "key": "a", "parent": null}]', "JSON, two keys"),
        text("foreign-file", 1, '{"name": "a", "children": [{"name": "b"}]}', "JSON tree"),
        text("roots", 1, '[{"supercategory": "a", "id": 1}, {"supercategory": "b", "id": 2}]', "COCO"),
        text(
            "several-relations", 2, nodes + '{"LabelName": "b", "Part": [\n{"LabelName": "c"}]}]}', "images"
        ),
        text(
            "other-relation",
            3,
            nodes + '{"LabelName": "b", "Part": [\n{"LabelName": "c"}]}]}',
            "images",
            relation="Subcategory",
        ),
        text("json-node", 2, nodes + '{"Part": []}]}', "without LabelName"),
        text("json-node", 1, nodes + '"b"]}', "text for a node"),
        text("json-node", 2, nodes + '{"LabelName": 7, "Part": []}, {"LabelName": ""}]}', "empty LabelName"),
        text("json-children", 2, nodes + '{"LabelName": "b", "Part": "c"}]}', "Part"),
        text("extra-column", 2, nodes + '{"LabelName": "b", "Color": "c"}]}', "images"),
    ]


def _path_cases() -> list[Case]:
    def lines(code: str, line: int, text: str, note: str = "", **options: Any) -> Case:
        return Case("paths", code, line, text.encode(), options, note=note)

    long = "k" * 3000
    folder = "_Animalia_Chordata_Mammalia_Carnivora_Canidae_Canis_lupus"
    return [
        lines("foreign-file", 1, "animal dog\nanimal cat\n", "no separator"),
        lines("mixed-delimiters", 2, "a > b\na>c\na > d\n", "blanks missing"),
        lines("mixed-delimiters", 2, "a / b\na/c\na / d\n", "blanks missing at a slash"),
        lines("missing-level", 2, "a > b\na >  > c\n", "empty name"),
        lines("missing-level", 2, "/a/b\n/a//c\n", "two slashes"),
        lines("missing-level", 2, "a;b\n;c\n", "nothing on top"),
        lines("missing-level", 3, "level1,level2,level3\na,b,c\na,,c\n", "empty column"),
        lines("missing-level", 3, "level1,level2,level3\na,b,c\na,NaN,c\n", "missing value"),
        lines(
            "missing-level",
            2,
            f"00001{folder}\n00002_Animalia_Chordata_Mammalia_Carnivora_Canidae_x\n",
            "six",
        ),
        lines("empty-key", 2, "a;b\n;\n", "separator alone"),
        lines("empty-key", 3, "level1,level2,key\na,b,1\n,,2\n", "no level"),
        lines("path-without-id", 251, _numbered_paths() + "a > b\n", "in front"),
        lines("path-without-id", 251, _numbered_paths("a > b{0}\t{0}\n") + "a > c\n", "behind"),
        lines("conflicting-ids", 2, "1 - a > b\n2 - a > b\n", "lines"),
        lines("conflicting-ids", 3, "key,level1,level2\n1,a,b\n2,a,b\n", "columns"),
        lines("duplicate-id", 2, "1 - a > b\n1 - a > c\n", "lines"),
        lines("duplicate-id", 3, "key,level1,level2\n1,a,b\n1,a,c\n", "columns"),
        lines("folder-name", 3, f"00001{folder}\n00002{folder}a\ncanis_lupus\n"),
        lines("columns", 3, "level1,level2\na,b\na\n", "too few"),
        lines("repeated-header", 3, "level1,level2\na,b\nlevel1,level2\n"),
        lines("header", 1, "level1,level2,Level1\na,b,c\n", "a level twice"),
        lines("extra-column", 1, "level1,level2,color\na,b,red\n"),
        lines("quote", 3, 'level1,level2\na,b\na,"c\n'),
        lines("padded-cell", 3, "level1,level2\na,b\na, c\n"),
        lines("roots", 2, "a > b\nc > d\n", policies={"roots": "error"}),
        lines("root-taken", 2, "a > b\nroot > d\n"),
        lines("look-alike-keys", 2, "a > b\na > B\n"),
        lines("control-character", 2, "a > b\na > c\x07\n"),
        lines("invisible-character", 2, "a > b\na > c\u200b\n"),
        lines("key-too-long", 2, f"a > b\na > {long} > {long} > c\n"),
        lines("key-too-long", 2, f"1 - a > b\n2 - a > {long}{long}\n", "of a path with an id"),
        lines("duplicate-name", 2, "a > b\na > c > b\n"),
    ]


def _numbered_paths(text: str = "{0} - a > b{0}\n") -> str:
    """Return 250 lines, more than the reader looks at to recognize ids."""
    return "".join(text.format(i) for i in range(1, 251))


def _array_cases() -> list[Case]:
    def array(note: str, value: Any) -> Case:
        return Case("paths", "array", 0, _saved(value), name="source.npy", note=note)

    packed = gzip.compress(_saved(np.array([["a"]])), mtime=0)

    def codes(code: int) -> Any:
        return np.array([[65, 66], [65, code]], dtype=np.uint32).view("U1")

    return [
        array("objects", np.array([["a", "b"]], dtype=object)),
        array("one axis", np.array(["a", "b"])),
        array("fractions", np.array([[1.5, 2.5]])),
        Case("paths", "array", 0, b"\x93NUMPY\x01\x00\x10\x00{'descr'", name="source.npy", note="cut off"),
        Case(
            "paths", "array", 0, b"\x93NUMPY\x01\x00\x0b\x00{'shape': (", name="source.npy", note="no token"
        ),
        Case("paths", "array", 0, b"\x93NUMPY\x09\x00", name="source.npy", note="unknown version"),
        Case("paths", "array", 0, packed, name="source.npy", note="packed"),
        Case("paths", "array", 2, _saved(codes(0x110000)), name="source.npy", note="beyond Unicode"),
        Case("paths", "array", 2, _saved(codes(0xD800)), name="source.npy", note="half a character"),
    ]


def _saved(value: Any) -> bytes:
    held = io.BytesIO()
    np.save(held, value)
    return held.getvalue()


def parquet(columns: dict[str, list[Any]]) -> bytes:
    """Return a Parquet file of these columns."""
    held = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), held)
    return held.getvalue()


def _many_rows() -> bytes:
    """Return a small Parquet file of 20 million rows without a key."""
    held = io.BytesIO()
    columns = {"key": pa.nulls(20_000_000, pa.string()), "parent": pa.nulls(20_000_000, pa.string())}
    pyarrow.parquet.write_table(pa.table(columns), held)
    return held.getvalue()


def _parquet_cases() -> list[Case]:
    sound = parquet({"key": ["a", "b"], "parent": [None, "a"]})
    packed = gzip.compress(sound, mtime=0)
    damaged = bytearray(sound)
    damaged[20:40] = b"\xff" * 20

    def table(format: str, code: str, line: int, columns: dict[str, list[Any]], note: str) -> Case:
        return Case(format, code, line, parquet(columns), name="source.parquet", note=note)

    return [
        Case("records", "parquet-damaged", 0, b"PAR1\x15\x04", name="source.parquet", note="no end"),
        Case("records", "parquet-damaged", 0, sound[:-20], name="source.parquet", note="cut off"),
        Case("records", "parquet-damaged", 0, packed, name="source.parquet", note="packed"),
        Case("records", "parquet-bomb", 0, _many_rows(), name="source.parquet"),
        Case("edges", "parquet-damaged", 0, b"PAR1" + sound[-30:], name="source.parquet", note="no rows"),
        table("records", "placeholder-parent", 2, {"key": ["a"], "parent": ["None"]}, "Parquet"),
        table("records", "decimal-parent", 3, {"key": [1, 2], "parent": [None, 1.0]}, "Parquet"),
        table("records", "empty-key", 3, {"key": ["a", None], "parent": [None, "a"]}, "Parquet"),
        table("records", "header", 1, {"key": ["a"], "id": ["a"], "parent": [None]}, "Parquet"),
        table("records", "control-character", 2, {"key": ["a\tb"], "parent": [None]}, "Parquet"),
        table("edges", "empty-key", 3, {"child": ["b", "c"], "parent": ["a", None]}, "Parquet"),
        table("edges", "weight-not-finite", 2, {"child": ["b"], "parent": ["a"], "weight": [float("inf")]},
              "Parquet"),
        table("edges", "several-relations", 3, {"child": ["b", "c"], "parent": ["a", "a"],
                                                "relation": ["is_a", "part_of"]}, "Parquet"),
        table("edges", "self-loop", 2, {"child": ["a"], "parent": ["a"]}, "Parquet"),
    ]  # fmt: skip


TABLE_CASES: list[Case] = [
    *_record_cases(),
    *_json_record_cases(),
    *_path_cases(),
    *_array_cases(),
    *_parquet_cases(),
]

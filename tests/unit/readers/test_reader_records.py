"""What the reader of records makes of the files of known label sets, and that no form of a table matters."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any, ClassVar

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given

from labelgrove.ontology.annotations import Description, Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers import ReadResult, fingerprint
from labelgrove.ontology.readers.text.cells import MARKS, write_cell
from labelgrove.ontology.readers.text.cellvalues import split_values
from tests.unit.readers.reading import codes, names, pairs, read_text
from tests.unit.readers.table_corpus import TABLE_CASES, parquet


def described(result: ReadResult) -> dict[str, Description]:
    return dict(result.annotations.descriptions(result.graph))


def synonyms(result: ReadResult, key: str) -> list[tuple[str, str, str]]:
    return [(name.text, name.kind, name.language) for name in described(result)[key].names]


class TestSources:
    """Small files in the exact shape of what is published."""

    COCO: ClassVar[list[dict[str, Any]]] = [
        {"supercategory": "person", "id": 1, "name": "person"},
        {"supercategory": "vehicle", "id": 2, "name": "bicycle"},
        {"supercategory": "vehicle", "id": 3, "name": "car"},
    ]

    def test_the_categories_of_coco(self, tmp_path):
        document = {
            "info": {"year": 2017, "description": "COCO 2017 Dataset"},
            "licenses": [{"id": 1, "name": "Attribution"}],
            "images": [{"id": 397133, "file_name": "000000397133.jpg", "height": 427}],
            "annotations": [{"id": 1768, "bbox": [1.5, 2, 3, 4], "category_id": 1, "segmentation": [[1, 2]]}],
            "categories": self.COCO,
        }
        for value in (document, {"categories": self.COCO}, self.COCO):
            result = read_text(tmp_path, json.dumps(value), "instances.json", policies={"roots": "keep"})
            assert result.report.format == "records"
            assert pairs(result) == {
                ("1", "supercategory/person"),
                ("2", "supercategory/vehicle"),
                ("3", "supercategory/vehicle"),
            }
            assert names(result)["1"] == names(result)["supercategory/person"] == "person"

    def test_categories_behind_more_than_is_looked_at(self, tmp_path):
        images = [{"id": i, "file_name": f"{i:012}.jpg"} for i in range(5_000)]
        document = {"images": images, "annotations": [], "categories": self.COCO}
        result = read_text(tmp_path, json.dumps(document), policies={"roots": "virtual"})
        assert (result.report.format, result.graph.n_labels) == ("records", 6)

    def test_supercategories_that_are_categories_are_the_parents(self, tmp_path):
        categories = [
            {"id": 0, "name": "animals", "supercategory": "none"},
            {"id": 1, "name": "cat", "supercategory": "animals"},
        ]
        result = read_text(tmp_path, json.dumps({"images": [], "annotations": [], "categories": categories}))
        assert pairs(result) == {("1", "0")}

    def test_the_categories_of_inaturalist(self, tmp_path):
        categories = [
            {
                "id": i, "name": name, "common_name": common, "supercategory": "Mammals",
                "kingdom": "Animalia", "phylum": "Chordata", "class": "Mammalia", "order": "Carnivora",
                "family": family, "genus": name.split()[0], "specific_epithet": name.split()[1],
                "image_dir_name": f"{i:05}_Animalia",
            }
            for i, (name, common, family) in enumerate(
                [("Canis lupus", "Gray Wolf", "Canidae"), ("Vulpes vulpes", "Red Fox", "Canidae")]
            )
        ]  # fmt: skip
        result = read_text(tmp_path, json.dumps(categories), "categories.json")
        above = "Animalia/Chordata/Mammalia/Carnivora/Canidae"
        assert {("0", f"{above}/Canis"), (f"{above}/Canis", above), ("1", f"{above}/Vulpes")} < pairs(result)
        assert (result.graph.n_labels, result.graph.roots) == (9, ("Animalia",))
        assert names(result)[above] == "Canidae"
        assert synonyms(result, "0") == [("Gray Wolf", "exact", "")]
        table = io.StringIO()
        writer = csv.DictWriter(table, categories[0])
        writer.writeheader()
        writer.writerows(categories)
        assert read_text(tmp_path, table.getvalue()).graph == result.graph

    def test_the_ontology_of_audioset(self, tmp_path):
        ontology = [
            {
                "id": "/m/0dgw9r", "name": "Human sounds", "description": "Sounds of people.",
                "citation_uri": "http://en.wikipedia.org/wiki/Human",
                "positive_examples": ["youtu.be/x?start=1"],
                "child_ids": ["/m/09l8g", "/m/01w250"], "restrictions": ["abstract"],
            },
            {"id": "/m/09l8g", "name": "Human voice", "description": "", "citation_uri": "",
             "positive_examples": [], "child_ids": ["/m/01w250"], "restrictions": []},
            {"id": "/m/01w250", "name": "Whistling", "description": "", "citation_uri": "",
             "positive_examples": [], "child_ids": [], "restrictions": []},
        ]  # fmt: skip
        result = read_text(tmp_path, json.dumps(ontology, indent=2), "ontology.json")
        top, voice, whistling = "/m/0dgw9r", "/m/09l8g", "/m/01w250"
        assert pairs(result) == {(voice, top), (whistling, top), (whistling, voice)}
        assert result.definitions == {top: "Sounds of people."}
        assert described(result)[top].reference == ("http://en.wikipedia.org/wiki/Human",)

    IMAGES: ClassVar[dict[str, Any]] = {
        "LabelName": "/m/0bl9f",
        "Subcategory": [
            {"LabelName": "/m/01g317", "Part": [{"LabelName": "/m/0dzct"}]},
            {"LabelName": "/m/0k4j", "Subcategory": [{"LabelName": "/m/0pg52"}]},
        ],
    }

    @pytest.mark.parametrize("header", ["", "LabelName,DisplayName\n"])
    def test_the_names_of_open_images_are_in_a_second_file(self, header, tmp_path):
        listed = tmp_path / "class-descriptions.csv"
        listed.write_text(header + '/m/01g317,Person\n/m/0k4j,"Car, or automobile"\n/m/0xyz,Elsewhere\n')
        result = read_text(
            tmp_path, json.dumps(self.IMAGES), labels=listed, policies={"several-relations": "warn"}
        )
        assert names(result)["/m/01g317"] == "Person"
        assert names(result)["/m/0k4j"] == "Car, or automobile"
        assert names(result)["/m/0dzct"] == "/m/0dzct"
        assert "/m/0xyz" not in names(result)
        assert "missing-name" in codes(result)

    def test_other_records_have_their_names_in_them(self, tmp_path):
        listed = tmp_path / "names.csv"
        listed.write_text("a,A\n")
        for text in ("id,parent\na,\n", '[{"id": "a", "parent": null}]', '{"id": "a"}\n{"id": "b"}\n'):
            with pytest.raises(InputError, match=r"labels: .* is not a hierarchy of Open Images"):
                read_text(tmp_path, text, format="records", labels=listed)

    def test_the_hierarchy_of_open_images(self, tmp_path):
        text = json.dumps(self.IMAGES)
        refused = read_text(tmp_path, text, "bbox_labels_600_hierarchy.json", strict=False)
        assert codes(refused) == {"several-relations"}
        tree = {("/m/01g317", "/m/0bl9f"), ("/m/0k4j", "/m/0bl9f"), ("/m/0pg52", "/m/0k4j")}
        result = read_text(tmp_path, text, relation="Subcategory")
        assert (pairs(result), codes(result)) == (tree, {"other-relation"})
        both = read_text(tmp_path, text, policies={"several-relations": "warn"})
        assert pairs(both) == tree | {("/m/0dzct", "/m/01g317")}

    DARWIN = (
        "taxonID\tdatasetID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\tcanonicalName\t"
        "taxonRank\ttaxonomicStatus\tkingdom\n"
        "1\t\t\t\tAnimalia\tAnimalia\tkingdom\taccepted\tAnimalia\n"
        "44\t\t1\t\tChordata\tChordata\tphylum\taccepted\tAnimalia\n"
        "5219\t\t44\t\tCanis Linnaeus, 1758\tCanis\tgenus\taccepted\tAnimalia\n"
        "5219173\t\t5219\t\tCanis lupus Linnaeus, 1758\tCanis lupus\tspecies\taccepted\tAnimalia\n"
        "9\t\t5219173\t\tCanis lupus arctos\tCanis lupus arctos\tsubspecies\taccepted\tAnimalia\n"
        "77\t\t5219\t5219173\tCanis albus Kerr\tCanis albus\tspecies\tsynonym\tAnimalia\n"
    )

    def test_the_taxa_of_darwin_core(self, tmp_path):
        result = read_text(tmp_path, self.DARWIN, "Taxon.tsv")
        assert pairs(result) == {("44", "1"), ("5219", "44"), ("5219173", "5219"), ("9", "5219173")}
        assert names(result)["5219173"] == "Canis lupus Linnaeus, 1758"
        assert synonyms(result, "5219173") == [
            ("Canis albus Kerr", "exact", ""),
            ("Canis lupus", "exact", ""),
        ]
        assert described(result)["5219173"].alternative_id == ("77",)

    def test_levels_that_are_not_asked_for_are_left_out_and_their_children_move_up(self, tmp_path):
        result = read_text(tmp_path, self.DARWIN, levels=["Kingdom", "genus", "subspecies"])
        assert pairs(result) == {("5219", "1"), ("9", "5219")}
        assert [(d.code, d.count) for d in result.report.defects if d.code == "other-level"] == [
            ("other-level", 2)
        ]
        below = read_text(tmp_path, self.DARWIN, levels=["genus", "species", "subspecies"])
        assert pairs(below) == {("5219173", "5219"), ("9", "5219173")}
        with pytest.raises(InputError, match="has no column of levels"):
            read_text(tmp_path, "id,parent\n1,\n", levels=["genus"])

    def test_a_left_out_record_with_two_parents_gives_its_children_both(self, tmp_path):
        text = "id,parents,level\n1,,a\n2,1,a\n3,1,a\n4,2|3,b\n5,4,a\n"
        result = read_text(tmp_path, text, levels=["a"])
        assert {p for c, p in pairs(result) if c == "5"} == {"2", "3"}

    def test_an_export_of_pandas(self, tmp_path):
        text = ",id,name,parent_id\n0,1,animal,\n1,2,dog,1.0\n2,3,rex,2.0\n"
        assert codes(read_text(tmp_path, text, strict=False)) == {"extra-column", "decimal-parent"}
        result = read_text(tmp_path, text, policies={"decimal-parent": "fix"})
        assert pairs(result) == {("2", "1"), ("3", "2")}
        records = [{"id": 1, "name": "a", "parent_id": None}, {"id": 2, "name": "b", "parent_id": 1.0}]
        lines = "\n".join(map(json.dumps, records))
        for written in (json.dumps(records), lines):
            made = read_text(tmp_path, written, policies={"decimal-parent": "fix"})
            assert pairs(made) == {("2", "1")}

    def test_a_sheet_of_excel(self, tmp_path):
        text = (
            "\ufeffid;name;parent;synonyms;weight\r\n1;Tier;;;\r\n"
            "2;Hund;Tier;Canis familiaris|Haushund;0,5\r\n"
            '3;"Katze; klein";Tier;;1,5\r\n4;"Maus\r\n(grau)";Tier;;1\r\n;;;;\r\n;;;;\r\n'
        )
        result = read_text(tmp_path, text)
        assert sorted(result.graph.edges()) == [("2", "1", 0.5, 0), ("3", "1", 1.5, 0), ("4", "1", 1.0, 0)]
        assert (names(result)["3"], names(result)["4"]) == ("Katze; klein", "Maus\n(grau)")
        assert synonyms(result, "2") == [("Canis familiaris", "exact", ""), ("Haushund", "exact", "")]
        assert codes(result) == {"bom", "crlf", "parent-by-name"}

    def test_an_object_of_records(self, tmp_path):
        text = json.dumps({"dog": {"name": "Dog", "parent": "animal"}, "animal": {"name": "Animal"}})
        result = read_text(tmp_path, text)
        assert (pairs(result), names(result)["dog"]) == ({("dog", "animal")}, "Dog")


class TestCells:
    @pytest.mark.parametrize(
        "cell",
        ["1|2", "1 | 2", "1;2", "1; 2;", '"[""1"", ""2""]"', "\"['1', '2']\"", '"[""2"",""1"",""1""]"'],
    )
    def test_several_parents_are_never_dropped(self, cell, tmp_path):
        policies = {"transitive-edge": "fix", "duplicate-edge": "fix"}
        result = read_text(tmp_path, f"id,parents\n0,\n1,0\n2,0\n3,{cell}\n", policies=policies)
        assert pairs(result) == {("1", "0"), ("2", "0"), ("3", "1"), ("3", "2")}

    def test_a_key_with_a_separator_stays_whole(self, tmp_path):
        text = "id,parents\na|b,\na,a|b\nb,a|b\n"
        assert pairs(read_text(tmp_path, text)) == {("a", "a|b"), ("b", "a|b")}

    def test_a_column_that_has_a_bar_is_not_split_at_semicolons(self, tmp_path):
        result = read_text(tmp_path, "id,parent,synonyms\n1,,a;b\n2,1,c|d\n")
        assert [text for text, _, _ in synonyms(result, "1")] == ["a;b"]

    def test_the_option_separator(self, tmp_path):
        text = "id,parents,synonyms\n1,,x|y\n2,1,\n3,1/2,z\n"
        result = read_text(tmp_path, text, separator="/", policies={"transitive-edge": "warn"})
        assert {p for c, p in pairs(result) if c == "3"} == {"1", "2"}
        assert synonyms(result, "1") == [("x|y", "exact", "")]
        whole = read_text(tmp_path, text, separator="", policies={"roots": "keep"})
        assert {p for c, p in pairs(whole) if c == "3"} == {"1/2"}

    def test_ranks_and_weights_of_several_parents(self, tmp_path):
        text = "id,parents,rank,weight\n1,,,\n2,1,0,1\n3,1|2,1|0,2\n"
        result = read_text(tmp_path, text)
        assert {(p, w, r) for c, p, w, r in result.graph.edges() if c == "3"} == {
            ("1", 2.0, 1),
            ("2", 2.0, 0),
        }

    def test_every_role_of_text(self, tmp_path):
        text = (
            "key,name,name:de,parents,definition,synonyms,synonyms:fr,narrow_synonyms,broad_synonyms,"
            "related_synonyms,notation,alternative_ids,deprecated,replaced_by,consider,references,examples\n"
            "a,animal,Tier,,lives,beast,animal,,,,A,x|y,false,,,,\n"
            "b,dog,Hund,a,barks,,chien,pug,pet,wolf,B,,true,a,c|d,http://x,Rex barks\n"
        )
        assert described(read_text(tmp_path, text)) == {
            "a": Description(
                (Name("Tier", "preferred", "de"), Name("beast"), Name("animal", "exact", "fr")),
                "lives",
                notation=("A",),
                alternative_id=("x", "y"),
                line=2,
            ),
            "b": Description(
                (
                    Name("Hund", "preferred", "de"),
                    Name("chien", "exact", "fr"),
                    Name("pug", "narrow"),
                    Name("pet", "broad"),
                    Name("wolf", "related"),
                ),
                "barks",
                True,
                notation=("B",),
                replaced_by=("a",),
                consider=("c", "d"),
                reference=("http://x",),
                example=("Rex barks",),
                line=3,
            ),
        }

    def test_names_by_language_alone_give_the_english_one(self, tmp_path):
        result = read_text(tmp_path, "id,parent,name:de,name:en\n1,,Tier,animal\n2,1,Hund,\n")
        assert names(result) == {"1": "animal", "2": "Hund"}
        as_json = [{"id": 1, "parent": "", "name": {"de": "Tier", "en": "animal"}}]
        assert names(read_text(tmp_path, json.dumps(as_json))) == {"1": "animal"}

    def test_an_edge_that_both_ends_state_counts_once(self, tmp_path):
        result = read_text(tmp_path, "id,parents,children\n1,,2|3\n2,1,\n3,,\n")
        assert (pairs(result), codes(result)) == ({("2", "1"), ("3", "1")}, set())


class TestColumns:
    def test_columns_by_option(self, tmp_path):
        text = "Code;Titel;Oberbegriff;Title\nA;Tier;;animal\nB;Hund;A;dog\n"
        columns = {"key": "Code", "name": "Titel", "parent": "Oberbegriff", "name:en": "Title"}
        result = read_text(tmp_path, text, format="records", columns=columns)
        assert (pairs(result), names(result)) == ({("B", "A")}, {"A": "Tier", "B": "Hund"})
        assert synonyms(result, "B") == [("dog", "preferred", "en")]

    def test_the_option_is_part_of_the_fingerprint(self, tmp_path):
        source = tmp_path / "source.csv"
        source.write_text("id,code,parent\n1,a,\n2,b,1\n")
        base = {"format": "records", "columns": {"key": "id"}}
        prints = [
            fingerprint(source, **options)
            for options in (
                base,
                base | {"columns": {"key": "code"}},
                base | {"separator": ";"},
                base | {"separator": ""},
                base | {"columns": {"key": "id", "level": "code"}, "levels": ["a"]},
            )
        ]
        assert len(set(prints)) == len(prints)
        assert fingerprint(source, **base) == prints[0]

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"columns": {"colour": "id"}}, "'colour' is not a role; choose from: key, name, parent"),
            ({"columns": {"parent:de": "id"}}, "'parent:de' is not a role"),
            ({"columns": {"NAME:de": "id"}}, "'NAME:de' is not a role"),
            ({"columns": {"name:": "id"}}, "'name:' is not a role"),
            ({"columns": {"key": "id", "name": "id"}}, "'id' is given for key and for name"),
            ({"columns": {"key": 3}}, r"columns: 3 \(for key\) is of type int"),
            ({"columns": "key=id"}, "columns: 'key=id' is not a mapping"),
            ({"separator": 5}, "separator: 5 is of type int; give a text"),
            ({"columns": {"key": "Code"}}, r"has no column 'Code' \(for key\); its columns: id, parent"),
            ({"relation": "is_a"}, "has no column named relation"),
            ({"direction": "undirected", "format": "records"}, "does not have this option; its options"),
        ],
    )
    def test_options_that_are_not_available(self, options, says, tmp_path):
        with pytest.raises(InputError, match=says):
            read_text(tmp_path, "id,parent\n1,\n2,1\n", **options)

    def test_the_tag_of_a_language_is_written_in_small_letters(self, tmp_path):
        text = "id,Titel,parent\n1,Hund,\n2,Dackel,1\n"
        result = read_text(tmp_path, text, columns={"name:DE": "Titel"})
        assert synonyms(result, "2") == [("Dackel", "preferred", "de")]

    def test_two_columns_of_one_role_are_named(self, tmp_path):
        text = "id,code,parent\n1,a,\n2,b,a\n"
        (defect,) = read_text(tmp_path, text, strict=False).report.errors
        assert defect.examples[0][2] == (
            "the columns 'id' and 'code' both name the key: choose one with the option columns (key=code)"
        )
        assert pairs(read_text(tmp_path, text, columns={"key": "code"})) == {("b", "a")}

    def test_a_flat_list_needs_the_format(self, tmp_path):
        text = '[{"Code": "11", "Title": "Farming"}, {"Code": "21", "Title": "Mining"}]'
        assert "list of records" in read_text(tmp_path, text, strict=False).report.errors[0].examples[0][2]
        columns = {"key": "Code", "name": "Title"}
        result = read_text(tmp_path, text, format="records", columns=columns, policies={"roots": "virtual"})
        assert names(result) == {"11": "Farming", "21": "Mining", "root": "root"}


class TestEdgesAndRecords:
    @pytest.mark.parametrize(
        "text",
        [
            "id,name,parent_id\n1,animal,\n2,dog,1\n3,cat,1\n",
            "key\tparent\tname\tdefinition\n1\t\tanimal\tlives\n2\t1\tdog\t\n",
            "Parent ID;Name;ID;weight\n;animal;1;\n1;dog;2;0,5\n",
            "name,parent\nanimal,\ndog,animal\n",
            "key,parent,relation\na,,\nb,a,is_a\nc,a,part_of\nc,b,is_a\n",
        ],
    )
    def test_a_table_that_both_read_gives_one_graph(self, text, tmp_path):
        options = {"relation": "is_a"} if "relation" in text else {}
        recorded = read_text(tmp_path, text, **options)
        edges = read_text(tmp_path, text, format="edges", **options)
        assert (recorded.report.format, edges.report.format) == ("records", "edges")
        assert recorded.graph == edges.graph
        assert recorded.annotations == edges.annotations

    def test_options_of_edge_lists_read_an_edge_list(self, tmp_path):
        text = "key,parent\na,\nb,a\n"
        assert read_text(tmp_path, text, header=True).report.format == "edges"
        assert not read_text(tmp_path, text, direction="undirected").graph.directed

    @pytest.mark.parametrize(
        "text", ["parent,child,name\na,b,B\n", "key,neighbor\na,b\n", "from,to,name\na,b,B\n"]
    )
    def test_two_ends_are_an_edge_list(self, text, tmp_path):
        assert read_text(tmp_path, text).report.format == "edges"

    def test_edges_in_parquet(self, tmp_path):
        columns = {
            "child": ["b", "c", "c"], "parent": ["a", "a", "b"], "name": ["Bee", "Sea", "Sea"],
            "definition": ["hums", None, None], "relation": ["is_a", "part_of", "is_a"],
            "weight": [1.0, 2.0, 0.5],
        }  # fmt: skip
        result = read_text(tmp_path, parquet(columns), relation="is_a")
        assert result.report.format == "edges"
        assert sorted(result.graph.edges()) == [("b", "a", 1.0, 0), ("c", "b", 0.5, 0)]
        assert (names(result)["c"], result.definitions) == ("Sea", {"b": "hums"})


# ---- laws ----------------------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = [
    {"key": "r", "name": "top", "parents": [], "synonyms": ["a|b", "c;d", '"e"', "f, g"], "definition": ""},
    {"key": "s", "name": "side", "parents": ["r"], "synonyms": [], "definition": 'a\ttab, and "quotes"'},
    {"key": "t", "name": "Tür \U0001f6aa", "parents": ["r", "s"], "synonyms": ["[x]"], "definition": "x; y"},
    {"key": "u", "name": "#5", "parents": ["t"], "synonyms": ["'", "\\"], "definition": "two\nlines"},
]


def as_table(rows: list[dict[str, Any]], delimiter: str) -> bytes:
    mark = str(MARKS[delimiter])
    cells = [
        [json.dumps(v, ensure_ascii=False) if isinstance(v, list) and v else v or "" for v in row.values()]
        for row in rows
    ]
    lines = [mark.join(rows[0]), *(mark.join(quoted(cell, delimiter) for cell in row) for row in cells)]
    return "\n".join(lines).encode()


def quoted(cell: str, delimiter: str) -> str:
    return f'"{cell}"' if "\n" in cell else write_cell(cell, delimiter)


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    held = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), held)
    return held.getvalue()


FORMS = {
    "csv": lambda rows: as_table(rows, "comma"),
    "semicolons": lambda rows: as_table(rows, "semicolon"),
    "tsv": lambda rows: as_table(rows, "tab"),
    "crlf": lambda rows: b"\xef\xbb\xbf" + as_table(rows, "comma").replace(b"\n", b"\r\n"),
    "json": lambda rows: json.dumps(rows, indent=1).encode(),
    "jsonl": lambda rows: "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode(),
    "parquet": as_parquet,
}


def content(result: ReadResult) -> tuple[str, dict[str, tuple[Any, ...]]]:
    """The digest and the annotations of a result, without line numbers."""
    texts = {
        key: (found.names, found.definition, found.deprecated, found.replaced_by, found.alternative_id)
        for key, found in described(result).items()
    }
    return result.graph.digest, texts


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_records_gives_the_same(form, tmp_path):
    policies = {"transitive-edge": "warn"}
    rows = (
        [row | {"definition": row["definition"].replace("\n", " ")} for row in ROWS]
        if form == "crlf"
        else ROWS
    )
    expected = read_text(tmp_path, FORMS["json"](rows), policies=policies)
    assert expected.graph.n_edges == 4
    assert len(synonyms(expected, "r")) == 4
    assert content(read_text(tmp_path, FORMS[form](rows), policies=policies)) == content(expected)


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_records_never_matters(form, tmp_path):
    rng = random.Random(3)
    rows = [
        {
            "id": f"k{i}",
            "name": f"n{i}",
            "parent": "" if i == 0 else f"n{rng.randrange(i)}",
            "synonyms": f"x{i}|y;{i}" if i % 3 else f"z;{i}",
            "deprecated": "true" if i % 7 == 1 else "",
        }
        for i in range(60)
    ]
    expected = content(read_text(tmp_path, FORMS[form](rows)))
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert content(read_text(tmp_path, FORMS[form](shuffled))) == expected


def test_the_order_of_synonyms_of_a_synonym_does_not_matter(tmp_path):
    header = "taxonID,scientificName,parentNameUsageID,acceptedNameUsageID\n"
    rows = ["r,r,,\n", "a,a,r,\n", "b,b,r,\n", "s,s,,m\n", "m,m,,b\n", "m,m,,a\n"]
    results = [read_text(tmp_path, header + "".join(order)) for order in (rows, rows[::-1])]
    assert all(described(result)["a"].alternative_id == ("m", "s") for result in results)


def test_children_that_move_up_keep_the_weight_of_their_edges(tmp_path):
    text = "id,parent,level,weight\nr,,keep,1\na,r,keep,1\nb,r,keep,1\nx,a|b,drop,1\nc,x,keep,3\n"
    result = read_text(tmp_path, text, levels=["keep"])
    assert {edge[:3] for edge in result.graph.edges() if edge[0] == "c"} == {("c", "a", 3.0), ("c", "b", 3.0)}


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs")), min_size=1, max_size=12)


@given(values=st.lists(texts, max_size=4))
def test_a_list_in_a_cell_holds_any_text(values):
    assert split_values(json.dumps(values, ensure_ascii=False), "|") == values


in_files = texts.filter(lambda text: "\ufeff" not in text)
"""Texts without a byte order mark, which no file may have inside (`bom-inside`)."""


@given(
    rows=st.lists(st.tuples(in_files, st.lists(in_files, max_size=3)), min_size=1, max_size=8),
    seed=st.integers(0, 9),
)
def test_no_text_in_a_cell_changes_with_the_form_or_the_order(rows, seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    records = [
        {"key": f"k{i}", "name": name, "parent": "" if i == 0 else "k0", "synonyms": more}
        for i, (name, more) in enumerate(rows)
    ]
    results = [
        content(read_text(folder, FORMS[form](random.Random(seed).sample(records, len(records)))))
        for form in ("json", "csv", "tsv", "parquet")
    ]
    assert all(result == results[0] for result in results)


# ---- malformed ---------------------------------------------------------------------------------------------


def test_the_cases_break_over_a_hundred_rules():
    assert len({(case.format, case.code, case.note) for case in TABLE_CASES}) == len(TABLE_CASES) >= 100


def test_a_quote_that_is_not_closed_takes_no_other_record_with_it(tmp_path):
    text = 'key,parent,name\na,,A\nb,a,"B\nc,a,C\nd,a,"D\nd"\n'
    result = read_text(tmp_path, text, policies={"quote": "fix"})
    assert [line for d in result.report.defects if d.code == "quote" for _, line in d.places] == [3]
    assert names(result) == {"a": "A", "c": "C", "d": "D\nd"}

"""What each reader makes of a sound source, and how formats are told apart."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import find_wordnet, formats, read
from labelgrove.ontology.readers.formats.tables import edgelist as edgelist_module
from labelgrove.ontology.readers.formats.tables.tableheader import Layout
from labelgrove.ontology.readers.text.cells import MARKS
from tests.unit.readers.reader_corpus import LABELS, NOUNS, SOUND, wordnet
from tests.unit.readers.reading import read_text


def pairs(graph: LabelGraph) -> set[tuple[str, str]]:
    return {(child, parent) for child, parent, _, _ in graph.edges()}


TREE = {("dog", "animal"), ("cat", "animal"), ("rex", "dog")}


class TestSniffing:
    @pytest.mark.parametrize("name", SOUND)
    def test_each_format_is_told_from_its_content(self, name, tmp_path):
        file = "hierarchy.txt" if name == "lshtc" else "source"
        assert read_text(tmp_path, SOUND[name], file, strict=False).report.format == name

    @pytest.mark.parametrize("name", SOUND)
    def test_gzip_and_a_byte_order_mark_hide_nothing(self, name, tmp_path):
        file = "hierarchy.txt.gz" if name == "lshtc" else "source.gz"
        packed = gzip.compress(b"\xef\xbb\xbf" + SOUND[name])
        assert read_text(tmp_path, packed, file, strict=False).report.format == name

    def test_integers_under_another_name_are_an_edge_list(self, tmp_path):
        assert read_text(tmp_path, SOUND["lshtc"]).report.format == "edges"

    def test_two_columns_with_tabs_are_an_edge_list(self, tmp_path):
        assert read_text(tmp_path, "a\tb\na\tc\n").report.format == "edges"

    def test_format_overrides(self, tmp_path):
        assert read_text(tmp_path, "a b\n  c\n", format="outline").graph.leaves == ("c",)

    def test_formats_are_listed(self):
        assert [f.name for f in formats()] == list(SOUND)


class TestEdgeLists:
    @pytest.mark.parametrize(
        "text",
        [
            "animal dog\nanimal cat\ndog rex\n",
            "animal\tdog\nanimal\tcat\ndog\trex",
            "animal,dog\nanimal,cat\ndog,rex\n",
            "# of three\n\nanimal,dog\n#animal,fox\nanimal,cat\n\ndog,rex\n",
            "parent,child\nanimal,dog\nanimal,cat\ndog,rex\n",
            "Child Parent\ndog animal\ncat animal\nrex dog\n",
            "hyponym\thypernym\ndog\tanimal\ncat\tanimal\nrex\tdog\n",
            '"parent","child"\n"animal","dog"\n"animal","cat"\n"dog","rex"\n',
            "source,target\nanimal,dog\nanimal,cat\ndog,rex\n",
            "   animal   dog\nanimal \t cat\ndog rex   \n",
        ],
    )
    def test_layouts(self, text, tmp_path):
        result = read_text(tmp_path, text, format="edges")
        assert pairs(result.graph) == TREE
        assert not result.report.errors

    def test_direction(self, tmp_path):
        text = "dog animal\ncat animal\nrex dog\n"
        assert pairs(read_text(tmp_path, text, direction="child-parent").graph) == TREE
        graph = read_text(tmp_path, text, direction="undirected").graph
        assert not graph.directed
        assert graph == LabelGraph.from_edges(sorted(TREE), directed=False)

    def test_direction_beats_the_header_and_says_so(self, tmp_path):
        result = read_text(tmp_path, "child,parent\nanimal,dog\n", direction="parent-child")
        assert pairs(result.graph) == {("dog", "animal")}
        assert [d.code for d in result.report.defects] == ["direction-header"]

    def test_weights_and_ranks(self, tmp_path):
        graph = read_text(tmp_path, "rank,child,weight,parent\n1,c,2.5,a\n0,c,1e-3,b\n0,b,1,a\n").graph
        assert sorted(graph.edges()) == [("b", "a", 1.0, 0), ("c", "a", 2.5, 1), ("c", "b", 0.001, 0)]
        assert read_text(tmp_path, "a,b,2\nb,c,.5\n").graph.edge_weight.tolist() == [2.0, 0.5]

    def test_an_undirected_cycle_is_no_defect(self, tmp_path):
        result = read_text(tmp_path, "a b\nb c\nc a\n", direction="undirected")
        assert (result.graph.n_edges, result.report.defects) == (3, ())

    def test_header_by_request(self, tmp_path):
        assert read_text(tmp_path, "one,two\na,b\n", header=True).graph.n_labels == 2
        assert read_text(tmp_path, "parent,child\nchild,x\n", header=False).graph.n_labels == 3

    def test_labels_with_blanks_and_quotes(self, tmp_path):
        graph = read_text(tmp_path, 'animal,"dog, wild"\nanimal,"so-called ""cat"""\nanimal,red fox\n').graph
        assert graph.leaves == ("dog, wild", "red fox", 'so-called "cat"')

    @pytest.mark.parametrize("delimiter", ["space", "tab", "comma", "semicolon"])
    def test_the_path_for_plain_blocks_changes_nothing(self, delimiter, tmp_path, monkeypatch):
        mark = MARKS[delimiter] or " "
        lines = [f"n{i // 3}{mark}n{i}" for i in range(1, 400)]
        fast = read_text(tmp_path, "\n".join(["parent" + mark + "child", *lines]), delimiter=delimiter)
        block = [lines[:200], lines[200:]]
        assert edgelist_module._plain_columns(block[0], delimiter, Layout(2, 1, 0)) is not None
        monkeypatch.setattr(edgelist_module, "_plain_columns", lambda *_: None)
        slow = read_text(tmp_path, "\n".join(["parent" + mark + "child", *lines]), delimiter=delimiter)
        assert fast.graph == slow.graph
        assert fast.report == slow.report

    @pytest.mark.parametrize(
        "odd", ["#x,y", 'a,"b"', "a,b ", "a", "a,", "p,c", "", "a,b,c", "a\xa0,b", "a\x1c,b", "a,b\u3000"]
    )
    def test_a_block_with_anything_odd_takes_the_careful_path(self, odd):
        layout = Layout(2, 1, 0, header=("p", "c"))
        assert edgelist_module._plain_columns(["a,b", odd, "a,c"], "comma", layout) is None


class TestWordnet:
    def test_synsets(self, tmp_path):
        result = read_text(tmp_path, SOUND["wordnet"], "data.noun")
        graph = result.graph
        assert graph.roots == ("n00000044",)
        assert list(graph.names) == ["entity", "animal", "wild dog", "Rex", "cat"]
        assert result.definitions[graph.keys[1]] == "a living one"
        assert result.report.defects == ()

    def test_hypernyms_rank_before_instance_hypernyms_in_the_order_of_the_record(self, tmp_path):
        synsets = [*NOUNS[:4], ("Rex", [("@i", 3), ("@", 2), ("@i", 0), ("@", 1)], "x")]
        graph = read_text(tmp_path, wordnet(synsets), "data.noun").graph
        index = {name: key for key, name in zip(graph.keys, graph.names, strict=True)}
        ranks = {p: r for c, p, _, r in graph.edges() if c == index["Rex"]}
        assert ranks == {index["wild dog"]: 0, index["animal"]: 1, index["cat"]: 2, index["entity"]: 3}

    def test_the_word_count_is_hexadecimal(self, tmp_path):
        words = " ".join(f"w{i} 0" for i in range(26))
        record = f"00000044 03 n 1a {words} 000 | many"
        assert list(read_text(tmp_path, f"  license\n{record}\n", "data.noun").graph.names) == ["w0"]

    def test_a_folder(self, tmp_path):
        (tmp_path / "dict").mkdir()
        (tmp_path / "dict" / "data.verb").write_bytes(
            wordnet([("be", [("~", 1)], "exist"), ("run", [("@", 0)], "move")], "v", " 01 + 02 00")
        )
        result = read(tmp_path, part="verb")
        assert result.report.defects == ()
        assert [k[0] for k in result.graph.keys] == ["v", "v"]

    def test_find_wordnet_follows_the_environment(self, tmp_path):
        (tmp_path / "dict").mkdir()
        (tmp_path / "dict" / "data.noun").write_bytes(SOUND["wordnet"])
        assert find_wordnet({"WNHOME": str(tmp_path)}) == tmp_path / "dict"
        assert find_wordnet({"WNSEARCHDIR": str(tmp_path / "dict")}) == tmp_path / "dict"
        assert find_wordnet({"WNHOME": str(tmp_path / "no")}) == find_wordnet({})


class TestCategories:
    def test_classes_come_from_the_labels_file(self, tmp_path):
        (tmp_path / "train.csv").write_bytes(LABELS)
        result = read_text(tmp_path, SOUND["lshtc"], format="lshtc", labels=tmp_path / "train.csv")
        assert result.classes == ("2", "3", "4")
        assert result.graph.leaves == ("4", "5", "3")

    def test_without_a_labels_file_there_are_no_classes(self, tmp_path):
        assert read_text(tmp_path, SOUND["lshtc"], format="lshtc").classes is None

    def test_several_parents(self, tmp_path):
        assert read_text(tmp_path, "1 2\n1 3\n2 4\n3 4\n", format="lshtc").graph.n_edges == 4


class TestSuperclasses:
    def test_a_root_is_added_above_them(self, tmp_path):
        result = read_text(tmp_path, "pets\tdog, wild cat\nfish\tcod\n", format="superclass", root="thing")
        assert pairs(result.graph) == {
            ("pets", "thing"), ("fish", "thing"), ("dog", "pets"), ("wild cat", "pets"), ("cod", "fish"),
        }  # fmt: skip

    def test_a_single_top_needs_no_root(self, tmp_path):
        graph = read_text(tmp_path, "pets\tdog, cat\ndog\trex, fido\n").graph
        assert graph.roots == ("pets",)

    def test_a_class_in_two_superclasses(self, tmp_path):
        text = "a\tx, y\nb\tx, z\n"
        shared = read_text(tmp_path, text, policies={"repeated-label": "warn"}).graph
        assert {("x", "a"), ("x", "b")} <= pairs(shared)
        apart = read_text(tmp_path, text, policies={"repeated-label": "fix"}).graph
        assert {("x", "a"), ("b/x", "b")} <= pairs(apart)
        assert apart.names[apart.keys.index("b/x")] == "x"
        assert apart.is_tree


class TestOutlines:
    @pytest.mark.parametrize(
        "text",
        [
            "animal\n  dog\n    rex\n  cat\n",
            "animal\n\tdog\n\t\trex\n\tcat\n",
            "- animal\n  - dog\n    - rex\n  - cat\n",
            "* animal\n    * dog\n        * rex\n    * cat\n",
            "-- animal\n---- dog\n------ rex\n---- cat\n",
            "animal\n-- dog\n---- rex\n-- cat\n",
            "  animal\n    dog\n      rex\n    cat\n",
            "# a comment\nanimal\n\n  dog\n    rex\n  cat",
        ],
    )
    def test_indentations(self, text, tmp_path):
        result = read_text(tmp_path, text, format="outline")
        assert pairs(result.graph) == TREE
        assert result.report.defects == ()

    @pytest.mark.parametrize("text", ["animal\n--dog\n----rex\n--cat\n", "animal\n-dog\n--rex\n-cat\n"])
    @pytest.mark.parametrize("policies", [None, {"all": "fix"}])
    def test_dashes_right_before_a_word_are_told(self, text, policies, tmp_path):
        result = read_text(tmp_path, text, policies=policies)
        assert (result.report.format, pairs(result.graph)) == ("outline", TREE)

    @pytest.mark.parametrize("mark", [" ", ",", ";", "\t"])
    def test_edges_between_keys_that_begin_with_dashes_are_none(self, mark, tmp_path):
        result = read_text(tmp_path, f"--all{mark}--some\n--all{mark}--few\n")
        assert (result.report.format, result.graph.leaves) == ("edges", ("--few", "--some"))

    def test_a_ruler_or_a_last_word_makes_no_outline(self, tmp_path):
        for text in ("a b\n-----\na c\n", "a b\na c\n--end\n"):
            report = read_text(tmp_path, text, strict=False).report
            assert (report.format, [d.code for d in report.errors]) == ("edges", ["columns"])

    def test_several_outermost_labels(self, tmp_path):
        graph = read_text(tmp_path, "a\n  b\nc\n  d\n", policies={"roots": "virtual"}).graph
        assert graph.roots == ("root",)
        assert graph.n_labels == 5


class TestJson:
    def test_paths_keep_same_named_nodes_apart(self, tmp_path):
        tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "x"}]}, {"name": "x"}]}
        result = read_text(tmp_path, json.dumps(tree))
        assert list(result.graph.keys) == ["a", "a/b", "a/b/x", "a/x"]
        assert list(result.graph.names) == ["a", "b", "x", "x"]

    def test_slashes_in_names_do_not_make_paths(self, tmp_path):
        tree = {
            "name": "a",
            "children": [{"name": "b/c"}, {"name": "b", "children": [{"name": "c"}]}, {"name": "~"}],
        }
        assert sorted(read_text(tmp_path, json.dumps(tree)).graph.keys) == [
            "a",
            "a/b",
            "a/b/c",
            "a/b~1c",
            "a/~0",
        ]

    def test_ids_weights_and_definitions(self, tmp_path):
        tree = {
            "id": 1, "name": "a", "definition": "top",
            "children": [{"key": "x", "name": "b", "weight": 2.5}, {"id": "n2", "name": "b"}],
        }  # fmt: skip
        result = read_text(tmp_path, json.dumps(tree, indent=1))
        assert sorted(result.graph.edges()) == [("n2", "1", 1.0, 0), ("x", "1", 2.5, 0)]
        assert result.definitions == {"1": "top"}

    def test_an_array_holds_several_trees(self, tmp_path):
        graph = read_text(tmp_path, '[{"name": "a"}, {"name": "b"}]', policies={"roots": "keep"}).graph
        assert graph.roots == ("a", "b")

    def test_the_parser_agrees_with_the_standard_one(self, tmp_path):
        from labelgrove.ontology.readers.text.jsontext import decode

        value = {
            "a": [1, -2.5e3, True, False, None, '\u00e9\n"\\/', {}, [], {"b": [{}]}],
            "": {"c": "\U0001f600"},
        }
        for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
            assert _plain(decode(text, pytest.fail)) == json.loads(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return float(value) if type(value) is not str and isinstance(value, str) else value


class TestRoots:
    TEXT = "a b\na c\nx y\n"

    def test_virtual(self, tmp_path):
        graph = read_text(tmp_path, self.TEXT, policies={"roots": "virtual"}, root="top").graph
        assert (graph.roots, graph.is_tree) == (("top",), True)

    def test_largest(self, tmp_path):
        assert sorted(read_text(tmp_path, self.TEXT, policies={"roots": "largest"}).graph.keys) == [
            "a",
            "b",
            "c",
        ]

    def test_largest_takes_the_smallest_key_among_equals(self, tmp_path):
        graph = read_text(tmp_path, "x y\na b\n", policies={"roots": "largest"}).graph
        assert sorted(graph.keys) == ["a", "b"]

    def test_keep(self, tmp_path):
        assert read_text(tmp_path, self.TEXT, policies={"roots": "keep"}).graph.n_components == 2


def test_shortcuts_are_found_at_any_distance_and_left_out_on_request(tmp_path):
    text = "a b\nb c\nc d\na d\nb d\na c\na e\n"
    result = read_text(tmp_path, text)
    found = {d.code: d for d in result.report.defects}["transitive-edge"]
    assert [line for _, line in found.places] == [6, 4, 5]
    graph = read_text(tmp_path, text, policies={"transitive-edge": "fix"}).graph
    assert pairs(graph) == {("b", "a"), ("c", "b"), ("d", "c"), ("e", "a")}


class TestInvisibleCharacters:
    @pytest.mark.parametrize(
        "key",
        [
            "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc",  # Persian: a non-joiner between letters
            "\u0915\u094d\u200d\u0937",  # Devanagari: a joiner behind a virama
            "\u0d28\u0d4d\u200d",  # Malayalam: a joiner that ends the word, behind a virama
            "\U0001f469\u200d\U0001f467",  # emoji joined
            "\U0001f3f3\ufe0f\u200d\U0001f308",
            "\u2764\ufe0f",
            "1\ufe0f\u20e3",
            "\u00a9\ufe0f",
            "\u845b\U000e0100",  # a Japanese place name with its form
            "\u182d\u180b",  # Mongolian
            "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
            "\u05e9\u05dc\u05d5\u05dd",
            "caf\u00e9 \u00b7 na\u00efve",
        ],
    )
    def test_those_that_writing_needs_pass(self, key, tmp_path):
        result = read_text(tmp_path, f"root\t{key}\n")
        assert result.graph.leaves == (key,)
        assert result.report.defects == ()

    def test_the_character_is_named(self, tmp_path):
        result = read_text(tmp_path, "a,b\na,gnp\u202efdp\n", strict=False)
        (defect,) = result.report.errors
        assert defect.examples[0][2] == r"gnp\u202efdp holds U+202E RIGHT-TO-LEFT OVERRIDE"


class TestColumns:
    """Edge lists whose header says what each column is."""

    def labels(self, result):
        return {
            key: (name, result.definitions.get(key))
            for key, name in zip(result.graph.keys, result.graph.names, strict=True)
        }

    @pytest.mark.parametrize(
        "text",
        [
            "id,name,parent_id\n1,animal,\n2,dog,1\n3,cat,1\n",
            "key\tparent\tname\n1\t\tanimal\n2\t1\tdog\n3\t1\tcat\n",
            "Parent ID;Name;ID\n;animal;1\n1;dog;2\n1;cat;3\n",
            '"id","parent-key","name"\n"1","","animal"\n"2","1","dog"\n"3","1","cat"\n',
            "# a comment\n\nid,name,parent\n3,cat,1\n2,dog,1\n1,animal,\n",
        ],
    )
    def test_records_of_labels(self, text, tmp_path):
        result = read_text(tmp_path, text)
        assert pairs(result.graph) == {("2", "1"), ("3", "1")}
        assert self.labels(result) == {"1": ("animal", None), "2": ("dog", None), "3": ("cat", None)}
        assert result.report.defects == ()

    def test_a_name_serves_as_key_where_there_is_none(self, tmp_path):
        graph = read_text(tmp_path, "name,parent\nanimal,\ndog,animal\n").graph
        assert pairs(graph) == {("dog", "animal")}

    def test_names_and_definitions_are_those_of_the_child(self, tmp_path):
        text = "parent,child,weight,name,definition\na,b,2,Bee,hums\na,c,1,Sea,\n"
        result = read_text(tmp_path, text)
        assert self.labels(result) == {"a": ("a", None), "b": ("Bee", "hums"), "c": ("Sea", None)}
        assert result.graph.edge_weight.tolist() == [2.0, 1.0]

    @pytest.mark.parametrize("policies", [{}, {"all": "fix"}, {"all": "warn"}])
    def test_two_records_of_one_label_are_a_label_with_two_parents(self, policies, tmp_path):
        text = "key,parent,name\nr,,R\na,r,A\nb,r,B\nc,a,C\nc,b,C\nc,r,C\n"
        graph = read_text(tmp_path, text, policies=policies).graph
        assert {p for c, p in pairs(graph) if c == "c"} == {"a", "b", "r"}

    def test_of_two_names_the_smaller_counts_whatever_the_order(self, tmp_path):
        for names in (["A", "B"], ["B", "A"]):
            text = "key,parent,name\n" + "".join(f"a,,{name}\n" for name in names)
            result = read_text(tmp_path, text, policies={"conflicting-texts": "fix"})
            assert list(result.graph.names) == ["A"]

    def test_an_undirected_list_says_so_by_its_header(self, tmp_path):
        result = read_text(
            tmp_path, "key,neighbor,weight\na,b,1\nb,c,2\nc,a,1\nd,,1\n", policies={"roots": "keep"}
        )
        expected = LabelGraph.from_edges(
            [("a", "b"), ("b", "c"), ("c", "a")], weights=[1, 2, 1], labels=["d"], directed=False
        )
        assert result.graph == expected
        with pytest.raises(InputError, match="directed"):
            read_text(tmp_path, "key,neighbor\na,b\n", policies={"roots": "virtual"})

    def test_one_relation_of_several_is_picked(self, tmp_path):
        text = "child,parent,relation\nb,a,is_a\nc,b,is_a\nc,a,part_of\nd,a,part_of\n"
        codes = [d.code for d in read_text(tmp_path, text, strict=False).report.errors]
        assert codes == ["several-relations"]
        picked = read_text(tmp_path, text, relation="is_a")
        assert pairs(picked.graph) == {("b", "a"), ("c", "b")}
        assert [(d.code, d.count) for d in picked.report.defects] == [("other-relation", 2)]
        everything = read_text(tmp_path, text, policies={"several-relations": "warn"})
        assert everything.graph.n_edges == 4
        with pytest.raises(InputError, match="has no column named relation"):
            read_text(tmp_path, "child,parent\nb,a\n", relation="is_a")

    def test_a_column_that_is_not_read_is_named(self, tmp_path):
        result = read_text(tmp_path, "id,parent_id,color,size\n1,,red,2\n2,1,blue,3\n")
        (defect,) = result.report.defects
        assert (defect.code, defect.count) == ("extra-column", 2)
        assert [text for _, _, text in defect.examples] == [
            "color: its cells are left out", "size: its cells are left out",
        ]  # fmt: skip


class TestSemicolons:
    def test_they_are_told(self, tmp_path):
        result = read_text(tmp_path, "a;b\na;c\n")
        assert (pairs(result.graph), result.report.defects) == ({("b", "a"), ("c", "a")}, ())
        assert read_text(tmp_path, "a;b\na;c\n", delimiter="semicolon").graph == result.graph

    def test_numbers_may_have_a_decimal_comma(self, tmp_path):
        graph = read_text(tmp_path, "parent;child;weight\na;b;0,5\na;c;2\n").graph
        assert sorted(graph.edges()) == [("b", "a", 0.5, 0), ("c", "a", 2.0, 0)]
        assert read_text(tmp_path, "a;b;0,5\na;c;1,5\n").graph.edge_weight.tolist() == [0.5, 1.5]

    def test_commas_rule_where_more_lines_have_them(self, tmp_path):
        graph = read_text(tmp_path, "a,b;c\na,d\na,e\n").graph
        assert graph.leaves == ("b;c", "d", "e")

    def test_a_spreadsheet_of_another_country(self, tmp_path):
        text = 'id;name;parent_id\r\n1;"Tiere; alle";\r\n2;Hund, der;1\r\n'
        result = read_text(tmp_path, text)
        assert list(result.graph.names) == ["Tiere; alle", "Hund, der"]
        assert [d.code for d in result.report.defects] == ["crlf"]


class TestRepeatedRecords:
    """Two records of one id: a label with the parents and children of both, or an error."""

    TREE = (
        '{"id": "r", "name": "R", "children": [{"id": "a", "name": "A", "children": [%s]}, '
        '{"id": "b", "name": "B", "children": [%s]}]}'
    )

    @pytest.mark.parametrize("policies", [{"duplicate-id": "fix"}, {"all": "fix"}])
    def test_in_a_json_tree(self, policies, tmp_path):
        text = self.TREE % (
            '{"id": "x", "name": "X", "children": [{"name": "p"}, {"name": "q"}]}',
            '{"id": "x", "name": "X", "children": [{"name": "q"}, {"name": "s"}]}',
        )
        assert [d.code for d in read_text(tmp_path, text, strict=False).report.errors] == ["duplicate-id"]
        graph = read_text(tmp_path, text, policies=policies).graph
        assert {p for c, p in pairs(graph) if c == "x"} == {"a", "b"}
        assert {c for c, p in pairs(graph) if p == "x"} == {"x/p", "x/q", "x/s"}

    def test_two_children_of_one_name_stay_two_in_a_record_that_comes_again(self, tmp_path):
        text = self.TREE % (
            '{"id": "x", "name": "X"}',
            '{"id": "x", "children": [{"name": "q"}, {"name": "q"}]}',
        )
        result = read_text(tmp_path, text, policies={"all": "fix"})
        assert {c for c, p in pairs(result.graph) if p == "x"} == {"x/q", "x/q#2"}

    def test_an_id_below_itself_ends(self, tmp_path):
        text = '{"id": "x", "name": "X", "children": [{"id": "x", "name": "X", "children": [{"id": "y"}]}]}'
        graph = read_text(tmp_path, text, policies={"all": "fix"}).graph
        assert pairs(graph) == {("y", "x")}

    @pytest.mark.parametrize("policies", [{"duplicate-id": "fix"}, {"all": "fix"}])
    def test_in_a_wordnet_file(self, policies, tmp_path):
        lines = SOUND["wordnet"].splitlines()
        offsets = [line[:8].decode() for line in lines[1:]]
        again = lines[4].replace(f"@ {offsets[1]}".encode(), f"@ {offsets[0]}".encode())
        assert again != lines[4]
        text = b"\n".join([*lines, again])
        graph = read_text(tmp_path, text, "data.noun", policies=policies).graph
        assert {p for c, p in pairs(graph) if c == f"n{offsets[3]}"} == {f"n{offsets[0]}", f"n{offsets[1]}"}

    @pytest.mark.parametrize("policies", [{"all": "fix"}, {"all": "fix", "roots": "keep"}])
    def test_all_fix_leaves_shortcuts_to_an_ancestor(self, policies, tmp_path):
        graph = read_text(tmp_path, "a b\nb c\na c\n", policies=policies).graph
        assert pairs(graph) == {("b", "a"), ("c", "b"), ("c", "a")}


def test_a_file_that_ends_its_lines_in_cr_lf_is_one_repair(tmp_path):
    lines = "".join(f"a,b{i}\r\n" for i in range(300_000))  # more than one block
    result = read_text(tmp_path, lines)
    assert [(d.code, d.count, [n for _, n in d.places]) for d in result.report.defects] == [("crlf", 1, [1])]
    mixed = read_text(tmp_path, "a,b\na,c\r\na,d\na,e\r\n")
    assert [(d.count, [n for _, n in d.places]) for d in mixed.report.defects] == [(1, [2])]


def test_what_is_printed_of_a_result_is_one_screen(tmp_path):
    lines = "".join(f"top,name {i}\r\ntop,NAME {i}\r\n" for i in range(5_000))
    for result in (
        read_text(tmp_path, lines),
        read_text(tmp_path, "parent,child,definition\n" + "".join(f"a,b{i},{i}\n" for i in range(5_000))),
        read_text(tmp_path, "".join(f"a b{i} c\n" for i in range(5_000)), strict=False),
    ):
        shown = [result, result.graph, result.report, *result.report.defects]
        assert all(len(repr(one)) < 1_000 for one in shown)
        assert str(result.report.counts["labels"]) in repr(result.report)
    assert repr(result.report.defects[0]) == "Defect('weight-not-a-number', severity='error', count=5000)"

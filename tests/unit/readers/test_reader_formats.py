"""What each reader makes of a sound source, and how formats are told apart."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ontology.labelgraph import LabelGraph
from ontology.readers import ReadResult, find_wordnet, formats, read
from ontology.readers import edgelist as edgelist_module
from tests.unit.readers.reader_corpus import LABELS, NOUNS, SOUND, wordnet


def read_text(folder: Path, text: str | bytes, name: str = "source.txt", **options: Any) -> ReadResult:
    source = folder / name
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(source, **options)


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

    @pytest.mark.parametrize("delimiter", ["space", "tab", "comma"])
    def test_the_path_for_plain_blocks_changes_nothing(self, delimiter, tmp_path, monkeypatch):
        mark = {"space": " ", "tab": "\t", "comma": ","}[delimiter]
        lines = [f"n{i // 3}{mark}n{i}" for i in range(1, 400)]
        fast = read_text(tmp_path, "\n".join(["parent" + mark + "child", *lines]), delimiter=delimiter)
        block = [lines[:200], lines[200:]]
        assert (
            edgelist_module._plain_columns(block[0], delimiter, edgelist_module._Layout(2, 1, 0)) is not None
        )
        monkeypatch.setattr(edgelist_module, "_plain_columns", lambda *_: None)
        slow = read_text(tmp_path, "\n".join(["parent" + mark + "child", *lines]), delimiter=delimiter)
        assert fast.graph == slow.graph
        assert fast.report == slow.report

    @pytest.mark.parametrize(
        "odd", ["#x,y", 'a,"b"', "a,b ", "a", "a,", "p,c", "", "a,b,c", "é,b", "a\x1c,b"]
    )
    def test_a_block_with_anything_odd_takes_the_careful_path(self, odd):
        layout = edgelist_module._Layout(2, 1, 0, header=("p", "c"))
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
        assert list(read_text(tmp_path, f"  licence\n{record}\n", "data.noun").graph.names) == ["w0"]

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
        from ontology.readers.jsontext import decode

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

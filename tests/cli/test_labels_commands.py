"""``grove labels``: what is shown of labels, lists and trees, and words that mean no label or several."""

import itertools
import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.cli.printing.labellists import hit_table
from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.browse.answers import Answers
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from tests.cli.terminal import sent_to_terminal
from tests.unit.browse.browse_cases import NameRow, annotated

ZOO = {
    "id": "n0",
    "name": "thing",
    "definition": "whatever there is",
    "children": [
        {
            "id": "n1",
            "name": "bird",
            "children": [
                {"id": "n3", "name": "crane", "definition": "large long-necked wading bird"},
                {"id": "n5", "name": "Björn's heron"},
            ],
        },
        {"id": "n2", "name": "machine", "children": [{"id": "n4", "name": "crane"}]},
    ],
}


@pytest.fixture
def zoo(call, filled_home):
    Path("zoo.json").write_text(json.dumps(ZOO))
    filled_home(lambda: call("ingest", "zoo", "zoo.json"))
    return call


def document(call, *arguments):
    return json.loads(call("labels", *arguments, "--json").stdout)


def keys(call, *arguments):
    return [item["key"] for item in document(call, *arguments)["items"]]


def test_a_label_is_taken_by_key_or_by_a_name_that_is_its_own(zoo):
    for text in ("n5", "Björn's heron", "bjorn's HERON"):
        assert document(zoo, "show", "zoo", text)["key"] == "n5"
    assert keys(zoo, "children", "zoo", "bird") == ["n3", "n5"]
    assert keys(zoo, "siblings", "zoo", "bird") == ["n2"]
    assert keys(zoo, "ancestors", "zoo", "n4") == ["n0", "n2"]
    assert keys(zoo, "descendants", "zoo", "thing") == ["n1", "n3", "n5", "n2", "n4"]
    assert keys(zoo, "path", "zoo", "n4", "bird") == ["n4", "n2", "n0", "n1"]
    assert keys(zoo, "lca", "zoo", "n4", "n3") == ["n0"]


def test_a_name_of_several_labels_lists_them_with_parent_and_definition(zoo):
    for command in (
        ("show", "zoo", "crane"),
        ("children", "zoo", "crane"),
        ("path", "zoo", "bird", "Crane"),
        ("search", "zoo", "x", "--under", "crane"),
        ("tree", "zoo", "--under", "crane"),
    ):
        said = zoo("labels", *command, code=2).stderr
        assert "is ambiguous; give the key of the label that you mean:\n" in said
        assert "\n    'n3' (crane), below 'n1' (bird): large long-necked wading bird\n" in said
        assert "\n    'n4' (crane), below 'n2' (machine)\n" in said


def test_a_name_of_very_many_labels_lists_the_first(call):
    with Workspace.open(Settings.from_env()) as workspace:
        names = {f"k{i}": "same" for i in range(9)}
        register(workspace, "alike", LabelGraph.from_edges([], labels=list(names), names=names))
    said = call("labels", "show", "alike", "same", code=2).stderr
    assert said.count("(same)") == 5
    assert said.endswith("and 4 more\n")


def test_what_is_no_label_is_told_what_may_be_meant(zoo):
    said = zoo("labels", "show", "zoo", "machnie", code=4).stderr
    assert "'machnie' is neither the key nor the name of a label of 'zoo'; close to it: 'machine'" in said
    assert "grove labels search zoo machnie" in said
    assert "close to it" not in zoo("labels", "show", "zoo", "xyzzy", code=4).stderr


def test_a_text_longer_than_any_search_is_no_label_either(zoo):
    for text in (" ".join(f"w{i}" for i in range(100)), "x" * 5_000):
        said = zoo("labels", "show", "zoo", text, code=4).stderr
        assert "is neither the key nor the name of a label" in said


def test_show_says_everything_about_a_label(zoo):
    shown = document(zoo, "show", "zoo", "n3")
    assert shown["definition"] == "large long-necked wading bird"
    assert [item["name"] for item in shown["path"]] == ["thing", "bird", "crane"]
    assert [(item["key"], item["rank"]) for item in shown["parents"]] == [("n1", 0)]
    assert (shown["n_children"], shown["n_siblings"], shown["n_below"], shown["leaf"]) == (0, 1, 0, True)
    assert shown["ontology"] == "zoo"
    text = zoo("labels", "show", "zoo", "n3").stdout
    assert "thing > bird > crane" in text
    assert "large long-necked wading bird" in text


def test_search_ranks_filters_and_counts(zoo):
    found = document(zoo, "search", "zoo", "crane", "--facets")
    assert [(item["key"], item["match"]) for item in found["items"]] == [("n3", "exact"), ("n4", "exact")]
    assert found["facets"]["leaves"] == 2
    assert {b["key"]: b["count"] for b in found["facets"]["branches"]} == {"n1": 1, "n2": 1}
    assert keys(zoo, "search", "zoo", "crane", "--under", "machine") == ["n4"]
    assert keys(zoo, "search", "zoo", "n", "--inner", "--depth", "1") == ["n1", "n2"]
    assert keys(zoo, "search", "zoo", "n", "--leaf") == ["n3", "n5", "n4"]
    said = zoo("labels", "search", "zoo", "crane", "--facets").stderr
    assert "2 labels, of which 2 are leaves" in said
    assert "below bird: 1, machine: 1" in said
    said = zoo("labels", "search", "zoo", "heron", "--facets").stderr
    assert "1 label, of which 1 is a leaf" in said


def test_a_search_tells_labels_of_one_name_apart_by_their_parents(zoo):
    header, _, *rows = zoo("labels", "search", "zoo", "crane").stdout.splitlines()
    assert header.split() == ["key", "name", "parent", "depth", "leaf", "match"]
    assert [row.split()[:3] for row in rows] == [["n3", "crane", "bird"], ["n4", "crane", "machine"]]
    assert set(document(zoo, "search", "zoo", "crane")["items"][0]) == {
        "idx",
        "key",
        "name",
        "depth",
        "leaf",
        "deprecated",
        "match",
        "matched",
    }


def test_another_name_that_was_found_has_a_column_only_where_there_is_one():
    graph = LabelGraph.from_edges([("erne", "bird")])
    answers = Answers(
        LabelIndex.of(graph, annotated(graph, [NameRow(graph.keys.index("erne"), "sea eagle")]))
    )
    header, _, row = hit_table(answers, answers.search("eagle")["items"]).splitlines()
    assert header.split()[-2:] == ["match", "matched"]
    assert row.endswith("  words  sea eagle")
    assert "matched" not in hit_table(answers, answers.search("erne")["items"])


def test_keys_and_names_of_a_search_stay_whole_on_a_terminal(call):
    name = "nondepository financial institution"
    with Workspace.open(Settings.from_env()) as workspace:
        edges = [("k0123456789", "k1"), ("k1", "k2"), ("short", "k1")]
        names = {
            "k0123456789": name,
            "k1": "institution of " + "very " * 20 + "much money",
            "short": "finance",
        }
        register(workspace, "money", LabelGraph.from_edges(edges, names=names))
    for columns, left_out in ((120, set()), (80, {"leaf"}), (66, {"leaf", "depth", "match"})):
        env = os.environ | {"COLUMNS": str(columns), "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-m", "labelgrove", "labels", "search", "money", "finan"]
        lines = sent_to_terminal(command, env=env, errors=False).splitlines()
        assert {"key", "name", "parent", "depth", "leaf", "match"} - {*lines[0].split()} == left_out
        assert max(map(len, lines)) <= columns
        assert any(f"k0123456789  {name}  institution" in line for line in lines)
        assert len(lines) == 4


PETS = LabelGraph.from_edges(
    [("k1", "k0"), ("k2", "k0"), ("k3", "k0")],
    names={"k0": "pet", "k1": "dog", "k2": "hound", "k3": "wolf"},
)
OF_PETS = {
    "k1": Description(
        (Name("dog", "preferred", "en"), Name("Hund", "preferred", "de"), Name("domestic dog", use=3)),
        "a tame canine",
        notation=("D1",),
        alternative_id=("k9",),
        reference=("WN:n02084071",),
        example=("the dog barked", "dogs bark"),
        line=7,
    ),
    "k2": Description((Name("old dog"),), deprecated=True, replaced_by=("k1",), consider=("k3", "gone")),
    "old": Description((Name("cur"),), replaced_by=("k1",)),
    "both": Description(replaced_by=("k1", "k3")),
    "lost": Description(consider=("k3", "k77")),
    "dead": Description(),
}


@pytest.fixture
def pets(call):
    with Workspace.open(Settings.from_env()) as workspace:
        held = Annotations.of(PETS, OF_PETS)
        register(workspace, "pets", put_snapshot(workspace.artifacts, PETS, held, None))
    return call


def test_show_lists_annotations(pets):
    shown = document(pets, "show", "pets", "domestic DOG")
    assert shown["key"] == "k1"
    assert shown["names"] == [
        {"text": "Hund", "kind": "preferred", "language": "de", "use": 0},
        {"text": "domestic dog", "kind": "exact", "language": None, "use": 3},
    ]
    assert (shown["definition"], shown["line"], shown["deprecated"]) == ("a tame canine", 7, False)
    assert (shown["notation"], shown["alternative_id"]) == (["D1"], ["k9"])
    assert (shown["reference"], shown["example"]) == (["WN:n02084071"], ["dogs bark", "the dog barked"])
    shown = document(pets, "show", "pets", "hound")
    assert shown["deprecated"]
    assert shown["replaced_by"] == [{"key": "k1", "name": "dog"}]
    assert shown["consider"] == [{"key": "gone", "name": None}, {"key": "k3", "name": "wolf"}]
    text = pets("labels", "show", "pets", "k2").stdout.splitlines()
    assert [line.split(maxsplit=2) for line in text if line.startswith(("repl", "consider", "deprec"))] == [
        ["deprecated", "True"],
        ["replaced", "by", "dog (k1)"],
        ["consider", "gone"],
        ["consider", "wolf", "(k3)"],
    ]
    assert "deprecated" not in pets("labels", "show", "pets", "k1").stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("old", "'old' is retired; it is replaced by 'k1' (dog)\n"),
        ("k9", "'k9' is a former key of 'k1' (dog)\n"),
        ("cur", ""),
        ("dog", ""),
    ],
)
def test_a_former_key_is_told_what_replaced_it(text, said, pets):
    shown = pets("labels", "show", "pets", text, "--json")
    assert (json.loads(shown.stdout)["key"], shown.stderr) == ("k1", said)
    assert keys(pets, "siblings", "pets", text) == ["k2", "k3"]


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [
        ("lost", "'lost' is not a label: the source retired it and says to consider 'k3' (wolf), 'k77'\n", 4),
        ("dead", "'dead' is not a label: the source retired it and names no replacement\n", 4),
        ("both", "\n    'k1' (dog), below 'k0' (pet): a tame canine\n    'k3' (wolf), below 'k0' (pet)\n", 2),
    ],
)
def test_a_retired_key_without_one_replacement_says_what_to_consider(text, said, code, pets):
    assert said in pets("labels", "show", "pets", text, code=code).stderr


def test_deprecated_labels_are_found_last_marked_and_counted(pets):
    assert keys(pets, "search", "pets", "do") == ["k1", "k2"]
    assert keys(pets, "search", "pets", "do", "--deprecated") == ["k2"]
    assert keys(pets, "search", "pets", "do", "--current") == ["k1"]
    assert keys(pets, "search", "pets", "hund", "--language", "de") == ["k1"]
    assert (
        "there are names in de, en"
        in pets("labels", "search", "pets", "hund", "--language", "fr", code=2).stderr
    )
    found = pets("labels", "search", "pets", "do", "--facets")
    header, _, dog, hound = found.stdout.splitlines()
    assert (header.split()[-1], hound.split()[-1]) == ("deprecated", "deprecated")
    assert "deprecated" not in dog
    assert "2 labels, of which 2 are leaves and 1 deprecated\n" in found.stderr
    assert "with names in en: 1\n" in found.stderr
    facets = document(pets, "search", "pets", "do", "--facets")["facets"]
    assert (facets["deprecated"], facets["languages"]) == (1, {"en": 1})
    assert pets("labels", "children", "pets", "pet").stdout.splitlines()[0].split()[-1] == "deprecated"
    assert "deprecated" not in pets("labels", "descendants", "pets", "dog").stdout
    assert pets("labels", "tree", "pets").stdout == (
        "pet (k0)\n├── dog (k1)\n├── hound (k2), deprecated\n└── wolf (k3)\n"
    )


def test_a_search_that_finds_nothing_says_what_to_change(zoo):
    def said(*arguments):
        nothing = zoo("labels", "search", "zoo", *arguments, code=4)
        assert nothing.stdout == ""
        return nothing.stderr

    filters = "--under, --leaf, --inner, --depth, --deprecated, --current, --language"
    assert said("crane", "--inner") == f"nothing found; 2 labels without {filters}\n"
    assert said("heron", "--under", "machine") == f"nothing found; 1 label without {filters}\n"
    assert said("heron", "--deprecated") == f"nothing found; 1 label without {filters}\n"
    assert said("crnae", "--inner") == "nothing found; close to it: crane\n"
    assert said("xyzzy", "--facets") == "nothing found\n"
    nothing = json.loads(zoo("labels", "search", "zoo", "xyzzy", "--json", code=4).stdout)
    assert (nothing["items"], nothing["total"], nothing["next"]) == ([], 0, None)


def test_pages_follow_one_another_and_a_cursor_of_another_list_is_refused(zoo):
    seen, after = [], ()
    for _ in range(3):
        found = document(zoo, "descendants", "zoo", "n0", "--limit", "2", *after)
        seen += [item["key"] for item in found["items"]]
        after = ("--after", found["next"])
    assert found["next"] is None
    assert seen == keys(zoo, "descendants", "zoo", "n0")
    first = zoo("labels", "descendants", "zoo", "n0", "--limit", "2").stderr
    assert first.startswith("2 of 5 labels; the next ones: --after ")
    cursor = first.split()[-1]
    refused = zoo("labels", "descendants", "zoo", "n1", "--after", cursor, code=2).stderr
    assert "--after" in refused
    assert "is not a cursor of this list" in refused


def test_a_tree_is_drawn_with_what_it_leaves_out(zoo):
    assert zoo("labels", "tree", "zoo").stdout == (
        "thing (n0)\n"
        "├── bird (n1)\n"
        "│   ├── crane (n3)\n"
        "│   └── Björn's heron (n5)\n"
        "└── machine (n2)\n"
        "    └── crane (n4)\n"
    )
    assert zoo("labels", "tree", "zoo", "--levels", "1", "--most", "1").stdout == (
        "thing (n0)\n├── bird (n1) +2\n└── and 1 more\n"
    )
    assert zoo("labels", "tree", "zoo", "--under", "machine").stdout == "machine (n2)\n└── crane (n4)\n"
    (tree,) = document(zoo, "tree", "zoo", "--levels", "1")["trees"]
    assert [(child["key"], child["n_children"]) for child in tree["children"]] == [("n1", 2), ("n2", 1)]


def test_a_label_of_several_parents_is_drawn_below_each_and_opened_once(call):
    with Workspace.open(Settings.from_env()) as workspace:
        edges = [("pet", "animal"), ("dog", "pet"), ("dog", "animal"), ("puppy", "dog")]
        register(workspace, "pets", LabelGraph.from_edges(edges, ranks=[0, 1, 0, 0]))
    assert call("labels", "tree", "pets").stdout == (
        "animal\n├── dog\n│   └── puppy\n└── pet\n    └── dog, see below 'animal'\n"
    )
    assert [item["key"] for item in document(call, "show", "pets", "dog")["parents"]] == ["animal", "pet"]
    assert call("labels", "tree", "pets", "--under", "pet").stdout == "pet\n└── dog\n    └── puppy\n"


def test_a_tree_says_which_of_several_labels_of_one_name_is_meant(call):
    with Workspace.open(Settings.from_env()) as workspace:
        edges = [("dog", "k1"), ("dog", "k2"), ("puppy", "dog")]
        names = {"k1": "pet", "k2": "pet"}
        register(workspace, "pets", LabelGraph.from_edges(edges, names=names))
    assert call("labels", "tree", "pets").stdout == (
        "pet (k1)\n└── dog\n    └── puppy\npet (k2)\n└── dog, see below 'pet' (k1)\n"
    )


def test_several_roots_and_graphs_without_any(call):
    with Workspace.open(Settings.from_env()) as workspace:
        register(workspace, "roots", LabelGraph.from_edges([], labels=["a", "b", "c"]))
        register(workspace, "grid", LabelGraph.grid((2, 2)))
    assert call("labels", "tree", "roots", "--most", "2").stderr == "and 1 more root; show more with --most\n"
    assert call("labels", "tree", "roots").stdout == "a\nb\nc\n"
    assert keys(call, "path", "grid", "0,0", "1,1") == ["0,0", "0,1", "1,1"]
    assert document(call, "show", "grid", "0,0")["depth"] is None
    for command in (("children", "grid", "0,0"), ("tree", "grid")):
        assert "undirected" in call("labels", *command, code=2).stderr


def test_a_tree_on_a_terminal_without_box_characters_is_drawn_in_ascii(zoo):
    drawn = CliRunner(charset="latin-1").invoke(grove, ["labels", "tree", "zoo", "--levels", "1"])
    assert drawn.stdout_bytes.decode("latin-1").splitlines()[1:] == [
        "|-- bird (n1) +2",
        "`-- machine (n2) +1",
    ]


HOSTILE = ["a#b", "50%", "a/b?c&d", "two  blanks", "line\nend", "שלום", "x" * 4_000, "-dash", "<b>", "'q\""]


def test_hostile_names_are_shown_and_found(call):
    with Workspace.open(Settings.from_env()) as workspace:
        names = {f"k{i}": name for i, name in enumerate(HOSTILE)}
        register(workspace, "odd", LabelGraph.from_edges([(key, "root") for key in names], names=names))
    for (key, name), command in itertools.product(names.items(), ("show", "ancestors")):
        found = json.loads(call("labels", command, "--json", "odd", "--", name).stdout)
        assert found["key" if command == "show" else "ontology"] == (key if command == "show" else "odd")
    drawn = call("labels", "tree", "odd").stdout
    assert len(drawn.splitlines()) == 1 + len(HOSTILE)


def test_answers_come_from_the_snapshot_without_opening_the_graph(zoo, monkeypatch):
    def refuse(_):
        raise AssertionError("the graph was opened")

    monkeypatch.setattr(Workspace, "graph", property(refuse))
    assert keys(zoo, "search", "zoo", "crane") == ["n3", "n4"]
    assert zoo("labels", "tree", "zoo").stdout.startswith("thing")


def test_an_index_is_built_by_the_ingest_and_goes_with_its_last_ontology(zoo):
    with Workspace.open(Settings.from_env()) as workspace:
        graph = workspace.label_graph("zoo")

        def held(name):
            version = workspace.catalog.version(name)
            return workspace.label_indexes.holds(graph, version.annotations_sha256)

        assert held("zoo")
        zoo("ontology", "export", "zoo", "--out", "copy.json")
        zoo("ingest", "copy", "copy.json")
        zoo("ontology", "delete", "zoo", "--yes")
        assert held("copy")
        zoo("ontology", "delete", "copy", "--yes")
        assert list((workspace.settings.home / "labelindex" / "sha256").rglob("?" * 64)) == []


def test_a_list_without_labels_says_so(zoo):
    found = zoo("labels", "children", "zoo", "n5")
    assert (found.stdout, found.stderr) == ("", "no labels\n")
    assert document(zoo, "children", "zoo", "n5")["items"] == []


def test_a_related_name_leads_to_the_label_and_columns_that_say_nothing_are_left_out(call):
    Path("cars.obo").write_text(
        'format-version: 1.4\n\n[Term]\nid: T:1\nname: car\nsynonym: "motor" RELATED []\n'
        'synonym: "auto" EXACT []\n'
    )
    call("ingest", "cars", "cars.obo")
    said = call("labels", "show", "cars", "motor", code=4).stderr
    assert "'motor' names no label of 'cars', but is a related name of 'T:1' (car); give a key" in said
    shown = call("labels", "show", "cars", "car").stdout
    assert "also called  kind\n" in shown


def test_an_unknown_ontology_is_told_the_whole_command(call):
    assert "ingest it with: grove ingest pets FILE" in call("labels", "show", "pets", "cat", code=4).stderr

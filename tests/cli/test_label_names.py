"""Labels that commands are given by name, in options, columns and truths; and names that are not enough."""

import json
from pathlib import Path

import numpy as np
import pytest

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace

ZOO = {
    "id": "n0",
    "name": "thing",
    "definition": "whatever there is",
    "children": [
        {
            "id": "n1",
            "name": "bird",
            "children": [
                {
                    "id": "n3",
                    "name": "crane",
                    "definition": "large long-necked wading bird of marshes and plains in many parts of the "
                    "world, of which more could be said",
                },
                {"id": "n5", "name": "heron"},
            ],
        },
        {
            "id": "n2",
            "name": "machine",
            "children": [{"id": "n4", "name": "crane", "definition": "lifts and moves heavy objects"}],
        },
    ],
}


@pytest.fixture
def zoo(call, filled_home):
    def fill():
        call("ingest", "zoo", "zoo.json")
        call("bundle", "build", "zoo", "mine", "--observed", "n3,heron,machine")

    Path("zoo.json").write_text(json.dumps(ZOO))
    filled_home(fill)
    np.save("p.npy", np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    return call


CANDIDATES = (
    "'n3' (crane), below 'n1' (bird): large long-necked wading bird of marshes and plains in many parts of "
    "the …",
    "'n4' (crane), below 'n2' (machine): lifts and moves heavy objects",
)


@pytest.fixture
def kennel(call):
    graph = LabelGraph.from_edges(
        [("k1", "k0"), ("k2", "k0"), ("k3", "k0")],
        names={"k0": "pet", "k1": "dog", "k2": "cat", "k3": "Dog"},
    )
    synonyms = {
        "k1": Description((Name("domestic dog"), Name("mouser"), Name("canine", "broad"))),
        "k2": Description((Name("dog"), Name("mouser"), Name("pussy")), alternative_id=("k9",)),
    }
    with Workspace.open(Settings.from_env()) as workspace:
        held = Annotations.of(graph, synonyms)
        register(workspace, "kennel", put_snapshot(workspace.artifacts, graph, held, None))
    return call


@pytest.mark.parametrize("given", ["domestic dog,cat", "dog,k9", "k1,pussy"])
def test_a_synonym_of_one_label_means_it_where_it_is_neither_key_nor_name(given, kennel):
    def locus(*options):
        return json.loads(kennel("locus", "kennel", "--json", "--observed", *options).stdout)

    assert locus(given) == locus("k1,k2")
    kennel("bundle", "build", "kennel", "x", "--observed", given)


def test_a_synonym_of_several_labels_is_refused_and_one_that_only_folds_to_the_same_is_unknown(kennel):
    said = kennel("bundle", "build", "kennel", "x", "--observed", "mouser,k3", code=2).stderr
    for candidate in ("'k1' (dog), below 'k0' (pet)", "'k2' (cat), below 'k0' (pet)"):
        assert f"\n    {candidate}\n" in f"{said}\n"
    for text in ("Domestic dog", "canine"):
        said = kennel("locus", "kennel", "--observed", f"{text},k2", code=2).stderr
        assert f"{text!r} is unknown" in said
    said = kennel("locus", "kennel", "--observed", "domestic dog,k2", "--by", "key", code=2).stderr
    assert "'domestic dog' is unknown" in said


@pytest.mark.parametrize(
    "command",
    [
        ("locus", "zoo", "--observed", "crane,heron"),
        ("cover", "zoo", "--labels", "crane,heron"),
        ("select", "zoo", "--forbidden", "crane"),
        ("bundle", "build", "zoo", "x", "--observed", "crane,heron"),
        ("bundle", "build", "zoo", "x", "--observed", "heron", "--labels", "heron,crane"),
        ("plot", "simplex", "zoo", "--observed", "crane,heron,bird", "--out", "x.png"),
    ],
    ids=" ".join,
)
def test_a_name_of_several_labels_is_refused_with_where_each_stands_and_what_it_means(command, zoo):
    said = zoo(*command, code=2).stderr
    assert "'crane' is ambiguous; give the key of the label that you mean:\n" in said
    for candidate in CANDIDATES:
        assert f"\n    {candidate}\n" in f"{said}\n"


def test_columns_of_a_bundle_say_where_each_stands(zoo):
    zoo("bundle", "build", "zoo", "both", "--observed", "n3,n4")
    np.save("two.npy", np.eye(2))
    said = zoo("score", "zoo/both", "two.npy", "--columns", "crane,n4", code=2).stderr
    assert "\n    'n3' (crane), below 'n1' (bird)\n    'n4' (crane), below 'n2' (machine)\n" in said


GIVEN = {
    "--observed": ("bundle", "build", "zoo", "x", "--observed"),
    "--observed of a locus": ("locus", "zoo", "--observed"),
    "--columns": ("score", "zoo/mine", "p.npy", "--columns"),
}


@pytest.mark.parametrize("name", list(GIVEN))
def test_a_file_of_labels_with_a_header_or_in_one_line_is_called_so(name, zoo):
    def said(text):
        Path("labels.txt").write_text(text)
        return zoo(*GIVEN[name], "labels.txt", code=2).stderr

    for header in ("class", "label"):
        assert said(f"{header}\nn3\nheron\nmachine\n").endswith(
            f"if {header!r} is a header, delete the line\n"
        )
    assert said("n3,heron,machine\n").endswith("one label per line; this line has commas\n")
    assert said("n3,x\nheron,y\n").endswith("one label per line; these lines have commas\n")
    for other in ("n3\nhorse\n", "horse\nn3\nhen\n"):
        assert "header" not in said(other)
        assert "commas" not in said(other)
    assert "header" not in zoo(*GIVEN[name], "horse,n3", code=2).stderr


def test_labels_that_are_no_columns_are_not_called_so(zoo):
    for command in (
        GIVEN["--observed"],
        GIVEN["--observed of a locus"],
        ("cover", "zoo", "--observed"),
        ("select", "zoo", "--observed"),
        ("plot", "simplex", "zoo", "--out", "x.png", "--observed"),
    ):
        said = zoo(*command, "horse,n3,heron,n3", code=2).stderr
        assert "4 observed labels cannot be found among" in said
        assert "observed label 0 'horse' is unknown" in said
        assert "observed label 3 'n3' repeats observed label 1" in said
        assert "observed label 0 '0' is unknown" in zoo(*command, "0,1", code=2).stderr
        assert "column" not in said
    assert "\n  label 0 'horse' is unknown" in zoo("cover", "zoo", "--labels", "horse", code=2).stderr


def evaluated(call, *options, code=0):
    result = call(
        "evaluate", "zoo/mine", "p.npy", *options, "--columns", "n3,heron,machine", "--json", code=code
    )
    return json.loads(result.stdout)["rules"] if code == 0 else result.stderr


def test_truths_are_given_by_key_or_name_as_columns_are(zoo):
    Path("keys.txt").write_text("n1\nn2\nn3\n")
    Path("names.txt").write_text("bird\nmachine\nn3\n")
    np.save("names.npy", np.array(["bird", "n2", "n3"]))
    Path("names.csv").write_text("bird\nmachine\nn3\n")
    expected = evaluated(zoo, "keys.txt")
    for path in ("names.txt", "names.npy", "names.csv"):
        assert evaluated(zoo, path) == expected
    trained = evaluated(zoo, "keys.txt", "--train-truth", "keys.txt")
    assert evaluated(zoo, "names.txt", "--train-truth", "names.txt") == trained
    zoo("bundle", "build", "zoo", "named", "--observed", "bird,heron,machine")
    Path("all-names.txt").write_text("bird\nmachine\nheron\n")
    columns = ("--columns", "bird,heron,machine", "--by", "name", "--json")
    zoo("evaluate", "zoo/named", "p.npy", "all-names.txt", *columns)
    zoo("evaluate", "zoo/named", "p.npy", "keys.txt", *columns, code=4)
    a, b = (
        json.loads(
            zoo(
                "calibrate",
                "zoo/mine",
                "p.npy",
                path,
                "--columns",
                "bundle",
                "--measure",
                "squared_distance",
                "--json",
            ).stdout
        )
        for path in ("keys.txt", "names.txt")
    )
    assert a == b


def test_a_truth_that_may_be_several_labels_is_refused_once_with_its_first_line(zoo):
    Path("truth.txt").write_text("bird\ncrane\ncrane\n")
    said = evaluated(zoo, "truth.txt", code=2)
    assert "truth.txt: 1 label cannot be found (by auto):\n  truth.txt:2 'crane' is ambiguous" in said
    assert said.count("'crane' is") == 1
    assert "'n3' (crane), below 'n1' (bird)" in said


def test_a_truth_that_is_no_label_is_named_by_its_line(zoo):
    Path("truth.txt").write_text("bird\nbrid\nn3\n")
    assert "truth.txt:2 'brid'" in evaluated(zoo, "truth.txt", code=4)
    assert "truth.txt:2 'n2' is unknown" in evaluated_by_name(zoo)


def evaluated_by_name(call):
    Path("truth.txt").write_text("bird\nn2\nheron\n")
    call("bundle", "build", "zoo", "named", "--observed", "bird,heron,machine")
    columns = ("--columns", "bird,heron,machine", "--by", "name")
    return call("evaluate", "zoo/named", "p.npy", "truth.txt", *columns, code=4).stderr


def test_a_text_that_is_a_key_and_another_name_asks_which_is_meant(call):
    Path("odd.json").write_text(
        '{"id": "r", "name": "root", "children": [{"id": "a", "name": "b"}, {"id": "b", "name": "c"}]}'
    )
    call("ingest", "odd", "odd.json")
    assert "; if you mean the key, use --by key" in call("locus", "odd", "--observed", "b", code=2).stderr
    call("locus", "odd", "--observed", "b", "--by", "key")

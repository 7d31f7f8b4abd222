"""The commands on geometry: what they print, write and refuse, on the embedded default."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from labelgrove.ontology.geometry import locus, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

EDGES = [("tree", "plant"), ("moss", "plant"), ("oak", "tree"), ("elm", "tree"), ("holm oak", "oak")]


@pytest.fixture
def call(call, filled_home):
    Path("garden.csv").write_text("child,parent\n" + "".join(f"{c},{p}\n" for c, p in EDGES))
    filled_home(lambda: call("ingest", "garden", "garden.csv"))
    return call


def document(result):
    return json.loads(result.stdout)


def test_locus_shows_what_is_reached_and_how(call):
    found = document(call("locus", "garden", "--observed", "elm,moss", "--witness", "tree", "--json"))
    expected = locus(metric_space(LabelGraph.from_edges(EDGES)), ["elm", "moss"])
    assert [entry["key"] for entry in found["members"]] == list(expected.members)
    assert (found["status"], found["size"], found["n_unique"]) == ("exact", 4, 4)
    assert found["witness"] == {"label": "tree", "weights": {"elm": 2, "moss": 1}}
    text = call("locus", "garden", "--observed", "elm,moss").stdout
    assert "reach 4 of 6 labels (66.67 %), exact (tree metric)" in text


def test_a_witness_says_whether_its_label_is_the_only_answer(call):
    text = call("locus", "garden", "--observed", "elm,moss", "--witness", "tree").stdout
    assert "tree is the only answer at the weights 2 of elm, 1 of moss\n" in text
    Path("square.csv").write_text("child,parent\na,top\nb,top\nx,a\nx,b\ny,a\ny,b\n")
    call("ingest", "square", "square.csv", "--policy", "roots=keep")
    text = call("locus", "square", "--metric", "graph", "--observed", "a,b", "--witness", "y").stdout
    assert re.search(r"y is an answer, tied with 2 more, at the weights [\d,]+ of a, [\d,]+ of b\n", text)
    assert "2 of them as the only answer" in text
    Path("named.csv").write_text("key,parent,name\nr,,\na,r,Alder\nb,r,Beech\n")
    call("ingest", "named", "named.csv")
    text = call("locus", "named", "--observed", "a,b", "--witness", "r").stdout
    assert "r is the only answer at the weights 1 of a (Alder), 1 of b (Beech)\n" in text


def test_a_label_out_of_reach_has_no_witness(call):
    result = call("locus", "garden", "--observed", "elm,moss", "--witness", "oak", code=4)
    assert "oak" in result.stderr


@pytest.mark.parametrize("method", ["pairs", "pair-grid", "grid"])
def test_published_approximations_go_by_name(call, method):
    found = document(call("locus", "garden", "--observed", "elm,moss", "--method", method, "--json"))
    assert found["method"] == method
    assert found["size"] == 4


def test_a_locus_is_written_as_rows_or_as_the_document(call):
    call("locus", "garden", "--observed", "elm,moss", "--labels", "leaves", "--out", "locus.csv")
    assert Path("locus.csv").read_text().splitlines() == ["key,name,unique", "moss,moss,True", "elm,elm,True"]
    call("locus", "garden", "--observed", "elm,moss", "--out", "locus.json")
    assert json.loads(Path("locus.json").read_text())["size"] == 4
    assert ".csv or a .json" in call("locus", "garden", "--observed", "elm", "--out", "x.txt", code=2).stderr


def test_cover_finds_checks_and_names_what_is_needed(call):
    found = document(call("cover", "garden", "--json"))
    assert {entry["key"] for entry in found["labels"]} == {"moss", "elm", "holm oak"}
    assert found["lower_bound"] == found["size"] == 3
    checked = document(call("cover", "garden", "--observed", "moss,elm,holm oak", "--json"))
    assert (checked["is_locus_cover"], checked["is_identifying_cover"], checked["missing"]) == (
        True,
        True,
        [],
    )
    short = document(call("cover", "garden", "--observed", "moss,elm", "--out", "missing.csv", "--json"))
    assert Path("missing.csv").read_text().splitlines() == ["key,name", "oak,oak", "holm oak,holm oak"]
    assert {entry["key"] for entry in short["missing"]} == {"oak", "holm oak"}
    assert not short["is_locus_cover"]
    must = document(call("cover", "garden", "--method", "must", "--json"))
    assert {entry["key"] for entry in must["labels"]} == {"moss", "elm", "holm oak"}
    for method in ("phylogenetic", "small"):
        leaves = call("cover", "garden", "--labels", "leaves", "--method", method, "--json")
        assert document(leaves)["size"] == 3


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        ("cover garden --identifying --method small", "--identifying is True; needs the method minimum"),
        ("cover garden --identifying --method must", "--identifying: does not apply to --method must"),
        ("select garden --observed elm -n 9", "-n: 9 given; pick 1 to 5"),
        ("select garden --observed elm --required elm", "--required: 'elm' is already observed"),
        ("select garden --observed elm --budget -1", "--budget: -1.0"),
        ("sample garden -n 7", "-n: "),
        ("summarize garden --target 2 --cap 1.5", "--cap is '1.5'; give a whole number"),
        ("jobs submit summary --param ontology=garden --param target=0", "summary: target is 0; "),
    ],
)
def test_an_error_names_the_option_that_is_wrong_and_no_job_is_recorded(call, words, beginning):
    before = document(call("jobs", "list", "--json"))
    assert call(*words.split(), code=2).stderr.startswith(f"error: {beginning}")
    assert document(call("jobs", "list", "--json")) == before


def test_few_labels_are_all_printed_and_many_by_example(call):
    said = call("cover", "garden").stdout
    assert said.startswith("3 of 6 labels are a cover (50.00 %), no cover is smaller\n")
    assert "\nmoss, elm, holm oak\n" in said
    Path("many.csv").write_text("child,parent\n" + "".join(f"leaf {i},top\n" for i in range(100)))
    call("ingest", "many", "many.csv")
    text = call("cover", "many").stdout
    assert "for example leaf 0, leaf 2, leaf 30, " in text
    assert text.endswith("... (100 in all; --out FILE writes them)\n")


def test_select_gains_spends_and_keeps_to_its_limits(call):
    picks = document(call("select", "garden", "--observed", "moss", "--json"))["picks"]
    assert [(pick["key"], pick["gain"]) for pick in picks] == [("holm oak", 4), ("elm", 1)]
    forbidden = document(call("select", "garden", "--observed", "moss", "--forbidden", "holm oak", "--json"))
    assert [(pick["key"], pick["gain"]) for pick in forbidden["picks"]] == [("elm", 3), ("oak", 1)]
    Path("costs.csv").write_text("label,cost\nholm oak,9\noak,2\n")
    limited = call(
        "select", "garden", "--observed", "moss", "--costs", "costs.csv", "--budget", "3", "--json"
    )
    assert document(limited)["spent"] <= 3
    assert document(limited)["gain"] == 4
    Path("bad.csv").write_text("label,cost\noak,much\n")
    Path("bare.csv").write_text("oak,2\n")
    assert (
        "not a header" in call("select", "garden", "--observed", "moss", "--costs", "bare.csv", code=2).stderr
    )
    assert "bad.csv:2" in call("select", "garden", "--observed", "moss", "--costs", "bad.csv", code=2).stderr


def test_select_says_what_the_picks_gain_and_whether_others_gain_more(call):
    said = call("select", "garden", "--observed", "moss", "-n", "2").stderr
    assert said == "2 picks add 5 labels to the 1 reached before (no other 2 picks reach more)\n"
    assert "1 pick adds 4 labels" in call("select", "garden", "--observed", "moss", "-n", "1").stderr
    limits = ("--observed", "moss", "-n", "1", "--forbidden", "oak")
    assert "no other choice within these limits" in call("select", "garden", *limits).stderr


def test_select_says_that_nothing_can_be_gained(call):
    cover = ("--observed", "moss,elm,holm oak", "-n", "2")
    result = call("select", "garden", *cover)
    assert result.stderr == "all 6 labels are reached already; nothing to collect\n"
    assert len(result.stdout.splitlines()) == 2 + 2
    limits = ("--observed", "elm,moss", "-n", "1", "--candidates", "plant")
    assert call("select", "garden", *limits).stderr == (
        "no choice within these limits adds to the 4 of 6 labels that are reached already; nothing to "
        "collect\n"
    )


def test_select_without_a_number_says_when_it_ends(call):
    said = call("select", "garden", "--observed", "moss").stderr.splitlines()[0]
    assert "until no label adds anything" in said
    assert said.endswith("(6); -n 10 picks the first ten")


def test_a_sample_is_what_observed_takes(call):
    keys = call("sample", "garden", "-n", "3", "--method", "gibbs", "--seed", "5").stdout
    assert keys == call("sample", "garden", "-n", "3", "--method", "gibbs", "--seed", "5").stdout
    assert len(document(call("locus", "garden", "--observed", "-", "--json", text=keys))["observed"]) == 3
    assert "n:" in call("sample", "garden", "-n", "7", code=2).stderr


def test_distances_are_shown_where_few_and_written_where_many(call):
    shown = document(call("distances", "garden", "--columns", "elm,moss", "--json"))
    assert shown["shape"] == [6, 2]
    assert shown["distances"][shown["rows"].index("holm oak")] == [3, 4]
    call("distances", "garden", "--columns", "elm,moss", "--out", "d.npy")
    assert np.load("d.npy").tolist() == shown["distances"]
    assert Path("d.rows.txt").read_text().splitlines() == shown["rows"]
    assert Path("d.columns.txt").read_text().splitlines() == ["elm", "moss"]
    call("distances", "garden", "--columns", "elm", "--out", "missing/d.npy", code=2)
    assert ".npy" in call("distances", "garden", "--columns", "elm", "--out", "d.csv", code=2).stderr


def test_summarize_assigns_every_label(call):
    found = document(call("summarize", "garden", "--target", "3", "--out", "nodes.csv", "--json"))
    rows = [line.split(",") for line in Path("nodes.csv").read_text().splitlines()[1:]]
    assert len(rows) == 6
    assert len({node for _, node, *_ in rows}) == found["n_supernodes"] <= 3
    assert max(np.bincount([int(node) for _, node, *_ in rows])) == found["largest"]
    assert "warning" in call("summarize", "garden", "--target", "3", "--method", "node", "--seed", "1").stderr
    assert "target" in call("summarize", "garden", "--target", "0", code=2).stderr


def test_a_supernode_is_called_by_its_first_label(call):
    Path("named.csv").write_text("key,parent,name\nk0,,plant\nk2,k0,tree\nk1,k0,herb\nk3,k2,oak\nk4,k2,elm\n")
    call("ingest", "named", "named.csv")
    call("summarize", "named", "--target", "3", "--method", "subtree", "--out", "nodes.csv")
    with Path("nodes.csv").open(newline="") as file:
        assert file.readline() == "key,supernode,name,supernode_name\n"
        rows = [line.rstrip("\n").split(",") for line in file]
    assert [key for key, *_ in rows] == ["k0", "k1", "k2", "k3", "k4"]  # canonical order
    names = {"k0": "plant", "k1": "herb", "k2": "tree", "k3": "oak", "k4": "elm"}
    first = {}
    for key, node, name, supernode_name in rows:
        assert name == names[key]
        assert supernode_name == first.setdefault(node, name)
    assert 1 < len(first) <= 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("simplex", "garden", "--observed", "moss,elm,oak"),
        ("simplex", "garden", "--observed", "moss,elm,oak", "--labels", "moss,tree,oak,elm"),
        ("locus", "garden", "--observed", "moss,elm"),
        ("locus", "garden", "--observed", "moss,elm", "--labels", "leaves"),
        ("selection", "-n", "12", "--rounds", "4", "--seeds", "2"),
    ],
)
def test_pictures_are_written(call, arguments):
    call("plot", *arguments, "--out", "picture.png")
    assert int.from_bytes(Path("picture.png").read_bytes()[16:20]) > 500  # the width in pixels


def test_pictures_refuse_what_they_cannot_draw(call):
    assert ".png" in call("plot", "selection", "--out", "picture.gif", code=2).stderr
    assert "--observed" in call("plot", "simplex", "garden", "--out", "picture.png", code=2).stderr
    assert "fewer rounds" in call("plot", "selection", "-n", "5", "--out", "picture.png", code=2).stderr


@pytest.mark.parametrize("command", ["locus", "cover", "select", "distances"])
def test_unknown_labels_are_named(call, command):
    option = "--columns" if command == "distances" else "--observed"
    assert "fern" in call(command, "garden", option, "fern", code=2).stderr
    assert "did you mean" not in call(command, "nowhere", option, "oak", code=4).stderr
    assert "did you mean garden? If not, ingest it" in call(command, "gardn", option, "oak", code=4).stderr

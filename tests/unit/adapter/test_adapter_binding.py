"""Binding never guesses, and complains about everything at once."""

import importlib
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.adapter.classes import ClassBinding
from labelgrove.adapter.columns.binding import bind, find_labels, make_binding
from labelgrove.adapter.columns.labelnames import describe_labels
from labelgrove.adapter.evaluation import evaluate
from labelgrove.ontology.errors import BindingError, InputError, MissingExtraError, UnknownLabelError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

KEYS = ["n1", "n2", "n3", "n4"]
GRAPH = LabelGraph.from_edges([("a", "r")])
NAMES = ["crane", "crane", "tabby cat", "n3"]  # the last label is named like the key of another


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_bound_columns_come_in_the_order_of_the_keys(columns):
    keys = ["a", "b", "c", "d", "e"]
    order = bind(columns, keys)
    assert [columns[i] for i in order] == keys


def test_keys_and_names_may_be_mixed():
    assert bind(["tabby cat", "n2", "n1"], ["n1", "n2", "n3"], NAMES[:3]).tolist() == [2, 1, 0]


def test_a_name_equal_to_its_own_key_is_one_label():
    assert bind(["b", "a"], ["a", "b"], ["a", "b"]).tolist() == [1, 0]


def test_labels_are_found_in_a_larger_ontology():
    keys = Keys.from_strings(["root", "x", "y", "z"])
    assert find_labels(["z", "x"], keys).tolist() == [3, 1]


@pytest.mark.parametrize(("by", "column", "label"), [("key", "n3", 2), ("name", "n3", 3)])
def test_by_settles_a_text_that_is_a_key_and_another_name(by, column, label):
    assert find_labels([column], KEYS, NAMES, by=by).tolist() == [label]


def test_auto_refuses_a_text_that_is_a_key_and_another_name():
    with pytest.raises(BindingError, match=r"column 0 'n3' is ambiguous: 'n3' \(tabby cat\), 'n4' \(n3\)"):
        find_labels(["n3"], KEYS, NAMES)


def test_labels_of_one_name_are_told_apart_by_what_is_known_of_them():
    describe = describe_labels(KEYS, NAMES, [-1, 0, 1, 2].__getitem__, ["", "wades", "", ""].__getitem__)
    with pytest.raises(BindingError) as caught:
        find_labels(["crane"], KEYS, NAMES, describe=describe)
    assert str(caught.value).endswith(
        "column 0 'crane' is ambiguous; give the key of the label that you mean:\n"
        "    'n1' (crane), a root\n    'n2' (crane), below 'n1' (crane): wades"
    )


def test_of_many_labels_of_one_name_a_few_are_shown():
    with pytest.raises(BindingError, match=r"'k4' \(same\), and 45 more; give the key"):
        find_labels(["same"], [f"k{i}" for i in range(50)], ["same"] * 50)


def test_what_a_bundle_and_a_graph_know_of_their_labels():
    names = {"n1": "bird", "n2": "crane", "n3": "crane"}
    graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n1"), ("n3", "n0")], names=names)
    tree = build_bundle(graph, ["n2", "n3"])
    below = r"'n2' \(crane\), below 'n1' \(bird\)\n    'n3' \(crane\), below 'n0'"
    for tell in (
        lambda: make_binding(tree, ["crane", "n3"]),
        lambda: Adapter(tree, ["crane", "n3"]),
        lambda: ClassBinding(graph, {0: "crane"}).labels(np.array([0])),
        lambda: ClassBinding(tree, {0: "crane"}).labels(np.array([0])),
    ):
        with pytest.raises(BindingError, match=below):
            tell()
    with pytest.raises(BindingError, match=r"'n2' \(crane\), 'n3' \(crane\); give"):
        Adapter(build_bundle(graph, ["n2", "n3"], metric="graph", form="block"), ["crane", "n3"])
    flat = LabelGraph.from_edges([("x", "y")], names={"x": "same", "y": "same"}, directed=False)
    with pytest.raises(BindingError, match="ambiguous"):
        ClassBinding(flat, {0: "same"}).labels(np.array([0]))


def test_every_fault_is_listed_in_one_error():
    with pytest.raises(BindingError) as caught:
        bind(["crane", "Tabby_Cat", "n1", "n1", "zzzzzz"], KEYS, NAMES)
    text = str(caught.value)
    assert "4 of 5 columns cannot be bound to 4 labels" in text
    assert "column 0 'crane' is ambiguous: 'n1' (crane), 'n2' (crane); give the key" in text
    assert "column 1 'Tabby_Cat' is unknown; close to it: 'tabby cat'" in text
    assert "column 3 'n1' repeats column 2 'n1'" in text
    assert "column 4 'zzzzzz' is unknown; nothing is close to it" in text
    for key in ("n2", "n3", "n4"):
        assert f"no column stands for the observed label {key!r}" in text
    assert "stands for the observed label 'n1'" not in text
    assert "built for 4 observed labels; for the classes of another model build another: grove bundle" in text
    with pytest.raises(BindingError) as renamed:
        bind(["n1", "n2", "n3", "n5"], KEYS, NAMES)
    assert "build another" not in str(renamed.value)


def test_a_label_that_the_bundle_does_not_observe_is_told_from_one_that_is_unknown():
    graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names={"n1": "oak", "n2": "elm"})
    bundle = build_bundle(graph, ["n0", "n1"])
    unobserved = "that the bundle does not observe; build another bundle with it"
    for tell in (
        lambda column: Adapter(bundle, ["n0", column]),
        lambda column: make_binding(bundle, ["n0", column]),
        lambda column: ClassBinding(bundle, {0: "n0", 1: column}).labels(np.array([0, 1])),
    ):
        for column, said in {
            "n2": f"column 1 'n2' is a label of the ontology {unobserved}",
            "elm": f"column 1 'elm' is the name of a label of the ontology, 'n2', {unobserved}",
            "ash": "column 1 'ash' is unknown",
        }.items():
            with pytest.raises(BindingError) as caught:
                tell(column)
            assert said in str(caught.value)


def test_position_only_when_asked():
    with pytest.raises(BindingError):
        bind(["x", "y"], ["a", "b"])
    assert bind(["x", "y"], ["a", "b"], by="position").tolist() == [0, 1]
    with pytest.raises(BindingError, match="3 columns for 2 labels"):
        bind(["x", "y", "z"], ["a", "b"], by="position")


def test_numbers_are_not_turned_into_text():
    with pytest.raises(BindingError, match=r"column 0 is .*0.* of type int.*str\(c\)"):
        bind(np.arange(2), ["0", "1"])
    assert bind(np.array(["1", "0"]), ["0", "1"]).tolist() == [1, 0]


NUMBERED = LabelGraph.from_edges([(str(i), "root") for i in range(3)])


@pytest.mark.parametrize(
    ("use", "hint"),
    [
        (lambda: ClassBinding(NUMBERED).labels(np.arange(3)), r"y\.astype\(str\).*columns=\{c: str\(c\)"),
        (lambda: ClassBinding(NUMBERED).labels(np.arange(9)), r"columns=\{class: key"),
        (lambda: build_bundle(NUMBERED, np.arange(2)), r"'0' is a label: pass str\(key\).*int64"),
        (lambda: metric_space(NUMBERED).index([7]), r"keys are text: pass str\(key\)"),
        (
            lambda: evaluate(Adapter.from_graph(NUMBERED, ["0", "1"]), np.eye(2), [0, 1]),
            r"row 0 is 0 of type int; keys are text.*\[str\(key\) for key in truth\]",
        ),
        (lambda: Adapter(build_bundle(NUMBERED, ["0", "1"]), [0, 1]), r"\[str\(c\) for c in classes\]"),
    ],
)
def test_numbers_that_are_keys_once_they_are_text_are_told_so(use, hint):
    with pytest.raises(InputError, match=hint):
        use()


def test_a_single_text_is_no_list_of_columns():
    with pytest.raises(BindingError, match="single string"):
        bind("ab", ["a", "b"])


def test_unknown_rule_and_missing_names_are_refused():
    with pytest.raises(InputError, match="by: 'guess'"):
        bind(["a"], ["a"], by="guess")
    with pytest.raises(BindingError, match="no names"):
        bind(["a"], ["a"], by="name")


def test_shared_names_cost_linear_time():
    n = 50_000
    keys = [f"k{i}" for i in range(n)]
    assert find_labels(["k7"], keys, ["same"] * n).tolist() == [7]


def test_a_name_where_keys_are_taken_is_told_with_its_key():
    graph = LabelGraph.from_edges([("1", "0"), ("2", "0")], names={"0": "zero", "1": "one", "2": "two"})
    known = Adapter.from_graph(graph, ["1", "2"])
    P = [[0.6, 0.4], [0.1, 0.9]]
    for call in (
        lambda: Adapter.from_graph(graph, ["one", "two"]),
        lambda: metric_space(graph, labels=["one"]),
        lambda: graph.subgraph(["one", "two"]),
        lambda: known.predict(P, candidates=["one"]),
        lambda: known.predict(P, candidates=[["one"], ["2"]]),
        lambda: evaluate(known, P, ["one", "2"]),
    ):
        with pytest.raises(UnknownLabelError, match="'one' is the name of '1': give keys"):
            call()
    with pytest.raises(UnknownLabelError, match="close to it: '1'"):
        Adapter.from_graph(graph, ["1."])


@pytest.mark.parametrize(("given", "way"), [(GRAPH, r"Adapter\.from_graph"), ("x/y", r"Adapter\.load")])
def test_an_adapter_of_something_else_than_a_bundle_names_the_way(given, way):
    with pytest.raises(InputError, match=rf"bundle: of type {type(given).__name__}; .*{way}"):
        Adapter(given, ["a"])


@pytest.mark.parametrize("name", ["FrechetClassifier", "ClassKFold"])
def test_what_needs_a_package_that_is_not_there_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for module in [
        m for m in sys.modules if m in ("labelgrove.adapter.sklearn", "labelgrove.adapter.classfolds")
    ]:
        monkeypatch.delitem(sys.modules, module)
    for module in [m for m in sys.modules if m.startswith("sklearn.")]:
        monkeypatch.setitem(sys.modules, module, None)
    home = {"FrechetClassifier": "labelgrove.adapter.sklearn", "ClassKFold": "labelgrove.adapter.classfolds"}[
        name
    ]
    with pytest.raises(MissingExtraError, match=f"^{name} needs the package 'scikit-learn'"):
        importlib.import_module(home)

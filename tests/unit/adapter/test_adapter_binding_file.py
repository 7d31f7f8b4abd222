"""Columns as dictionaries, arrays and saved bindings: never by guess, by position only when asked."""

import json

import numpy as np
import pytest

from labelgrove.adapter import Adapter, Binding, bind, make_binding
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.columns.bindingfile import BINDING_FORMAT
from labelgrove.ontology.errors import BindingError, NotFoundError, ServiceError
from labelgrove.ontology.labelgraph import LabelGraph

KEYS = ["n1", "n2", "n3"]
NAMES = ["oak", "elm", "moss"]
GRAPH = LabelGraph.from_edges([(key, "n0") for key in KEYS], names=dict(zip(KEYS, NAMES, strict=True)))
BUNDLE = build_bundle(GRAPH, KEYS)


@pytest.mark.parametrize(
    "columns",
    [
        {0: "moss", 1: "n1", 2: "elm"},
        {2: "elm", 0: "moss", 1: "oak"},
        {"0": "n3", "1": "n1", "2": "n2"},
        {np.int64(1): "oak", "2": "elm", 0: "moss"},
        np.array(["moss", "oak", "elm"]),
        np.array(["moss", "oak", "elm"], dtype=object),
        (name for name in ("moss", "oak", "elm")),
        ("n3", "n1", "n2"),
    ],
)
def test_every_form_of_columns_means_the_same(columns):
    binding = make_binding(BUNDLE, columns)
    assert binding.keys == ("n3", "n1", "n2")
    assert bind(binding, KEYS, NAMES).tolist() == [1, 2, 0]
    assert Adapter(BUNDLE, binding).predict([[0, 0, 1.0]]) == ["n2"]


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({0: "oak", 2: "elm", 3: "moss"}, "3 entries from 0 to 3, without 1; number the columns from 0 on"),
        ({1: "oak", 2: "elm", 3: "moss"}, "from 1 to 3, without 0"),
        ({-1: "oak", 0: "elm", 1: "moss"}, "without 2"),
        ({10**18: "oak"}, "without 0"),
        ({0: "oak", "0": "elm", 1: "moss"}, "column 0 occurs twice, as a number and as text"),
        ({"oak": 0, "elm": 1, "moss": 2}, "this is label2id: give id2label"),
        ({"00": "oak"}, "'00' is not the number of a column"),
        ({0.0: "oak"}, "0.0 is not the number of a column; count columns as 0, 1"),
        ({True: "oak"}, "True is not the number"),
        ({"LABEL_0": "oak"}, "'LABEL_0' is not the number"),
        ({0: "oak", 1: "elm", 2: 7}, "column 2 is 7 of type int"),
        ({0: "oak", 1: "oak", 2: "elm"}, "column 1 'oak' repeats column 0 'oak'"),
        ({0: "oak", 1: "fern", 2: "elm"}, "column 1 'fern' is unknown"),
        ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, "column 0 'LABEL_0' is unknown"),
        ({}, "no column stands for"),
        (np.array([["oak", "elm", "moss"]]), r"array of shape \(1, 3\) given"),
        (np.array("oak"), r"shape \(\)"),
        (np.array([b"oak", b"elm", b"moss"]), "bytes; decode them"),
        (np.array(["oak", "elm", np.nan], dtype=object), "column 2 is nan of type float"),
        ([0, 1, 2], "column 0 is 0 of type int"),
        (["oak", None, "elm"], "column 1 is None"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused(columns, match):
    for call in (bind, lambda c, k, n: make_binding(BUNDLE, c), lambda c, k, n: Adapter(BUNDLE, c)):
        with pytest.raises(BindingError, match=match):
            call(columns, KEYS, NAMES)


def test_position_holds_only_when_asked_and_is_kept_as_keys(tmp_path):
    called = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    binding = make_binding(BUNDLE, called, by="position")
    assert (binding.columns, binding.keys) == (("LABEL_0", "LABEL_1", "LABEL_2"), tuple(KEYS))
    binding.save(tmp_path / "b.json")
    moved = build_bundle(GRAPH, KEYS[::-1])
    adapter = Adapter(moved, Binding.load(tmp_path / "b.json"))
    assert adapter.observed == tuple(KEYS)  # by key: the order in the other bundle says nothing


def test_a_saved_binding_reads_back_and_outlives_the_names(tmp_path):
    binding = make_binding(BUNDLE, ["moss", "oak", "elm"], by="name")
    binding.save(tmp_path / "b.json")
    assert Binding.load(tmp_path / "b.json") == binding
    document = json.loads((tmp_path / "b.json").read_text())
    assert document["columns"][0] == {"column": "moss", "key": "n3"}
    assert (document["by"], document["bundle"]) == ("name", BUNDLE.digest)
    renamed = LabelGraph.from_edges(
        [(key, "n0") for key in KEYS], names={"n1": "moss", "n2": "n3", "n3": "oak"}
    )
    path = tmp_path / "renamed.safetensors"
    build_bundle(renamed, KEYS).save(path)
    assert Adapter.load(path, Binding.load(tmp_path / "b.json")).observed == ("n3", "n1", "n2")
    assert make_binding(build_bundle(renamed, KEYS), binding).columns == binding.columns
    with pytest.raises(BindingError, match="no column stands for the observed label 'n0'"):
        Adapter(build_bundle(GRAPH, [*KEYS, "n0"]), binding)


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


RIGHT = {"format": BINDING_FORMAT, "bundle": "", "by": "key", "columns": [{"column": "a", "key": "n1"}]}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format": "labelgrove/binding/2"}, "upgrade with: pip install"),
        ({"format": "labelgrove/bundle/1"}, "this file is not a binding"),
        ({"format": 1}, "this file is not a binding"),
        ({"by": "guess"}, "by is 'guess'"),
        ({"bundle": None}, "bundle is None"),
        ({"colums": []}, "has the fields .*colums.*save the binding again"),
        ({"columns": []}, "columns must be a list"),
        ({"columns": {"a": "n1"}}, "columns must be a list"),
        ({"columns": [{"column": "a"}]}, r"columns\[0\] is"),
        ({"columns": [{"column": "a", "key": 1}]}, r"columns\[0\] is .*both text"),
        ({"columns": ["n1"]}, r"columns\[0\] is 'n1'"),
    ],
)
def test_a_wrong_file_is_refused_and_says_why(change, match, tmp_path):
    path = written(tmp_path / "b.json", json.dumps(RIGHT | change))
    with pytest.raises(BindingError, match=match) as refusal:
        Binding.load(path)
    assert str(path) in str(refusal.value)


def test_what_is_no_file_of_a_binding_is_refused(tmp_path):
    assert Binding.load(written(tmp_path / "b.json", json.dumps(RIGHT))).keys == ("n1",)
    for text in ("", "[]", "null", "{", "[" * 100_000):
        with pytest.raises(BindingError, match=r"b\.json"):
            Binding.load(written(tmp_path / "b.json", text))
    with pytest.raises(NotFoundError, match="no such binding file"):
        Binding.load(tmp_path / "absent.json")
    with pytest.raises(BindingError, match="cannot be read"):
        Binding.load(tmp_path)
    with pytest.raises(ServiceError, match="cannot be written"):
        make_binding(BUNDLE, KEYS).save(tmp_path / "absent" / "b.json")

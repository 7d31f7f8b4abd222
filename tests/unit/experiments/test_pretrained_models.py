"""Pretrained models: their columns, samples and trees, and the trials in which they know fewer classes."""

import gzip
import io
import json
import os
from collections import Counter

import numpy as np
import pytest

from labelgrove.adapter.evaluation.measures.pairdistances import pair_distances
from labelgrove.datasets.predicted import Predicted
from labelgrove.datasets.pretrained import filetypes
from labelgrove.datasets.pretrained.extract import english_names, family_rows, label_rows, text_rows
from labelgrove.datasets.pretrained.languages import (
    FAMILIES,
    IDENTIFIERS,
    TEXTS,
    identified,
    language_graph,
    language_space,
    language_texts,
)
from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.experiments.measuring import class_errors, rule_errors
from labelgrove.ontology.errors import InputError, NotFoundError, UnknownLabelError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = metric_space(
    LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]), "tree"
)


def model(n=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(["oak", "elm", "moss"], n // 3)
    return PretrainedModel(TREE, ("oak", "moss", "tree"), rng.normal(size=(n, 3)), truth)


def steps(space, first, second):
    """Return the distance between two labels."""
    a, b = space.point_index([first]), space.point_index([second])
    return int(pair_distances(space, a, b)[0])


@pytest.fixture(scope="module")
def languages():
    return language_space()


# ---- trials of a model -------------------------------------------------------------------------------


def test_columns_that_stand_for_no_label_are_left_out_and_wrong_ones_refused():
    logits = np.arange(6.0).reshape(2, 3)
    found = PretrainedModel.of_columns(TREE, ["oak", "nothing", "moss"], logits, ["elm", "oak"])
    assert found.columns == ("oak", "moss")
    assert found.logits.tolist() == [[0, 2], [3, 5]]
    with pytest.raises(InputError, match="oak given twice"):
        PretrainedModel.of_columns(TREE, ["oak", "oak", "moss"], logits, ["elm", "oak"])
    with pytest.raises(UnknownLabelError, match="fern not in the hierarchy"):
        PretrainedModel.of_columns(TREE, ["oak", "elm", "moss"], logits, ["elm", "fern"])


@pytest.mark.parametrize(("withheld", "kept"), [(0.0, 40), (0.25, 30), (0.5, 20), (0.99, 2)])
def test_a_trial_keeps_its_share_of_the_columns_drawn_by_the_seed(withheld, kept):
    wide = PretrainedModel(TREE, tuple(map(str, range(40))), np.zeros((1, 40)), np.array(["oak"]))
    drawn = [wide.known(withheld, seed).tolist() for seed in range(5)]
    assert {len(columns) for columns in drawn} == {kept}
    assert all(columns == sorted(set(columns)) for columns in drawn)
    assert wide.known(withheld, 3).tolist() == drawn[3]
    assert len({tuple(columns) for columns in drawn}) == (1 if withheld == 0 else 5)


def test_a_third_of_the_samples_of_each_label_fits_the_temperature():
    found = model()
    chosen = found.calibration(4)
    assert Counter(found.truth[chosen].tolist()) == {"oak": 6, "elm": 6, "moss": 6}
    assert (chosen != found.calibration(5)).any()


def test_predictions_are_the_softmax_of_the_columns_that_are_kept():
    found = model()
    rows = ~found.calibration(0)
    got = found.predicted(np.array([0, 2]), rows, 2.5)
    assert got.columns == ("oak", "tree")
    assert list(got.truth) == list(got.train_labels) == found.truth[rows].tolist()
    exact = np.exp(found.logits[rows][:, [0, 2]] / 2.5)
    np.testing.assert_allclose(got.probabilities, exact / exact.sum(axis=1, keepdims=True), rtol=1e-12)


def test_weights_stay_where_the_columns_that_were_certain_are_withheld():
    certain = PretrainedModel(
        TREE, ("oak", "moss", "elm"), np.array([[0, -2000.0, -2001]]), np.array(["elm"])
    )
    (row,) = certain.predicted(np.array([1, 2]), np.array([True])).probabilities
    assert row.tolist() == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_a_sample_whose_classes_are_all_excluded_has_no_answer():
    logits = np.log([[0.75, 0.25, 1e-300], [1.0, 1e-300, 1e-300]])
    logits[0, 2] = logits[1, 1:] = -np.inf
    logits[0] -= 1000
    found = PretrainedModel(TREE, ("oak", "moss", "elm"), logits, np.array(["elm", "oak"]))
    assert found.answers(np.array([0, 1])).tolist() == [True, True]
    assert found.answers(np.array([1, 2])).tolist() == [True, False]
    (row,) = found.predicted(np.array([1, 2]), np.array([True, False])).probabilities
    assert row.tolist() == pytest.approx([1, 1e-12], rel=1e-9)
    rows = found.predicted(np.array([0, 1, 2]), np.array([True, True])).probabilities
    assert rows[:, 2].tolist() == pytest.approx([0.75e-12, 1e-12], rel=1e-9)


def test_errors_of_classes_have_the_errors_of_all_samples_as_their_mean():
    found = model(90, seed=3)
    predicted = found.predicted(np.arange(3), np.arange(90) >= 7)  # classes of different sizes
    errors, rules = class_errors(TREE, predicted), rule_errors(TREE, predicted)["rules"]
    labels, sizes = np.unique(predicted.truth, return_counts=True)
    for rule, by_label in errors.items():
        assert np.average(by_label, weights=sizes) == pytest.approx(rules[rule]["squared"], rel=1e-12)
        for label, error in zip(labels.tolist(), by_label, strict=True):
            of_label = np.array(predicted.truth) == label
            alone = Predicted(
                predicted.columns,
                predicted.probabilities[of_label],
                (label,) * int(of_label.sum()),
                predicted.train_labels,
            )
            assert rule_errors(TREE, alone)["rules"][rule]["squared"] == pytest.approx(error, rel=1e-12)


# ---- languages ---------------------------------------------------------------------------------------


def test_texts_are_many_in_each_language_and_all_languages_are_in_the_tree(languages):
    truth, texts = language_texts()
    assert set(Counter(truth).values()) == {40}
    assert len(set(truth)) == 116
    assert all(40 <= len(text) <= 160 for text in texts)
    assert all(languages.keys.find(language) >= 0 for language in truth)
    assert languages.n_labels == 5910
    assert steps(languages, "gl", "es") == 2  # both are Romance
    assert steps(languages, "gl", "de") == 6  # both are Indo-European


def test_every_language_and_family_has_an_english_name():
    graph = language_graph()
    names = dict(zip(graph.keys, graph.names, strict=True))
    assert all(name and name != key for key, name in names.items())
    shown = {key: names[key] for key in ("de", "nso", "roa", "mul")}
    assert shown == {
        "de": "German",
        "nso": "Northern Sotho",
        "roa": "Romance languages",
        "mul": "all languages",
    }


def test_names_come_from_cldr_before_the_registry(tmp_path):
    tags = [("language", "nso", ["Pedi", "Northern Sotho"]), ("language", "roa", ["Romance languages"])]
    tags.append(("region", "XA", ["nowhere"]))
    written = {
        "main/en/languages.json": {
            "main": {"en": {"localeDisplayNames": {"languages": {"nso": "Northern"}}}}
        },
        "data/json/registry.json": [
            {"Type": kind, "Subtag": subtag, "Description": description} for kind, subtag, description in tags
        ],
    }
    for file, document in written.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(json.dumps(document))
    names = english_names(tmp_path, tmp_path)
    assert names == {"nso": "Northern", "roa": "Romance languages", "mul": "all languages"}
    assert label_rows([("nso", "bnt"), ("bnt", "mul")], names) == [
        ("mul", "", "all languages"),
        ("nso", "bnt", "Northern"),
        ("bnt", "mul", ""),
    ]


def test_the_license_stands_next_to_the_extract():
    text = FAMILIES.with_name("LICENSE.Unicode").read_text(encoding="utf-8")
    assert text.startswith("UNICODE LICENSE V3")
    assert "Copyright © 2004-2026 Unicode, Inc." in text
    for file in (FAMILIES, TEXTS):
        assert file.read_bytes()[4:8] == bytes(4)  # no date: equal rows give equal bytes


def test_an_extract_takes_the_first_family_and_whole_texts(tmp_path):
    groups = {"mul": ["roa", "gmw"], "roa": "gl es", "gmw": "de gl"}
    file = tmp_path / "supplemental" / "languageGroups.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"supplemental": {"languageGroups": groups}}))
    families = dict(family_rows(tmp_path))
    assert families["gl"] == "roa"
    assert families["sq"] == "sqj"
    for language, n in (("gl", 200), ("es", 30), ("en", 200)):
        names = {str(i): {"tts": [f"palabra{i:03} outra palabra"]} for i in range(n)} | {"x": {"tts": ["se"]}}
        folder = tmp_path / "annotations" / language
        folder.mkdir(parents=True)
        (folder / "annotations.json").write_text(json.dumps({"annotations": {"annotations": names}}))
    rows = text_rows(tmp_path, {"gl", "es", "en", "de"})
    assert Counter(language for language, _ in rows) == {"gl": 40}  # too few in es, and en is the source
    assert all(text.count(". ") == 1 and len(text) == 50 for _, text in rows)
    assert rows == text_rows(tmp_path, ["gl"])


def test_py3langid_is_read_as_it_classifies(languages):
    langid = pytest.importorskip("py3langid.langid")
    found = identified("py3langid", languages)
    _, texts = language_texts()
    known = np.isin(found.truth, found.columns)
    assert (len(found.columns), len(set(found.truth[~known]))) == (139, 17)
    first = np.array(found.columns)[found.logits.argmax(axis=1)]
    assert (first == found.truth)[known].mean() > 0.93
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    for i in range(0, len(texts), 97):
        code, logarithm = identifier.classify(texts[i])
        if code in found.columns:
            assert (first[i], found.logits[i].max()) == (code, logarithm)


@pytest.mark.lingua
def test_lingua_gives_logarithms_of_probabilities(languages):
    found = identified("lingua", languages)
    assert len(found.columns) == 75
    answered = found.answers(np.arange(75))
    assert 0.9 < answered.mean() < 0.91
    np.testing.assert_allclose(np.exp(found.logits[answered]).sum(axis=1), 1, atol=1e-6)
    known = np.isin(found.truth, found.columns)
    first = np.array(found.columns)[found.logits.argmax(axis=1)]
    assert (first == found.truth)[known].mean() > 0.93


def test_an_unknown_identifier_is_refused_by_name(languages):
    with pytest.raises(InputError, match=f"'fasttext' is not known; choose among {', '.join(IDENTIFIERS)}"):
        identified("fasttext", languages)


# ---- file types --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with nine small files of each of three types, and others that do not count."""
    pytest.importorskip("magika")
    monkeypatch.setattr(filetypes, "_FEWEST_TYPES", 3)
    contents = {
        "py": lambda i: f"import os\n\ndef main_{i}():\n    return os.getpid() + {i}\n" * 5,
        "css": lambda i: f".box{i} {{ color: red; margin: {i}px }}\n" * 9,
        "json": lambda i: json.dumps({"name": i, "values": list(range(i, i + 40))}),
    }
    for ending, content in contents.items():
        for i in range(12):
            (tmp_path / f"file{i}.{ending}").write_text(content(i))
    for i in range(20):
        (tmp_path / f"copy{i}.css").write_text("body { margin: 0; padding: 0 }\n")
        (tmp_path / f"short{i}.json").write_text("{}")
        (tmp_path / f"target{i}").write_text(f"fn main() {{ println!({i}) }}\n")
        os.symlink(tmp_path / f"target{i}", tmp_path / f"link{i}.rs")
        (tmp_path / f"object{i}.ko").write_bytes(bytes([127, 69, 76, 70, i]) * 9)
    for i in range(8):
        (tmp_path / f"few{i}.go").write_text(f"package main // {i} and more of it\n")
    return tmp_path


def test_as_many_different_files_of_each_type_are_chosen(folder):
    found = filetypes.find_files([str(folder)])
    assert Counter(found.types) == {"css": 9, "json": 9, "python": 9}
    assert len(set(found.contents)) == 27
    assert found == filetypes.find_files([str(folder)])
    for i in range(12):
        (folder / f"file{i}.py").write_text("print('something else entirely')\n" * (i + 1))
    assert filetypes.find_files([str(folder)]).sha256 != found.sha256


def test_too_few_types_are_told(folder, monkeypatch):
    monkeypatch.setattr(filetypes, "_FEWEST_TYPES", 4)
    with pytest.raises(NotFoundError, match="3 file types have 9 files or more, and 4 are needed"):
        filetypes.find_files([str(folder)])


def test_the_model_gets_what_magika_gives_it(folder):
    from magika import Magika

    rng = np.random.default_rng(0)
    long = [f"\n\n  value_{i} = {v}" for i, v in enumerate(rng.integers(0, 9, 3000).tolist())]
    (folder / "file3.py").write_text("".join(long) + "\n \n")
    space = filetypes.file_type_space()
    found = filetypes.find_files([str(folder)])
    outputs = filetypes.detected(found, space)
    assert (space.n_labels, len(outputs.columns)) == (376, 214)
    magika = Magika()
    for (first, last), logits in zip(found.contents, outputs.logits, strict=True):
        whole = first if len(first) < 4096 else first + bytes(5000) + last
        theirs = magika.identify_stream(io.BytesIO(whole))
        assert str(theirs.dl.label) == outputs.columns[int(logits.argmax())]
        assert np.exp(logits.max()) == pytest.approx(theirs.score, abs=1e-6)


def test_types_lie_below_their_group(folder):
    space = filetypes.file_type_space()
    assert steps(space, "python", "ruby") == 2
    assert steps(space, "python", "zip") == 6
    assert "ko" not in filetypes.type_names()
    assert filetypes.type_names()["py"] == "python"


def test_an_extract_is_a_table_of_values():
    with gzip.open(TEXTS, "rt", encoding="utf-8") as file:
        assert file.readline() == "language,text\n"

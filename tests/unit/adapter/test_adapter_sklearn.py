"""FrechetClassifier keeps scikit-learn's contract, and answers as the adapter does."""

import doctest
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import classification_report, confusion_matrix, log_loss, top_k_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelgrove.adapter import Adapter, build_bundle, scorer
from labelgrove.adapter.sklearn import FrechetClassifier
from labelgrove.datasets.randomgraphs import random_tree
from labelgrove.ontology.errors import BindingError, BundleError, InputError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

PAIRS = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant"), ("fern", "plant")]
GRAPH = LabelGraph.from_edges(PAIRS, names={"oak": "an oak", "elm": "an elm", "moss": "a moss"})
OBSERVED = ["oak", "elm", "moss"]
BUNDLE = build_bundle(GRAPH, OBSERVED)
P = np.array([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]])

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks of scikit-learn that FrechetClassifier is known not to pass, each with its reason."""


NOT_HERE = ("check_array_api_input", "check_classifier_data_not_an_array")
"""Checks that ask for pandas, or for SCIPY_ARRAY_API as scipy is imported, and skip themselves without."""


def scikit_learns_checks(*estimators):
    """Return what `parametrize_with_checks` does, without the checks that would skip themselves."""
    given = parametrize_with_checks(list(estimators), expected_failed_checks=lambda _: EXPECTED_FAILURES)
    names, cases = given.args
    chosen = [case for case in cases if getattr(case, "values", case)[1].func.__name__ not in NOT_HERE]
    return pytest.mark.parametrize(names, chosen, **given.kwargs)


class Given(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are its input, columns in the order of `classes`."""

    def __init__(self, classes=tuple(OBSERVED)):
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array(self.classes)
        self.seen_weight_ = sample_weight
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def decision_function(self, X):
        return np.asarray(X)


def frozen(classes=tuple(OBSERVED)):
    return FrozenEstimator(Given(classes).fit(None, None))


def fitted(bundle=BUNDLE, classes=tuple(OBSERVED), **named):
    return FrechetClassifier(frozen(classes), bundle, **named).fit(None, None)


def points(seed=0, n=60):
    """Two features, three classes side by side, in text."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) + 4 * np.column_stack([y == 1, y == 2]), np.array(OBSERVED)[y]


# ---- scikit-learn's own checks -----------------------------------------------------------------------


@scikit_learns_checks(
    FrechetClassifier(LogisticRegression()),
    FrechetClassifier(LogisticRegression(), response_method="decision_function", temperature=2.0),
    FrechetClassifier(DecisionTreeClassifier(random_state=0), temperature=0.5, beta=1),
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_the_page_says_what_is_so():
    page = Path(__file__).parents[3] / "docs" / "frameworks.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert (found.failed, found.attempted >= 9) == (0, True)
    assert ("with no exceptions" in page.read_text(encoding="utf-8")) == (not EXPECTED_FAILURES)


def test_tags_are_those_of_a_classifier_that_takes_what_its_estimator_takes():
    assert is_classifier(FrechetClassifier(LogisticRegression()))
    for inner in (LogisticRegression(), DecisionTreeClassifier(), make_pipeline(LogisticRegression())):
        assert get_tags(FrechetClassifier(inner)).input_tags == get_tags(inner).input_tags


# ---- the answers -------------------------------------------------------------------------------------


def test_without_a_bundle_it_is_argmax():
    X, y = points()
    flat = FrechetClassifier(LogisticRegression()).fit(X, y)
    inner = LogisticRegression().fit(X, y)
    assert flat.predict(X).tolist() == inner.predict(X).tolist()
    assert flat.classes_.tolist() == flat.source_classes_.tolist() == sorted(OBSERVED)
    many = FrechetClassifier(frozen(np.arange(12))).fit(None, None)  # as text, 10 comes before 2
    assert many.predict(np.eye(12)).tolist() == list(range(12))
    assert many.decision_function(np.eye(12)).argmax(axis=1).tolist() == list(range(12))


@pytest.mark.parametrize("kind", ["tree", "leaves", "graph", "unordered"])
def test_answers_are_those_of_the_adapter(kind):
    """Columns of the model, of the bundle and of the answers all have orders of their own."""
    tree = random_tree(60, seed=3)
    choice = {"leaves": {"labels": "leaves"}, "graph": {"metric": "graph"}}.get(kind, {})
    draw = np.random.default_rng(4)
    observed = [tree.keys[i] for i in draw.permutation(60)[:9]]
    bundle = build_bundle(tree, observed, **choice)
    classes = [observed[i] for i in draw.permutation(9)] if kind == "unordered" else observed
    rows = draw.integers(0, 3, (200, 9)) + np.eye(9)[draw.integers(0, 9, 200)]
    classifier, adapter = fitted(bundle, tuple(classes)), Adapter(bundle, classes)
    assert classifier.predict(rows).tolist() == adapter.predict(rows)
    assert classifier.classes_.tolist() == sorted(adapter.keys)
    at = [adapter.keys.index(key) for key in classifier.classes_]
    assert np.array_equal(classifier.decision_function(rows), adapter.decision_function(rows)[:, at])
    assert np.allclose(classifier.predict_proba(rows), adapter.predict_proba(rows)[:, at], rtol=1e-12)
    best = classifier.decision_function(rows).max(axis=1)
    chosen = np.searchsorted(classifier.classes_.astype(str), classifier.predict(rows).astype(str))
    assert np.allclose(classifier.decision_function(rows)[np.arange(200), chosen], best, rtol=1e-12)


def test_every_form_of_bundle_gives_the_same_answers(tmp_path):
    path = tmp_path / "plants.safetensors"
    BUNDLE.save(path)
    expected = Adapter(BUNDLE).predict(P)
    assert expected[0] == "tree"
    for bundle in (BUNDLE, path, str(path), path.as_uri(), GRAPH, metric_space(GRAPH)):
        assert fitted(bundle).predict(P).tolist() == expected


def test_it_is_fitted_inside_and_answers_with_labels_never_seen():
    X, y = points()
    classifier = FrechetClassifier(LogisticRegression(), GRAPH).fit(X, y)
    assert set(classifier.classes_) == set(GRAPH.keys)
    assert classifier.source_classes_.tolist() == sorted(OBSERVED)
    halfway = (X[y == "oak"].mean(axis=0) + X[y == "elm"].mean(axis=0)) / 2
    assert classifier.predict([halfway]).tolist() == ["tree"]
    assert classifier.predict(X).dtype == object
    assert classifier.score(X, y) == np.mean(classifier.predict(X) == y) > 0.8


def test_observed_labels_that_are_no_class_have_probability_zero():
    wide = build_bundle(GRAPH, ["fern", "moss", "elm", "oak"])
    every = [*OBSERVED, "fern"]
    with np.errstate(divide="ignore"):
        logs = np.log(P)
    for named, rows, adapter, padded in (
        ({}, P, Adapter(wide, every), (P, 0.0)),
        ({"temperature": 2.0}, P, Adapter(wide, every, outputs="logits", temperature=2.0), (logs, -np.inf)),
        (
            {"response_method": "decision_function"},
            5 * P,
            Adapter(wide, every, outputs="logits"),
            (5 * P, -np.inf),
        ),
    ):
        outputs = np.column_stack([padded[0], np.full(len(rows), padded[1])])
        classifier = fitted(wide, **named)
        assert classifier.predict(rows).tolist() == adapter.predict(outputs)
        expected = adapter.decision_function(outputs)[:, adapter.keys.order]
        assert np.allclose(classifier.decision_function(rows), expected, rtol=1e-12)


def test_two_labels_have_one_decision_and_agree_with_predict():
    pair = LabelGraph.from_edges([("a", "b")])
    classifier = fitted(pair, ("b", "a"))
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert classifier.decision_function(rows).shape == (2,)
    assert classifier.predict(rows).tolist() == ["b", "a"]
    assert (classifier.decision_function(rows) > 0).tolist() == [True, False]
    assert classifier.predict_proba(rows).shape == (2, 2)


def test_a_binary_decision_function_is_read_as_the_logit_of_the_second_class():
    X, y = points()
    X, y = X[y != "moss"], y[y != "moss"]
    by_logit = FrechetClassifier(LogisticRegression(), GRAPH, response_method="decision_function").fit(X, y)
    by_chance = FrechetClassifier(LogisticRegression(), GRAPH).fit(X, y)
    assert np.allclose(by_logit.decision_function(X), by_chance.decision_function(X))


def test_temperature_beta_and_scale_reach_the_adapter():
    steep, flat = fitted(temperature=0.2), fitted(temperature=5.0)
    row = [[0.6, 0.4, 0.0]]
    assert (steep.predict(row)[0], fitted().predict(row)[0]) == ("oak", "tree")
    assert flat.adapter_.temperature == 5.0
    assert fitted(beta=1).predict(row)[0] == Adapter(BUNDLE, beta=1).predict(row)[0] == "oak"
    assert fitted(scale=0.1).predict_proba(row).max() > fitted().predict_proba(row).max()


def test_metrics_take_its_answers():
    X, y = points()
    classifier = FrechetClassifier(LogisticRegression(), GRAPH).fit(X, y)
    answers = classifier.predict(X)
    assert confusion_matrix(y, answers, labels=classifier.classes_).sum() == len(y)
    assert "tree" in classification_report(y, [*answers[1:], "tree"], zero_division=0)
    proba = classifier.predict_proba(X)
    assert log_loss(y, proba, labels=classifier.classes_) > 0
    decision = classifier.decision_function(X)
    best = classifier.classes_[np.argsort(-decision, axis=1)[:, :2]]
    expected = np.mean([truth in two for truth, two in zip(y, best, strict=True)])
    assert top_k_accuracy_score(y, decision, k=2, labels=classifier.classes_) == expected > 0.9
    assert cross_val_predict(classifier, X, y, cv=3).shape == y.shape


# ---- binding -----------------------------------------------------------------------------------------


def test_columns_say_which_label_a_class_is():
    for columns in ({0: "oak", 1: "elm", 2: "moss"}, {0: "an oak", 1: "an elm", 2: "a moss", 7: "more"}):
        for bundle in (BUNDLE, GRAPH):
            named = fitted(bundle, (0, 1, 2), columns=columns)
            assert named.predict(P).tolist() == fitted().predict(P).tolist()
            assert named.source_classes_.tolist() == [0, 1, 2]


class Counted(LogisticRegression):
    """Knows whether it was ever fitted, whichever clone of it was."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("y", "named", "said"),
    [
        (["oak", "birch", "elm", "moss"], {}, "'birch' is unknown.*columns="),
        (["an oak", "elm", "moss", "moss"], {}, "'an oak' is unknown.*columns="),
        (
            ["oak", "fern", "elm", "moss"],
            {},
            "'fern' is a label of the ontology that the bundle does not observe",
        ),
        ([0, 1, 2, 2], {}, "classes: 0 is of type int.*columns="),
        ([0, 1, 2, 2], {"columns": {0: "oak", 1: "elm"}}, "no label for 1 of 3 classes: 2"),
        ([0, 1, 2, 2], {"columns": {0: "oak", 1: "elm", 2: "oak"}}, "repeats"),
        ([0, 1, 2, 2], {"columns": {0: "oak", 1: "elm", 2: 3}}, "classes: 3 is of type int.*key or the name"),
        ([None, "elm", "oak", "oak"], {}, "classes: None is of type NoneType"),
        ([0.5, 1.5, 2.5, 3.5], {}, "classes: 0.5 is of type float"),
    ],
)
def test_classes_that_are_no_labels_are_refused_before_anything_is_fitted(y, named, said):
    before = Counted.fits
    with pytest.raises(BindingError, match=f"(?s){said}"):
        FrechetClassifier(Counted(), BUNDLE, **named).fit(P, y)
    assert Counted.fits == before
    if isinstance(y[0], str):
        with pytest.raises(BindingError, match=f"(?s){said}"):
            fitted(BUNDLE, tuple(dict.fromkeys(y)), **named)


@pytest.mark.parametrize("wrap", [FrozenEstimator, lambda model: make_pipeline(FrozenEstimator(model))])
def test_a_frozen_estimator_may_see_truths_of_any_label(wrap):
    classifier = FrechetClassifier(wrap(Given().fit(None, None)), BUNDLE)
    assert classifier.fit(P, ["tree", "fern", "plant", "moss"]).predict(P)[0] == "tree"


# ---- wrong use ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "said"),
    [
        (FrechetClassifier(LinearSVC()), "no predict_proba; wrap it in CalibratedClassifierCV"),
        (
            FrechetClassifier(DecisionTreeClassifier(), response_method="decision_function"),
            "='predict_proba'",
        ),
        (FrechetClassifier(Counted(), response_method="predict"), "response_method: 'predict'"),
        (FrechetClassifier(LogisticRegression), "an instance"),
        (FrechetClassifier(None), "an instance"),
        (FrechetClassifier(Ridge(), response_method="predict_proba"), "no predict_proba"),
        (FrechetClassifier(Counted(), temperature=0.0), "temperature: 0.0"),
        (FrechetClassifier(Counted(), temperature="warm"), "temperature: 'warm'"),
        (FrechetClassifier(Counted(), beta=-1), "beta: -1"),
        (FrechetClassifier(Counted(), scale=0), "scale: 0"),
        (FrechetClassifier(Counted(), columns={0: "oak"}), "without a bundle"),
        (FrechetClassifier(Counted(), GRAPH, columns=OBSERVED), "give a mapping"),
        (FrechetClassifier(Counted(), Adapter(BUNDLE)), "give adapter.bundle"),
        (FrechetClassifier(Counted(), "plants"), "not a known form of address"),
    ],
)
def test_parameters_are_checked_when_it_is_fitted(classifier, said):
    X, y = points(n=30)
    before = Counted.fits
    with pytest.raises(InputError, match=said):
        classifier.fit(X, y)
    assert Counted.fits == before


def test_several_outputs_are_refused():
    model = DecisionTreeClassifier().fit(P, [["oak", "elm"]] * 4)
    with pytest.raises(InputError, match="several outputs"):
        FrechetClassifier(FrozenEstimator(model), BUNDLE).fit(None, None)


def test_rows_of_the_wrong_width_and_bad_rows_are_refused():
    classifier = fitted()
    with pytest.raises(WeightError, match="2 columns given, expected 3"):
        classifier.predict([[0.5, 0.5]])
    for rows, said in (
        ([[np.nan, 1, 0]], "NaN"),
        ([[-1.0, 1, 1]], "negative"),
        ([[0.0, 0, 0]], "sums to 0.0"),
    ):
        with pytest.raises(WeightError, match=said):
            classifier.predict(rows)
        with pytest.raises(WeightError):
            fitted(temperature=2.0).predict(rows)


class Framed(Given):
    """A model that returns a table with its classes in another order."""

    def predict_proba(self, X):
        return pa.table({name: np.asarray(X)[:, i] for i, name in reversed([*enumerate(self.classes)])})


def test_a_table_of_probabilities_is_read_by_the_names_of_its_columns():
    plain, framed = (FrechetClassifier(model, BUNDLE).fit(P, ["oak"] * 4) for model in (Given(), Framed()))
    assert framed.predict(P).tolist() == plain.predict(P).tolist()
    other = FrechetClassifier(Framed(("oak", "elm", "moss")), BUNDLE).fit(P, ["oak"] * 4)
    other.source_classes_ = np.array(["oak", "elm", "fern"])
    with pytest.raises(
        BindingError, match=r"estimator: predict_proba: the columns of the table.* lacks .*'fern'.* 'moss'"
    ):
        other.predict(P)


def test_nothing_is_answered_before_it_is_fitted():
    classifier = FrechetClassifier(LogisticRegression(), BUNDLE)
    for ask in (classifier.predict, classifier.decision_function, classifier.predict_proba):
        with pytest.raises(NotFittedError):
            ask(P)
    assert not hasattr(classifier, "classes_")
    assert not hasattr(classifier, "adapter_")


def test_a_fit_that_fails_leaves_the_last_one_in_place():
    classifier = fitted()
    classifier.set_params(estimator=frozen(("oak", "birch", "moss")))
    with pytest.raises(BindingError):
        classifier.fit(None, None)
    assert classifier.predict(P).tolist() == fitted().predict(P).tolist()
    assert classifier.source_classes_.tolist() == OBSERVED


def test_score_refuses_truths_that_the_bundle_does_not_hold():
    with pytest.raises(UnknownLabelError, match=r"1 label not among the 6.*'an oak'; name labels by key"):
        fitted().score(P, ["an oak", "moss", "oak", "tree"])
    with pytest.raises(UnknownLabelError, match="by key"):
        fitted().score(P, [0, 1, 2, 3])
    numbered = LabelGraph.from_edges([(str(i), "root") for i in range(4)])
    classifier = FrechetClassifier(LogisticRegression(), numbered).fit(np.eye(4), np.arange(4).astype(str))
    with pytest.raises(UnknownLabelError, match=r"4 labels .*: 0, 1, 2, 3; keys are text.*y\.astype\(str\)"):
        classifier.score(np.eye(4), np.arange(4))
    assert fitted().score(P, ["tree", "moss", "oak", "fern"]) == 0.75
    assert fitted().score(P, ["tree", "fern", "oak", "fern"], sample_weight=[1, 0, 1, 2]) == 0.5
    assert fitted(None).score(P, ["oak", "moss", "oak", "never seen"]) == 0.75


def test_too_many_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(scorer, "MAX_VALUES", 20)
    for ask in (fitted().decision_function, fitted().predict_proba):
        assert ask(P[:3]).shape == (3, 6)
        with pytest.raises(InputError, match="at most 3 rows at a time"):
            ask(P)


# ---- parameters, copies and pickles ------------------------------------------------------------------


def test_parameters_are_kept_untouched_and_copied_by_clone():
    columns = {"oak": "an oak"}
    classifier = FrechetClassifier(LogisticRegression(C=3.0), "plants/one", columns=columns, beta=1)
    assert classifier.get_params()["columns"] is columns
    assert classifier.get_params()["estimator__C"] == 3.0
    twin = clone(classifier.set_params(estimator__C=4.0, temperature=2.0))
    assert twin.estimator.C == 4.0
    assert (twin.bundle, twin.columns, twin.temperature, twin.beta) == ("plants/one", columns, 2.0, 1)
    assert clone(fitted()).fit(None, None).predict(P).tolist() == fitted().predict(P).tolist()
    assert "bundle=Bundle(tree" in repr(fitted())


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "artifacts"))
    digest = store.put_arrays(*BUNDLE.to_arrays())
    store.write_index("plants", {"bundles": {"one": {"sha256": digest}}})
    return store


def test_a_pickle_refers_to_the_bundle_by_its_digest(store):
    big = random_tree(5000, seed=1)
    bundle = build_bundle(big, [big.keys[i] for i in range(3)])
    digest = store.put_arrays(*bundle.to_arrays())
    store.write_index("big", {"bundles": {"one": {"sha256": digest}}})
    classes = bundle.observed_keys
    named = fitted("big/one", classes, artifacts_url=store.where)
    kept = pickle.dumps(named)
    named.predict_proba(P), named.classes_
    assert len(kept) == len(pickle.dumps(named)) < 5000
    assert len(pickle.dumps(fitted(bundle, classes))) > 50_000
    again = pickle.loads(kept)
    assert again.classes_.tolist() == sorted(big.keys)
    assert again.predict(P).tolist() == named.predict(P).tolist()
    assert pickle.dumps(again) == pickle.dumps(pickle.loads(kept))  # opened or not


def test_a_pickle_finds_its_bundle_when_the_name_has_moved_on(store):
    kept = pickle.dumps(fitted("plants/one", artifacts_url=store.where))
    other = store.put_arrays(*build_bundle(GRAPH, OBSERVED, labels="leaves").to_arrays())
    store.write_index("plants", {"bundles": {"one": {"sha256": other}}})
    assert pickle.loads(kept).predict(P)[0] == "tree"
    assert fitted("plants/one", artifacts_url=store.where).predict(P)[0] != "tree"
    store.write_index("plants", {"bundles": {}})
    assert pickle.loads(kept).adapter_.digest == BUNDLE.digest


@pytest.mark.parametrize("fate", ["replaced", "gone"])
def test_a_pickle_whose_bundle_is_nowhere_says_so_when_asked(fate, tmp_path):
    path, store = tmp_path / "plants.safetensors", open_store(str(tmp_path / "artifacts"))
    BUNDLE.save(path)
    kept = pickle.dumps(fitted(path, artifacts_url=store.where))
    path.unlink()
    if fate == "replaced":
        build_bundle(GRAPH, ["oak"]).save(path)
    again = pickle.loads(kept)
    assert again.source_classes_.tolist() == OBSERVED
    with pytest.raises(BundleError, match=rf"{BUNDLE.digest}; restore that bundle"):
        again.predict(P)
    store.put_arrays(*BUNDLE.to_arrays())
    assert again.predict(P)[0] == "tree"


@pytest.mark.parametrize("bundle", [BUNDLE, GRAPH, metric_space(GRAPH), None])
def test_a_pickle_of_what_was_in_memory_holds_it(bundle):
    again = pickle.loads(pickle.dumps(fitted(bundle)))
    assert again.predict(P).tolist() == fitted(bundle).predict(P).tolist()
    assert again.classes_.tolist() == fitted(bundle).classes_.tolist()


# ---- within scikit-learn -----------------------------------------------------------------------------


def test_metadata_goes_to_the_estimator():
    weight = np.arange(4.0)
    inside = FrechetClassifier(Given(), BUNDLE).fit(P, [*OBSERVED, "oak"], sample_weight=weight)
    assert inside.estimator_.seen_weight_ is weight
    with config_context(enable_metadata_routing=True):
        asked = FrechetClassifier(Given().set_fit_request(sample_weight=True), BUNDLE)
        assert asked.fit(P, [*OBSERVED, "oak"], sample_weight=weight).estimator_.seen_weight_ is weight
        silent = FrechetClassifier(Given(), BUNDLE)
        with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set as requested"):
            silent.fit(P, [*OBSERVED, "oak"], sample_weight=weight)
        search = GridSearchCV(asked.set_score_request(sample_weight=True), {"beta": [2]}, cv=KFold(2))
        right = np.tile([0.0, 1.0, 1.0, 0.0], 3)  # rows 1 and 2 are answered by their argmax
        search.fit(np.tile(P, (3, 1)), np.tile(["oak", "moss", "oak", "elm"], 3), sample_weight=right)
        assert search.best_score_ == 1.0


def test_set_output_reaches_the_transformers_within():
    X, y = points()
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    classifier = FrechetClassifier(inner, GRAPH).fit(X, y)
    assert classifier.set_output(transform="pandas") is classifier
    for pipeline in (inner, classifier.estimator_):
        assert pipeline[0]._sklearn_output_config == {"transform": "pandas"}
    classifier.set_output(transform="default")
    assert isinstance(classifier.predict(X), np.ndarray)
    FrechetClassifier(LogisticRegression()).set_output(transform="pandas")


def test_it_stands_at_the_end_of_a_pipeline_and_calibration_within_it():
    X, y = points(n=90)
    inner = CalibratedClassifierCV(LinearSVC(), cv=3)
    whole = make_pipeline(StandardScaler(), FrechetClassifier(inner, GRAPH)).fit(X, y)
    assert set(whole.classes_) == set(GRAPH.keys)
    assert whole.score(X, y) > 0.5
    assert whole[-1].n_features_in_ == 2


def test_it_is_named_where_scikit_learn_is_missing():
    code = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ImportError("blocked", name=name)
sys.meta_path.insert(0, Blocked())
from labelgrove import adapter
import labelgrove.adapter.classes
import labelgrove.adapter.evaluation.measures.distancescore
from labelgrove.ontology.errors import MissingExtraError
try:
    import labelgrove.adapter.sklearn
except MissingExtraError as error:
    print(error)
"""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    assert "[sklearn]" in done.stdout

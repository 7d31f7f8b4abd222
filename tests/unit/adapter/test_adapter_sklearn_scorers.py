"""The squared distance to the truth as a scorer of cross-validation and searches."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgrove.adapter import Adapter, build_bundle, evaluate
from labelgrove.adapter.evaluation.measures.distancescore import expected_sq_distance
from labelgrove.adapter.sklearn import (
    FrechetClassifier,
    ObservedTruthsWarning,
    expected_sq_distance_scorer,
    neg_expected_sq_distance,
)
from labelgrove.datasets.randomgraphs import random_tree
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = random_tree(80, seed=2)
GRID = LabelGraph.grid((4, 4))
PAIR = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("moss", "plant"), ("tree", "plant")])


class Given(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are its input."""

    def __init__(self, classes):
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]

    def predict_proba(self, X):
        return np.asarray(X)


def drawn(graph, k=6, n=300, seed=1):
    """Observed labels, probabilities and truths of any label."""
    draw = np.random.default_rng(seed)
    observed = [graph.keys[i] for i in draw.permutation(graph.n_labels)[:k]]
    truth = [graph.keys[i] for i in draw.integers(0, graph.n_labels, n)]
    return observed, draw.dirichlet(np.full(k, 0.4), n), truth


def frozen(observed):
    return FrozenEstimator(Given(tuple(observed)).fit(None, None))


@pytest.mark.parametrize("graph", [TREE, GRID], ids=["tree", "grid"])
@pytest.mark.parametrize("given", ["graph", "space", "bundle"])
def test_the_score_is_what_evaluation_reports(graph, given):
    observed, P, truth = drawn(graph)
    space = metric_space(graph)
    adapter = Adapter(build_bundle(graph, observed))
    expected = evaluate(adapter, P, truth, space=space)["frechet_mean"].all.mean_squared_distance
    source = {"graph": graph, "space": space, "bundle": adapter.bundle}[given]
    classifier = FrechetClassifier(frozen(observed), source).fit(None, None)
    if given == "bundle" and graph is GRID:
        with pytest.raises(SpaceError, match=r"block bundle.*expected_sq_distance_scorer"):
            neg_expected_sq_distance(classifier, P, truth)
    else:
        assert neg_expected_sq_distance(classifier, P, truth) == pytest.approx(-expected, rel=1e-12)
    scorer = expected_sq_distance_scorer(space)
    assert scorer(classifier, P, truth) == pytest.approx(-expected, rel=1e-12)


def test_distances_by_definition():
    """Every pair of a small tree, counted by hand in the table of all distances."""
    space = metric_space(TREE)
    table = space.distances().astype(float) ** 2
    draw = np.random.default_rng(3)
    rows, columns = draw.integers(0, 80, 500), draw.integers(0, 80, 500)
    truth, answer = TREE.keys.take(columns), np.array(TREE.keys.take(rows))
    assert expected_sq_distance(truth, answer, space=space) == table[rows, columns].mean()
    weight = draw.random(500)
    expected = np.average(table[rows, columns], weights=weight)
    found = expected_sq_distance(
        np.array(truth, dtype=object), list(answer), space=space, sample_weight=weight
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_distances_are_measured_a_few_truths_at_a_time(monkeypatch):
    from labelgrove.adapter.evaluation.measures import pairdistances

    space = metric_space(GRID)
    _, _, truth = drawn(GRID)
    answer = truth[7:] + truth[:7]
    whole = expected_sq_distance(truth, answer, space=space)
    monkeypatch.setattr(pairdistances, "_SOURCES_AT_ONCE", 3)
    assert expected_sq_distance(truth, answer, space=space) == whole


def test_truths_may_be_labels_that_are_no_answer():
    leaves = metric_space(PAIR, labels="leaves")
    assert expected_sq_distance(["tree", "plant"], ["oak", "oak"], space=leaves) == 2.5
    with pytest.raises(UnknownLabelError, match=r"y_pred: 1 of 2 labels.*allowed labels"):
        expected_sq_distance(["oak", "oak"], ["tree", "oak"], space=leaves)


@pytest.mark.parametrize(
    ("truth", "answer", "error", "said"),
    [
        (["birch", "oak"], ["oak", "oak"], UnknownLabelError, "y_true: 1 of 2 labels.*'birch'.*by key"),
        (["oak", "oak"], ["oak", "birch"], UnknownLabelError, "y_pred: 1 of 2 labels.*'birch'"),
        ([0, 1], ["oak", "oak"], UnknownLabelError, "y_true: 2 of 2 labels"),
        (["oak"], ["oak", "oak"], InputError, "1 and 2 labels"),
        ([], [], InputError, "at least one"),
        ([["oak"]], [["oak"]], InputError, r"shape \(1, 1\)"),
    ],
)
def test_labels_outside_the_space_are_refused(truth, answer, error, said):
    with pytest.raises(error, match=f"(?s){said}"):
        expected_sq_distance(truth, answer, space=metric_space(PAIR))


def test_block_bundles_measure_to_their_observed_labels():
    bundle = build_bundle(PAIR, ["oak", "moss"], metric="graph")
    scorer = expected_sq_distance_scorer(bundle)
    classifier = FrechetClassifier(frozen(["oak", "moss"]), bundle).fit(None, None)
    for score in (scorer, neg_expected_sq_distance):
        with pytest.warns(ObservedTruthsWarning):
            assert score(classifier, np.eye(2), ["moss", "moss"]) == -4.5
    with pytest.raises(SpaceError, match="block bundle"):
        scorer(classifier, np.eye(2), ["elm", "moss"])
    with pytest.raises(UnknownLabelError, match="'birch'"):
        scorer(classifier, np.eye(2), ["birch", "moss"])


def test_without_a_bundle_it_is_the_share_of_wrong_answers():
    classifier = FrechetClassifier(frozen(["oak", "moss"])).fit(None, None)
    assert neg_expected_sq_distance(classifier, np.eye(2), ["oak", "oak"]) == -0.5
    assert neg_expected_sq_distance(classifier, np.eye(2), ["oak", "birch"], sample_weight=[3, 1]) == -0.25


def test_it_scores_within_cross_validation_and_searches(tmp_path):
    """Temperatures are searched for; the same figures come from either scorer."""
    observed, P, truth = drawn(TREE, n=200)
    path = tmp_path / "tree.safetensors"
    build_bundle(TREE, observed).save(path)
    classifier = FrechetClassifier(frozen(observed), str(path))
    space_scorer = expected_sq_distance_scorer(path)
    folds = KFold(4)
    own = cross_val_score(classifier, P, truth, cv=folds, scoring=neg_expected_sq_distance)
    assert np.allclose(own, cross_val_score(classifier, P, truth, cv=folds, scoring=space_scorer))
    grid = {"temperature": [0.05, 1.0, 3.0], "beta": [1, 2]}
    search = GridSearchCV(classifier, grid, cv=folds, scoring=neg_expected_sq_distance).fit(P, truth)
    assert search.best_score_ > own.mean()  # probabilities say nothing of these truths: flatter is better
    assert search.best_params_ == {"temperature": 3.0, "beta": 2}
    assert neg_expected_sq_distance(search, P, truth) == pytest.approx(search.score(P, truth))
    crisp = cross_val_score(Given(tuple(observed)), P, truth, cv=folds, scoring=space_scorer)
    assert crisp.mean() < own.mean()  # any classifier that answers with labels of the space


def test_it_is_found_at_the_end_of_a_pipeline():
    rng = np.random.default_rng(0)
    learned = np.array(["oak", "elm", "moss"])[rng.integers(0, 3, 60)]
    X = rng.normal(size=(60, 2))
    whole = make_pipeline(StandardScaler(), FrechetClassifier(LogisticRegression(), PAIR)).fit(X, learned)
    y = np.where(rng.random(60) < 0.3, "plant", learned)
    expected = -expected_sq_distance(y, whole.predict(X), space=metric_space(PAIR))
    assert neg_expected_sq_distance(whole, X, y) == expected
    half = np.arange(60) < 30
    weighted = neg_expected_sq_distance(whole, X, y, sample_weight=half)
    assert weighted == pytest.approx(neg_expected_sq_distance(whole, X[:30], y[:30]))


def test_another_estimator_is_sent_to_the_other_scorer():
    with pytest.raises(InputError, match="scoring=expected_sq_distance_scorer"):
        neg_expected_sq_distance(LogisticRegression(), [[0.0]], ["oak"])
    with pytest.raises(InputError, match="LabelGraph or a MetricSpace"):
        expected_sq_distance_scorer(3)


def test_scorers_can_be_sent_to_other_processes():
    classifier = FrechetClassifier(frozen(["oak", "moss"]), PAIR).fit(None, None)
    for scorer in (neg_expected_sq_distance, expected_sq_distance_scorer(PAIR)):
        assert pickle.loads(pickle.dumps(scorer))(classifier, np.eye(2), ["tree", "oak"]) == -5

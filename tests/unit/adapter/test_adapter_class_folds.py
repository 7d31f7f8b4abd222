"""Folds over classes, and the warning where folds hold every class in both parts."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgrove.adapter import build_bundle
from labelgrove.adapter.sklearn import (
    ClassKFold,
    FrechetClassifier,
    ObservedTruthsWarning,
    expected_sq_distance_scorer,
    neg_expected_sq_distance,
)
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

LINE = LabelGraph.from_edges([(f"{i + 1:02d}", f"{i:02d}") for i in range(29)])
SPACE = metric_space(LINE)
KNOWN = np.array([f"{i:02d}" for i in range(0, 29, 2)])


def samples(n=8, seed=0):
    """Positions on the line with noise, of every other label."""
    where = np.repeat(np.arange(0, 29, 2), n)
    order = np.random.default_rng(seed).permutation(len(where))
    X = (where + np.random.default_rng(seed).normal(0, 0.5, len(where)))[:, None] / 10
    return X[order], np.array([f"{i:02d}" for i in where])[order]


def classifier(**named):
    return FrechetClassifier(LogisticRegression(), SPACE, **named)


# ---- the folds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [4, 7, 15, 40])
@pytest.mark.parametrize("n_splits", [2, 3, 5, 15])
@pytest.mark.parametrize("kind", ["text", "numbers", "objects"])
def test_no_class_is_in_both_parts_and_each_is_held_out_once(n_classes, n_splits, kind):
    if n_classes < n_splits or n_classes - -(-n_classes // n_splits) < 2:
        with pytest.raises(InputError, match=f"y: {n_classes} classes for n_splits={n_splits}"):
            next(ClassKFold(n_splits).split(np.zeros(n_classes), np.arange(n_classes)))
        return
    y = np.random.default_rng(1).integers(0, n_classes, 30 * n_classes)
    y[:n_classes] = np.arange(n_classes)
    y = {"text": y.astype(str), "numbers": y, "objects": y.astype(str).astype(object)}[kind]
    held_out, rows = [], []
    for train, test in ClassKFold(n_splits).split(np.zeros((len(y), 2)), y):
        assert set(y[train]).isdisjoint(y[test])
        assert len(set(y[train])) >= 2
        assert sorted([*train, *test]) == list(range(len(y)))
        held_out.append(len(set(y[test])))
        rows.extend(test)
    assert sorted(rows) == list(range(len(y)))
    assert (len(held_out), sum(held_out)) == (n_splits, n_classes)
    assert max(held_out) - min(held_out) <= 1


def test_the_seed_decides_which_classes_are_held_out_together():
    X, y = samples()

    def held_out(folds):
        return [tuple(np.unique(y[test])) for _, test in folds.split(X, y)]

    assert held_out(ClassKFold()) == held_out(ClassKFold(random_state=0))
    assert held_out(ClassKFold(random_state=1)) != held_out(ClassKFold())
    order = np.argsort(y, kind="stable")
    together = {tuple(np.unique(y[order][test])) for _, test in ClassKFold().split(X, y[order])}
    assert together == set(held_out(ClassKFold()))  # the order of the rows does not
    neighbors = {tuple(part) for part in np.array_split(KNOWN, 5)}
    assert neighbors.isdisjoint(held_out(ClassKFold()))  # keys that follow each other are often related
    drawing = ClassKFold(random_state=np.random.RandomState(0))
    assert held_out(drawing) != held_out(drawing)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_splits": 1}, "n_splits: 1 given; give a whole number of folds, 2 or more"),
        ({"n_splits": 2.0}, "n_splits: 2.0 given"),
        ({"n_splits": True}, "n_splits: True given"),
        ({"n_splits": "5"}, "n_splits: '5' given"),
    ],
)
def test_a_number_of_folds_that_is_none_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        ClassKFold(**given)


@pytest.mark.parametrize(
    ("y", "groups", "said"),
    [
        (None, None, "y: missing; ClassKFold holds out classes"),
        (["a", "b", "c", "d"], [1, 1, 2, 2], "leave groups out"),
        (["a", "b", "a", "b"], None, "y: 2 classes for n_splits=2"),
        (["a", "b", "c", "c"], None, "y: 3 classes for n_splits=2; each fold holds out"),
    ],
)
def test_classes_that_cannot_be_held_out_are_refused(y, groups, said):
    with pytest.raises(InputError, match=said):
        list(ClassKFold(2).split([[0.0]] * 4, y, groups))


# ---- within scikit-learn -------------------------------------------------------------------------------


@pytest.mark.long
def test_searches_and_cross_validation_take_it():
    X, y = samples()
    grid = {"temperature": [0.25, 0.5, 1.0, 2.0]}
    scoring = {"own": neg_expected_sq_distance, "space": expected_sq_distance_scorer(SPACE)}
    search = GridSearchCV(classifier(), grid, scoring=scoring, refit="own", cv=ClassKFold())
    assert search.fit(X, y).best_params_ == {"temperature": 0.5}
    assert np.allclose(search.cv_results_["mean_test_own"], search.cv_results_["mean_test_space"])
    folds = [(train, test) for train, test in ClassKFold().split(X, y)]
    by_hand = [
        neg_expected_sq_distance(classifier(temperature=0.5).fit(X[train], y[train]), X[test], y[test])
        for train, test in folds
    ]
    assert np.allclose(by_hand, [search.cv_results_[f"split{i}_test_own"][1] for i in range(5)])
    piped = make_pipeline(StandardScaler(), classifier())
    found = cross_validate(piped, X, y, cv=ClassKFold(3), scoring=neg_expected_sq_distance)
    assert (found["test_score"] < 0).all()
    answers = cross_val_predict(classifier(), X, y, cv=ClassKFold())
    assert (answers != y).mean() < 1  # labels that the fold did not learn are among the answers
    assert np.isfinite(cross_val_score(classifier(), X, y, cv=ClassKFold())).all()


def test_it_is_an_ordinary_splitter():
    assert repr(ClassKFold(3)) == "ClassKFold(n_splits=3, random_state=0)"
    assert ClassKFold(3).get_n_splits() == ClassKFold(3).get_n_splits([[0.0]], ["a"]) == 3
    X, y = samples()
    copied = pickle.loads(pickle.dumps(ClassKFold(3)))
    assert [len(test) for _, test in copied.split(X, y)] == [40, 40, 40]


def test_a_scorer_asks_for_weights_as_those_of_scikit_learn_do():
    X, y = samples()
    weight = np.random.default_rng(2).uniform(0.5, 1.5, len(y))
    given = {"cv": ClassKFold(), "params": {"sample_weight": weight}}
    with config_context(enable_metadata_routing=True):
        estimator = FrechetClassifier(LogisticRegression().set_fit_request(sample_weight=True), SPACE)
        asking, other = (
            expected_sq_distance_scorer(SPACE).set_score_request(sample_weight=asked)
            for asked in (True, False)
        )
        weighted, plain = (cross_val_score(estimator, X, y, scoring=one, **given) for one in (asking, other))
    for i, (train, test) in enumerate(ClassKFold().split(X, y)):
        fitted = classifier().fit(X[train], y[train], sample_weight=weight[train])
        assert weighted[i] == pytest.approx(asking(fitted, X[test], y[test], sample_weight=weight[test]))
        assert plain[i] == pytest.approx(other(fitted, X[test], y[test]))
    assert not np.allclose(weighted, plain)
    assert "expected_sq_distance" in repr(asking)


# ---- the warning ---------------------------------------------------------------------------------------

SCORERS = {"own": neg_expected_sq_distance, "space": expected_sq_distance_scorer(SPACE)}
HELD_OUT = "hold out whole classes from training: cv=labelgrove.adapter.sklearn.ClassKFold"


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("cv", [3, StratifiedKFold(4), None], ids=str)
def test_a_search_over_folds_that_hold_every_class_twice_warns(scorer, cv):
    X, y = samples()
    grid = {"temperature": [0.25, 1.0]}
    piped = {f"frechetclassifier__{name}": values for name, values in grid.items()}
    for estimator, names in ((classifier(), grid), (make_pipeline(classifier()), piped)):
        search = GridSearchCV(estimator, names, scoring=SCORERS[scorer], cv=cv)
        with pytest.warns(ObservedTruthsWarning, match=HELD_OUT):
            search.fit(X, y)


@pytest.mark.parametrize("scorer", SCORERS)
def test_one_truth_that_was_not_learned_is_enough(scorer):
    X, y = samples()
    fitted = classifier().fit(X, y)
    with pytest.warns(ObservedTruthsWarning):
        SCORERS[scorer](fitted, X, y)
    SCORERS[scorer](fitted, X, np.where(np.arange(len(y)) == 3, "03", y))


def test_a_frozen_estimator_learned_what_is_held_out():
    X, y = samples()
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.warns(ObservedTruthsWarning):
        cross_val_score(
            FrechetClassifier(frozen, SPACE), X, y, cv=ClassKFold(), scoring=neg_expected_sq_distance
        )


def test_classes_that_a_bundle_observes_and_the_model_did_not_learn_count_as_unseen():
    X, y = samples()
    bundle = build_bundle(LINE, KNOWN.tolist())
    whole = FrechetClassifier(LogisticRegression(), bundle)
    with pytest.warns(ObservedTruthsWarning):
        neg_expected_sq_distance(whole.fit(X, y), X, y)
    some = y > "06"
    fitted = whole.fit(X[some], y[some])
    neg_expected_sq_distance(fitted, X, y)  # the others have a probability of 0, and are scored
    with pytest.warns(ObservedTruthsWarning):
        neg_expected_sq_distance(fitted, X[some], y[some])


def test_names_of_classes_are_compared_as_keys():
    X, y = samples()
    numbered = {i: key for i, key in enumerate(KNOWN)}
    codes = np.searchsorted(KNOWN, y)
    fitted = FrechetClassifier(LogisticRegression(), SPACE, columns=numbered).fit(X, codes)
    with pytest.warns(ObservedTruthsWarning):
        neg_expected_sq_distance(fitted, X, y)
    neg_expected_sq_distance(fitted, X[:2], ["01", "00"])


def test_no_word_where_there_is_no_other_label():
    """All labels that can be an answer were learned, or there is no label space at all."""
    X, y = samples()
    among = metric_space(LINE, labels=KNOWN.tolist())
    for source in (among, None):
        fitted = FrechetClassifier(LogisticRegression(), source).fit(X, y)
        neg_expected_sq_distance(fitted, X, y)
    expected_sq_distance_scorer(SPACE)(LogisticRegression().fit(X, y), X, y)  # it answers with classes alone

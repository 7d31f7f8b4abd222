"""On real data: temperatures that searches choose, and what they cost on labels that were not learned."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from labelgrove.adapter.evaluation.baselines import constant_label
from labelgrove.adapter.sklearn import (
    ClassKFold,
    FrechetClassifier,
    ObservedTruthsWarning,
    neg_expected_sq_distance,
)
from labelgrove.datasets.digits import CORNERS, digits_on_grid
from labelgrove.datasets.glosses import glosses
from labelgrove.experiments.measuring import squared_errors
from labelgrove.ontology.geometry import sample_observed

pytestmark = [pytest.mark.xdist_group("experiments"), pytest.mark.long]

PAGE = Path(__file__).parents[3] / "docs" / "frameworks.md"
TEMPERATURES = [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8]
SEEDS = range(5)
FOLDS = {"ClassKFold(5)": ClassKFold(5), "StratifiedKFold(3)": StratifiedKFold(3)}


def searched(X, y, space, cv, temperatures):
    search = GridSearchCV(
        FrechetClassifier(LogisticRegression(), space),
        {"temperature": temperatures},
        scoring=neg_expected_sq_distance,
        cv=cv,
        refit=False,
        error_score="raise",
    )
    return search.fit(X, y).best_params_["temperature"]


@pytest.fixture(scope="module")
def found(wordnet_dir):
    """E[d²] on documents of synsets that were not learned: for each choice, one figure a seed."""
    source = glosses(60, 200)
    space = source.space()
    rows = {name: [] for name in (*FOLDS, "default", "constant")}
    with threadpool_limits(limits=1):
        for seed in SEEDS:
            data = source.labeled(seed, n_test=0)
            learned = sample_observed(data.trainable, 40, seed=seed)
            known = np.isin(data.train_labels, learned)
            X, y = data.train_features[known], data.train_labels[known]
            unseen = ~np.isin(data.test_labels, learned)
            truth = data.test_labels[unseen]

            def error(temperature, X=X, y=y, seen=data.test_features[unseen], truth=truth):
                classifier = FrechetClassifier(LogisticRegression(), space, temperature=temperature)
                return -neg_expected_sq_distance(classifier.fit(X, y), seen, truth)

            for name, cv in FOLDS.items():
                if name == "ClassKFold(5)":
                    rows[name].append(error(searched(X, y, space, cv, TEMPERATURES)))
                else:
                    with pytest.warns(ObservedTruthsWarning):
                        chosen = searched(X, y, space, cv, TEMPERATURES)
                    rows[name].append(error(chosen))
            rows["default"].append(error(1.0))
            constant = constant_label(space, Counter(y.tolist()))
            answers = np.full(len(truth), constant)
            rows["constant"].append(squared_errors(space, space.index(truth.tolist()), answers).mean())
    return {name: np.array(row) for name, row in rows.items()}


def test_folds_over_classes_choose_no_worse_than_the_default(found):
    assert (found["ClassKFold(5)"] <= found["default"]).all()
    assert found["ClassKFold(5)"].mean() < found["default"].mean() - 0.5


def test_folds_over_samples_choose_what_is_worse_than_one_constant_answer(found):
    assert (found["StratifiedKFold(3)"] > found["default"]).all()
    assert found["StratifiedKFold(3)"].mean() > found["constant"].mean()


def test_the_page_shows_these_figures(found):
    titles = {
        "ClassKFold(5)": "chosen with `ClassKFold(5)`",
        "default": "the default, 1",
        "StratifiedKFold(3)": "chosen with `StratifiedKFold(3)`",
        "constant": "one constant answer",
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, title in titles.items():
        (row,) = re.findall(rf"^\| {re.escape(title)} \|(.*)\|$", text, flags=re.M)
        shown = [float(cell) for cell in row.split("|")]
        assert shown == pytest.approx([*found[name], found[name].mean()], abs=0.11)


def test_three_corners_tell_nothing_of_the_fourth():
    """The limit that the page names: each class reaches into a part of the grid that the others do not."""
    data = digits_on_grid(CORNERS, 0, n_images=50)
    X, y = data.train_features, data.train_labels
    flat = LogisticRegression(C=0.01)

    def error(temperature):
        classifier = FrechetClassifier(flat, data.space, temperature=temperature).fit(X, y)
        return -neg_expected_sq_distance(classifier, data.test_features, data.test_labels)

    with threadpool_limits(limits=1):
        search = GridSearchCV(
            FrechetClassifier(flat, data.space),
            {"temperature": [0.05, 0.25, 1.0]},
            scoring=neg_expected_sq_distance,
            cv=ClassKFold(4),
            error_score="raise",
        ).fit(X, y)
        assert search.best_params_ == {"temperature": 0.05}
        assert error(0.05) > 3 * error(1.0)

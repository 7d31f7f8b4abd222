"""The paper's classifiers: what they predict, and what they refuse."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.sparse import csr_matrix

from labelgrove.datasets.labeled import Labeled
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.training import MODELS, fit_predict, make_model, observe, train_files

SPACE = metric_space(LabelGraph.grid((1, 5)))
KEYS = np.array(list(SPACE.keys))


def clouds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 5
    rng.shuffle(truth)
    return truth[:, None] * 10.0 + rng.normal(size=(n, 3)), KEYS[truth]


def labeled():
    train, test = clouds(), clouds(40, 1)
    return Labeled(SPACE, SPACE, *train, *test)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_knows_the_observed_labels_alone(model):
    data = labeled()
    observed = (KEYS[3], KEYS[0])
    predicted, kept = fit_predict(data, observed, model, regularisation=1.0)
    assert kept is None
    assert predicted.columns == (KEYS[0], KEYS[3])
    assert set(predicted.train_labels) == set(observed)
    assert len(predicted.train_labels) == len(observe(data, observed)) == 24
    assert predicted.probabilities.shape == (40, 2)
    assert predicted.probabilities.sum(axis=1) == pytest.approx(np.ones(40))
    seen = np.isin(data.test_labels, observed)
    best = np.array(predicted.columns)[predicted.probabilities.argmax(axis=1)]
    assert (best[seen] == data.test_labels[seen]).all()


def test_more_classes_than_half_of_the_samples_are_no_regression():
    """Thousands of classes have a few samples each; scikit-learn warns of numbers taken for classes."""
    space = metric_space(LabelGraph.grid((1, 40)))
    truth = np.array(list(space.keys))
    features = np.arange(40.0)[:, None]
    data = Labeled(space, space, features, truth, features, truth)
    assert fit_predict(data, tuple(truth), "5-nn")[0].probabilities.shape == (40, 40)


def test_neighbors_vote():
    data = labeled()
    predicted, _ = fit_predict(data, tuple(KEYS), "5-nn")
    for i in (0, 7, 31):
        distance = ((data.train_features - data.test_features[i]) ** 2).sum(axis=1)
        votes = data.train_labels[np.argsort(distance, kind="stable")[:5]]
        expected = [np.mean(votes == key) for key in predicted.columns]
        assert predicted.probabilities[i].tolist() == pytest.approx(expected)


def test_one_vs_rest_is_one_logistic_regression_a_class():
    from sklearn.linear_model import LogisticRegression

    data = labeled()
    predicted, _ = fit_predict(data, tuple(KEYS), "one-vs-rest", regularisation=0.1)
    scores = np.stack(
        [
            LogisticRegression(C=0.1, max_iter=60)
            .fit(data.train_features, data.train_labels == key)
            .predict_proba(data.test_features)[:, 1]
            for key in predicted.columns
        ],
        axis=1,
    )
    assert predicted.probabilities == pytest.approx(scores / scores.sum(axis=1, keepdims=True))


def test_samples_kept_back_are_not_trained_on():
    data = labeled()
    predicted, kept = fit_predict(data, tuple(KEYS), "logistic", held_out=0.25, seed=3)
    assert len(kept.truth) == 15
    assert len(predicted.train_labels) == 45
    assert set(kept.truth) <= set(kept.columns)
    assert kept.probabilities.shape == (15, 5)


def test_too_few_labels_and_unknown_models_are_refused():
    with pytest.raises(InputError, match="1 of 2 labels have training samples"):
        fit_predict(labeled(), (KEYS[0], "elsewhere"), "5-nn")
    with pytest.raises(InputError, match="choose one of 5-nn, one-vs-rest, logistic"):
        make_model("6-nn")


@pytest.mark.parametrize("model", MODELS)
def test_texts_and_embeddings_become_files_that_score_reads(tmp_path, model):
    texts = ["red fruit on a tree", "fish in a pond", "a sour fruit", "a pond fish swims", "fruit", "fish"]
    labels = ["apple", "carp", "apple", "carp", "apple", "carp"]
    trained = train_files(texts, labels, ["fruit of a tree", "pond fish"], tmp_path, model=model)
    rows = np.load(trained.probabilities)
    assert (rows.dtype, rows.shape) == (np.float32, (2, 2))
    assert trained.columns.read_text() == "apple\ncarp\n"
    assert (rows.argmax(axis=1) == [0, 1]).all() or model == "5-nn"
    features, keys = clouds()
    again = train_files(csr_matrix(features), keys.tolist(), csr_matrix(features), tmp_path, model=model)
    assert (again.n_samples, again.n_columns) == (60, 5)


def test_wrong_training_files_are_refused(tmp_path):
    for features, labels, test, said in (
        (["a", "b"], ["x"], ["c"], "1 for 2 training samples"),
        (["a", "b"], ["x", "x"], ["c"], "different labels is 1"),
        (["a", "b"], ["x", "y"], np.zeros((1, 2)), "mixed"),
        (np.zeros((2, 3)), ["x", "y"], np.zeros((1, 2)), "3 columns to train on and 2"),
    ):
        with pytest.raises(InputError, match=said):
            train_files(features, labels, test, tmp_path, model="5-nn")
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="name another folder"):
        train_files(np.eye(2), ["x", "y"], np.eye(2), tmp_path / "taken", model="5-nn")

"""Errors, temperatures and calibration against plain recomputations; the check that stops a run."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelgrove.datasets.predicted import Predicted
from labelgrove.experiments import measuring
from labelgrove.experiments.measuring import (
    ArgmaxIdentityError,
    check_argmax,
    fitted_temperature,
    mean_and_argmax,
    rule_errors,
    tempered,
)
from labelgrove.ontology.errors import WeightError
from labelgrove.ontology.geometry import make_scorer, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

SPACE = metric_space(LabelGraph.grid((1, 6)))
KEYS = tuple(SPACE.keys)


def predicted(n=200, seed=0, columns=(4, 0, 2)):
    rng = np.random.default_rng(seed)
    truth = tuple(KEYS[i] for i in rng.integers(0, 6, n))
    names = tuple(KEYS[i] for i in columns)
    return Predicted(names, rng.dirichlet(np.ones(len(columns)), n), truth, names * 3)


@pytest.mark.parametrize("beta", [1, 2])
def test_errors_equal_a_plain_recomputation(beta):
    made = predicted()
    place = {key: i for i, key in enumerate(KEYS)}
    columns, truth = (np.array([place[k] for k in keys]) for keys in (made.columns, made.truth))
    cost = made.probabilities @ (np.abs(columns[:, None] - np.arange(6)) ** beta)
    answers = cost.argmin(axis=1)
    mean, argmax, found = mean_and_argmax(SPACE, made, beta=beta)
    assert (found == answers).all()
    assert (mean == (answers - truth) ** 2).all()
    assert (argmax == (columns[made.probabilities.argmax(axis=1)] - truth) ** 2).all()
    if beta == 2:
        rules = rule_errors(SPACE, made)["rules"]
        assert rules["frechet_mean"]["squared"] == pytest.approx(mean.mean())
        assert rules["argmax"]["squared"] == pytest.approx(argmax.mean())


def test_rules_that_all_give_one_answer_are_recognized():
    """The answers decide, not whether errors are equal."""
    sure = np.tile([0.05, 0.9, 0.05], (600, 1))
    truth = tuple(KEYS[i] for i in np.random.default_rng(5).integers(0, 6, 600))

    def one_answer(rows, training=(KEYS[1],), truth=truth):
        return rule_errors(SPACE, Predicted((KEYS[0], KEYS[1], KEYS[5]), rows, truth, training))["one_answer"]

    assert one_answer(sure)
    last = np.arange(600)[:, None] == 599
    assert not one_answer(np.where(last, [0.9, 0.05, 0.05], sure))  # argmax and the mean, in one row
    assert not one_answer(np.where(last, [0.55, 0.3, 0.15], sure))  # argmax alone
    assert not one_answer(np.where(last, [0.0, 0.6, 0.4], sure))  # the mean alone
    assert not one_answer(sure, training=(KEYS[0],))  # the constant
    between = np.tile([0.8, 0.0, 0.2], (600, 1))  # argmax 0 and the mean 1, as far from all truths
    assert not one_answer(between, truth=(KEYS[0], KEYS[1]) * 300)


def test_temperature_is_that_of_the_softmax():
    logits = np.random.default_rng(1).normal(size=(50, 4))

    def softmax(t):
        rows = np.exp(logits / t)
        return rows / rows.sum(axis=1, keepdims=True)

    assert tempered(softmax(1.0), 0.3) == pytest.approx(softmax(0.3))
    assert tempered(np.array([[1.0, 0.0]]), 0.5).tolist() == [[1.0, 0.0]]
    for small in (np.float16, np.float32):  # as files hold them
        rows = softmax(1.0).astype(small)
        assert (tempered(rows, 0.3) == tempered(rows.astype(np.float64), 0.3)).all()


def test_the_fitted_temperature_undoes_another():
    rng = np.random.default_rng(3)
    honest = rng.dirichlet(np.full(3, 0.7), 4000)
    truth = tuple("abc"[rng.choice(3, p=row)] for row in honest)
    for distorted, wanted in ((0.5, 2.0), (2.0, 0.5), (1.0, 1.0)):
        made = Predicted(("a", "b", "c"), tempered(honest, distorted), truth, truth)
        assert fitted_temperature(made) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("wrong", [-0.5, np.nan, np.inf, 0.0])
def test_rows_that_have_no_temperature_are_refused_as_they_were_given(wrong):
    with pytest.raises(WeightError, match="row"):
        tempered(np.array([[0.5, 0.5], [wrong, 0.0]]), 0.5)


def test_argmax_is_verified_on_every_row(monkeypatch):
    rows = np.random.default_rng(4).multinomial(5, np.ones(7) / 7, 1500) / 5  # a third of them tied
    columns = [f"class {i}" for i in (3, 1, 6, 0, 2, 5, 4)]
    assert check_argmax(columns, rows) == 1500

    class WrongOnce:
        def __init__(self, *given):
            self.honest = make_scorer(*given)

        def score(self, weights):
            found = self.honest.score(weights)
            if len(weights) < 512:  # the last block of rows
                found.index[3] = (found.index[3] + 1) % self.honest.n_observed
            return found

    monkeypatch.setattr(measuring, "make_scorer", WrongOnce)
    with pytest.raises(ArgmaxIdentityError, match="rows 1027: on the complete graph"):
        check_argmax(columns, rows)
    with pytest.raises(ArgmaxIdentityError):
        rule_errors(SPACE, predicted(n=600))

"""Settings and features that cannot serve: refused with their name, never a run that means nothing."""

from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelgrove.experiments import NAMES, load
from labelgrove.experiments.settings import as_texts, changed, with_seeds_from
from labelgrove.ontology.errors import InputError, JobFailedError
from labelgrove.training import train_files
from tests.experiment_runs import run


@pytest.mark.parametrize("name", NAMES)
def test_settings_out_of_range_are_refused(name):
    settings = load(name).settings(quick=True)
    usual = as_texts(settings)
    assert changed(settings, [f"{field}={text}" for field, text in usual.items()]) == settings
    for field, text in usual.items():
        if not text.replace(",", "").replace(".", "").isdigit():  # names are refused by what takes them
            continue
        for wrong in ("-1", "nan", "inf", "1e999", "", "-0.5"):
            with pytest.raises(InputError, match=f"--set '{field}={wrong}"):
                changed(settings, [f"{field}={wrong}"])
        if field not in ("n_labels", "n_test", "theta", "withheld") and not field.endswith("seeds"):
            with pytest.raises(InputError, match="give finite numbers above 0"):
                changed(settings, [f"{field}=0"])


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_has_five_trials_at_least_and_they_can_be_others(name):
    settings = load(name).settings()
    counted = {field: value for field, value in asdict(settings).items() if field.endswith("seeds")}
    assert counted
    assert min(map(len, counted.values())) >= 5
    shifted = asdict(with_seeds_from(settings, 100))
    for field, value in asdict(settings).items():
        assert shifted[field] == (tuple(100 + v for v in value) if field in counted else value)


@pytest.mark.parametrize("change", ["seeds=1,1", "sizes=4,5,4"])
def test_a_trial_is_not_counted_twice(change):
    with pytest.raises(InputError, match="is given twice; give each value once"):
        changed(load("diabetes-path").settings(), [change])


def test_settings_that_do_not_fit_into_memory_are_told_so(tmp_path):
    experiment = load("sample-complexity")
    settings = changed(experiment.settings(quick=True), ["seeds=0", "dimensions=100000000000"])
    with pytest.raises(
        InputError,
        match=r"sample-complexity: there is not enough memory here to run it with --set dimensions=1",
    ):
        run(experiment, tmp_path, settings=settings)


def test_settings_that_no_library_takes_are_refused_by_name(tmp_path, monkeypatch):
    experiment = load("digits-grid")

    def refusing(*_):
        raise ValueError("a library takes no such number")

    monkeypatch.setattr(type(experiment), "prepare", refusing)
    settings = changed(experiment.settings(quick=True), ["seeds=5"])
    with pytest.raises(InputError, match=r"cannot be run with .*seeds=5.* \(ValueError: a library takes no"):
        run(experiment, tmp_path, settings=settings)


def test_a_defect_of_our_own_stays_what_it_is(tmp_path, monkeypatch):
    experiment = load("digits-grid")

    def defect(*_):
        raise ValueError("of our own")

    monkeypatch.setattr(type(experiment), "prepare", defect)
    with pytest.raises(JobFailedError, match=r"failed: ValueError: of our own; see `grove jobs logs"):
        run(experiment, tmp_path, settings=experiment.settings(quick=True))


ROWS = np.random.default_rng(0).random((6, 3))
LABELS = ["x", "y"] * 3


@pytest.mark.parametrize(
    ("features", "test", "regularisation"),
    [
        (np.where(ROWS > 0.5, np.nan, ROWS), ROWS, 1.0),
        (ROWS, np.where(ROWS > 0.5, np.inf, ROWS), 1.0),
        (ROWS * 1j, ROWS, 1.0),
        (ROWS, ROWS[:0], 1.0),
        (ROWS[:, :0], ROWS[:, :0], 1.0),
        (ROWS, ROWS, 0.0),
        (ROWS, ROWS, float("nan")),
        (["the", "of"] * 3, ["a"], 1.0),
    ],
    ids=["NaN", "infinity", "complex", "no row", "no column", "no regularisation", "NaN of it", "no word"],
)
def test_features_that_no_model_is_trained_on_are_refused(features, test, regularisation, tmp_path):
    with pytest.raises(InputError, match=r"features: logistic .* cannot be trained on them .*give finite"):
        train_files(features, LABELS, test, tmp_path, model="logistic", regularisation=regularisation)
    assert not list(tmp_path.iterdir())

"""The experiments on pretrained models: one run of each, the page of their results, and what they need."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelgrove.datasets.pretrained.outputs import PretrainedModel
from labelgrove.experiments import NAMES, PRETRAINED, documents, load, select
from labelgrove.experiments.contrast import Verdict
from labelgrove.experiments.documents import environment, write_result
from labelgrove.experiments.measuring import rule_errors
from labelgrove.experiments.pretrained import file_types
from labelgrove.experiments.settings import changed
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests.experiment_runs import run

pytestmark = pytest.mark.xdist_group("pretrained experiments")

PAGE = Path(__file__).parents[3] / "docs" / "pretrained.md"


@pytest.fixture(scope="module")
def languages(tmp_path_factory):
    pytest.importorskip("py3langid")
    experiment = load("languages")
    return run(experiment, tmp_path_factory.mktemp("home"), settings=experiment.settings(quick=True))


@pytest.mark.long
def test_languages_are_judged_language_by_language(languages, tmp_path):
    document = write_result(tmp_path, languages.content)
    assert document["verdict"] == Verdict.HOLDS
    assert document["command"] == "grove experiment languages --quick"
    assert document["libraries"]["py3langid"]
    for finding in document["findings"]:
        for contrast in finding["contrasts"]:
            alone = "alone" in finding["claim"]
            assert contrast["trials"] < 116 if alone else contrast["trials"] == 116
        assert "languages)" in finding["because"]
    assert "languages)" in (tmp_path / "result.md").read_text(encoding="utf-8")
    assert (tmp_path / "result.html").read_text(encoding="utf-8").count("<figure") == 3 + 5


@pytest.mark.long
def test_errors_of_classes_and_of_samples_agree_in_a_run(languages):
    for unit in languages.document["units"]:
        result = unit["result"]
        for name in ("as is", "likelihood", "distance"):
            for rule in ("argmax", "frechet_mean", "constant"):
                squared = result[name]["rules"][rule]["squared"]
                assert np.mean(result[name]["by_label"][rule]) == pytest.approx(squared, rel=1e-12)
        raw, fitted = (result[name]["rules"]["frechet_mean"] for name in ("as is", "distance"))
        assert fitted["squared"] < raw["squared"] < result["as is"]["rules"]["argmax"]["squared"]
        assert result["distance"]["temperature"] > 1 == result["as is"]["temperature"]


@pytest.fixture
def made_up(monkeypatch):
    """Let `file-types` judge made-up outputs: magika's files differ from machine to machine."""
    rng = np.random.default_rng(8)
    edges = [(f"{a}{b}", a) for a in "xyz" for b in range(4)] + [(a, "file") for a in "xyz"]
    space = metric_space(LabelGraph.from_edges(edges), "tree")
    leaves = np.array([child for child, parent in edges if parent != "file"])
    truth = np.repeat(leaves, 9)
    columns = tuple(leaves[:-2].tolist())
    logits = 2.0 * (truth[:, None] == np.array(columns)) + rng.normal(size=(len(truth), len(columns)))
    logits[3] = -np.inf  # no answer
    model = PretrainedModel(space, columns, logits, truth)
    monkeypatch.setattr(file_types.FileTypes, "outputs", lambda self, settings: {"magika": model})
    return model


def test_a_unit_tests_what_neither_fits_nor_lacks_an_answer(made_up):
    experiment = load("file-types")
    settings = experiment.settings()
    data = experiment.prepare(settings, None)
    result = experiment.measure(data, settings, {"model": "magika", "withheld": 0.0, "seed": 1})
    fitting, answers = made_up.calibration(1), made_up.answers(np.arange(10))
    tested = ~fitting & answers
    assert result["as is"]["n_samples"] == tested.sum() == 72 - (not fitting[3])
    assert result["answered"] == pytest.approx(107 / 108)
    assert result["checked_rows"] == 3 * tested.sum()
    assert result["known"] == [True] * 10 + [False] * 2
    for name in ("as is", "likelihood", "distance"):
        found = made_up.predicted(np.arange(10), tested, result[name]["temperature"])
        exact = rule_errors(made_up.space, found)
        assert result[name]["rules"] == exact["rules"]
        known = np.isin(found.truth, made_up.columns)
        accuracy = result[name]["accuracy_known"]["argmax"]
        assert accuracy * known.sum() == pytest.approx(exact["rules"]["argmax"]["accuracy"] * len(known))


def test_unknown_labels_are_averaged_over_the_seeds_that_withhold_them(made_up):
    experiment = load("file-types")
    settings = replace(experiment.settings(), withheld=(0.0, 0.5))
    data = experiment.prepare(settings, None)
    results = [(unit, experiment.measure(data, settings, unit)) for unit in experiment.units(settings)]
    summary = experiment.summarize(settings, results)
    alone = next(f for f in summary.findings if "alone" in f.claim)
    first, *_ = (c for c in alone.contrasts if c.setting == "magika, as is, 50 % withheld")
    errors = {}
    for unit, result in results:
        if unit["withheld"] == 0.5:
            for i, label in enumerate(result["labels"]):
                if not result["known"][i]:
                    errors.setdefault(label, []).append(result["as is"]["by_label"]["constant"][i])
    assert first.before == pytest.approx([np.mean(errors[label]) for label in sorted(errors)])
    assert all(len(row) == len(table.columns) for table in summary.tables for row in table.rows)


# ---- what they need ----------------------------------------------------------------------------------


def test_they_do_not_belong_to_the_claims_of_the_paper():
    assert select("all") == NAMES
    assert not {*NAMES} & {*PRETRAINED}
    assert [select(name) for name in PRETRAINED] == [(name,) for name in PRETRAINED]


@pytest.mark.parametrize(("name", "package"), [("languages", "py3langid"), ("file-types", "magika")])
def test_a_package_that_is_missing_is_named_with_its_extra(name, package, monkeypatch):
    class Nothing:
        @staticmethod
        def discover(*, name):
            return ()

    monkeypatch.setattr(documents, "Distribution", Nothing)
    experiment = load(name)
    with pytest.raises(
        MissingExtraError, match=f"'{name}' needs the package '{package}' of the extra 'models'"
    ):
        environment(experiment, experiment.settings(), None)


def test_lingua_is_needed_only_where_it_is_chosen():
    experiment = load("languages")
    assert experiment.packages(experiment.settings()) == {"py3langid": "models"}
    both = changed(experiment.settings(), ["models=py3langid,lingua"])
    assert experiment.packages(both)["lingua-language-detector"] == "lingua"


@pytest.mark.parametrize("name", PRETRAINED)
def test_an_unknown_model_is_refused_before_anything_runs(name, tmp_path):
    settings = changed(load(name).settings(), ["models=oracle"])
    with pytest.raises(InputError, match="models: 'oracle' is not known"):
        run(load(name), tmp_path, settings=settings)


@pytest.mark.parametrize("share", ["1", "1.5", "-0.1", "nan"])
def test_all_classes_cannot_be_withheld(share):
    with pytest.raises(InputError, match="of 0 or more and below 1"):
        changed(load("languages").settings(), [f"withheld=0.0,{share}"])


# ---- the page of results -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRETRAINED)
def test_the_page_is_that_of_these_claims_settings_and_versions(name):
    claim, settings = load(name).claim, load(name).settings()
    (section,) = (
        part for part in PAGE.read_text(encoding="utf-8").split("\n## ") if part.startswith(f"{name}: ")
    )
    assert f"**Claim.** {claim.sentence} ({claim.source})" in section
    assert f"**Data.** {claim.inputs}" in section
    for field, value in json.loads(json.dumps(vars(settings))).items():
        if field != "models":  # the page shows lingua as well
            assert f"- setting {field}: {', '.join(f'{v:g}' for v in value)}\n" in section
    assert f"- version of the experiment: {load(name).version}\n" in section
    for picture in PAGE.parent.glob(f"pictures/{name}*.svg"):
        assert f"(pictures/{picture.name})" in section

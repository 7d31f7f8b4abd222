"""What decides a unit's result is in its identity: other versions and other data are other units."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

from labelgrove.datasets import glosses as source
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments import NAMES, documents, load
from labelgrove.experiments.contrast import Finding, Verdict
from labelgrove.experiments.documents import environment, identify, write_result
from labelgrove.experiments.settings import changed
from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.report.experiment import experiment_report
from labelgrove.report.markdown import to_markdown
from labelgrove.workers import client
from tests.experiment_runs import run
from tests.integration.workers_support import settings_in
from tests.report_samples import experiment_document

pytestmark = [pytest.mark.xdist_group("experiments"), pytest.mark.long]


@pytest.fixture
def other_wordnet(wordnet_dir, tmp_path):
    """WordNet with one word of some glosses changed."""
    text = (wordnet_dir / "data.noun").read_text(encoding="utf-8")
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "data.noun").write_text(text.replace(" | a ", " | zebra "), encoding="utf-8")
    return folder


def test_another_wordnet_at_the_same_place_or_elsewhere_is_computed_again(
    wordnet_dir, other_wordnet, tmp_path, monkeypatch
):
    experiment = load("class-embeddings")
    settings = changed(experiment.settings(quick=True), ["sizes=20", "seeds=0,1"])
    monkeypatch.setenv("WNSEARCHDIR", str(wordnet_dir))
    first = run(experiment, tmp_path, settings=settings)
    monkeypatch.setenv("WNSEARCHDIR", str(other_wordnet))
    second = run(experiment, tmp_path, settings=settings)
    (other_wordnet / "data.noun").write_bytes((wordnet_dir / "data.noun").read_bytes())
    third = run(experiment, tmp_path, settings=settings)
    assert (first.computed, second.computed, third.computed) == (2, 2, 0)
    assert first.document == third.document
    assert first.document["identity"] != second.document["identity"]
    assert first.document["units"] != second.document["units"]
    (digest,) = first.document["data"].values()
    write_result(tmp_path / "page", first.content)
    page = (tmp_path / "page" / "result.md").read_text(encoding="utf-8")
    assert f"- sha256 of WordNet's data.noun: {digest}" in page


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_where_it_is_installed_is_in_the_identity(name, wordnet_dir, monkeypatch):
    experiment = load(name)
    settings = experiment.settings(quick=True)
    read = []

    def noted(*given):
        read.append(given)
        raise NotFoundError("stopped at the door")

    with monkeypatch.context() as patch:
        patch.setattr(source, "find_wordnet", noted)
        try:
            experiment.prepare(settings, None)
        except NotFoundError:
            assert read
    assert set(
        identify(experiment, settings, None, {}, environment(experiment, settings, None)).parts["data"]
    ) == ({"WordNet's data.noun"} if read else set())
    assert experiment.installed_data(Files(hierarchy=Path("mine.csv"))) == {}


@pytest.mark.parametrize("part", ["labelgrove", "numpy", "scipy", "scikit-learn", "networkx", "python"])
def test_another_version_is_another_identity(part, monkeypatch):
    experiment = load("complete-graph")
    settings = experiment.settings(quick=True)
    before = identify(experiment, settings, None, {}, environment(experiment, settings, None))
    assert before.parts["libraries"][part]
    now = documents.versions
    monkeypatch.setattr(documents, "versions", lambda names: now(names) | {part: "0.1.2.3"})
    assert (
        identify(experiment, settings, None, {}, environment(experiment, settings, None)).digest
        != before.digest
    )


def test_settings_and_the_version_of_the_experiment_are_in_the_identity(monkeypatch):
    experiment = load("complete-graph")
    settings = experiment.settings(quick=True)

    def digest(settings):
        return identify(experiment, settings, None, {}, environment(experiment, settings, None)).digest

    found = {digest(settings)}
    for name, value in vars(settings).items():
        other = (*value, 9) if isinstance(value, tuple) else value + 1
        found.add(digest(replace(settings, **{name: other})))
    monkeypatch.setattr(type(experiment), "version", 99)
    found.add(digest(settings))
    assert len(found) == 2 + len(vars(settings))


def test_without_its_data_an_experiment_is_refused_before_anything_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "find_wordnet", lambda: None)
    with pytest.raises(NotFoundError, match="apt-get install wordnet-base"):
        run(load("zero-shot"), tmp_path, settings=load("zero-shot").settings(quick=True))
    with Workspace.open(settings_in(tmp_path)) as workspace:
        assert client.list_jobs(workspace) == []


# ---- the page of results -------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "results.md"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_results_is_that_of_these_claims_settings_and_versions(name):
    experiment = load(name)
    made_up = Finding(experiment.claim.sentence, Verdict.HOLDS, "of nothing").to_dict()
    document = {
        **experiment_document(),
        "claim": experiment.claim.sentence,
        "source": experiment.claim.source,
        "inputs": experiment.claim.inputs,
        "settings": json.loads(json.dumps(vars(experiment.settings()))),
        "version": experiment.version,
        "findings": [made_up],
    }
    (section,) = (
        part for part in PAGE.read_text(encoding="utf-8").split("\n## ") if part.startswith(f"{name}: ")
    )
    kept = ("**Claim.**", "**Data.**", "- setting ", "- version of the experiment")
    said = [line for line in to_markdown(experiment_report(document)).splitlines() if line.startswith(kept)]
    assert len(said) == 3 + len(document["settings"])
    assert said == [line for line in section.splitlines() if line.startswith(kept)]

"""Every experiment runs with its quick settings; a stopped one is continued and gives the same bytes."""

import json
from dataclasses import fields

import pytest
from click.testing import CliRunner

pytest.importorskip("sklearn")

from labelgrove.cli import grove
from labelgrove.experiments import NAMES, load, select
from labelgrove.experiments.answering import busy_seconds
from labelgrove.experiments.contrast import Verdict
from labelgrove.experiments.documents import write_overview, write_result
from labelgrove.experiments.settings import as_texts, changed
from labelgrove.ontology.errors import InputError, NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State, Unit
from labelgrove.workers.running.pool import Pool
from tests.experiment_runs import run
from tests.integration.workers_support import settings_in

pytestmark = [pytest.mark.xdist_group("experiments"), pytest.mark.long]  # one run of each serves all


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def results(folder, home, wordnet_dir):
    """Run every experiment once; WordNet is read once for all of them."""
    found = {name: run(load(name), home, settings=load(name).settings(quick=True)) for name in NAMES}
    return {name: write_result(folder / name, one.content) for name, one in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_quickly_and_says_what_it_found(results, folder, name):
    document = results[name]
    assert document["verdict"] in list(Verdict)
    assert document["findings"][0]["because"]
    assert document["findings"][0]["claim"]
    assert all(len(row) == len(t["columns"]) for t in document["tables"] for row in t["rows"])
    assert document == json.loads((folder / name / "result.json").read_bytes())
    written = (folder / name / "result.md").read_text(encoding="utf-8")
    assert written.startswith(f"# {name}: {document['verdict']}\n")
    assert document["claim"] in written
    page = (folder / name / "result.html").read_text(encoding="utf-8")
    assert page.count("<figure") == len(document["panels"]) + sum(
        bool(f["contrasts"]) for f in document["findings"]
    )
    if name != "active-locus":  # the one that predicts nothing
        assert document["rows_where_argmax_was_verified"] > 100


def test_digits_are_in_the_range_of_the_evidence(results):
    (row,) = results["digits-grid"]["tables"][0]["rows"]
    trials = [unit["result"]["rules"] for unit in results["digits-grid"]["units"]]
    for rules in trials:
        assert 14 < rules["argmax"]["squared"] < 19
        assert rules["frechet_mean"]["squared"] < 5 < rules["nearest_observed"]["squared"]
    assert row[0] == "the four corners"
    assert results["digits-grid"]["verdict"] == Verdict.HOLDS


def test_an_under_confident_model_reverses_the_claim(results):
    document = results["under-confident"]
    assert document["verdict"] == Verdict.REVERSES
    trials = [unit["result"] for unit in document["units"] if unit["parameters"]["K"] == 20]
    for trial in trials:
        raw, calibrated = (trial[part]["rules"] for part in ("raw", "calibrated"))
        assert raw["frechet_mean"]["squared"] > 2 * raw["argmax"]["squared"]
        assert calibrated["frechet_mean"]["squared"] < raw["frechet_mean"]["squared"] / 2
        assert trial["temperature"] < 1


def test_the_two_errors_of_the_theorem_part_ways(results):
    for unit in results["sample-complexity"]["units"]:
        found = unit["result"]
        assert found["estimation"][-1] < found["estimation"][0] / 3
        assert found["answer"][-1] > 0.9 * found["floor"] > 1


def test_active_choice_is_judged_on_two_kinds_of_features_and_says_so(results):
    document = results["active-error"]
    finding = document["findings"][0]
    assert finding["because"].endswith("; it depends on the features, TF-IDF vectors here")
    kinds = [contrast["setting"].split(", ")[0] for contrast in finding["contrasts"]]
    assert kinds == ["masked", "named"]
    for unit in document["units"]:
        masked, named = (unit["result"][kind]["active 10"] for kind in ("masked", "named"))
        assert masked["locus"] == named["locus"]
        assert masked["logistic"] != named["logistic"]


def test_one_giant_supernode_is_shown(results):
    shares = {row[0]: row[2] for row in results["supernodes"]["tables"][1]["rows"]}
    published, _, capped = shares.values()
    assert published > 0.5 > 10 * capped


def test_settings_in_which_every_rule_gives_one_answer_are_not_testable(results):
    document = results["supernodes"]
    for finding in document["findings"][:2]:
        untold = [c["setting"] for c in finding["contrasts"] if not c["testable"]]
        assert untold
        assert not any("capped" in setting for setting in untold)
        assert f"not testable in {len(untold)}: " in finding["because"]
    trials = [unit["result"] for unit in document["units"] if not unit["result"]["collapsed"]]
    for trial in trials:
        if trial["one_answer"]:
            errors = {
                rule: trial["rules"][rule]["squared"] for rule in ("argmax", "frechet_mean", "constant")
            }
            assert len(set(errors.values())) == 1


def test_a_summary_with_nothing_to_train_on_is_told_and_the_others_are_judged(tmp_path):
    experiment = load("supernodes")
    small = ["target=4", "sizes=5", "seeds=0", "n_labels=200", "n_documents=200"]
    settings = changed(experiment.settings(quick=True), small)
    document = run(experiment, tmp_path, settings=settings).document
    collapsed = [row[-1] for row in document["tables"][1]["rows"]]
    assert (len(collapsed), sum(collapsed)) == (3, 3 - len(document["panels"]))
    assert 0 < len(document["panels"]) < 3


def test_gloss_classification_improves_as_in_the_evidence(results):
    trials = [unit["result"] for unit in results["partially-observed"]["units"]]
    assert len(trials) == 8
    for trial in trials:
        for model in ("logistic", "5-nn"):
            rules = trial[model]["rules"]
            assert 0.1 < 1 - rules["frechet_mean"]["squared"] / rules["argmax"]["squared"] < 0.7


def test_the_page_names_every_experiment_and_all_rows_checked(results, tmp_path):
    linked, text = (
        path.read_text(encoding="utf-8")
        for path in write_overview(tmp_path, list(results.values()), [1.5] * len(NAMES))
    )
    total = sum(d["rows_where_argmax_was_verified"] for d in results.values())
    assert f"argmax on all {total:,} rows" in text
    assert f"{1.5 * len(NAMES):,.0f} seconds" in text
    for name, document in results.items():
        assert f"\n## {name}: {document['verdict']}\n" in text
        assert f"[{name}](#{name}-{document['verdict'].replace(' ', '-')})" in text
        assert all(len(needed) for needed in load(name).claim.own_files) or not load(name).claim.command
        assert load(name).claim.command in text
        assert f'href="{name}/result.html"' in linked


def test_all_finds_what_is_computed_and_writes_the_same_files(results, folder, home, tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(home))
    said = CliRunner().invoke(grove, ["experiment", "all", "--quick", "--out", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert said.stderr.count("(0 units computed") == len(NAMES)
    for name in NAMES:
        for file in ("result.json", "result.md", "result.html"):
            assert (tmp_path / name / file).read_bytes() == (folder / name / file).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {*NAMES, "results.html", "results.md"}


def stopped(experiment, home, *, after):
    """Stop a job once some of its units are done, and return when each of these was computed."""
    request = {"experiment": experiment.claim.name, "settings": as_texts(experiment.settings(quick=True))}
    with Workspace.open(settings_in(home)) as workspace:
        job = client.submit(workspace, "experiment", request, wait=False)

        def done():
            found = client.list_units(workspace, job.id)
            return {unit.key: unit.ended_at for unit in found if unit.state is State.DONE}

        with Pool(workspace, threads=1) as pool:
            pool.run_job(job.id, lambda: len(done()) >= after)
        assert not client.status(workspace, job.id).finished
        return done()


def computed_at(home):
    with Workspace.open(settings_in(home)) as workspace:
        (job,) = client.list_jobs(workspace)
        return {unit.key: unit.ended_at for unit in client.list_units(workspace, job.id)}


def test_a_stopped_run_computes_the_rest_only_and_ends_in_the_same_bytes(tmp_path):
    experiment = load("diabetes-path")
    settings = experiment.settings(quick=True)
    before = stopped(experiment, tmp_path / "a", after=4)
    resumed = run(experiment, tmp_path / "a", settings=settings)
    whole = run(experiment, tmp_path / "b", settings=settings)
    assert (len(before), resumed.computed, whole.computed) == (4, 2, 6)
    after = computed_at(tmp_path / "a")
    assert {key: after[key] for key in before} == before
    assert resumed.content == whole.content
    again = run(experiment, tmp_path / "a", settings=settings)
    assert (again.computed, again.content) == (0, whole.content)
    assert computed_at(tmp_path / "a") == after


def test_seconds_count_the_time_of_units_that_wait_for_each_other_once():
    def unit(begin, end):
        times = {"claimed_at": begin, "ended_at": end}
        names = (field.name for field in fields(Unit))
        return Unit(**(dict.fromkeys(names) | {"state": State.DONE} | times))

    serial = [unit(10.0, 12.0), unit(10.5, 14.0), unit(12.0, 15.0)]
    assert busy_seconds(serial) == 5.0
    assert busy_seconds([*serial, unit(100.0, 101.5), unit(11.0, 11.5)]) == 6.5  # continued later
    assert busy_seconds([unit(1.0, None), unit(None, None)]) == 0.0


def test_another_setting_never_takes_the_units_of_the_first(tmp_path):
    experiment = load("complete-graph")
    settings = experiment.settings(quick=True)
    first = run(experiment, tmp_path, settings=settings)
    other = run(experiment, tmp_path, settings=changed(settings, ["n_rows=100"]))
    assert (first.computed, other.computed) == (4, 4)
    assert first.document["identity"] != other.document["identity"]
    assert run(experiment, tmp_path, settings=settings).computed == 0


def test_names_and_settings_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(NotFoundError, match="choose among digits-grid"):
        select("digit-grid")
    settings = load("diabetes-path").settings()
    for change, said in (
        ("sizes", "give NAME=VALUES"),
        ("size=3", "a name among sizes, seeds"),
        ("sizes=3,x", "not of type int"),
        ("regularisation=big", "not of type float"),
        ("regularisation=0", "0.0 given; give finite numbers above 0"),
        ("regularisation=nan", "nan given; give finite numbers above 0"),
        ("regularisation=inf", "inf given; give finite numbers above 0"),
        ("seeds=0,-1", "-1 given; give finite numbers of 0 or more"),
        ("seeds=3,1,3", "3 is given twice"),
        ("sizes=0", "0 given; give finite numbers above 0"),
    ):
        with pytest.raises(InputError, match=said):
            changed(settings, [change])
    for name, change, said in (
        ("beta-ablation", "betas=1,4", "give 2 and at least one other"),
        ("sample-complexity", "per_class=64,8", "ascending"),
        ("under-confident", "sizes=9,4", "4 means the four corners"),
        ("digits-grid", "n_images=1797", "give 1 to 1796, since the rest of the 1797 images"),
    ):
        with pytest.raises(InputError, match=said):
            run(load(name), tmp_path, settings=changed(load(name).settings(quick=True), [change]))


def test_a_folder_that_cannot_be_written_is_named(results, folder, tmp_path):
    (tmp_path / "taken").write_text("")
    content = (folder / "complete-graph" / "result.json").read_bytes()
    with pytest.raises(InputError, match=r"taken.*name a folder that you may write to"):
        write_result(tmp_path / "taken", content)
    with pytest.raises(InputError, match=r"taken.*name a folder that you may write to"):
        write_overview(tmp_path / "taken", [json.loads(content)], [1.0])

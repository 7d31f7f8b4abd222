"""Ctrl-C: real commands in real processes end at once with exit code 130, and say how to go on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.cli.waiting.stopping import resumable
from labelgrove.ontology.labelgraph import LabelGraph
from tests.cli import pausing
from tests.integration.celery_worker import environment
from tests.integration.workers_support import registered, settings_in

pytestmark = pytest.mark.long

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def call(call):
    Path("garden.csv").write_text(EDGES)
    return call


@pytest.fixture
def garden(call):
    call("ingest", "garden", "garden.csv")
    return call


def started(*command: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", *command],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def interrupted(process: subprocess.Popen, within_s: float = 20.0) -> str:
    """Press Ctrl-C, which a terminal sends to all processes of a command; return what was said on stderr."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 130, (process.returncode, out, err)
    assert "Traceback" not in err
    return err


def stopped_at(at: str, *arguments: str) -> str:
    process = started("tests.cli.pausing", at, *arguments)
    line = process.stdout.readline()
    if line.strip() != pausing.HERE:
        out, err = process.communicate()
        raise AssertionError(f"{arguments} never came to {at}: {line}{out}{err}")
    return interrupted(process)


def test_an_ingest_goes_on_with_the_same_command(garden):
    (before,) = json.loads(garden("ontology", "list", "--json").stdout)
    Path("garden.csv").write_text(EDGES + "moss,peat\n")
    for step in (
        "labelgrove.ontology.versions.ingest:put_result",
        "labelgrove.ontology.versions.ingest:load",
        "labelgrove.ontology.versions.ingest:go_live",
    ):
        said = stopped_at(step, "ingest", "garden", "garden.csv")
        assert said == (
            "stopped; garden keeps its previous version until the ingest is complete; go on with: grove "
            "ingest garden garden.csv\n"
        )
        assert json.loads(garden("ontology", "list", "--json").stdout) == [before]
    assert json.loads(garden("ingest", "garden", "garden.csv", "--json").stdout)["created"] is True
    garden("graph", "verify")


@pytest.mark.parametrize("command", [("jobs", "submit", "unit"), ("jobs", "watch"), ("worker", "-c", "1")])
def test_who_waits_for_a_job_leaves_its_unit(command, call):
    if command[1] != "submit":
        with registered(pausing.UNIT):
            call("jobs", "submit", "unit", "--detach")
    if command == ("jobs", "watch"):
        command += (json.loads(call("jobs", "list", "--json").stdout)[0]["id"],)
    said = stopped_at("unit", *command)
    (job,) = json.loads(call("jobs", "list", "--json").stdout)
    assert job["state"] in ("pending", "running")
    go_on = "grove worker" if command[0] == "worker" else f"grove jobs watch {job['id'][:12]}"
    assert said.splitlines()[-1].endswith(f"go on with: {go_on}")
    assert said.count("stopped; ") == 1


def test_a_build_stays_as_a_job_that_is_gone_on_with(garden):
    said = stopped_at(
        "labelgrove.workers.running.pool:execute_unit",
        "bundle",
        "build",
        "garden",
        "mine",
        "--observed",
        "oak,elm",
    )
    (job,) = json.loads(garden("jobs", "list", "--json").stdout)
    assert said.splitlines()[-1] == (
        f"stopped; job {job['id'][:12]} is kept; go on with: grove jobs watch {job['id'][:12]}"
    )
    garden("jobs", "watch", job["id"][:12])
    garden("bundle", "inspect", "garden/mine")


@pytest.mark.parametrize(
    "command",
    [
        ("locus", "garden", "--observed", "oak,elm"),
        ("cover", "garden"),
        ("select", "garden"),
        ("summarize", "garden", "--target", "2"),
    ],
)
def test_an_answer_stays_as_a_job_that_is_gone_on_with(command, garden):
    said = stopped_at("labelgrove.workers.running.pool:execute_unit", *command, "--out", "found.csv")
    (job,) = json.loads(garden("jobs", "list", "--json").stdout)
    last = f"stopped; job {job['id'][:12]} is kept; go on with: grove jobs watch {job['id'][:12]}"
    assert said.splitlines()[-1] == last
    assert not Path("found.csv").exists()
    garden("jobs", "watch", job["id"])
    garden(*command, "--out", "found.csv")
    assert [job["id"]] == [found["id"] for found in json.loads(garden("jobs", "list", "--json").stdout)]


def test_a_refresh_goes_on_with_itself(garden):
    garden("jobs", "submit", "cover", "--param", "ontology=garden")
    Path("garden.csv").write_text(EDGES + "moss,peat\n")
    said = stopped_at(
        "labelgrove.workers.running.pool:execute_unit", "ingest", "garden", "garden.csv", "--refresh"
    )
    assert said.splitlines()[-1] == "stopped; the jobs are kept; go on with: grove jobs refresh garden"
    (again,) = json.loads(garden("jobs", "refresh", "garden", "--json").stdout)
    assert again["state"] == "done"


def test_quickstart_goes_on_with_itself(call):
    pytest.importorskip("sklearn")
    said = stopped_at("labelgrove.quickstart.digits:classify", "quickstart", "--out", "shown")
    assert said.splitlines()[-1] == (
        "stopped; the ontologies and bundles made so far are kept; go on with: grove quickstart --out shown"
    )
    assert [v["ontology"] for v in json.loads(call("ontology", "list", "--json").stdout)] == [
        "quickstart-digits"
    ]


def test_an_experiment_goes_on_where_it_was(call):
    pytest.importorskip("sklearn")
    arguments = ("experiment", "complete-graph", "--quick", "--out", "found")
    said = stopped_at("labelgrove.experiments.documents:make_document", *arguments)
    (job,) = json.loads(call("jobs", "list", "--json").stdout)
    assert said.splitlines()[-1] == (
        f"stopped; job {job['id'][:12]} is kept; go on with: grove experiment complete-graph --quick --out "
        "found"
    )
    units = json.loads(call("jobs", "show", job["id"], "--json").stdout)["units"]
    assert units == {"done": 4, "pending": 1}  # it was given back, so that nobody waits for its lease to end
    assert not Path("found").exists()
    assert "(0 units computed" in call(*arguments).stderr
    assert [job["id"]] == [found["id"] for found in json.loads(call("jobs", "list", "--json").stdout)]


def test_a_stopped_experiment_leaves_no_copies_of_its_files(call):
    pytest.importorskip("sklearn")
    arguments = ("experiment", "active-locus", "--set", "seeds=0", "--hierarchy", "garden.csv")
    said = stopped_at("labelgrove.experiments.claims.active_locus:select_classes", *arguments)
    assert said.splitlines()[-1].endswith(f"go on with: grove {' '.join(arguments)}")
    assert list(Path(os.environ["GROVE_HOME"], "experiments").iterdir()) == []


def test_a_backup_and_a_restore_go_on_with_themselves(garden, tmp_path, monkeypatch):
    garden("backup", "kept")
    manifest = Path("kept/backup.json").read_bytes()
    garden("bundle", "build", "garden", "mine", "--observed", "oak,elm")
    said = stopped_at("labelgrove.workers.upkeep.backup:_write_manifest", "backup", "kept")
    assert said.endswith("copies that the next run uses; go on with: grove backup kept\n")
    assert Path("kept/backup.json").read_bytes() == manifest
    assert json.loads(garden("backup", "kept", "--json").stdout)["n_copied"] == 0
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "other"))
    said = stopped_at("labelgrove.workers.upkeep.restore:_insert", "restore", "kept")
    assert said == (
        "stopped; the database is still empty, or already has every row; go on with: grove restore kept\n"
    )
    assert json.loads(garden("restore", "kept", "--json").stdout)["ontologies"] == ["garden"]


@pytest.mark.parametrize(
    ("at", "command"),
    [
        (
            "labelgrove.ontology.geometry:locus",
            ("locus", "garden", "--observed", "oak,elm", "--method", "grid", "--out", "found.csv"),
        ),
        (
            "labelgrove.ontology.geometry:must_observe",
            ("cover", "garden", "--method", "must", "--out", "found.csv"),
        ),
        (
            "labelgrove.ontology.geometry:pairwise_distances",
            ("distances", "garden", "--columns", "oak", "--out", "found.npy"),
        ),
        (
            "labelgrove.adapter.scorer:Adapter.top_k",
            ("score", "./b.safetensors", "p.csv", "--out", "found.csv"),
        ),
        ("labelgrove.adapter.evaluation:evaluate", ("evaluate", "./b.safetensors", "p.csv", "truth.txt")),
        ("labelgrove.ontology.versions.rebuilding:verify_graph", ("graph", "verify")),
    ],
)
def test_what_writes_nothing_before_its_end_begins_again(at, command, garden):
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    build_bundle(graph, ["oak", "elm"]).save("b.safetensors")
    Path("p.csv").write_text("oak,elm\n0.5,0.5\n")
    Path("truth.txt").write_text("tree\n")
    there = sorted(Path().iterdir())
    assert stopped_at(at, *command) == f"stopped; begin again with: grove {' '.join(command)}\n"
    assert sorted(Path().iterdir()) == there


@pytest.mark.services
def test_a_worker_of_a_broker_finishes_its_units_unless_told_twice(call, redis_url, tmp_path, monkeypatch):
    for name, value in environment(settings_in(tmp_path, broker_url=redis_url)).items():
        monkeypatch.setenv(name, value)

    def heard(stream, words):
        """Read on until it says so."""
        while words not in (line := stream.readline()):
            assert line, f"it ended without a word of {words!r}"

    def ready():
        process = started("tests.cli.pausing", "unit", "worker", "-c", "1")
        heard(process.stderr, " ready.")
        return process

    def go_on(said):
        return said.splitlines()[-1].endswith("go on with: grove worker")

    call("db", "upgrade")
    assert go_on(interrupted(ready()))
    busy = ready()
    with registered(pausing.UNIT):
        call("jobs", "submit", "unit", "--detach")
    heard(busy.stderr, pausing.HERE)  # Celery takes what is printed for its log
    os.killpg(busy.pid, signal.SIGINT)
    heard(busy.stdout, "Warm shutdown")  # from here on a second one counts as such
    assert busy.poll() is None
    assert go_on(interrupted(busy, within_s=60.0))
    (job,) = json.loads(call("jobs", "list", "--json").stdout)
    assert job["state"] in ("pending", "running")


def test_a_question_is_left_unanswered(garden):
    process = started("labelgrove", "ontology", "delete", "garden")
    asked = ""
    while "[y/N]" not in asked:
        asked += process.stderr.read(1)
    assert "stopped; nothing was changed" in interrupted(process)
    assert len(json.loads(garden("ontology", "list", "--json").stdout)) == 1


def test_what_is_said_nearest_to_the_work_counts():
    with (
        pytest.raises(KeyboardInterrupt, match=r"^the job stays$"),
        resumable("nothing changed"),
        resumable("the job stays"),
    ):
        raise KeyboardInterrupt


def test_before_a_command_is_found_too(call):
    assert stopped_at("click:group", "ontology", "list") == ""


@pytest.mark.parametrize("module", ["labelgrove.ontology.errors", "labelgrove.cli", "click"])
def test_while_the_first_modules_are_imported_too(module):
    program = f"""
import sys
class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from labelgrove.__main__ import main
main()
"""
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "")


def test_no_secret_of_the_command_is_repeated(garden):
    np.save("p.npy", np.eye(2))
    said = stopped_at(
        "labelgrove.adapter.loading.source:open_bundle",
        *("score", f"redis://:canary@127.0.0.1:9/0/{'0' * 64}", "p.npy", "--columns", "oak,elm"),
    )
    assert "begin again with: grove score" in said
    assert "canary" not in said

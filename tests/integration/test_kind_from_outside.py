"""A kind of job that another package brings: one module and one entry point, and nothing else knows of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).parents[2]
GARDEN = LabelGraph.from_edges(
    [("tree", "plant"), ("oak", "tree"), ("sycamore", "tree"), ("moss", "plant")], names={"oak": "Oak"}
)
AHEAD = ["tree", "moss"]  # not in the order of the alphabet
LONGEST = ["sycamore", "plant"]  # the second of two as long as one another comes later in the alphabet
LINKS = "MATCH (j:Job {kind: 'longest-keys'})-[:PRODUCED]->(s:Selection)-[p:PICKS]->(l:Label)"

MODULE = '''
    """The kind `longest-keys`: the labels whose keys are longest, one unit for each share of the labels."""

    import numpy as np

    from labelgrove.workers.kinds import Description, Estimate, JobKind, Product, Step
    from labelgrove.workers.kinds.inputs import read_graph, read_keys
    from labelgrove.workers.kinds.parameters import CONTENT, Parameter, Parameters

    PARAMETERS = (
        *CONTENT,
        Parameter("n", "a whole number, 1 or more: how many"),
        Parameter("shares", "a whole number from 1, by size beside an ontology", 1),
        Parameter("ahead", "labels that come first, in this order", None, keys=True, ordered=True),
    )


    def complete(given, subject):
        if subject is not None:
            given = {"shares": subject.n_labels // 2, **given}
        found = Parameters("longest-keys", given, PARAMETERS)
        found.digests("ontology", "snapshot")
        found.whole("n", 1)
        found.whole("shares", 1)
        found.digests("ahead", optional=True)
        return found


    def plan(parameters):
        shares = [Step({**parameters, "share": share}) for share in range(parameters["shares"])]
        return [*shares, Step(parameters, stage=1)]


    def execute(work):
        graph = read_graph(work)
        index = np.arange(work.parameters.get("share", 0), graph.n_labels, work.parameters["shares"])
        if work.inputs:
            index = np.concatenate([work.artifacts.open_arrays(part)[0]["index"] for part in work.inputs])
        lengths = np.array([len(key) for key in graph.keys.take(index)])
        best = index[np.lexsort((index, -lengths))][: work.parameters["n"]]
        if work.inputs:
            ahead = read_keys(work.artifacts, work.parameters["ahead"])
            best = np.concatenate([graph.keys.indices(ahead), best])
        return Product({"index": best.astype(np.int64)}, {"format": "longest-keys/1"})


    def read(result):
        return result.artifacts.open_arrays(result.sha256)[0]["index"]


    def show(result):
        from labelgrove.ontology.graph.results import Links

        index = read(result)
        gains = np.array([len(key) for key in result.graph.keys.take(index)])
        links = Links("PICKS", index, {"gain": gains, "round": np.arange(1, len(index) + 1)})
        return result.node("Selection", {"objective": "length"}, links)


    def describe(workspace, result):
        keys = result.graph.keys.take(read(result))
        rows = [(place, key) for place, key in enumerate(keys, start=1)]
        return Description(f"{len(rows)} long keys", {"keys": list(keys)}, ("place", "key"), rows)


    def estimate(parameters, subject):
        rows = 1 + parameters["n"] + subject.n_keys.get("ahead", 0)
        return Estimate(parameters["shares"] + 1, 10_000, rows)


    KIND = JobKind(
        name="longest-keys",
        version=1,
        complete=complete,
        plan=plan,
        execute=execute,
        parameters=PARAMETERS,
        queue="long",
        estimate=estimate,
        show=show,
        describe=describe,
    )
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder into which a package with a kind was installed."""
    folder = tmp_path / "site"
    information = folder / "long_keys-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "long_keys.py").write_text(dedent(MODULE), encoding="utf-8")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: long-keys\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[labelgrove.job_kinds]\nlongest-keys = long_keys:KIND\n", encoding="utf-8"
    )
    return folder


RUN = """
import json, sys
from click.testing import CliRunner
from labelgrove.cli import grove

said = []
for command in json.loads(sys.argv[1]):
    outcome = CliRunner().invoke(grove, command)
    assert outcome.exit_code == 0, (command, outcome.output, outcome.exception)
    said.append(outcome.stdout)
print(json.dumps(said))
"""


def grove(settings: Settings, site: Path | None, *commands: tuple[str, ...]) -> list[str]:
    """Run commands in a fresh interpreter, which finds what is in `site`, and return what they printed."""
    path = os.pathsep.join(str(folder) for folder in (site, CHECKOUT) if folder is not None)
    place = {"GROVE_HOME": str(settings.home), "GROVE_GRAPH_URL": settings.graph_url, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        env=os.environ | place,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    said: list[str] = json.loads(done.stdout)
    return said


def is_planned_run_shown_and_printed(settings: Settings, site: Path) -> None:
    with Workspace.open(settings) as workspace:
        register(workspace, "garden", GARDEN)
    options = ("--param", "ontology=garden", "--param", "n=2", "--param", f"ahead={','.join(AHEAD)}")
    asking = ("jobs", "submit", "longest-keys", *options, "--json")

    listed, said, asked = map(
        json.loads, grove(settings, site, ("jobs", "kinds", "--json"), (*asking, "--estimate"), asking)
    )
    (kind,) = (kind for kind in listed if kind["kind"] == "longest-keys")
    assert (kind["queue"], kind["named"]) == ("long", False)
    names = [parameter["name"] for parameter in kind["parameters"]]
    assert names == ["ontology", "snapshot", "n", "shares", "ahead"]
    assert (said["units"], said["graph_rows"]) == (3, 5)
    assert (asked["state"], asked["error"], asked["units"]) == ("done", None, {"done": 3})
    assert asked["parameters"]["shares"] == 2

    showing = ("jobs", "result", asked["id"])
    table, document = grove(settings, site, showing, (*showing, "--json"))
    assert table.split()[-8:] == ["1", AHEAD[0], "2", AHEAD[1], "3", LONGEST[0], "4", LONGEST[1]]
    assert json.loads(document) == {
        "job": asked["id"],
        "kind": "longest-keys",
        "sha256": asked["result_sha256"],
        "keys": AHEAD + LONGEST,
    }

    with Workspace.open(settings) as workspace:
        rows = workspace.graph.run_user(
            f"{LINKS} RETURN s.objective, p.round, p.gain, l.key ORDER BY p.round"
        ).rows
        assert client.status(workspace, asked["id"]).finished
    assert [tuple(row) for row in rows] == [
        ("length", place, len(key), key) for place, key in enumerate(AHEAD + LONGEST, start=1)
    ]

    # where the package is not installed, the artifact is listed
    (plain,) = grove(settings, None, (*showing, "--json"))
    assert json.loads(plain)["arrays"] == [{"array": "index", "dtype": "int64", "shape": [4]}]


def test_on_the_embedded_graph(tmp_path: Path, site: Path) -> None:
    is_planned_run_shown_and_printed(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")}), site)


@pytest.mark.services
def test_on_neo4j(tmp_path: Path, site: Path, neo4j_url: str, neo4j_clean_url: str) -> None:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})
    is_planned_run_shown_and_printed(replace(settings, graph_url=neo4j_clean_url), site)

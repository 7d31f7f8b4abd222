"""Every recipe of docs/cypher.md runs on both engines and returns the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from labelgrove.cli import grove
from labelgrove.documents.recipes import recipes
from labelgrove.ontology import geometry
from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.cyphertokens import parameters
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.packagedfiles import packaged
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.conftest import ONE_PROCESS

pytestmark = [
    ONE_PROCESS,
    pytest.mark.long,
]  # what all share takes half a minute to make, and one of them needs a server

PLANTS = LabelGraph.from_edges(
    [
        ("tree", "plant"),
        ("flower", "plant"),
        ("food", "thing"),
        ("plant", "thing"),
        ("oak", "tree"),
        ("elm", "tree"),
        ("apple tree", "tree"),
        ("apple", "apple tree"),
        ("apple", "food"),
        ("rose", "flower"),
        ("dog rose", "rose"),
        ("tool", "thing"),
        ("plane (tool)", "tool"),
        ("plane (tree)", "tree"),
    ],
    weights=[1, 1, 1, 1, 2, 2, 1, 1, 3, 1, 1, 1, 1, 1],
    names={"plane (tool)": "Plane", "plane (tree)": "plane", "oak": "Oak", "apple tree": "Apple tree"},
)


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


DESCRIBED = Annotations.of(
    PLANTS,
    {
        "oak": Description(
            (
                Name("Oak", "preferred", "en"),
                Name("Eiche", "preferred", "de"),
                Name("Quercus", "exact", "la"),
                Name("Stieleiche", "narrow", "de"),
            ),
            "a tree that bears acorns",
        ),
        "elm": Description((Name("Ulme", "preferred", "de"),)),
        "tree": Description(definition="a tall plant, for example one with acorns"),
        "tool": Description(definition="not a plant", deprecated=True),
    },
)

OLD = LabelGraph.from_edges([("tree", "plant"), ("oak", "tree"), ("elm", "tree")])
"""The version of the plants before; its results stay and are stale."""

MATHEMATICS = LabelGraph.from_edges([("tree", "graph"), ("oak", "tree"), ("oak", "hill")])
"""Must not show through."""

ACROSS_VERSIONS = (
    "versions",
    "stale results",
    "error of a model by version",
    "last evaluation beside the one before",
)

LOCI = (["oak", "rose", "apple"], ["elm", "dog rose"])


COLUMNS = ["oak", "elm", "plant"]
SAMPLES = ["oak", "elm", "tree", "plant"] * 10


def outputs_of(truth: list[str], n_wrong: int) -> NDArray[np.float64]:
    """Return outputs 80 % sure, uniform where no column is the truth; the first are those of other rows."""
    seen = [*truth[1 : n_wrong + 1], *truth[n_wrong:]]
    return np.array([[0.8 * (key == column) + 0.2 / 3 for column in COLUMNS] for key in seen])


def evaluated(workspace: Workspace, model: str, truth: list[str], n_wrong: int) -> str:
    home = workspace.settings.home
    np.save(home / "outputs.npy", outputs_of(truth, n_wrong))
    (home / "truth.txt").write_text("\n".join(truth))
    files = {"outputs": str(home / "outputs.npy"), "truth": str(home / "truth.txt")}
    return ask(workspace, "evaluation", {"model": model, **files}, observed=COLUMNS)


def ask(workspace: Workspace, kind: str, options: dict[str, Any] | None = None, **keys: Any) -> str:
    """Run a job to its end, in this process, and return its id."""
    job = client.submit(workspace, kind, {"ontology": "plants", **(options or {}), **keys})
    assert (job.state, job.error, job.publishing) == (State.DONE, None, False)
    return job.id


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphStore]:
    yield from filled(Settings.from_env({"GROVE_HOME": str(tmp_path_factory.mktemp("embedded"))}))


@pytest.fixture
def served(tmp_path: Path, neo4j_clean_url: str) -> Iterator[GraphStore]:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
    yield from filled(replace(settings, graph_url=neo4j_clean_url))


def filled(settings: Settings) -> Iterator[GraphStore]:
    """Give a graph with versions and the results of jobs."""
    with Workspace.open(settings) as workspace:
        register(workspace, "mathematics", MATHEMATICS)
        register(workspace, "plants", OLD)
        ask(workspace, "cover")
        evaluated(workspace, "resnet50", SAMPLES, 4)
        register(workspace, "plants", put_snapshot(workspace.artifacts, PLANTS, DESCRIBED, None))
        for observed in LOCI:
            ask(workspace, "locus", observed=observed)
        ask(workspace, "cover")
        ask(workspace, "selection", {"n": 12}, observed=["oak", "rose"])
        ask(workspace, "summary", {"target": 5})
        ask(workspace, "distances", columns=["oak", "rose"])
        ask(workspace, "bundle", observed=["oak", "rose"])
        evaluated(workspace, "resnet50", [*SAMPLES, *SAMPLES], 6)
        evaluated(workspace, "tiny", SAMPLES, 12)
        evaluated(workspace, "resnet50", SAMPLES, 32)
        evaluated(workspace, "other's", SAMPLES, 2)
        yield workspace.graph


Answers = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def rows(embedded: GraphStore) -> Answers:
    """What the embedded engine answers to each recipe."""
    return answers(embedded)


def answers(store: GraphStore) -> Answers:
    return {
        r.name: store.run_user(r.statement, {"version": PLANTS.digest, **r.parameters}).rows
        for r in recipes()
    }


def test_recipes_are_well_formed() -> None:
    found = recipes()
    assert len(found) == packaged("docs/cypher.md").read_text(encoding="utf-8").count("```cypher\n")
    assert len({r.name for r in found}) == len(found)
    for recipe in found:
        assert parameters(recipe.statement) <= {"version", *recipe.parameters}, recipe.name
        assert "$version" in recipe.statement or recipe.name in ACROSS_VERSIONS
        assert "ORDER BY" in recipe.statement or recipe.name in ("size", "label"), recipe.name


def test_recipes_tell_the_truth_on_the_embedded_engine(rows: Answers) -> None:
    assert all(rows.values()), [name for name, found in rows.items() if not found]
    assert rows["size"] == [(PLANTS.n_labels, int(PLANTS.depth.max()))]
    assert [row[0] for row in rows["roots"]] == list(PLANTS.roots)
    below = [k for k in PLANTS.descendants("tree") if k in PLANTS.leaves]
    assert [row[0] for row in rows["leaves below"]] == below
    assert [row[0] for row in rows["ancestors"]] == ["thing", "plant", "tree"]
    assert rows["several parents"] == [("apple", 2)]
    assert rows["homonyms"] == [("plane", 2)]
    assert rows["common ancestors"][0][0] == "tree"
    assert rows["my classes"][2] == ("unicorn", None, None)
    assert rows["children"][0] == ("apple tree", "Apple tree", 1.0)
    assert [row[0] for row in rows["siblings"]] == ["apple tree", "elm", "plane (tree)"]


def test_recipes_of_names_tell_the_truth(rows: Answers) -> None:
    assert rows["by any name"] == [("oak", "Oak")]
    assert [row[:4] for row in rows["synonyms"]] == [
        ("oak", "Stieleiche", "narrow", "de"),
        ("oak", "Eiche", "preferred", "de"),
    ]
    assert rows["names of a label"] == [
        ("de", "narrow", "Stieleiche"),
        ("de", "preferred", "Eiche"),
        ("en", "preferred", "Oak"),
        ("la", "exact", "Quercus"),
    ]
    named = {"oak": "Eiche", "elm": "Ulme"}
    assert [row[:2] for row in rows["labels in a language"]] == [
        (key, named.get(key, name)) for key, name in zip(PLANTS.keys, PLANTS.names, strict=True)
    ]
    assert [row[0] for row in rows["by definition"]] == ["tree", "oak"]
    assert rows["deprecated labels"] == [("tool", "tool", "not a plant")]


@pytest.mark.parametrize(
    ("word", "keys"), [("oak", ["oak"]), ("eiche", ["oak"]), ("plane", ["plane (tool)", "plane (tree)"])]
)
def test_the_name_to_show_is_a_name_too(embedded: GraphStore, word: str, keys: list[str]) -> None:
    recipe = next(r for r in recipes() if r.name == "by any name")
    rows = embedded.run_user(recipe.statement, {"version": PLANTS.digest, "word": word}).rows
    assert sorted(row[0] for row in rows) == keys


def test_recipes_of_results_tell_the_truth(rows: Answers) -> None:
    space = geometry.metric_space(PLANTS)
    cover = geometry.minimum_locus_cover(space)
    assert [row[1:3] for row in rows["labels of this cover"]] == list(enumerate(cover.keys, start=1))
    selection = geometry.select_classes(space, ["oak", "rose"], 12)
    assert [(row[2], row[4]) for row in rows["next classes"]] == list(
        zip(selection.keys[:10], selection.gains[:10].tolist(), strict=True)
    )
    loci = [geometry.locus(space, observed) for observed in LOCI]
    kinds = [row[0] for row in rows["which job produced this"]]
    ours = ["bundle", "cover", "distances", *["evaluation"] * 4, "locus", "locus", "selection", "summary"]
    assert kinds == ours
    (side,) = rows["loci side by side"]
    described = {(len(found.observed), len(found)) for found in loci}
    assert {side[2:4], side[4:6]} == described
    assert side[6] == len(set(loci[0].members) & set(loci[1].members))
    out = [[key for key in PLANTS.keys if key not in found.members] for found in loci]
    assert per_locus(rows["out of reach"]) == sorted(out)
    assert per_locus(rows["uniquely reachable"]) == sorted(list(found.unique) for found in loci)
    assert per_locus(rows["reachable only by"]) == sorted(
        [key for key in mine.members if key not in theirs.members]
        for mine, theirs in (loci, loci[::-1])
        if set(mine.members) - set(theirs.members)
    )
    below = {branch: set(PLANTS.descendants(branch)) for branch in ("plant", "food", "tool")}
    counts = sorted((branch, len(below[branch] & set(keys))) for keys in out for branch in below)
    assert sorted(row[1:3] for row in rows["out of reach by branch"]) == [c for c in counts if c[1]]
    stale = [row[:1] + row[2:3] for row in rows["stale results"]]
    assert stale == [("plants", "cover"), ("plants", "evaluation")]
    summary = geometry.summarize(PLANTS, 5)
    own = int(summary.assignment[PLANTS.keys.index("oak")])
    members = [key for key, i in zip(PLANTS.keys, summary.assignment, strict=True) if i == own]
    assert [row[2] for row in rows["supernode of a label"]] == members
    joined = [
        (int(summary.sizes[a + b - own]), float(weight))
        for (a, b), weight in zip(summary.edges.tolist(), summary.weights, strict=True)
        if own in (a, b)
    ]
    assert sorted(row[2:] for row in rows["neighboring supernodes"]) == sorted(joined)


def error(graph: LabelGraph, truth: list[str], n_wrong: int, *, argmax: bool = False) -> float:
    """Return the mean squared distance of answers, computed from all distances and nothing else."""
    space = geometry.metric_space(graph)
    far = np.asarray(space.distances(), dtype=float) ** 2
    place = {key: i for i, key in enumerate(space.keys)}
    columns = np.array([place[key] for key in COLUMNS])
    found = []
    for key, weights in zip(truth, outputs_of(truth, n_wrong), strict=True):
        likeliest = columns[np.isclose(weights, weights.max())].min()
        best = likeliest if argmax else np.round(far[:, columns] @ weights, 9).argmin()
        found.append(far[best, place[key]])
    return float(np.mean(found))


def test_recipes_of_evaluations_tell_the_truth(rows: Answers) -> None:
    asked = [(OLD, SAMPLES, 4), (PLANTS, [*SAMPLES, *SAMPLES], 6), (PLANTS, SAMPLES, 32)]
    errors = [error(*one) for one in asked]
    assert len(set(errors)) == 3
    history = rows["error of a model by version"]
    assert [row[1:5] for row in history] == [
        ("plants", graph.digest, graph.n_labels, len(truth)) for graph, truth, _ in asked
    ]
    assert [row[0] for row in history] == sorted({row[0] for row in history})
    assert [row[5] for row in history] == pytest.approx(errors)
    assert [row[8] for row in history] == pytest.approx([error(*one, argmax=True) for one in asked])
    assert all(row[6] <= row[5] <= row[7] for row in history)
    latest = rows["latest evaluation of each model"]
    other, tiny = (error(PLANTS, SAMPLES, n_wrong) for n_wrong in (2, 12))
    assert [row[0] for row in latest] == ["other's", "tiny", "resnet50"]
    assert [row[2] for row in latest] == pytest.approx([other, tiny, errors[2]])
    assert [row[5] for row in latest] == pytest.approx(
        [error(PLANTS, SAMPLES, n, argmax=True) - error(PLANTS, SAMPLES, n) for n in (2, 12, 32)]
    )
    assert latest[2][1] == history[2][0]
    (beside,) = rows["last evaluation beside the one before"]
    assert beside[:2] == ("resnet50", history[2][0])
    assert beside[2:4] == pytest.approx((errors[2], errors[1]))
    assert history[2][6] > history[1][7]
    assert beside[4:] == (True, True, True)


def without_times(found: Answers) -> Answers:
    """Return rows without when jobs were asked for, by which the two engines' fillings differ."""
    return {
        name: [tuple(v for v in row if not (isinstance(v, str) and TIME.match(v))) for row in listed]
        for name, listed in found.items()
    }


def per_locus(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """Return the keys (second column) of each locus (first column), sorted."""
    found: dict[str, list[str]] = {}
    for locus, key, *_ in rows:
        found.setdefault(locus, []).append(key)
    return sorted(found.values())


def test_results_of_one_job_by_the_beginning_of_its_id(embedded: GraphStore) -> None:
    found = [row["job"] for row in embedded.results(PLANTS.digest) if row["kind"] == "locus"]
    recipe = next(r for r in recipes() if r.name == "out of reach")
    both = embedded.run_user(recipe.statement, {"version": PLANTS.digest, "job": ""}).rows
    each = [
        embedded.run_user(recipe.statement, {"version": PLANTS.digest, "job": job[:12]}).rows for job in found
    ]
    assert all(each)
    assert sorted(row for rows in each for row in rows) == sorted(both)


@pytest.mark.services
def test_recipes_return_the_same_rows_on_both_engines(rows: Answers, served: GraphStore) -> None:
    assert without_times(rows) == without_times(answers(served))


NUMBERED = LabelGraph.from_edges([("545", "7"), ("0012", "7"), ("12e4", "7")])
"""Keys that read as numbers, as those of LSHTC do."""


def asked_by_key(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[list[list[Any]]]:
    """Ask for each label by its key, as the command line binds it."""
    with Workspace.open(settings) as workspace:
        register(workspace, "numbered", NUMBERED)
    monkeypatch.setenv("GROVE_HOME", str(settings.home))
    monkeypatch.setenv("GROVE_GRAPH_URL", settings.graph_url)
    recipe = next(r for r in recipes() if r.name == "label")
    found = []
    for key in NUMBERED.keys:
        asked = ["cypher", recipe.statement, "--ontology", "numbered", "-p", f"key={key}", "--json"]
        outcome = CliRunner().invoke(grove, asked)
        assert outcome.exit_code == 0, outcome.output
        found.append([row[:1] for row in json.loads(outcome.stdout)["rows"]])
    return found


def test_keys_that_read_as_numbers_are_text_on_the_embedded_engine(tmp_path, monkeypatch) -> None:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
    assert asked_by_key(settings, monkeypatch) == [[[key]] for key in NUMBERED.keys]


@pytest.mark.services
def test_keys_that_read_as_numbers_are_text_on_neo4j(tmp_path, monkeypatch, neo4j_clean_url: str) -> None:
    settings = replace(Settings.from_env({"GROVE_HOME": str(tmp_path)}), graph_url=neo4j_clean_url)
    assert asked_by_key(settings, monkeypatch) == [[[key]] for key in NUMBERED.keys]

"""Every recipe of docs/cypher.md runs on both engines and returns the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from ontology import geometry
from ontology.graph import GraphStore
from ontology.graph.tokens import parameters
from ontology.ingest import register
from ontology.labelgraph import LabelGraph
from ontology.settings import Settings
from ontology.workspace import Workspace
from workers import client
from workers.states import State

COOKBOOK = Path(__file__).parents[2] / "docs" / "cypher.md"

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


class Recipe(NamedTuple):
    name: str
    cypher: str
    params: dict[str, Any]


def recipes() -> list[Recipe]:
    found = []
    for block in re.findall(r"```cypher\n(.*?)```", COOKBOOK.read_text(encoding="utf-8"), re.DOTALL):
        name = re.match(r"// name: (.+)", block)
        assert name, f"a recipe without a name: {block[:60]!r}"
        params = re.search(r"^// params: (.+)$", block, re.MULTILINE)
        found.append(Recipe(name[1], block, json.loads(params[1]) if params else {}))
    return found


OLD = LabelGraph.from_edges([("tree", "plant"), ("oak", "tree"), ("elm", "tree")])
"""The version of the plants before; its results stay and are stale."""

MATHEMATICS = LabelGraph.from_edges([("tree", "graph"), ("oak", "tree"), ("oak", "hill")])
"""Must not show through."""

LOCI = (["oak", "rose", "apple"], ["elm", "dog rose"])


def ask(workspace: Workspace, kind: str, options: dict[str, Any] | None = None, **keys: Any) -> str:
    """Run a job to its end, in this process, and return its id."""
    job = client.submit_for_ontology(workspace, kind, "plants", options, keys=keys)
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
        register(workspace, "plants", PLANTS)
        for observed in LOCI:
            ask(workspace, "locus", observed=observed)
        ask(workspace, "cover")
        ask(workspace, "selection", {"n": 12}, observed=["oak", "rose"])
        ask(workspace, "summary", {"target": 5})
        ask(workspace, "distances", columns=["oak", "rose"])
        ask(workspace, "bundle", observed=["oak", "rose"])
        yield workspace.graph


Answers = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def rows(embedded: GraphStore) -> Answers:
    """What the embedded engine answers to each recipe."""
    return answers(embedded)


def answers(store: GraphStore) -> Answers:
    return {r.name: store.run_user(r.cypher, {"version": PLANTS.digest, **r.params}).rows for r in recipes()}


def test_recipes_are_well_formed() -> None:
    found = recipes()
    assert len(found) >= 15
    assert len({r.name for r in found}) == len(found)
    for recipe in found:
        assert parameters(recipe.cypher) <= {"version", *recipe.params}, recipe.name
        assert "$version" in recipe.cypher or recipe.name in ("versions", "stale results")
        assert "ORDER BY" in recipe.cypher or recipe.name in ("size", "label"), recipe.name


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
    assert kinds == ["bundle", "cover", "distances", "locus", "locus", "selection", "summary"]
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
    assert [row[:1] + row[2:3] for row in rows["stale results"]] == [("plants", "cover")]
    summary = geometry.summarize(PLANTS, 5)
    own = int(summary.assignment[PLANTS.keys.index("oak")])
    members = [key for key, i in zip(PLANTS.keys, summary.assignment, strict=True) if i == own]
    assert [row[2] for row in rows["supernode of a label"]] == members
    joined = [
        (int(summary.sizes[a + b - own]), float(weight))
        for (a, b), weight in zip(summary.edges.tolist(), summary.weights, strict=True)
        if own in (a, b)
    ]
    assert sorted(row[2:] for row in rows["neighbouring supernodes"]) == sorted(joined)


def per_locus(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """Return the keys (second column) of each locus (first column), sorted."""
    found: dict[str, list[str]] = {}
    for locus, key, *_ in rows:
        found.setdefault(locus, []).append(key)
    return sorted(found.values())


def test_results_of_one_job_by_the_beginning_of_its_id(embedded: GraphStore) -> None:
    found = [row["job"] for row in embedded.results(PLANTS.digest) if row["kind"] == "locus"]
    recipe = next(r for r in recipes() if r.name == "out of reach")
    both = embedded.run_user(recipe.cypher, {"version": PLANTS.digest, "job": ""}).rows
    each = [
        embedded.run_user(recipe.cypher, {"version": PLANTS.digest, "job": job[:12]}).rows for job in found
    ]
    assert all(each)
    assert sorted(row for rows in each for row in rows) == sorted(both)


@pytest.mark.services
def test_recipes_return_the_same_rows_on_both_engines(rows: Answers, served: GraphStore) -> None:
    assert rows == answers(served)


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
        asked = ["cypher", recipe.cypher, "--ontology", "numbered", "-p", f"key={key}", "--json"]
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

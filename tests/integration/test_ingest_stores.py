"""Ingest into real stores: what is registered answers everywhere, and whatever fails is made up for."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Never

import pytest
from sqlalchemy import text

import labelgrove.ontology.sql.catalog
import labelgrove.ontology.versions.lease
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.errors import (
    ArtifactError,
    ConflictError,
    DefectsError,
    InputError,
    LeaseLostError,
    NotFoundError,
    ServiceError,
    ShrinkError,
)
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.catalog import Catalog
from labelgrove.ontology.sql.database import create_engine, reading, upgrade, writing
from labelgrove.ontology.versions.export import export_ontology
from labelgrove.ontology.versions.ingest import STEPS, delete_ontology, register, snapshot_graph
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph, verify_graph
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from tests.sampled import sampled

pytestmark = pytest.mark.long

OLD = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
NEW = LabelGraph.from_edges(
    [("oak", "tree"), ("fir", "tree"), ("tree", "plant"), ("fir", "conifer"), ("conifer", "plant")],
    weights=[1, 2, 1, 0.5, 1],
    ranks=[0, 1, 0, 0, 0],
    names={"fir": "Fir, the tree"},
)
GRID = LabelGraph.grid((3, 3))


@dataclass
class Result:
    """What a reader hands over, without reading a file."""

    graph: LabelGraph | None
    definitions: dict[str, str] = field(default_factory=dict)
    report: object = field(default_factory=lambda: type("Report", (), {"source": "trees.tsv"})())
    reading: None = None

    @property
    def annotations(self) -> Annotations | None:
        """The definitions, as a reader hands them over."""
        return self.graph and Annotations.of(
            self.graph, {key: Description(definition=text) for key, text in self.definitions.items()}
        )


def definitions(workspace: Workspace) -> list[str]:
    found = workspace.annotations("trees")
    return [] if found is None else list(found.definitions)


class Stop(Exception):
    """What a test raises inside an ingest."""


def stop_at(step: str, done: int) -> Callable[[str, int, int], None]:
    def progress(name: str, at: int, total: int) -> None:
        if (name, at) == (step, done):
            raise Stop(step)

    return progress


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        yield workspace


def answers(workspace: Workspace, name: str = "trees") -> set[str | None]:
    """Return what catalog, graph and index say is current."""
    graph = workspace.graph.current(name)  # first: opening it repairs the others
    document = workspace.artifacts.read_index(name) or {"version": None}
    return {workspace.catalog.current(name), graph, document["version"]}


def assert_serves(workspace: Workspace, graph: LabelGraph, name: str = "trees") -> None:
    assert answers(workspace, name) == {graph.digest}
    assert [found["problems"] for found in verify_graph(workspace) if not found["same"]] == []
    assert workspace.graph.counts(graph.digest) == (graph.n_labels, graph.n_edges)
    assert workspace.label_graph(name).digest == graph.digest


# ---- registering ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [OLD, NEW, GRID, LabelGraph.from_edges([], labels=["alone"])])
def test_what_is_registered_answers_everywhere(workspace: Workspace, graph: LabelGraph) -> None:
    result = register(workspace, "trees", graph)
    assert (result.digest, result.created) == (graph.digest, True)
    assert (result.n_labels, result.n_edges) == (graph.n_labels, graph.n_edges)
    assert tuple(result.seconds) == STEPS
    assert_serves(workspace, graph)
    assert workspace.graph.read_back(graph.digest).digest == graph.digest
    opened = workspace.label_graph("trees")
    assert list(opened.edges()) == list(graph.edges())
    assert list(opened.names) == list(graph.names)


def test_progress_names_every_step_in_order(workspace: Workspace) -> None:
    seen: list[tuple[str, int, int]] = []
    register(workspace, "trees", OLD, progress=lambda *report: seen.append(report))
    ends = [(step, done == total) for step, done, total in seen if done in (0, total)]
    assert ends == [(step, ended) for step in STEPS for ended in (False, True)]


def test_the_same_again_makes_no_version_and_mends_what_is_missing(workspace: Workspace) -> None:
    register(workspace, "trees", OLD)
    version = workspace.catalog.version("trees")
    path = workspace.artifacts.local_path(version.snapshot_sha256)
    assert path is not None
    path.write_bytes(b"damaged")
    with pytest.raises(ArtifactError):
        workspace.label_graph("trees")
    workspace.artifacts.delete_index("trees")
    workspace.graph.drop_ontology("trees")
    result = register(workspace, "trees", OLD)
    assert not result.created
    assert len(workspace.catalog.versions()) == 1
    assert_serves(workspace, OLD)


def test_versions_stand_side_by_side_and_an_older_one_can_return(workspace: Workspace) -> None:
    for graph, created, replaced in (
        (OLD, True, None),
        (NEW, True, OLD.digest),
        (OLD, False, NEW.digest),
        (OLD, False, None),
    ):
        result = register(workspace, "trees", graph)
        assert (result.created, result.replaced) == (created, replaced)
        assert_serves(workspace, graph)
    assert {v.digest for v in workspace.catalog.versions()} == {OLD.digest, NEW.digest}
    assert workspace.label_graph("trees", NEW.digest[:8]).digest == NEW.digest


def test_less_than_half_of_the_labels_is_asked_for(workspace: Workspace) -> None:
    register(workspace, "trees", GRID)  # nine labels
    small = LabelGraph.from_edges([("a", "b")], labels=["c", "d"])
    half = LabelGraph.from_edges([("a", "b")], labels=["c", "d", "e"])
    for ask in (
        lambda: register(workspace, "trees", small),
        lambda: register(workspace, "trees", put_snapshot(workspace.artifacts, small, None, None)),
    ):
        with pytest.raises(ShrinkError, match=r"'trees' has 9 labels, and would have 4.*--shrink"):
            ask()
        assert_serves(workspace, GRID)
        assert [v.digest for v in workspace.catalog.versions()] == [GRID.digest]
    assert register(workspace, "other", small).created
    assert register(workspace, "trees", half).replaced == GRID.digest
    register(workspace, "trees", GRID)
    assert register(workspace, "trees", small, shrink=True).replaced == GRID.digest
    assert_serves(workspace, small)


def test_two_names_share_a_version_until_the_last_one_goes(workspace: Workspace) -> None:
    register(workspace, "trees", OLD)
    register(workspace, "plants", OLD)
    assert delete_ontology(workspace, "trees") == [OLD.digest]
    assert answers(workspace) == {None}
    assert_serves(workspace, OLD, "plants")
    delete_ontology(workspace, "plants")
    assert workspace.graph.versions() == []
    assert workspace.artifacts.index_names() == []


def test_definitions_come_along_and_are_not_in_the_digest(workspace: Workspace) -> None:
    register(workspace, "trees", Result(OLD, {"oak": "hard wood", "elm": "été"}))
    assert definitions(workspace) == ["", "", "été", "hard wood"]
    assert workspace.catalog.version("trees").source == "trees.tsv"
    assert not register(workspace, "trees", Result(OLD, {"oak": "strong wood"}), source="b.tsv").created
    assert definitions(workspace)[3] == "strong wood"
    assert workspace.catalog.version("trees").source == "b.tsv"
    register(workspace, "trees", OLD)
    assert definitions(workspace)[3] == "strong wood"


def test_a_result_with_defects_registers_nothing(workspace: Workspace) -> None:
    result = Result(None)
    with pytest.raises(DefectsError, match=r"trees\.tsv") as caught:
        register(workspace, "trees", result)
    assert caught.value.report is result.report
    assert workspace.catalog.currents() == {}


@pytest.mark.parametrize("name", ["", "../trees", "Trees"])
def test_a_bad_name_registers_nothing(embedded: Workspace, name: str) -> None:
    with pytest.raises(InputError, match="ontology name"):
        register(embedded, name, OLD)
    assert embedded.catalog.currents() == {}


# ---- failing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", sampled((((step, done),) for step in STEPS for done in (0, 1)), every=3))
def test_a_failure_at_any_step_leaves_old_or_new_and_a_second_run_completes(
    workspace: Workspace, moment: tuple[str, int]
) -> None:
    register(workspace, "trees", OLD)
    with pytest.raises(Stop):
        register(workspace, "trees", NEW, progress=stop_at(*moment))
    committed = STEPS.index(moment[0]) + moment[1] > STEPS.index("commit")
    assert workspace.catalog.current("trees") == (NEW if committed else OLD).digest
    workspace.repair()
    assert_serves(workspace, NEW if committed else OLD)
    assert register(workspace, "trees", NEW).created is not committed
    assert_serves(workspace, NEW)


@pytest.mark.parametrize(
    "fault",
    [MemoryError("no room"), ValueError("empty"), ArtifactError("not a preorder"), OSError(5, "disk")],
)
def test_a_label_index_that_cannot_be_built_is_a_warning_and_built_when_it_is_used(
    embedded: Workspace, fault: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> Never:
        raise fault

    with monkeypatch.context() as broken:
        broken.setattr(LabelIndex, "to_arrays", fails)
        register(embedded, "trees", OLD)
    assert_serves(embedded, OLD)
    assert not embedded.label_indexes.holds(OLD)
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    for part in (str(embedded.label_indexes.where), str(fault), "run `grove labels tree trees`"):
        assert part in said
    assert embedded.label_index("trees").search.find("oak").total
    assert embedded.label_indexes.holds(OLD)


def test_what_an_ingest_left_half_done_goes_with_the_next(workspace: Workspace) -> None:
    for step in ("batches", "counts"):
        with pytest.raises(Stop):
            register(workspace, "trees", OLD, progress=stop_at(step, 1))
    register(workspace, "trees", NEW)
    assert [v.digest for v in workspace.catalog.versions()] == [NEW.digest]
    assert [row["digest"] for row in workspace.graph.versions()] == [NEW.digest]


def test_batches_recorded_as_done_are_not_believed_when_the_graph_was_emptied(workspace: Workspace) -> None:
    with pytest.raises(Stop):
        register(workspace, "trees", OLD, progress=stop_at("counts", 0))
    workspace.graph.drop_version(OLD.digest)
    register(workspace, "trees", OLD)
    assert_serves(workspace, OLD)


def test_the_loser_of_two_ingests_learns_who_holds_the_name(workspace: Workspace) -> None:
    register(workspace, "trees", OLD)
    with holding(workspace.stores, "trees") as lease, pytest.raises(ConflictError, match=lease.owner):
        register(workspace, "trees", NEW)
    assert_serves(workspace, OLD)
    register(workspace, "trees", NEW)
    assert_serves(workspace, NEW)


@pytest.mark.parametrize("step", ["version", "batches", "counts", "commit"])
def test_an_ingest_that_was_taken_over_commits_nothing(workspace: Workspace, step: str) -> None:
    register(workspace, "trees", OLD)

    def progress(name: str, done: int, total: int) -> None:
        if (name, done) == (step, 0):
            with writing(workspace.engine) as connection:
                connection.execute(text("UPDATE ontology SET lease_until = 1"))
            workspace.catalog.release(workspace.catalog.acquire("trees"))

    with pytest.raises(LeaseLostError):
        register(workspace, "trees", NEW, progress=progress)
    assert_serves(workspace, OLD)
    if step in ("version", "batches"):
        assert workspace.graph.counts(NEW.digest) == (0, 0)


def test_a_graph_out_of_reach_is_met_before_anything_is_written(tmp_path: Path) -> None:
    env = {"GROVE_HOME": str(tmp_path), "GROVE_GRAPH_URL": "bolt://neo4j:hunter2@127.0.0.1:1"}
    with Workspace.open(Settings.from_env(env)) as workspace:
        with pytest.raises(ServiceError) as caught:
            register(workspace, "trees", OLD)
        assert "hunter2" not in str(caught.value)
        assert workspace.catalog.currents() == {}
        assert list(workspace.artifacts.digests()) == []


def test_a_lease_is_renewed_while_it_is_held(embedded: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelgrove.ontology.versions.lease, "LEASE_SECONDS", 0.03)

    def until() -> float:
        with reading(embedded.engine) as connection:
            return float(connection.execute(text("SELECT lease_until FROM ontology")).scalar_one())

    with holding(embedded.stores, "trees"):
        first = until()
        waiting = threading.Event()
        while until() == first:
            waiting.wait(0.01)
    assert "lease of trees" not in {thread.name for thread in threading.enumerate()}


# ---- repair and rebuild --------------------------------------------------------------------------------


def test_opening_repairs_graph_and_index(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        register(workspace, "trees", NEW)
        register(workspace, "plants", GRID)
        workspace.graph.drop_ontology("trees")
        workspace.graph.drop_version(NEW.digest)
        workspace.artifacts.delete_index("plants")
        assert not all(found["same"] for found in verify_graph(workspace))
    with Workspace.open(settings) as workspace:
        assert_serves(workspace, NEW)
        assert_serves(workspace, GRID, "plants")
        assert workspace.repair() == []


def test_a_version_whose_drop_was_cut_short_is_not_taken_for_whole(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        workspace.graph.engine.remove([("unready", {"version": OLD.digest})])
        (found,) = verify_graph(workspace)
        assert found["problems"] == ["graph: the version is loading, expected ready"]
        workspace.graph.engine.remove([("drop_labels", {"version": OLD.digest})])
    with Workspace.open(settings) as workspace:
        assert_serves(workspace, OLD)
        assert workspace.repair() == []


def test_a_damaged_index_file_is_rewritten(embedded: Workspace) -> None:
    register(embedded, "trees", OLD)
    (embedded.settings.home / "artifacts/index/trees.json").write_text("{")
    assert embedded.repair() == ["trees"]
    assert_serves(embedded, OLD)


def test_a_damaged_snapshot_of_one_name_does_not_close_the_graph_to_others(embedded: Workspace) -> None:
    register(embedded, "trees", OLD)
    register(embedded, "plants", GRID)
    path = embedded.artifacts.local_path(embedded.catalog.version("trees").snapshot_sha256)
    assert path is not None
    path.write_bytes(b"damaged")
    shutil.rmtree(embedded.settings.home / "graph")
    embedded.close()
    assert embedded.graph.current("plants") == GRID.digest
    assert embedded.graph.current("trees") is None
    (found,) = (f for f in verify_graph(embedded) if f["ontology"] == "trees")
    assert any("snapshot" in problem for problem in found["problems"])


@pytest.mark.parametrize("parts", ["one snapshot", "all artifacts"])
def test_artifacts_that_are_gone_leave_the_graph_open_and_come_back_with_their_source(
    embedded: Workspace, parts: str
) -> None:
    register(embedded, "trees", OLD)
    register(embedded, "plants", GRID)
    if parts == "all artifacts":
        shutil.rmtree(embedded.settings.home / "artifacts")
    else:
        embedded.artifacts.delete(embedded.catalog.version("trees").snapshot_sha256)
        embedded.artifacts.delete_index("trees")
    embedded.close()
    assert embedded.graph.current("plants") == GRID.digest
    register(embedded, "trees", OLD)
    register(embedded, "plants", GRID)
    assert_serves(embedded, OLD)
    assert_serves(embedded, GRID, "plants")


@pytest.mark.parametrize("fault", ["damaged", "gone"])
def test_a_rebuild_drops_nothing_that_it_cannot_make_anew(embedded: Workspace, fault: str) -> None:
    register(embedded, "plants", GRID)
    register(embedded, "trees", OLD)
    path = embedded.artifacts.local_path(embedded.catalog.version("trees").snapshot_sha256)
    assert path is not None
    if fault == "damaged":
        path.write_bytes(b"damaged")
    else:
        path.unlink()
    with pytest.raises((ArtifactError, NotFoundError), match=path.name):
        empty_graph(embedded)
    assert embedded.graph.read_back(OLD.digest) == OLD
    assert embedded.graph.current("plants") == GRID.digest


def test_a_graph_that_cannot_be_written_can_be_read(
    embedded: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(embedded, "trees", OLD)
    register(embedded, "plants", GRID)
    embedded.graph.drop_ontology("plants")
    embedded.close()

    def full(self: object) -> Never:
        raise ServiceError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("labelgrove.ontology.graph.embedded.generations.Generations.writing", full)
        assert embedded.graph.current("trees") == OLD.digest
        with pytest.raises(ServiceError, match="No space left"):
            register(embedded, "trees", NEW)
        embedded.close()
    assert_serves(embedded, OLD)
    assert_serves(embedded, GRID, "plants")


@pytest.mark.parametrize("damage", ["removed", "emptied", "garbage", "pointer"])
def test_a_damaged_embedded_graph_is_rebuilt_when_opened(embedded: Workspace, damage: str) -> None:
    register(embedded, "trees", OLD)
    register(embedded, "trees", NEW)
    embedded.close()
    folder = embedded.settings.home / "graph"
    files = list(folder.glob("g*.lbug"))
    if damage == "removed":
        shutil.rmtree(folder)
    elif damage == "pointer":
        (folder / "CURRENT").write_text("nonsense")
    else:
        for path in files:
            path.write_bytes(b"" if damage == "emptied" else b"garbage" * 1000)
    assert_serves(embedded, NEW)
    assert embedded.graph.counts(OLD.digest) == (OLD.n_labels, OLD.n_edges)


def test_rebuilding_makes_every_version_anew(workspace: Workspace) -> None:
    for name, graph in (("trees", OLD), ("trees", NEW), ("plants", OLD)):
        register(workspace, name, graph)
    assert empty_graph(workspace) == sorted([OLD.digest, NEW.digest])
    assert workspace.graph.versions() == []
    assert restore_graph(workspace) == sorted([OLD.digest, NEW.digest])
    assert_serves(workspace, NEW)
    assert_serves(workspace, OLD, "plants")


def test_a_rebuild_that_meets_a_holder_drops_nothing(workspace: Workspace) -> None:
    for name, graph in (("plants", OLD), ("trees", NEW)):
        register(workspace, name, graph)
    with holding(workspace.stores, "trees"), pytest.raises(ConflictError, match="trees"):
        empty_graph(workspace)
    assert_serves(workspace, NEW)
    assert_serves(workspace, OLD, "plants")
    empty_graph(workspace)  # the leases taken before the holder was met were given back
    restore_graph(workspace)


def test_a_graph_that_outlived_its_catalog_follows_the_new_one(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        for graph in (OLD, NEW, OLD, NEW):
            register(workspace, "trees", graph)
    for path in settings.home.glob("catalog.db*"):
        path.unlink()
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        assert_serves(workspace, OLD)


# ---- deleting, exporting, bundles ----------------------------------------------------------------------


def test_a_deleted_ontology_is_gone_everywhere_and_can_come_back(workspace: Workspace) -> None:
    register(workspace, "trees", OLD)
    register(workspace, "trees", NEW)
    assert delete_ontology(workspace, "trees") == [OLD.digest, NEW.digest]
    assert answers(workspace) == {None}
    assert workspace.graph.versions() == []
    for ask in (workspace.label_graph, workspace.annotations):
        with pytest.raises(NotFoundError, match="trees"):
            ask("trees")
    with pytest.raises(NotFoundError, match="trees"):
        delete_ontology(workspace, "trees")
    assert register(workspace, "trees", OLD).created
    assert_serves(workspace, OLD)


def test_a_deletion_cut_short_is_completed_on_opening(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        with holding(workspace.stores, "trees") as lease:
            workspace.catalog.forget_ontology(lease)
    with Workspace.open(settings) as workspace:
        assert answers(workspace) == {None}
        assert workspace.graph.versions() == []


def test_an_old_version_can_be_deleted_the_current_one_cannot(workspace: Workspace) -> None:
    register(workspace, "trees", OLD)
    register(workspace, "trees", NEW)
    with pytest.raises(ConflictError, match="current"):
        delete_ontology(workspace, "trees", version=NEW.digest)
    assert delete_ontology(workspace, "trees", version=OLD.digest[:10]) == [OLD.digest]
    assert [row["digest"] for row in workspace.graph.versions()] == [NEW.digest]
    assert_serves(workspace, NEW)


def test_a_bundle_is_named_in_the_index(embedded: Workspace) -> None:
    register(embedded, "trees", OLD)
    sha256 = embedded.artifacts.put_bytes(b"bundle")
    embedded.name_bundle("trees", "forest", sha256=sha256, version=OLD.digest)
    document = embedded.artifacts.read_index("trees") or {}
    assert document["bundles"] == {"forest": {"sha256": sha256, "version": OLD.digest}}
    register(embedded, "trees", NEW)
    document = embedded.artifacts.read_index("trees") or {}
    assert (document["version"], document["bundles"]["forest"]["version"]) == (NEW.digest, OLD.digest)


def test_export_as_json_holds_everything(embedded: Workspace) -> None:
    register(embedded, "trees", Result(NEW, {"fir": "evergreen"}))
    document = json.loads(str(export_ontology(embedded, "trees")))
    again = LabelGraph.from_edges(
        [(edge["child"], edge["parent"]) for edge in document["edges"]],
        weights=[edge["weight"] for edge in document["edges"]],
        ranks=[edge["rank"] for edge in document["edges"]],
        names={label["key"]: label["name"] for label in document["labels"]},
        labels=[label["key"] for label in document["labels"]],
    )
    assert document["digest"] == again.digest == NEW.digest
    assert {label["key"]: label.get("definition") for label in document["labels"]}["fir"] == "evergreen"


@pytest.mark.parametrize("graph", [OLD, LabelGraph.from_edges([("b", "a"), ("c", "a")], weights=[0.25, 2])])
def test_a_table_of_edges_reads_back(embedded: Workspace, tmp_path: Path, graph: LabelGraph) -> None:
    from labelgrove.ontology.readers import read

    register(embedded, "trees", graph)
    path = tmp_path / "trees.tsv"
    path.write_text(str(export_ontology(embedded, "trees", format="edges")), encoding="utf-8")
    found = read(path, direction="child-parent").graph
    assert found is not None
    assert found.digest == graph.digest


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (LabelGraph.from_edges([("a\nb", "c")]), "line end"),
        (GRID, "layout 'grid:3,3'"),
    ],
)
def test_what_a_table_of_edges_cannot_hold_is_refused(
    embedded: Workspace, graph: LabelGraph, said: str
) -> None:
    register(embedded, "trees", graph)
    with pytest.raises(InputError, match=said):
        export_ontology(embedded, "trees", format="edges")


def test_what_was_edited_in_the_graph_becomes_a_version(neo4j_clean_url: str, tmp_path: Path) -> None:
    import neo4j

    settings = Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_GRAPH_URL": neo4j_clean_url})
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", Result(OLD, {"oak": "hard wood"}))
        assert snapshot_graph(workspace, "trees").created is False
        address, _, password = neo4j_clean_url.partition("@")
        user, _, secret = address.partition("://")[2].partition(":")
        with neo4j.GraphDatabase.driver(f"bolt://{password}", auth=(user, secret)) as driver:
            driver.execute_query("MATCH (l:Label {key: 'elm'}) SET l.name = 'Elm'", database_="neo4j")
        assert [found["same"] for found in verify_graph(workspace)] == [False]
        result = snapshot_graph(workspace, "trees")
        edited = workspace.label_graph("trees")
        assert result.created
        assert edited.names[edited.keys.index("elm")] == "Elm"
        assert definitions(workspace) == ["", "", "", "hard wood"]
        assert_serves(workspace, edited)
        assert workspace.label_graph("trees", OLD.digest).names[2] == "elm"


def test_the_catalog_may_be_postgresql(tmp_path: Path, postgres_url: str) -> None:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_DATABASE_URL": postgres_url})
    engine = create_engine(postgres_url)
    upgrade(engine)
    engine.dispose()
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        with pytest.raises(Stop):
            register(workspace, "trees", NEW, progress=stop_at("commit", 1))
        assert isinstance(workspace.catalog, Catalog)
        assert workspace.repair() == ["trees"]
        assert_serves(workspace, NEW)


def test_the_artifacts_may_be_elsewhere(tmp_path: Path) -> None:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
    settings = replace(settings, artifacts_url=f"memory://{tmp_path.name}-ingest")
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", NEW)
        assert_serves(workspace, NEW)

"""A source that did not change is not read again; whatever else changed, it is."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import labelgrove.ontology.readers
import labelgrove.ontology.readers.asking
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.errors import DefectsError, InputError, NotFoundError, ShrinkError
from labelgrove.ontology.readers import ReadResult, fingerprint
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, reading, upgrade, writing
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.ingest import RegisterResult, delete_ontology, register
from labelgrove.ontology.versions.snapshots import Snapshot
from labelgrove.ontology.versions.sources import read_once
from labelgrove.ontology.versions.workspace import Workspace

EDGES = "parent,child,name\nplant,tree,Tree\ntree,oak,Oak\ntree,elm,Elm\nplant,moss,Moss\n"
FEWER = "parent,child\nplant,tree\ntree,oak\nplant,fern\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        yield workspace


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "garden.csv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were parsed, as they are parsed."""
    seen: list[str] = []
    read = labelgrove.ontology.readers.read

    def noted(path: Any, **options: Any) -> ReadResult:
        seen.append(Path(path).name)
        return read(path, **options)

    monkeypatch.setattr(labelgrove.ontology.readers, "read", noted)
    return seen


def take(workspace: Workspace, source: Path, name: str = "garden", **options: Any) -> RegisterResult:
    return register(workspace, name, read_once(workspace, name, source, **options), source=str(source))


def test_an_unchanged_source_is_not_read_again_and_gives_the_same(workspace, source, parsed):
    first = take(workspace, source)
    again = take(workspace, source)
    assert parsed == ["garden.csv"]
    assert (first.created, again.created, again.replaced) == (True, False, None)
    assert (again.digest, again.n_labels, again.n_edges) == (first.digest, 5, 4)


def test_touched_moved_and_rewritten_with_the_same_bytes_is_unchanged(workspace, source, parsed, tmp_path):
    take(workspace, source)
    source.write_text(EDGES)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    take(workspace, Path(shutil.copy(source, elsewhere)))
    assert parsed == ["garden.csv"]
    assert workspace.catalog.version("garden").source == str(elsewhere / "garden.csv")


def test_the_report_of_the_earlier_reading_is_kept(workspace, tmp_path):
    source = tmp_path / "twins.csv"
    source.write_text("key,parent,name\nr,,Root\n" + "".join(f"k{i},r,same\n" for i in range(40)))
    first = read_once(workspace, "twins", source)
    register(workspace, "twins", first)
    again = read_once(workspace, "twins", source)
    assert isinstance(again, Snapshot)
    report = again.reading.report
    assert report == first.report.shortened()
    assert report.render() == first.report.render()
    (kept,), (full,) = report.defects, first.report.defects
    assert (kept.count, len(kept.examples), len(kept.places), len(full.places)) == (39, 20, 20, 39)
    assert again.reading.read_at > 0


CHANGES: dict[str, Any] = {
    "bytes": lambda path: path.write_text(EDGES + "tree,fir,Fir\n"),
    "line ends": lambda path: path.write_bytes(EDGES.replace("\n", "\r\n").encode()),
    "compressed": lambda path: path.write_bytes(gzip.compress(EDGES.encode())),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_source_that_changed_in_place_is_read_again(workspace, source, parsed, change):
    take(workspace, source)
    change(source)
    take(workspace, source)
    assert len(parsed) == 2


OPTIONS: dict[str, dict[str, Any]] = {
    "root": {"root": "top"},
    "policy": {"policies": {"missing-name": "error"}},
    "format": {"format": "outline", "policies": {"roots": "keep", "all": "warn"}},
    "header": {"header": True},
    "delimiter": {"delimiter": "comma"},
    "direction": {"direction": "child-parent"},
    "undirected": {"direction": "undirected"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_counts(source, options):
    assert fingerprint(source, **options) != fingerprint(source)
    assert fingerprint(source, **options) == fingerprint(source, **options)


def test_the_name_of_the_file_and_the_class_list_count(tmp_path):
    marks = set()
    for name in ("hierarchy.txt", "other.txt"):
        (tmp_path / name).write_text("1 2\n1 3\n")
        marks.add(fingerprint(tmp_path / name))
    (tmp_path / "train.csv").write_text("Data\n2 1:1\n")
    marks.add(fingerprint(tmp_path / "hierarchy.txt", labels=tmp_path / "train.csv"))
    (tmp_path / "train.csv").write_text("Data\n3 1:1\n")
    marks.add(fingerprint(tmp_path / "hierarchy.txt", labels=tmp_path / "train.csv"))
    marks.add(fingerprint(tmp_path / "hierarchy.txt", format="edges", relation=None))
    (tmp_path / "relations.csv").write_text("parent,child,relation\na,b,c\n")
    marks |= {fingerprint(tmp_path / "relations.csv"), fingerprint(tmp_path / "relations.csv", relation="c")}
    assert len(marks) == 7


def test_another_version_of_the_readers_reads_again(workspace, source, parsed, monkeypatch):
    take(workspace, source)
    monkeypatch.setattr(labelgrove.ontology.readers.asking, "READER_VERSION", 999)
    take(workspace, source)
    monkeypatch.setattr(labelgrove.ontology.readers.asking, "FORMAT_TAG", "labelgrove/labelgraph/999")
    take(workspace, source)
    assert len(parsed) == 3


def test_options_are_checked_as_if_it_were_read(workspace, source):
    take(workspace, source)
    with pytest.raises(InputError, match="is not a defect code"):
        read_once(workspace, "garden", source, policies={"loop": "fix"})
    with pytest.raises(NotFoundError):
        read_once(workspace, "garden", source.with_name("nowhere.csv"))
    with pytest.raises(InputError, match="ontology name"):
        read_once(workspace, "Bad Name", source)


def test_a_source_that_changes_while_it_is_read_is_read_next_time(workspace, source, parsed, monkeypatch):
    read = labelgrove.ontology.readers.read

    def slow(path: Any, **options: Any) -> ReadResult:
        result = read(path, **options)
        Path(path).write_text(FEWER)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(labelgrove.ontology.readers, "read", slow)
        first = take(workspace, source)
    source.write_text(EDGES)
    assert take(workspace, source).digest == first.digest
    assert len(parsed) == 2
    source.write_text(FEWER)
    assert take(workspace, source).digest != first.digest


def test_a_source_with_defects_is_read_every_time(workspace, tmp_path, parsed):
    bad = tmp_path / "bad.csv"
    bad.write_text("parent,child\na,b\nb,a\n")
    for _ in range(2):
        with pytest.raises(DefectsError):
            read_once(workspace, "bad", bad)
    assert len(parsed) == 2


# ---- versions ------------------------------------------------------------------------------------------


def test_an_older_content_becomes_current_again_without_being_read(workspace, source, parsed):
    first = take(workspace, source)
    source.write_text(FEWER)
    second = take(workspace, source)
    source.write_text(EDGES)
    third = take(workspace, source)
    assert (second.created, second.replaced) == (True, first.digest)
    assert (third.created, third.replaced, third.digest) == (False, second.digest, first.digest)
    assert workspace.catalog.current("garden") == first.digest == workspace.graph.current("garden")
    assert len(parsed) == 2


def test_two_names_do_not_share_a_reading(workspace, source, parsed):
    take(workspace, source)
    assert take(workspace, source, "copy").created
    take(workspace, source, "copy")
    assert len(parsed) == 2


def test_a_version_that_was_deleted_is_read_anew(workspace, source, parsed):
    take(workspace, source)
    delete_ontology(workspace, "garden")
    assert take(workspace, source).created
    assert len(parsed) == 2


@pytest.mark.parametrize("damage", ["lost", "damaged", "annotations lost"])
def test_a_version_whose_artifacts_are_not_whole_is_read_anew_and_repaired(
    workspace, tmp_path, parsed, damage
):
    source = tmp_path / "garden.csv"
    source.write_text("parent,child,definition\nplant,tree,tall\nplant,moss,low\n")
    take(workspace, source)
    version = workspace.catalog.version("garden")
    digest = version.annotations_sha256 if damage.startswith("ann") else version.snapshot_sha256
    path = workspace.artifacts.local_path(digest)
    if damage == "damaged":
        path.write_bytes(b"damaged")
    else:
        path.unlink()
    take(workspace, source)
    assert len(parsed) == 2
    assert workspace.label_graph("garden").n_labels == 3
    assert list(workspace.annotations("garden").definitions) == ["", "low", "tall"]


def test_a_graph_that_lost_the_version_gets_it_back_without_reading(workspace, source, parsed):
    first = take(workspace, source)
    workspace.graph.drop_ontology("garden")
    workspace.graph.drop_version(first.digest)
    assert not take(workspace, source).created
    assert workspace.graph.counts(first.digest) == (5, 4)
    assert len(parsed) == 1


def test_definitions_of_another_source_are_replaced_by_reading_again(workspace, tmp_path, parsed):
    """Definitions stand outside the digest: the version is the same, and its last reading counts."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("parent,child,definition\nplant,tree,tall\nplant,moss,low\n")
    second.write_text("parent,child,definition\nplant,tree,high\nplant,moss,low\n")
    assert take(workspace, first).digest == take(workspace, second).digest
    take(workspace, first)
    assert list(workspace.annotations("garden").definitions) == ["", "low", "tall"]
    assert parsed == ["a.csv", "b.csv", "a.csv"]
    take(workspace, first)
    assert len(parsed) == 3


def test_definitions_given_by_code_make_the_source_be_read_again(workspace, tmp_path, parsed):
    source = tmp_path / "a.csv"
    source.write_text("parent,child,definition\nplant,tree,tall\n")
    take(workspace, source)
    graph = workspace.label_graph("garden")
    register(workspace, "garden", graph)  # without annotations: they stay, and so does the reading
    take(workspace, source)
    assert len(parsed) == 1
    report = read_once(workspace, "other", source).report
    register(
        workspace,
        "garden",
        ReadResult(graph, report, Annotations.of(graph, {"tree": Description(definition="of wood")})),
    )
    parsed.clear()
    take(workspace, source)
    assert list(workspace.annotations("garden").definitions) == ["", "tall"]
    assert len(parsed) == 1


def test_another_graph_in_a_result_is_not_remembered_for_its_source(workspace, source, parsed):
    result = read_once(workspace, "garden", source)
    part = result.graph.subgraph(["tree", "oak", "elm"])
    register(workspace, "garden", result.of_part(part))
    assert take(workspace, source).n_labels == 5
    assert len(parsed) == 2


def test_a_version_that_is_still_loading_does_not_count(workspace, source, parsed):
    def stop(step: str, done: int, total: int) -> None:
        if step == "commit":
            raise RuntimeError(step)

    result = read_once(workspace, "garden", source)
    with pytest.raises(RuntimeError):
        register(workspace, "garden", result, progress=stop)
    assert take(workspace, source).created
    assert len(parsed) == 2


def test_what_would_shrink_the_ontology_is_asked_for_though_it_is_not_read(workspace, source, parsed):
    small = source.with_name("small.csv")
    small.write_text("parent,child\na,b\n")
    first = take(workspace, small)
    large = take(workspace, source)
    with pytest.raises(ShrinkError, match="has 5 labels, and would have 2"):
        take(workspace, small)
    assert workspace.catalog.current("garden") == large.digest
    result = read_once(workspace, "garden", small)
    assert isinstance(result, Snapshot)
    done = register(workspace, "garden", result, shrink=True)
    assert (done.digest, done.replaced, done.created) == (first.digest, large.digest, False)
    assert len(parsed) == 2


def test_a_home_of_the_revision_before_is_upgraded_and_reads_once(tmp_path, source, parsed):
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})
    graph = LabelGraph.from_edges([("oak", "tree")])
    store, engine = open_store(settings.artifacts_url), create_engine(settings.database_url)
    sha256 = store.put_arrays(*graph.to_arrays())
    upgrade(engine, "0005")
    with writing(engine) as connection:
        for statement in (
            "INSERT INTO ontology (name, current_version, fence) VALUES ('trees', :digest, 1)",
            "INSERT INTO artifact (sha256, size, kind, created_at, touched_at) "
            "VALUES (:sha256, :size, 'snapshot', 0, 0)",
            "INSERT INTO version (ontology, digest, state, snapshot_sha256, n_labels, n_edges, layout, "
            "source, created_at) "
            "VALUES ('trees', :digest, 'ready', :sha256, 2, 1, 'hierarchy', 'old.csv', 0)",
        ):
            given = {"digest": graph.digest, "sha256": sha256, "size": store.size(sha256)}
            connection.execute(text(statement), given)
    engine.dispose()
    source.write_text("parent,child\ntree,oak\n")
    with Workspace.open(settings) as workspace:
        assert workspace.label_graph("trees") == graph
        for _ in range(3):
            done = take(workspace, source, "trees")
            assert (done.digest, done.created, done.replaced) == (graph.digest, False, None)
        assert len(parsed) == 1
        with reading(workspace.engine) as connection:
            (kept,) = connection.execute(text("SELECT report_json FROM version")).scalars()
        assert json.loads(kept)["source"] == str(source)

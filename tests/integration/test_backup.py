"""Backup and restore, rehearsed: both databases, in use, damaged, interrupted."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError, ConflictError, InputError, MigrationError, NotFoundError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, schema_state, upgrade
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.schedules.schedule import Timetable, add_schedule
from labelgrove.workers.upkeep.backup import (
    FORMAT,
    FileRecord,
    Manifest,
    _sha256_of,
    _write_lines,
    _write_manifest,
    backup,
    read_manifest,
)
from labelgrove.workers.upkeep.restore import restore
from tests.integration.workers_support import PARTS, plan_parts, registered
from tests.sampled import sampled

pytestmark = pytest.mark.long

GARDEN = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
GROWN = LabelGraph.from_edges([*[(c, p) for c, p, _, _ in GARDEN.edges()], ("fern", "plant")])


def settings_in(home: Path, database_url: str | None = None) -> Settings:
    settings = Settings.from_env({"GROVE_HOME": str(home)})
    return settings if database_url is None else replace(settings, database_url=database_url)


@pytest.fixture(autouse=True)
def _parts_are_known() -> Iterator[None]:
    with registered(PARTS):
        yield


@pytest.fixture
def used(tmp_path: Path) -> Settings:
    """A deployment with a done job and a pending one, artifacts, and no graph to wait for."""
    settings = settings_in(tmp_path / "used")
    with Workspace.open(settings) as workspace:
        client.submit(workspace, "parts", {"numbers": [3, 4]})
        client.submit(workspace, "parts", {"numbers": [5]}, wait=False)
    return settings


@pytest.fixture
def folder(used: Settings, tmp_path: Path) -> Path:
    """A complete backup of `used`."""
    with Workspace.open(used) as workspace:
        backup(workspace, tmp_path / "backup")
    return tmp_path / "backup"


def rows_in(url: str) -> dict[str, int]:
    """Count the rows of each table that has any."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            names = sa.inspect(connection).get_table_names()
            counts = {n: connection.scalar(sa.text(f"SELECT count(*) FROM {n}")) for n in names}
    finally:
        engine.dispose()
    return {name: count for name, count in counts.items() if count and name != "alembic_version"}


# ---- rehearsal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "there"),
    sampled([("sqlite", "postgresql"), ("sqlite", "sqlite"), ("postgresql", "sqlite")], every=2),
)
def test_what_is_restored_answers_as_before(here, there, tmp_path, request, monkeypatch):
    def url(kind: str) -> str | None:
        return request.getfixturevalue("postgres_url") if kind == "postgresql" else None

    source, target = settings_in(tmp_path / "a", url(here)), settings_in(tmp_path / "b", url(there))
    if here == "postgresql":
        upgrade_at(source.database_url)
    with Workspace.open(source) as workspace:
        register(workspace, "garden", GARDEN)
        register(workspace, "garden", GROWN)
        client.build_bundle_job(workspace, "garden", "all", ["oak", "moss"])
        done = client.submit(workspace, "parts", {"numbers": [3, 4]})
        pending = client.submit(workspace, "parts", {"numbers": [5, 6]}, wait=False)
        add_schedule(workspace, "nightly", "0 3 * * *", "parts", {"numbers": [9]})
        ledger = Ledger(workspace.engine)
        held = ledger.claim(ledger.units(pending.id)[0], lease_s=0.1)
        assert held is not None
        seen = answers(source, monkeypatch)

        with Workspace.open(source) as elsewhere:
            added: list[str] = []

            def write_meanwhile(step: str, at: int, total: int) -> None:
                if step == "tables" and 0 < at < total:
                    plan = plan_parts([100 + at, 200 + at])
                    Ledger(elsewhere.engine).submit(plan)
                    added.append(plan.id)

            result = backup(workspace, tmp_path / "backup", progress=write_meanwhile)
        assert len(added) > 5
        assert len(client.list_jobs(workspace)) == len(added) + 3
    assert result.rows["job"] == 3
    assert result.missing == ()

    restored = restore(target, tmp_path / "backup")
    assert restored.rows == result.rows
    assert restored.ontologies == ("garden",)
    assert answers(target, monkeypatch) == seen
    with Workspace.open(target) as workspace:
        assert workspace.catalog.index_document("garden") == workspace.artifacts.read_index("garden")
        assert all(finding["same"] for finding in verify_graph(workspace))
        ledger = Ledger(workspace.engine)
        unit = ledger.unit(held.key)
        assert (unit.state, unit.fence) == (State.RUNNING, held.fence)
        finished = client.wait(workspace, pending.id, timeout_s=60)
        assert workspace.artifacts.open_arrays(finished.result_sha256)[0]["value"].tolist() == [61]
        assert ledger.unit(held.key).fence == held.fence + 1
        assert client.submit(workspace, "parts", {"numbers": [3, 4]}) == done  # not computed again
        assert register(workspace, "moor", GARDEN).created  # keys go on after those restored
        assert [s.name for s in Timetable(workspace.engine).schedules()] == ["nightly"]


def upgrade_at(url: str) -> None:
    engine = create_engine(url)
    upgrade(engine)
    engine.dispose()


def answers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the command line says of a deployment."""
    monkeypatch.setenv("GROVE_HOME", str(settings.home))
    monkeypatch.setenv("GROVE_DATABASE_URL", settings.database_url)
    asked = [
        ("ontology", "list"),
        ("labels", "search", "garden", "oak"),
        ("bundle", "inspect", "garden/all"),
        ("jobs", "list"),
        ("jobs", "schedule", "list"),
    ]
    said = {}
    for question in asked:
        result = CliRunner().invoke(grove, [*question, "--json"])
        assert result.exit_code == 0, (question, result.output, result.exception)
        said[" ".join(question)] = json.loads(result.stdout)
        assert said[" ".join(question)] != []
    return said


def test_the_commands(used, tmp_path, monkeypatch):
    def run(*arguments: str, home: Path = used.home, code: int = 0) -> Any:
        monkeypatch.setenv("GROVE_HOME", str(home))
        result = CliRunner().invoke(grove, list(arguments))
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    made = json.loads(run("backup", str(tmp_path / "x"), "--json").stdout)
    assert made["rows"]["job"] == 2
    assert made["n_artifacts"] == made["n_copied"] == 3
    assert "3 artifacts" in run("backup", str(tmp_path / "x")).stdout
    back = json.loads(run("restore", str(tmp_path / "x"), "--json", home=tmp_path / "new").stdout)
    assert back["rows"] == made["rows"]
    assert "2 in job" in run("restore", str(tmp_path / "x"), home=tmp_path / "new", code=1).stderr
    assert "contains no backup" in run("restore", str(tmp_path), home=tmp_path / "n", code=4).stderr
    assert "is not a backup" in run("backup", str(tmp_path), code=1).stderr


# ---- folder --------------------------------------------------------------------------------------------


def test_a_second_backup_copies_what_is_new_and_drops_what_is_not_named(used, folder):
    with Workspace.open(used) as workspace:
        again = backup(workspace, folder)
        assert again.n_copied == 0
        client.submit(workspace, "parts", {"numbers": [3, 7]})
        assert backup(workspace, folder).n_copied == 2  # 49, and the sum
        with workspace.engine.begin() as connection:
            for table in ("job_unit", "unit", "job"):
                connection.execute(sa.text(f"DELETE FROM {table}"))
        assert backup(workspace, folder).n_artifacts == 0
    assert list(open_store(str(folder)).digests()) == []
    assert len(list((folder / "tables").iterdir())) == 1


def test_a_damaged_copy_is_replaced_from_the_store(used, folder):
    damaged = next(folder.glob("sha256/*/*"))
    damaged.write_bytes(b"rot")
    with Workspace.open(used) as workspace:
        assert backup(workspace, folder).n_copied == 1
    restore(settings_in(folder.parent / "new"), folder)


def test_other_folders_and_two_at_once_are_refused(used, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.jpg").touch()
    with Workspace.open(used) as workspace:
        with pytest.raises(ConflictError, match=r"cat\.jpg"):
            backup(workspace, tmp_path / "photos")

        def second(step: str, done: int, total: int) -> None:
            with pytest.raises(ConflictError, match="another process is writing"):
                backup(workspace, tmp_path / "b")

        backup(workspace, tmp_path / "b", progress=second)


def test_nothing_that_is_not_its_own_is_deleted(used, folder, tmp_path):
    mine = tmp_path / "mine"
    (mine / "tables/old").mkdir(parents=True)
    (mine / "backup.json").write_text('{"my": "data"}')
    with Workspace.open(used) as workspace:
        with pytest.raises(ConflictError, match="that labelgrove did not write"):
            backup(workspace, mine)
        assert (mine / "tables/old").is_dir()
        (folder / "tables/note").touch()
        (folder / "tables/link").symlink_to(mine)
        (folder / "sha256/ab/folder").mkdir(parents=True)
        backup(workspace, folder)
        assert mine.is_dir()
        shutil.rmtree(folder / "sha256")
        (folder / "sha256").symlink_to(used.home / "artifacts" / "sha256")
        fresh = workspace.artifacts.put_bytes(b"its row follows")
        with pytest.raises(ConflictError, match="is a link"):
            backup(workspace, folder)
        assert workspace.artifacts.exists(fresh)


def test_the_artifact_store_itself_is_refused(used, folder, tmp_path):
    """A backup may serve as artifacts; a backup into what serves would prune what was published just now."""
    (tmp_path / "link").symlink_to(folder)
    for url in (str(folder), folder.as_uri(), str(tmp_path / "link")):
        with Workspace.open(replace(used, artifacts_url=url)) as workspace:
            fresh = workspace.artifacts.put_bytes(b"its row follows")
            with pytest.raises(ConflictError, match="is the artifact store itself"):
                backup(workspace, folder)
            assert workspace.artifacts.exists(fresh)


def test_damage_in_the_store_is_named_unless_nothing_needs_it(used, tmp_path):
    with Workspace.open(used) as workspace:
        unused = workspace.artifacts.put_bytes(b"nobody names this")
        workspace.artifacts.local_path(unused).write_bytes(b"rot")
        assert backup(workspace, tmp_path / "b").n_artifacts == 3

        (done,) = client.list_jobs(workspace, state=State.DONE)
        path = workspace.artifacts.local_path(done.result_sha256)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + b"\x00\x01")
        with pytest.raises(ArtifactError, match=f"(?s)1 artifacts .*{path}"):
            backup(workspace, tmp_path / "other")
        with pytest.raises(ArtifactError, match="was not completed"):
            read_manifest(tmp_path / "other")

        path.unlink()
        assert backup(workspace, tmp_path / "other").missing == (done.result_sha256,)
    with Workspace.open(settings_in(tmp_path / "new")) as workspace:
        restore(workspace.settings, tmp_path / "other")
        again = client.submit(workspace, "parts", {"numbers": [3, 4]})
        assert again.result_sha256 == done.result_sha256
        assert workspace.artifacts.read_bytes(again.result_sha256) == whole


def test_a_snapshot_that_is_gone_stops_a_backup(tmp_path):
    with Workspace.open(settings_in(tmp_path / "a")) as workspace:
        register(workspace, "garden", GARDEN)
        workspace.artifacts.delete(workspace.catalog.version("garden").snapshot_sha256)
        with pytest.raises(ArtifactError, match="version of ontology 'garden'"):
            backup(workspace, tmp_path / "b")


# ---- damage to the backup ------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def edited(path: Path) -> None:
    data = path.read_bytes()
    at = len(data) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


@pytest.mark.parametrize("harm", [cut, edited, Path.unlink])
def test_every_damaged_file_is_refused_by_name(folder, tmp_path, harm: Callable[[Path], None]):
    files = sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and path.stat().st_size and path.name != "backup.lock"
    )
    assert len(files) == 1 + 4 + 3  # manifest; jobs, units, their relation, list of artifacts; artifacts
    for i, name in enumerate(files):
        copy, target = tmp_path / f"copy{i}", settings_in(tmp_path / f"new{i}")
        shutil.copytree(folder, copy)
        harm(copy / name)
        with pytest.raises(ArtifactError, match=name.name):
            restore(target, copy)
        assert rows_in(target.database_url) == {}
        restore(target, folder)  # and the database still takes a good one


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"sha256": 1}', "[" * 100_000, '{"tables": 7}'])
def test_nonsense_is_no_manifest(folder, document):
    (folder / "backup.json").write_text(document)
    with pytest.raises(ArtifactError, match=r"backup\.json: is not a manifest"):
        read_manifest(folder)


def test_names_in_a_manifest_never_leave_the_folder(folder):
    found = read_manifest(folder)
    for run, tables in [("../x", found.tables), (found.run, {"../../job": FileRecord(0, "")})]:
        _write_manifest(folder, replace(found, run=run, tables=tables))
        with pytest.raises(ArtifactError, match="was edited"):
            read_manifest(folder)


@pytest.mark.parametrize("field", ["revision", "run"])
@pytest.mark.parametrize("value", [7, None, "0000", "0003abc"])
def test_a_manifest_of_other_types_is_refused(folder, field, value):
    _write_manifest(folder, replace(read_manifest(folder), **{field: value}))
    with pytest.raises(ArtifactError, match="was edited"):
        read_manifest(folder)


def test_a_manifest_without_tables_is_refused(folder):
    _write_manifest(folder, replace(read_manifest(folder), tables={}))
    with pytest.raises(ArtifactError, match="was edited"):
        read_manifest(folder)


def rewritten(folder: Path, table: str, text: str) -> None:
    """Write other rows, and a manifest that fits them."""
    found = read_manifest(folder)
    held = found.artifacts if table == "artifacts" else found.tables[table]
    path = found.artifacts_file(folder) if table == "artifacts" else found.table_file(folder, table)
    path.write_text(text)
    record = FileRecord(held.rows, hashlib.sha256(text.encode()).hexdigest())
    if table == "artifacts":
        _write_manifest(folder, replace(found, artifacts=record))
    else:
        _write_manifest(folder, replace(found, tables={**found.tables, table: record}))


@pytest.mark.parametrize(
    ("table", "text", "error", "said"),
    [
        ("job", "not json\n", ArtifactError, r"job\.jsonl:1: is not JSON"),
        ("job", "5\n", ArtifactError, r"job\.jsonl:1: is a int"),
        ("job", '{"id": {"a": 1}}\n', InputError, "refuses a row"),
        ("job", '{"id": 1e400, "state": "gone"}\n', InputError, "refuses a row"),
        ("job", "", ArtifactError, "0 rows, but the manifest says"),
        ("artifacts", '{"size": 3}\n', ArtifactError, r"artifacts\.jsonl:1: names no sha256"),
        ("artifacts", "", ArtifactError, "names 0 artifacts"),
    ],
)
def test_rows_of_another_shape_are_refused_and_nothing_is_restored(
    folder, tmp_path, table, text, error, said
):
    rewritten(folder, table, text)
    target = settings_in(tmp_path / "new")
    with pytest.raises(error, match=said):
        restore(target, folder)
    assert not any(rows_in(target.database_url).values())


def test_other_formats_and_missing_folders(folder, tmp_path):
    document = json.loads((folder / "backup.json").read_text())
    del document["sha256"]
    document["format"] = "labelgrove/backup/2"
    (folder / "backup.json").write_text(json.dumps({**document, "sha256": _sha256_of(document)}))
    with pytest.raises(InputError, match=f"reads '{FORMAT}'"):
        read_manifest(folder)
    with pytest.raises(NotFoundError, match="contains no backup"):
        restore(settings_in(tmp_path / "new"), tmp_path / "nowhere")


# ---- revisions -----------------------------------------------------------------------------------------


def write_old_backup(folder: Path, revision: str) -> None:
    """Write what an earlier version may have written: one ontology name, of the first schema."""
    run = folder / "tables/20250101T000000Z-00000000"
    run.mkdir(parents=True)
    (folder / "backup.lock").touch()
    row = {"name": "garden", "current_version": None, "fence": 7}
    row |= {"lease_owner": None, "lease_since": None, "lease_until": None}
    tables = {"ontology": _write_lines(run / "ontology.jsonl", [row])}
    artifacts = _write_lines(run / "artifacts.jsonl", [])
    _write_manifest(folder, Manifest(revision, 0.0, run.name, tables, artifacts))


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_an_older_backup_is_upgraded_and_a_newer_one_refused(database, tmp_path, request):
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    target = settings_in(tmp_path / "new", url)
    write_old_backup(tmp_path / "newer", "9999")
    with pytest.raises(MigrationError, match=r"'9999'.*upgrade with: pip"):
        restore(target, tmp_path / "newer")
    write_old_backup(tmp_path / "older", "0001")
    restore(target, tmp_path / "older")
    assert rows_in(target.database_url) == {"ontology": 1}
    engine = create_engine(target.database_url)
    found, head = schema_state(engine)
    engine.dispose()
    assert found == head
    with Workspace.open(target) as workspace:
        assert workspace.catalog.acquire("garden").fence == 8


def test_an_empty_database_of_a_newer_schema_is_named(tmp_path):
    write_old_backup(tmp_path / "older", "0001")
    target = settings_in(tmp_path / "new")
    upgrade_at(target.database_url)
    with pytest.raises(MigrationError, match="a new file"):
        restore(target, tmp_path / "older")


# ---- killed --------------------------------------------------------------------------------------------


def die_at(step: str, at: int) -> Callable[[str, int, int], None]:
    def report(reached: str, done: int, total: int) -> None:
        if (reached, done) == (step, at):
            os.kill(os.getpid(), signal.SIGKILL)

    return report


def backup_and_die(settings: Settings, folder: Path, step: str, at: int) -> None:
    with Workspace.open(settings) as workspace:
        backup(workspace, folder, progress=die_at(step, at))


def restore_and_die(settings: Settings, folder: Path, step: str, at: int) -> None:
    restore(settings, folder, progress=die_at(step, at))


def killed(function: Callable[..., None], *arguments: Any) -> None:
    child = multiprocessing.get_context("forkserver").Process(target=function, args=arguments)
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.faults
@pytest.mark.parametrize(("step", "at"), [("tables", 3), ("artifacts", 3)])
def test_a_killed_backup_is_refused_and_the_one_before_stays(used, folder, tmp_path, step, at):
    fresh = tmp_path / "fresh"
    killed(backup_and_die, used, fresh, step, at)
    with pytest.raises(ArtifactError, match="was not completed"):
        restore(settings_in(tmp_path / "new"), fresh)

    before = read_manifest(folder)
    killed(backup_and_die, used, folder, step, at)
    assert read_manifest(folder) == before
    restore(settings_in(tmp_path / "new"), folder)
    with Workspace.open(used) as workspace:
        assert backup(workspace, fresh).n_artifacts == 3  # and running it again completes it
    assert len(list((fresh / "tables").iterdir())) == 1


@pytest.mark.faults
@pytest.mark.parametrize(("step", "at"), [("artifacts", 2), ("tables", 4), ("tables", 11)])
def test_a_killed_restore_leaves_all_or_nothing(folder, tmp_path, step, at):
    target = settings_in(tmp_path / "new")
    whole = {name: record.rows for name, record in read_manifest(folder).tables.items() if record.rows}
    killed(restore_and_die, target, folder, step, at)
    assert rows_in(target.database_url) == {}
    restore(target, folder)
    assert rows_in(target.database_url) == whole
    with pytest.raises(ConflictError, match="2 in job"):
        restore(target, folder)

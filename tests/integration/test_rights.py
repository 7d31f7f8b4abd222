"""Who may read what we keep: the home is its owner's alone, a shared store has the rights of its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelgrove.adapter.loading.cache import through_cache
from labelgrove.cli import grove
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import open_store

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def rights(folder: Path) -> tuple[set[str], set[str]]:
    """Return the rights of the folders and of the files below a folder, itself among them."""
    found: tuple[set[str], set[str]] = set(), set()
    for path in (folder, *folder.rglob("*")):
        found[path.is_file()].add(oct(stat.S_IMODE(path.stat().st_mode)))
    return found


def call(*arguments: str) -> None:
    result = CliRunner().invoke(grove, list(arguments))
    assert result.exit_code == 0, (arguments, result.output, result.exception)


def test_a_home_is_its_owners_alone(umask, tmp_path, monkeypatch):
    home = tmp_path / "new" / "home"
    monkeypatch.setenv("GROVE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    Path("garden.csv").write_text(EDGES)
    Path("p.csv").write_text("oak,elm,moss\n0.5,0.3,0.2\n")
    call("ingest", "garden", "garden.csv")
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    call("score", "garden/all", "p.csv")
    call("cypher", "--ontology", "garden", "MATCH (l:Label {version: $version}) RETURN count(*) AS n")
    call("backup", str(tmp_path / "new" / "backup"))
    settings = replace(Settings.from_env(), artifacts_url="memory://rights")
    store = open_store(settings.artifacts_url)
    through_cache(store, settings).read_bytes(store.put_bytes(b"kept in the home"))
    assert rights(home) == ({"0o700"}, {"0o600"})
    assert rights(home.parent)[0] == {"0o700"}
    assert len(list(home.rglob("*"))) > 15


@pytest.mark.parametrize(
    ("given", "files"), [(0o2770, "0o660"), (0o2775, "0o664"), (0o755, "0o644"), (0o700, "0o600")]
)
def test_what_is_made_in_a_store_has_the_rights_of_its_folder(given, files, umask, tmp_path):
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(given)
    store = open_store(str(root))
    digest = store.put_bytes(b"everybody's")
    store.write_index("garden", {"version": "a"})
    assert rights(root) == ({oct(given)}, {files})
    store.put_bytes(b"everybody's")  # again
    store.touch(digest)
    assert rights(root)[1] == {files}

"""Every command on a disk that is really full, and on one that is really read-only; what only reads works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.every_command import COMMANDS, WRITES, filled
from tests.conftest import unavailable

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
TOLD = {
    "full": (
        "the disk is full: free some space",
        "its disk is full: free some space",
        "No space left on device",
    ),
    "read-only": ("is read-only", "it can be read but not written", "Read-only file system"),
}


def namespace() -> list[str]:
    """Return what runs a command where it may mount a disk that nobody else sees."""
    ways = (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"])
    for way in ways:
        try:
            tried = [*way, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
            subprocess.run(tried, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = error
        else:
            return way
    return unavailable(f"no small disk can be mounted here, not by unshare --map-root-user either: {reason}")


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict]]:
    way = namespace()
    folder = tmp_path_factory.mktemp("small")
    for name in ("disk", "out"):
        (folder / name).mkdir()
    with filled(folder, f"sqlite:///{folder / 'home' / 'catalog.db'}") as deployment:
        command = [*way, sys.executable, "-m", "tests.cli.on_a_small_disk", str(folder / "disk")]
        command += [str(deployment.home), str(folder / "out"), json.dumps(deployment.names)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("state", TOLD)
def test_what_reads_works_and_what_writes_says_why_not(state, endings):
    assert len(endings[state]) > 30
    for ending in endings[state]:
        command = ending["command"]
        assert ending["raised"] is None, ending
        if COMMANDS[command][0] == WRITES:
            assert ending["code"] == 5, ending
            assert any(told in ending["said"] for told in TOLD[state]), ending
        else:
            assert ending["code"] == 0, ending


@pytest.mark.parametrize("n_mib", [4, 8])
def test_a_disk_that_fills_while_the_graph_is_written_is_said_to_be_full(n_mib, tmp_path):
    """The engine speaks of files that cannot be read and of data that will be recovered."""
    (tmp_path / "disk").mkdir()
    lines = "".join(f"key{i:06d},key{i // 3:06d}\n" for i in range(1, 20_000))
    (tmp_path / "big.csv").write_text(f"child,parent\n{lines}")
    script = f'mount -t tmpfs -o size={n_mib}m tmpfs disk && "$0" -m labelgrove ingest big big.csv'
    done = subprocess.run(
        [*namespace(), "sh", "-c", script, sys.executable],
        env=os.environ | {"PYTHONPATH": str(ROOT), "GROVE_HOME": str(tmp_path / "disk")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1].endswith(
        "No space left on device; the disk is full: free some space, or move the graph (GROVE_GRAPH_URL)"
    )

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
    "read-only": ("is read-only", "it can be read and not written", "Read-only file system"),
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

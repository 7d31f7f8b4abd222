"""Streams that are closed, full, or cannot hold every letter: one line to read and an exit code."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.labelgraph import LabelGraph

GROVE = f"{shlex.quote(sys.executable)} -m labelgrove"
SCORE = "score b.safetensors p.npy --columns bundle"
full_device = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")


@pytest.fixture
def shell(tmp_path):
    """Run `grove` in a shell, with what follows its arguments."""
    graph = LabelGraph.from_edges([("žluť", "tree"), ("elm", "tree")])
    build_bundle(graph, ["žluť", "elm"]).save(tmp_path / "b.safetensors")
    np.save(tmp_path / "p.npy", np.eye(2))
    (tmp_path / "t.csv").write_text("child,parent\noak,tree\nelm,tree\n")
    env = os.environ | {"GROVE_HOME": str(tmp_path / "home"), "PYTHONPATH": os.getcwd()}

    def run(text, **variables):
        command = ["sh", "-c", f"{GROVE} {text}"]
        return subprocess.run(
            command, cwd=tmp_path, env=env | variables, capture_output=True, text=True, timeout=60
        )

    return run


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_takes_all(shell, closed):
    made = shell(f"ingest t t.csv {closed}")
    assert made.returncode == 0
    assert "Traceback" not in made.stderr
    listed = shell("ontology list --json")
    assert '"ontology": "t"' in listed.stdout
    whole, scored = shell(SCORE), shell(f"{SCORE} {closed}")
    assert scored.returncode == 0
    assert scored.stdout == ("" if ">&-" in closed.split() else whole.stdout)


def test_no_file_takes_the_number_of_a_closed_stream(shell):
    assert shell(f"{SCORE} --out answers.csv >&- 2>&-").returncode == 0
    assert shell(f"{SCORE} --out answers.csv >&- 2>&- ; cat answers.csv").stdout == shell(SCORE).stdout


@full_device
@pytest.mark.parametrize("asked", ["--help", "--version", "score --help", "completion bash", SCORE])
def test_a_full_disk_behind_stdout_is_one_line_and_exit_code_5(shell, asked):
    found = shell(f"{asked} >/dev/full")
    assert found.returncode == 5
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: stdout: cannot be written (No space left on device); the disk is full")


@full_device
def test_an_error_that_nobody_can_be_told_keeps_its_exit_code(shell):
    assert shell("ontology show nothing 2>/dev/full").returncode == 4
    assert shell(f"{SCORE} >/dev/full 2>/dev/full").returncode == 5


def test_text_that_stdout_cannot_hold_is_said_to_be_that(shell):
    found = shell(SCORE, PYTHONIOENCODING="latin-1")
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith(r"error: stdout: '\u017e' cannot be written in latin-1")
    assert "PYTHONIOENCODING=utf-8" in line
    assert shell(SCORE, PYTHONIOENCODING="utf-8").returncode == 0

"""What is printed: escaped where a terminal would obey it, as it is for a program."""

import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from adapter.bundle import build_bundle
from labelgrove.cli.common import say
from ontology.labelgraph import LabelGraph

KEYS = ["oak\x1b[2J\x1b]0;title\x07", "elm\u202edne"]


@pytest.fixture
def folder(tmp_path):
    graph = LabelGraph.from_edges([(key, "tree") for key in KEYS])
    build_bundle(graph, KEYS).save(tmp_path / "b.safetensors")
    np.save(tmp_path / "p.npy", np.eye(2))
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "labelgrove", "score", *arguments, "--columns", "bundle"]


def on_terminal(*arguments):
    """What a terminal is sent."""
    own, terminal = pty.openpty()
    with subprocess.Popen(command(*arguments), stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal):
        os.close(terminal)
        sent = b""
        while True:
            try:
                part = os.read(own, 65536)
            except OSError:  # what Linux says at the end
                part = b""
            if not part:
                break
            sent += part
    os.close(own)
    return sent.decode()


def test_keys_and_file_names_command_no_terminal(folder):
    shown = on_terminal(folder / "b.safetensors", folder / "p.npy")
    assert r"oak\x1b[2J\x1b]0;title\x07,oak" in shown
    assert r"elm\u202edne" in shown
    assert "\x1b[2J" not in shown
    refused = on_terminal(folder / "b.safetensors", folder / "p\x1b[2J.npy")
    assert r"p\x1b[2J.npy: there is no such file" in refused
    assert "\x1b[2J" not in refused


def test_a_program_reads_keys_as_they_are(capfd):
    say(KEYS[0])
    assert capfd.readouterr().out == KEYS[0] + "\n"

"""What is printed: escaped where a terminal would obey it, as it is for a program."""

import sys

import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.cli.printing.text import say
from labelgrove.ontology.labelgraph import LabelGraph
from tests.cli.terminal import sent_to_terminal

KEYS = ["oak\x1b[2J\x1b]0;title\x07", "elm\u202edne"]


@pytest.fixture
def folder(tmp_path):
    graph = LabelGraph.from_edges([(key, "tree") for key in KEYS])
    build_bundle(graph, KEYS).save(tmp_path / "b.safetensors")
    np.save(tmp_path / "p.npy", np.eye(2))
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "labelgrove", "score", *arguments, "--columns", "bundle"]


def test_keys_and_file_names_command_no_terminal(folder):
    shown = sent_to_terminal(command(folder / "b.safetensors", folder / "p.npy"))
    assert r"oak\x1b[2J\x1b]0;title\x07,oak" in shown
    assert r"elm\u202edne" in shown
    assert "\x1b[2J" not in shown
    refused = sent_to_terminal(command(folder / "b.safetensors", folder / "p\x1b[2J.npy"))
    assert r"p\x1b[2J.npy: there is no such file" in refused
    assert "\x1b[2J" not in refused


def test_a_program_reads_keys_as_they_are(capfd):
    say(KEYS[0])
    assert capfd.readouterr().out == KEYS[0] + "\n"

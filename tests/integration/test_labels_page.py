"""docs/labels.md: its first block runs as it stands on the animals that quickstart registers."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.quickstart.wordnet import EXTRACT, subtree

PAGE = Path(__file__).parents[2] / "docs" / "labels.md"


def test_the_first_block_runs_after_quickstart(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(tmp_path))
    source = read(EXTRACT, format="wordnet")
    with Workspace.open(Settings.from_env()) as workspace:
        register(workspace, "quickstart-animals", replace(source, graph=subtree(source.graph)))
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert [command[2] for command in commands] == ["search", "show", "tree", "children", "path", "lca"]
    said = []
    for program, *arguments in commands:
        assert program == "grove"
        result = CliRunner().invoke(grove, arguments)
        assert result.exit_code == 0, result.output
        said.append(result.stdout)
    written, meant = re.search(r"`([\w ]+)` suggests\s+`([\w ]+)`", PAGE.read_text(encoding="utf-8")).groups()
    close = CliRunner().invoke(grove, ["labels", "search", "quickstart-animals", written])
    assert close.stderr == f"nothing found; close to it: {meant}\n"
    assert "n02084071" in said[0]
    assert said[2].startswith("canine (n02083346)\n")
    assert all("domestic animal" in text for text in said[4:])

"""docs/own-model.md, followed word by word in an empty folder."""

import contextlib
import io
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from labelgrove.cli import grove

PAGE = Path(__file__).parents[2] / "docs" / "own-model.md"
BLOCK = re.compile(r"^```(\w+) ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str]]:
    """Return language, mark and text of each block of the page."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def run_commands(code: str, *, refused: bool) -> str:
    """Return what the commands of a block print."""
    said = ""
    for line in code.splitlines():
        command, *arguments = shlex.split(line)
        assert command == "grove"
        result = CliRunner().invoke(grove, arguments)
        assert (result.exit_code != 0) == refused, result.output
        said += result.output
    return said


def run_python(code: str) -> str:
    """Return what the code of a block prints; it needs no name of the blocks before it."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code, {})
    return said.getvalue()


def test_every_step_runs_and_prints_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "home"))
    said, n_run = "", 0
    for language, mark, code in blocks():
        if language == "text":
            for line in code.splitlines():
                assert line in said
        elif language == "python":
            said, n_run = run_python(code), n_run + 1
        elif mark != "install":
            said, n_run = run_commands(code, refused=mark == "refused"), n_run + 1
    assert n_run == 11
    for report in ("before.html", "after.html"):
        assert "<h1>use it</h1>" in (tmp_path / report).read_text(encoding="utf-8")
    assert len((tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()) == 401


def test_the_lines_for_the_model_server_are_at_most_ten():
    *_, server = (code for language, _, code in blocks() if language == "python")
    assert "Adapter.load" in server
    assert len(server.splitlines()) <= 10

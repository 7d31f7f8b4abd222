"""Words that shells complete: in real shells, quickly, and without a word where nothing can be reached."""

import json
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from labelgrove.cli import COMMANDS, grove
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql import quickread
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.quickread import newest_jobs, schedule_names
from tests.architecture.test_fresh_imports import DRIVERS, OPTIONAL, fresh
from tests.services import patient

SHELLS = ["bash", *(shell for shell in ("zsh", "fish") if shutil.which(shell))]
"""Continuous integration has bash; the others are tried where they are installed."""

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


def fill(call):
    Path("garden.csv").write_text(EDGES)
    call("ingest", "garden", "garden.csv")
    call("bundle", "build", "garden", "mine", "--observed", "oak,elm")
    call("jobs", "schedule", "add", "nightly", "--cron", "0 0 * * *", "cover", "--param", "ontology=garden")
    return json.loads(call("jobs", "list", "--json").stdout)[0]["id"][:12]


@pytest.fixture
def garden(call):
    fill(call)
    return call


def words(*typed: str, env: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Ask as zsh does, which is told most: (word, help) of all that is offered, (word, "file") for files."""
    asked = {
        "COMP_WORDS": " ".join(["grove", *typed]),
        "COMP_CWORD": str(len(typed)),
        "_GROVE_COMPLETE": "zsh_complete",
    }
    done = subprocess.run(
        [sys.executable, "-m", "labelgrove"],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | asked | (env or {}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    lines = done.stdout.strip("\n").splitlines()
    return [
        (value, help_ if kind == "plain" else kind)
        for kind, value, help_ in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    ]


# ---- what is offered -----------------------------------------------------------------------------------


def test_names_are_those_of_catalog_and_ledger(garden):
    job = json.loads(garden("jobs", "list", "--json").stdout)[0]["id"][:12]
    assert words("ontology", "show", "") == [("garden", "_")]
    assert words("cypher", "--ontology", "g") == [("garden", "_")]
    assert words("locus", "x") == []
    assert words("score", "gar") == [("gar", "file"), ("garden/mine", "_")]
    assert words("bundle", "inspect", "garden/") == [("garden/", "file"), ("garden/mine", "_")]
    assert words("jobs", "result", "") == words("jobs", "show", job[:3]) == [(job, "bundle done")]
    assert words("jobs", "cancel", "") == words("jobs", "retry", "") == []
    assert words("jobs", "schedule", "remove", "") == [("nightly", "0 0 * * *")]
    assert ("cover", "_") in words("jobs", "submit", "")
    assert words("experiment", "complete-g") == [("complete-graph", "_")]


def test_words_and_files_that_options_take(call):
    assert words("locus", "garden", "--labels", "") == [("", "file"), ("all", "_"), ("leaves", "_")]
    assert words("select", "garden", "--required", "my") == [("my", "file")]
    assert words("score", "x", "p.npy", "--columns", "b") == [("b", "file"), ("bundle", "_")]
    assert words("comp") == [("completion", COMMANDS["completion"][1])]
    assert [word for word, _ in words("completion", "")] == ["bash", "zsh", "fish"]


def test_settings_of_the_env_file_are_used(garden, tmp_path, monkeypatch):
    monkeypatch.delenv("GROVE_HOME")
    env = {"XDG_DATA_HOME": str(tmp_path / "elsewhere")}
    assert words("ontology", "show", "", env=env) == []
    Path(".env").write_text(f"GROVE_HOME={tmp_path / 'home'}\n")
    assert words("ontology", "show", "", env=env) == [("garden", "_")]


def test_every_argument_that_names_something_offers_names():
    """Whoever adds a command that takes an ontology, a bundle or a job sees to it that it is completed."""
    from tests.cli.reference import walk

    found = {
        (path[1:], parameter.name): parameter._custom_shell_complete is not None
        for path, command in walk(grove)
        if not isinstance(command, click.Group)
        for parameter in command.params
        if parameter.name in ("ontology", "bundle", "job", "uri", "observed", "kind")
    }
    assert len(found) > 20
    assert [where for where, completes in found.items() if not completes] == []


@pytest.mark.services
def test_names_come_from_postgresql_too(call, postgres_url, monkeypatch):
    monkeypatch.setenv("GROVE_DATABASE_URL", postgres_url)
    call("db", "upgrade")
    job = fill(call)
    assert words("ontology", "show", "") == [("garden", "_")]
    assert words("bundle", "inspect", "g") == [("g", "file"), ("garden/mine", "_")]
    assert words("jobs", "show", "") == [(job, "bundle done")]
    assert words("jobs", "schedule", "remove", "") == [("nightly", "0 0 * * *")]


def test_jobs_are_offered_by_their_state_the_newest_first(garden):
    with Workspace.open(Settings.from_env()) as workspace:
        waiting = [
            client.submit(workspace, kind, {"ontology": "garden"}, wait=False).id[:12]
            for kind in ("cover", "selection")
        ]
        client.cancel(workspace, waiting[1])
    assert words("jobs", "cancel", "") == [(waiting[0], "cover pending")]
    assert words("jobs", "retry", "") == [(waiting[1], "selection cancelled")]
    assert [word for word, _ in words("jobs", "watch", "")][:2] == waiting[::-1]


# ---- quick, and silent -----------------------------------------------------------------------------------


def test_completing_loads_no_driver_and_nothing_heavy(garden):
    heavy = DRIVERS + tuple(name for name in OPTIONAL if name not in ("click", "dotenv"))
    for typed in ("", "ontology show ", "jobs show ", "score ", "doctor --", "evaluate "):
        code = f"""
        import os
        os.environ |= {{"COMP_WORDS": "grove {typed}", "COMP_CWORD": "{len(typed.split()) + 1}"}}
        os.environ["_GROVE_COMPLETE"] = "zsh_complete"
        sys.argv = ["grove"]
        from labelgrove.__main__ import main
        try:
            main()
        except SystemExit as end:
            assert not end.code, end
        assert "sqlalchemy" not in sys.modules
        assert {bool(typed)} or "labelgrove.cli.plot" not in sys.modules, "offered from their table"
        """
        said = fresh(code, tuple({*heavy, "numpy"} - {"sqlalchemy"}))  # workers look whether it is installed
        if typed.endswith("show "):
            assert said.startswith("plain\n")


def test_a_database_that_is_not_there_is_not_made(call, tmp_path):
    (tmp_path / "home").mkdir()
    assert words("ontology", "show", "") == []
    assert not list((tmp_path / "home").iterdir())


def _missing_table(folder):
    (folder / "empty.db").touch()
    return f"sqlite:///{folder}/empty.db"


def _no_database(folder):
    (folder / "text.db").write_text("no database " * 1000)
    return f"sqlite:///{folder}/text.db"


@pytest.mark.parametrize(
    "url", [_missing_table, _no_database, "postgresql://u:canary@127.0.0.1:9/x", "mysql://u:canary@h/d"]
)
def test_what_cannot_be_read_is_passed_over_in_silence(url, call, tmp_path):
    env = {"GROVE_DATABASE_URL": url if isinstance(url, str) else url(tmp_path)}
    assert words("ontology", "show", "", env=env) == []
    assert words("score", "", env=env) == [("", "file")]


def test_a_misspelled_setting_is_passed_over_too(garden):
    assert words("ontology", "show", "", env={"GROVE_DATABSE_URL": "x"}) == []


def test_a_server_that_says_nothing_is_not_waited_for(call):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env = {"GROVE_DATABASE_URL": f"postgresql://u:p@127.0.0.1:{silent.getsockname()[1]}/x"}
        began = time.monotonic()
        assert words("jobs", "show", "", env=env) == []
        assert time.monotonic() - began < patient(30)  # the driver alone would wait for ever


# ---- real shells -----------------------------------------------------------------------------------------

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOAD = {
    "bash": 'bind "set enable-bracketed-paste off"; eval "$(grove completion bash)"',
    "zsh": 'autoload -U compinit && compinit -u -D; eval "$(grove completion zsh)"',
    "fish": "grove completion fish | source",
}


class Terminal:
    """A shell with somebody at its keyboard."""

    def __init__(self, shell: str, folder: Path) -> None:
        bin_ = folder / "bin"
        bin_.mkdir()
        (bin_ / "grove").write_text(f'#!/bin/sh\nexec {sys.executable} -m labelgrove "$@"\n')
        (bin_ / "grove").chmod(0o755)
        self._own, theirs = pty.openpty()
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *START[shell]],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ
            | {
                "PATH": f"{bin_}:{os.environ['PATH']}",
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "HOME": str(folder),
                "TERM": "xterm",
                "COLUMNS": "200",
            },
        )
        os.close(theirs)
        try:
            self.type(LOAD[shell] + "; echo lo''aded\n")
            self.see("loaded")
        except BaseException:
            self.close()
            raise

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def see(self, expected: str) -> str:
        """Read until the text appears."""
        seen, deadline = "", time.monotonic() + 60
        while expected not in seen:
            ready, _, _ = select.select([self._own], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{expected!r} does not appear: {seen!r}"
            try:
                seen += os.read(self._own, 65536).decode(errors="replace")
            except OSError as error:  # what Linux says when the other side is closed
                raise AssertionError(f"the shell ended: {seen!r}") from error
        return seen

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._own)


@pytest.fixture(params=SHELLS)
def terminal(request, garden, tmp_path):
    found = Terminal(request.param, tmp_path)
    yield found
    found.close()


def test_a_shell_completes_commands_names_and_files(terminal, garden):
    job = json.loads(garden("jobs", "list", "--json").stdout)[0]["id"][:12]
    Path("my-classes.txt").write_text("oak\n")
    for typed, rest in (
        ("grove quicks", "tart"),
        ("grove ontology show gar", "den"),
        (f"grove jobs watch {job[:4]}", job[4:]),
        ("grove bundle inspect garden/m", "ine"),
        ("grove locus garden --observed my-cl", "asses.txt"),
        ("grove locus garden --metric gr", "aph"),
    ):
        terminal.type(typed + "\t")
        terminal.see(rest)
        terminal.type("\x15")  # the line is taken away again


def test_the_script_is_printed_for_each_shell_and_no_other(call):
    for shell in ("bash", "zsh", "fish"):
        assert "_grove_completion" in call("completion", shell).stdout
    assert "'ksh' is not one of" in call("completion", "ksh", code=2).stderr


def test_statements_name_what_there_is(garden):
    """The completers never say that a statement is wrong; here it is said."""
    url = Settings.from_env().database_url
    assert quickread.ontology_names(url, 9) == [("garden",)]
    assert quickread.bundle_names(url, 9) == [("garden/mine",)]
    assert schedule_names(url, 9) == [("nightly", "0 0 * * *")]
    assert newest_jobs(url, (), 9) == newest_jobs(url, ("done", "failed"), 9) != []

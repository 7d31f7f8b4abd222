"""Every command with useful arguments, and a deployment in which they work."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labelgrove.cli import grove

__all__ = [
    "COMMANDS",
    "CONNECTS",
    "FILLS",
    "NEITHER",
    "READS",
    "WRITES",
    "Deployment",
    "error_line",
    "filled",
]

READS, WRITES, NEITHER = "reads the tables", "writes to them", "needs no database"
CONNECTS, FILLS = "asks for the schema alone", "takes no database with rows"

COMMANDS: Mapping[str, tuple[str, str]] = {
    "artifacts collect": (READS, ""),
    "artifacts list": (READS, ""),
    "artifacts size": (READS, ""),
    "backup": (READS, "{out}/backup"),
    "bundle build": (WRITES, "garden new --observed oak"),
    "bundle inspect": (NEITHER, "garden/all"),
    "bundle list": (READS, "garden"),
    "calibrate": (NEITHER, "garden/all p.csv truth.txt"),
    "completion": (NEITHER, "bash"),
    "cover": (WRITES, "garden --identifying"),
    "cypher": (READS, "--ontology garden 'MATCH (l:Label {{version: $version}}) RETURN count(*) AS n'"),
    "db upgrade": (CONNECTS, ""),
    "distances": (READS, "garden --columns oak"),
    "doctor": (WRITES, ""),
    "evaluate": (NEITHER, "garden/all p.csv truth.txt"),
    "experiment": (NEITHER, "list"),
    "export triton": (NEITHER, "garden/all {out}/models --columns bundle"),
    "graph rebuild": (WRITES, ""),
    "graph verify": (READS, ""),
    "ingest": (WRITES, "other other.csv"),
    "jobs cancel": (WRITES, "{waiting}"),
    "jobs costs": (READS, "{job}"),
    "jobs kinds": (NEITHER, ""),
    "jobs list": (READS, ""),
    "jobs logs": (READS, "{job}"),
    "jobs refresh": (READS, "garden"),
    "jobs result": (READS, "{job}"),
    "jobs retry": (WRITES, "{cancelled}"),
    "jobs schedule add": (WRITES, "often --cron '* * * * *' cover --param ontology=garden"),
    "jobs schedule list": (READS, ""),
    "jobs schedule remove": (WRITES, "nightly"),
    "jobs show": (READS, "{job}"),
    "jobs submit": (WRITES, "cover --param ontology=garden --param method=small"),
    "jobs watch": (READS, "{job}"),
    "labels ancestors": (READS, "garden oak"),
    "labels children": (READS, "garden tree"),
    "labels descendants": (READS, "garden tree"),
    "labels lca": (READS, "garden oak elm"),
    "labels path": (READS, "garden oak elm"),
    "labels search": (READS, "garden oak"),
    "labels show": (READS, "garden oak"),
    "labels siblings": (READS, "garden oak"),
    "labels tree": (READS, "garden"),
    "locus": (WRITES, "garden --observed oak"),
    "ontology delete": (WRITES, "garden --yes"),
    "ontology export": (READS, "garden"),
    "ontology list": (READS, ""),
    "ontology show": (READS, "garden"),
    "ontology validate": (NEITHER, "garden.csv"),
    "plot locus": (WRITES, "garden --observed oak --out {out}/locus.png"),
    "plot selection": (NEITHER, "-n 5 --rounds 1 --seeds 1 --out {out}/selection.png"),
    "plot simplex": (READS, "garden --observed oak,elm,moss --out {out}/simplex.png"),
    "quickstart": (WRITES, "--out {out}/quickstart"),
    "restore": (FILLS, "{backup}"),
    "sample": (READS, "garden -n 2"),
    "score": (NEITHER, "garden/all p.csv"),
    "select": (WRITES, "garden --observed oak -n 1"),
    "summarize": (WRITES, "garden --target 2"),
    "token create": (WRITES, "ci --scope read,score --ontology garden"),
    "token list": (READS, ""),
    "token revoke": (WRITES, "nightly"),
    "train": (NEITHER, "features.csv labels.txt features.csv --out {out}/trained"),
}
"""How each command uses the database, and arguments for which it does.

`worker`, which waits, and `warm`, which compiles for a minute, are left out.
"""


@dataclass(frozen=True)
class Deployment:
    """The settings of a deployment, and the values of the names in the arguments of commands."""

    home: Path
    database_url: str
    names: Mapping[str, str]

    def call(self, command: str, arguments: str = "", **more: str) -> Result:
        """Run one command with arguments as in a shell."""
        filled = arguments.format(**self.names, **more)
        return CliRunner(env=self.env).invoke(grove, [*command.split(), *shlex.split(filled)])

    @property
    def env(self) -> dict[str, str]:
        return {"GROVE_HOME": str(self.home), "GROVE_DATABASE_URL": self.database_url}

    def run(self, command: str, folder: Path) -> Result:
        """Run one command with its arguments in the table; it writes its files into `folder`."""
        return self.call(command, COMMANDS[command][1], out=str(folder))


@contextmanager
def filled(folder: Path, database_url: str) -> Iterator[Deployment]:
    """Yield a deployment with an ontology, a bundle, a schedule and jobs in three states.

    The working folder is `folder` while the block runs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in list(os.environ):
            if name.startswith("GROVE_") and not name.startswith("GROVE_TEST_"):
                patch.delenv(name)
        (folder / "garden.csv").write_text("parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n")
        (folder / "other.csv").write_text("parent,child\nplant,fern\n")
        (folder / "p.csv").write_text("oak,elm,moss\n0.5,0.3,0.2\n0.1,0.1,0.8\n")
        (folder / "truth.txt").write_text("oak\nmoss\n")
        (folder / "features.csv").write_text("a,b\n0,1\n1,0\n0,2\n2,0\n")
        (folder / "labels.txt").write_text("oak\nelm\noak\nelm\n")
        made = Deployment(folder / "home", database_url, {})

        def made_by(command: str, arguments: str = "") -> str:
            result = made.call(command, arguments)
            assert result.exit_code == 0, (command, result.output, result.exception)
            return result.stdout

        def job(arguments: str) -> str:
            return str(
                json.loads(made_by("jobs submit", f"{arguments} --param ontology=garden --json"))["id"]
            )

        made_by("db upgrade")
        made_by("ingest", "garden garden.csv")
        made_by("bundle build", "garden all --observed oak,elm,moss")
        made_by("token create", "nightly")
        made_by("jobs schedule add", "nightly --cron '0 0 * * *' cover --param ontology=garden")
        names = {"job": job("cover"), "backup": str(folder / "whole")}
        names["waiting"] = job("summary --param target=2 --detach")
        names["cancelled"] = job("summary --param target=3 --detach")
        made_by("jobs cancel", names["cancelled"])
        made_by("backup", names["backup"])
        yield replace(made, names=names)


def error_line(command: str, result: Result, code: int) -> str:
    """Return the one error line of a command that ended with this exit code; of doctor, the database row."""
    assert isinstance(result.exception, SystemExit), (command, result.exc_info)
    assert result.exit_code == code, (command, result.output)
    if command == "doctor":
        (row,) = (line for line in result.stdout.splitlines() if line.startswith("database "))
        assert "WRONG" in row
        return row
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, (command, result.output)
    assert result.stderr.endswith(f"{errors[0]}\n"), (command, result.output)
    return errors[0]

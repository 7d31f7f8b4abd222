"""What Kubernetes and systemd start, started here: their command lines and environments on real servers."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from tests.conftest import serving
from tests.deployment import kubernetes, systemd
from tests.deployment.kubernetes import SETTINGS
from tests.integration.compose_support import ComposeRedis, DeployedGrove, need
from tests.services import wait_until

pytestmark = pytest.mark.long

DOCUMENTS = kubernetes.documents()
UNITS = systemd.files()
TREES = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
SCOPES = "read,query,work,admin"


@pytest.fixture
def servers(
    tmp_path: Path, neo4j_clean_url: str, postgres_url: str, redis_url: str
) -> Iterator[dict[str, str]]:
    """The variables that the Secret has, or the file of systemd; and where artifacts are here."""
    with serving(ComposeRedis("redis-cache")) as cache:
        yield {
            "GROVE_GRAPH_URL": neo4j_clean_url,
            "GROVE_DATABASE_URL": postgres_url,
            "GROVE_BROKER_URL": redis_url,
            "GROVE_CACHE_URL": cache.url,
            "GROVE_ARTIFACTS_URL": str(tmp_path / "artifacts"),
        }


# ---- Kubernetes ------------------------------------------------------------------------------------------


def pod(name: str, home: Path, servers: dict[str, str]) -> DeployedGrove:
    """Return the part as the kubelet would start it; the Secret has the URLs of the test."""
    (kind,) = [
        one
        for one in DOCUMENTS
        if one.endswith(f"/labelgrove-{name}") and "template" in DOCUMENTS[one]["spec"]
    ]
    spec = DOCUMENTS[kind]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    given = dict(DOCUMENTS[f"ConfigMap/{SETTINGS}"]["data"])
    for one in container["env"]:
        given[one["name"]] = (
            one["value"] if "value" in one else value_from(one["valueFrom"], container, servers)
        )
    return DeployedGrove(
        name,
        home / name,
        command=container["command"],
        settings=given,
        servers={"GROVE_ARTIFACTS_URL": servers["GROVE_ARTIFACTS_URL"]},
        stop_deadline_s=spec.get("terminationGracePeriodSeconds", 30),
    )


def value_from(source: dict[str, Any], container: dict[str, Any], secret: dict[str, str]) -> str:
    if "secretKeyRef" in source:
        return secret[source["secretKeyRef"]["key"]]
    group, _, resource = source["resourceFieldRef"]["resource"].partition(".")
    return str(container["resources"][group][resource])


def probe(kind: str, served: DeployedGrove, *, headers: bool = True) -> int:
    """Ask as the kubelet does, which calls a pod by its address unless a header says otherwise."""
    (container,) = DOCUMENTS["Deployment/labelgrove-web"]["spec"]["template"]["spec"]["containers"]
    asked = container[kind]["httpGet"]
    named = {one["name"]: one["value"] for one in asked["httpHeaders"]} if headers else {}
    return served.ask(asked["path"], **({"Host": "10.0.0.7:8321"} | named))[0]


@pytest.mark.services
def test_kubernetes(tmp_path: Path, servers: dict[str, str]) -> None:
    early = pod("worker", tmp_path / "early", servers)
    ended = early.run(*early.words)
    assert ended.returncode != 0  # and the kubelet starts it again
    assert "grove db upgrade" in ended.stderr
    migrate = pod("migrate", tmp_path, servers)
    assert "GROVE_GRAPH_URL" not in migrate.settings
    done = migrate.run(*migrate.words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "is at revision" in done.stdout
    assert migrate.run(*migrate.words).returncode == 0
    web = pod("web", tmp_path, servers)
    strange = web.run(*web.words)
    assert strange.returncode != 0
    assert "grove token create" in strange.stderr
    with pod("worker", tmp_path, servers) as worker, pod("sweeper", tmp_path, servers) as sweeper:
        for part in (worker, sweeper):
            socket.create_connection(("127.0.0.1", part.port), timeout=10).close()  # ready
        token = worker.run("grove", "token", "create", "me", "--scope", SCOPES)
        assert token.returncode == 0, token.stderr
        with web:
            kinds = ("startupProbe", "readinessProbe", "livenessProbe")
            assert [probe(kind, web) for kind in kinds] == [200, 200, 200]
            assert [probe(kind, web, headers=False) for kind in kinds] == [421, 421, 421]
            known = {"Host": "labelgrove-web", "Authorization": f"Bearer {token.stdout.strip()}"}
            with Workspace.open(Settings.from_env(worker.settings)) as workspace:
                job = client.submit_ingest(workspace, "trees", TREES)
                assert (job.state, job.error) == ("done", None)
                wait_until(
                    lambda: workspace.graph.current("trees") == TREES.digest,
                    deadline_s=60,
                    what="the version",
                )
            status, children = web.ask("/v1/ontologies/trees/children?key=tree", **known)
            assert (status, [one["key"] for one in children["items"]]) == (200, ["elm", "oak"])
            assert web.ask("/v1/ontologies")[0] == 401
            web.stop()
        sweeper.stop()
        worker.stop()
    for part in (web, worker, sweeper):
        assert "Traceback" not in part.log_path.read_text()


# ---- systemd ---------------------------------------------------------------------------------------------


def unit(name: str, home: Path, servers: dict[str, str]) -> DeployedGrove:
    """Return the part as systemd would start it; the file of variables has the URLs of the test."""
    text = UNITS[f"labelgrove-{name}.service"]
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    given = dict(line.split("=", 1) for line in re.findall(r"^Environment=(.*)$", text, re.M))
    end = re.findall(r"^TimeoutStopSec=(.*)$", text, re.M)
    here = Path(sys.executable).parent
    program, *rest = shlex.split(command)
    return DeployedGrove(
        name,
        home / name,
        command=[program.replace(systemd.PREFIX, str(here)), *rest],
        settings=given,
        servers=servers,
        stop_deadline_s=float(end[0]) if end else 60.0,
    )


@pytest.mark.services
def test_systemd(tmp_path: Path, servers: dict[str, str]) -> None:
    migrate = unit("migrate", tmp_path, servers)
    done = migrate.run(*migrate.words)
    assert done.returncode == 0, done.stderr
    with (
        unit("worker", tmp_path, servers) as worker,
        unit("sweeper", tmp_path, servers) as sweeper,
        unit("web", tmp_path, servers) as web,
    ):
        status, job = web.ask("/readyz")
        assert (status, job["status"]) == (200, "ok")
        with Workspace.open(Settings.from_env(worker.settings)) as workspace:
            assert client.submit_ingest(workspace, "trees", TREES).state == "done"
        assert web.ask("/v1/ontologies/trees")[1]["n_labels"] == 3
        for part in (web, sweeper, worker):
            part.stop()
            assert "Traceback" not in part.log_path.read_text()


@pytest.fixture
def units(tmp_path: Path) -> list[Path]:
    """The units, with the programs of this environment."""
    need(("systemd-analyze", "systemd"))
    for name, text in UNITS.items():
        (tmp_path / name).write_text(text.replace(systemd.PREFIX, str(Path(sys.executable).parent)))
    return [tmp_path / name for name in UNITS]


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_systemd_reads_every_unit_without_a_word(units: list[Path]) -> None:
    said = analyze("verify", "--man=no", *units)
    assert (said.returncode, said.stdout + said.stderr) == (0, "")
    broken = units[-1]
    broken.write_text(broken.read_text().replace("KillMode=", "KilMode="))
    assert "KilMode" in analyze("verify", "--man=no", *units).stderr


def test_no_unit_has_rights_that_nobody_needs(units: list[Path]) -> None:
    """The exposure that systemd counts is at most 2.0 of 10; without what restricts it, it is 9.6."""
    for path in units:
        if path.suffix == ".service":
            said = analyze("security", "--offline=true", "--threshold=20", "--no-pager", path)
            assert said.returncode == 0, said.stdout[-200:]
    loose = re.sub(r"^(Protect|Private|Restrict|System|Capab|NoNew).*\n", "", path.read_text(), flags=re.M)
    path.write_text(loose)
    assert analyze("security", "--offline=true", "--threshold=20", "--no-pager", path).returncode != 0

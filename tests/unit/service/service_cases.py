"""Homes with small ontologies, and clients of an application that runs in the process of the test."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from click.testing import CliRunner
from fastapi import FastAPI
from starlette.testclient import TestClient

from labelgrove.cli import grove
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service import running
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.services import wait_until
from tests.unit.browse.browse_cases import NameRow, annotated

__all__ = [
    "MANUAL",
    "ODD_KEYS",
    "URL",
    "WIDE",
    "add",
    "client_of",
    "fill",
    "fill_results",
    "printed",
    "serving",
    "settings_of",
    "sign_in",
    "token_of",
    "two_free_ports",
]

URL = "http://127.0.0.1:8321"

MANUAL = (Path(__file__).parents[3] / "docs" / "service.md").read_text(encoding="utf-8")

WIDE = 2_500
"""Number of children of the label ``many`` of the ontology ``wide``."""

ODD_KEYS = (
    "#%/?&=+;",
    "two words",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "%2e%2E%00",
    "שלום עולם",
    "a,b",
    '"quoted"',
    "k" * 4_000,
    "é" * 2_000,
)
"""Keys with what URLs, paths, pages and lists treat as something else; the last two have 4,000 bytes."""

GARDEN = LabelGraph.from_edges(
    [("tree", "plant"), ("fern", "plant"), ("oak", "tree"), ("elm", "tree"), ("oak", "fern")],
    weights=[1.0, 2.0, 0.5, 1.0, 1.0],
    ranks=[0, 0, 0, 0, 1],
    names={"oak": "Oak", "elm": "Elm", "plant": "Plant"},
)


def settings_of(home: Path) -> Settings:
    """Return the settings of a home in which everything is on this machine."""
    return Settings.from_env({"GROVE_HOME": str(home)})


def add(home: Path, name: str, graph: LabelGraph, rows: Iterable[NameRow] = ()) -> str:
    """Make a hierarchy with further names the current version of `name`, and return its digest."""
    with Workspace.open(settings_of(home)) as workspace:
        held = put_snapshot(workspace.artifacts, graph, annotated(graph, rows), None)
        register(workspace, name, held)
    return graph.digest


def fill(home: Path) -> None:
    """Ingest ``garden`` (two versions), ``wide``, ``odd`` (odd keys) and ``grid`` (undirected)."""
    add(home, "garden", LabelGraph.from_edges([("oak", "tree")]))
    oak = GARDEN.keys.index("oak")
    add(home, "garden", GARDEN, [NameRow(oak, "Eiche", "exact", "de"), NameRow(oak, "quercus", "related")])
    children = [(f"c{i:04d}", "many") for i in range(WIDE)]
    add(home, "wide", LabelGraph.from_edges([*children, ("leaf", "c0000")]))
    add(home, "odd", LabelGraph.from_edges([(key, "root") for key in ODD_KEYS] + [("x", ODD_KEYS[0])]))
    add(home, "grid", LabelGraph.grid((2, 2)))


def fill_results(home: Path, *, experiment: bool = False) -> dict[str, str]:
    """Ingest ``garden`` in three versions, with results, and return the id of each job by its kind.

    The cover and the evaluation are about the second version, locus and selection about the current one, the
    third. An experiment takes seconds, so it is left out unless requested.
    """
    folder = home.parent
    rng = np.random.default_rng(0)
    np.save(folder / "outputs.npy", rng.normal(size=(80, 2)))
    truth = rng.choice(["oak", "elm", "fern"], 80).tolist()
    (folder / "truth.txt").write_text("\n".join(truth))
    sampled: dict[str, Any] = {"observed": ["oak", "elm"], "emits": "logits"}
    sampled |= {"outputs": str(folder / "outputs.npy"), "truth": str(folder / "truth.txt")}
    asked: dict[str, dict[str, Any]] = {
        "locus": {"ontology": "garden", "observed": ["oak", "elm"], "metric": "tree"},
        "selection": {"ontology": "garden", "observed": ["elm"], "n": 1, "metric": "tree"},
        "cover": {"ontology": "garden", "metric": "tree"},
        "evaluation": {"ontology": "garden", "metric": "tree", "model": "<b>net</b>", **sampled},
        "experiment": {"experiment": "diabetes-path", "quick": True},
    }
    done = {}
    add(home, "garden", LabelGraph.from_edges([("oak", "tree")]))
    add(home, "garden", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("fern", "tree")]))
    with Workspace.open(settings_of(home)) as workspace:
        for kind in ("cover", "evaluation", *["experiment"] * experiment):
            done[kind] = client.submit(workspace, kind, asked[kind])
    add(home, "garden", GARDEN)
    with Workspace.open(settings_of(home)) as workspace:
        for kind in ("locus", "selection"):
            done[kind] = client.submit(workspace, kind, asked[kind])
    assert {job.state for job in done.values()} == {State.DONE}, [job.error for job in done.values()]
    return {kind: job.id for kind, job in done.items()}


@contextlib.contextmanager
def serving(home: Path, limits: Limits) -> Iterator[tuple[str, int]]:
    """Yield the address of a server over `home` that runs on a thread, set up as `grove serve` does it."""
    bound = running.listening("127.0.0.1", 0)
    server = uvicorn.Server(running.configured(lambda: make_app(Workspace.open(settings_of(home)), limits)))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), deadline_s=60, what="the server")
        yield bound.getsockname()
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def client_of(
    home: Path,
    limits: Limits | None = None,
    *,
    raising: bool = True,
    local: bool = True,
    peer: str = "127.0.0.1",
    **variables: str,
) -> Iterator[TestClient]:
    """Yield a client of an application over `home`; without `raising`, faults are answers with status 500.

    With `local`, only this machine reaches the application; `variables` are further settings.
    """
    settings = Settings.from_env({"GROVE_HOME": str(home), **variables})
    app = make_app(Workspace.open(settings), limits or Limits(requests_per_second=0), local=local)
    with TestClient(app, base_url=URL, raise_server_exceptions=raising, client=(peer, 50_000)) as client:
        yield client


def printed(home: Path, *arguments: str) -> Any:
    """Return the document that a command about a home prints with ``--json``."""
    done = CliRunner().invoke(grove, [*arguments, "--json"], env={"GROVE_HOME": str(home)})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def token_of(home: Path, name: str, *scopes: str, **options: Any) -> dict[str, str]:
    """Create a token and return the header with it; `options` are those of `Tokens.create`."""
    with Workspace.open(settings_of(home)) as workspace:
        return {"Authorization": f"Bearer {Tokens(workspace.engine).create(name, scopes, **options)}"}


def sign_in(client: TestClient) -> str:
    """Open a new link of the owner, and return the session."""
    app = client.app
    assert isinstance(app, FastAPI)
    answer = client.get(f"/enter?code={app.state.identity.sessions.new_link_code()}", follow_redirects=False)
    assert answer.status_code == 303
    return str(client.cookies["grove-session"])


def two_free_ports() -> int:
    """Return a free port whose successor is free too."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError), socket.create_server(("127.0.0.1", port + 1)):
                return port

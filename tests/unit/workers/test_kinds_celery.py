"""Every kind of job gives the same bytes in this process and on a Celery worker, through all queues."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelgrove.datasets.randomgraphs import watts_strogatz
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import add_version, settings_in

pytest.importorskip("sklearn")

pytestmark = [pytest.mark.services, pytest.mark.long]

GRAPH = watts_strogatz(40, k=4, p=0.2, seed=3)
SEEN = GRAPH.keys.take([3, 30, 17, 21])
REQUESTS = [
    ("bundle", {}, {"observed": SEEN}),
    ("cover", {}, {}),
    ("distances", {"block": 15}, {}),
    ("locus", {"block": 10}, {"observed": SEEN}),
    ("locus", {"method": "pairs", "parts": 2}, {"observed": SEEN}),
    ("selection", {"n": 2, "parts": 2}, {"observed": SEEN}),
    ("summary", {"target": 6, "seed": 1}, {}),
]
EXPERIMENT = {"experiment": "complete-graph", "settings": {"sizes": "3", "seeds": "0,1", "n_rows": 50}}


def write_evaluated(folder: Path) -> dict[str, str]:
    """Write outputs and truths of a model, and return the parameters of an evaluation."""
    rng = np.random.default_rng(0)
    np.save(folder / "outputs.npy", rng.dirichlet(np.ones(len(SEEN)), 60))
    (folder / "truth.txt").write_text("\n".join(rng.choice(list(GRAPH.keys), 60)))
    return {"model": "m", "outputs": str(folder / "outputs.npy"), "truth": str(folder / "truth.txt")}


def test_every_kind_gives_the_same_bytes_embedded_and_through_celery(tmp_path, redis_url):
    requests = [*REQUESTS, ("evaluation", write_evaluated(tmp_path), {"observed": SEEN})]
    embedded, served = (tmp_path / name for name in ("embedded", "celery"))
    served.mkdir()
    results = []
    for settings in (settings_in(embedded), settings_in(served, broker_url=redis_url)):
        with Workspace.open(settings) as workspace:
            add_version(workspace, "small-world", GRAPH)

            def run(workspace=workspace):
                jobs = [
                    client.submit(workspace, kind, {"ontology": "small-world", **options, **keys}, wait=False)
                    for kind, options, keys in requests
                ]
                jobs.append(client.submit(workspace, "experiment", EXPERIMENT, wait=False))
                return [client.wait(workspace, job.id, timeout_s=120) for job in jobs]

            if settings.broker_url is None:
                results.append(run())
            else:
                with CeleryWorker(settings, tmp_path / "log", app="labelgrove.workers.app"):
                    results.append(run())
    for here, there in zip(*results, strict=True):
        assert (here.state, there.state) == (State.DONE, State.DONE), (here.kind, here.error, there.error)
        assert (here.id, here.result_sha256, here.units) == (there.id, there.result_sha256, there.units)
    assert [(job.kind, sum(job.units.values())) for job in results[0]] == [
        ("bundle", 1),
        ("cover", 1),
        ("distances", 4),
        ("locus", 5),
        ("locus", 3),
        ("selection", 2),
        ("summary", 1),
        ("evaluation", 1),
        ("experiment", 3),
    ]

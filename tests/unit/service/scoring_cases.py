"""A home with bundles, and adapters of the same bundles to compare answers with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter import Adapter
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.client import build_bundle_job
from labelgrove.workers.ledger.states import State
from tests.unit.service.service_cases import settings_of

__all__ = ["N_OBSERVED", "adapter_of", "build", "fill_with_bundles", "outputs_of"]

N_LABELS, N_OBSERVED = 60, 7


def fill_with_bundles(home: Path) -> None:
    """Ingest the ontology ``zoo``, and build its bundles ``tree`` and ``block``."""
    rng = np.random.default_rng(0)
    pairs = [(f"k{i}", f"k{rng.integers(i)}") for i in range(1, N_LABELS)]
    graph = LabelGraph.from_edges([*pairs, ("k59", "k3")], names={f"k{i}": f"name {i}" for i in range(40)})
    with Workspace.open(settings_of(home)) as workspace:
        register(workspace, "zoo", graph)
        build(workspace, "tree", range(10, 10 + N_OBSERVED), metric="tree")
        build(workspace, "block", range(10, 10 + N_OBSERVED), metric="graph")


def build(workspace: Workspace, name: str, observed: range, metric: str = "tree") -> None:
    """Build a bundle of ``zoo``."""
    keys = [f"k{i}" for i in observed]
    job = build_bundle_job(workspace, "zoo", name, keys, metric=metric)
    assert (job.state, job.error) == (State.DONE, None)


def adapter_of(home: Path, name: str) -> Adapter:
    """Return an adapter of a bundle of ``zoo``."""
    return Adapter.load(f"zoo/{name}", artifacts_url=settings_of(home).artifacts_url)


def outputs_of(kind: str, n_rows: int = 50, seed: int = 0) -> NDArray[np.float64]:
    """Return outputs of a kind, some of whose rows have ties."""
    rng = np.random.default_rng(seed)
    logits = np.round(rng.normal(size=(n_rows, N_OBSERVED)) * 3)
    if kind == "logits":
        return logits
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return np.log(probabilities) if kind == "log_probabilities" else probabilities

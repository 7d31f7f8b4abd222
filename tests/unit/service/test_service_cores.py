"""As many threads score as cores are given, not as the machine has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from labelgrove.service.scoring.cores import usable_cores
from tests.unit.service.service_cases import client_of


def quotas(system, group, **limits):
    """Write control groups: `limits` maps the name of a group inside of the one before it to its cpu.max."""
    (system / "proc/self").mkdir(parents=True)
    (system / "proc/self/cgroup").write_text(f"4:memory:/old\n0::{group}\n")
    folder = system / "sys/fs/cgroup"
    for name, limit in limits.items():
        folder = folder if name == "root" else folder / name
        folder.mkdir(parents=True)
        (folder / "cpu.max").write_text(f"{limit}\n")
    return system


@pytest.fixture
def many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)


@pytest.mark.parametrize(
    ("group", "limits", "cores"),
    [
        ("/", {"root": "200000 100000"}, 2),
        ("/", {"root": "150000 100000"}, 2),
        ("/", {"root": "10000 100000"}, 1),
        ("/", {"root": "max 100000"}, 64),
        ("/", {"root": "9900000 100000"}, 64),
        ("/outer/inner", {"outer": "300000 100000", "inner": "max 100000"}, 3),
        ("/outer/inner", {"outer": "300000 100000", "inner": "50000 25000"}, 2),
        ("/elsewhere", {"outer": "300000 100000"}, 64),
    ],
)
def test_the_tightest_quota_bounds_the_cores(tmp_path, many_cores, group, limits, cores):
    assert usable_cores(quotas(tmp_path, group, **limits)) == cores


def test_without_control_groups_the_cores_are_those_of_the_process(tmp_path, many_cores):
    assert usable_cores(tmp_path) == 64


def test_the_service_scores_on_as_many_threads_as_it_has_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with client_of(tmp_path / "home") as client:
        assert client.app.state.shared.scorers._threads == 1


KERNELS = """
import sys, time
import numpy as np
from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.service.scoring.scorers import Scorers

rng = np.random.default_rng(0)
pairs = [(f"k{i}", f"k{rng.integers(max(0, i - 300), i)}") for i in range(1, 3000)]
graph = LabelGraph.from_edges([*pairs, ("k59", "k3")])
adapter = Adapter(build_bundle(metric_space(graph, sys.argv[1]), [f"k{i}" for i in range(300)]))
rows = rng.dirichlet(np.ones(300), 256)
with Scorers(2, 2):
    adapter.top_k(rows, 3)  # loops are compiled
    all_threads, own = time.process_time(), time.thread_time()
    for _ in range(20):
        adapter.top_k(rows, 3)
        adapter.predict_indices(rows)
    print((time.process_time() - all_threads) / (time.thread_time() - own))
"""


@pytest.mark.parametrize("metric", ["tree", "graph"])
def test_a_thread_that_scores_starts_no_others(metric):
    """So scorers, one for each core, are all that computes; numba and BLAS could each use every core."""
    many = {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4", "NUMBA_NUM_THREADS": "4"}
    command = [sys.executable, "-c", KERNELS, metric]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | many)
    assert float(done.stdout) < 1.5  # threads that wait for work spin a little

"""One adapter, many threads, a bundle that keeps changing: every call answers from one version, for hours."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter import Adapter
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

N_THREADS = 8
N_LABELS, N_OBSERVED = 20_000, 64
N_CHUNKS, CHUNK = 8, 500
MOST_GROWTH = 0.01


def version(word, n_spare, seed):
    """Observed labels at the same places below others called after `word`; spare labels move every index."""
    rng = np.random.default_rng(7)
    below = [int(rng.integers(0, i)) for i in range(1, N_LABELS)]
    has_child = set(below)
    leaves = [i for i in range(1, N_LABELS) if i not in has_child][:N_OBSERVED]
    keys = [f"leaf{i}" if i in leaves else f"{word}{i}" for i in range(N_LABELS)]
    pairs = [(keys[i], keys[parent]) for i, parent in enumerate(below, start=1)]
    pairs += [(f"a{i}", keys[0]) for i in range(n_spare)]
    observed = [f"leaf{i}" for i in leaves]
    order = np.random.default_rng(seed).permutation(N_OBSERVED)
    return build_bundle(LabelGraph.from_edges(pairs), [observed[i] for i in order], metric="tree"), observed


class Publisher:
    """Two bundles in a store, under one name that means the one and then the other."""

    def __init__(self, folder):
        self.store = open_store(str(folder))
        (old, self.columns), (new, _) = version("old", 0, 1), version("new", 100, 2)
        self.bundles = [old, new]
        for bundle in self.bundles:
            self.store.put_arrays(*bundle.to_arrays())
        self.n_published = 0
        self.publish()

    def publish(self):
        bundle = self.bundles[self.n_published % 2]
        self.n_published += 1
        entry = {"sha256": bundle.digest, "version": bundle.ontology_digest}
        self.store.write_index("plants", {"version": bundle.ontology_digest, "bundles": {"mine": entry}})


def resident_bytes():
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(folder, n_rows, between_s, least_renewals):
    """Have `N_THREADS` threads ask for `n_rows` answers each while the bundle is renewed every `between_s`.

    They go on until it was renewed `least_renewals` times.

    Returns how many answers came from each version, how often it was renewed, and the resident memory at
    each renewal.
    """
    publisher = Publisher(folder)
    adapter = Adapter.load("plants/mine", publisher.columns, artifacts_url=publisher.store.where)
    weights = np.random.default_rng(0).dirichlet(np.full(N_OBSERVED, 0.1), (N_CHUNKS, CHUNK))
    weights = weights.astype(np.float32)
    alone = [Adapter(bundle, publisher.columns) for bundle in publisher.bundles]
    answers = [[one.predict(chunk) for chunk in weights] for one in alone]
    rankings = [[one.top_k(chunk[:20], 3).keys for chunk in weights] for one in alone]
    assert all(old != new for found in (answers, rankings) for old, new in zip(*found, strict=True))
    done, enough = threading.Event(), threading.Event()

    def ask(thread):
        seen, turn = [0, 0], 0
        while turn < n_rows // CHUNK or not enough.is_set():
            which = (turn + thread) % N_CHUNKS
            found = adapter.predict(weights[which])
            told = [found == by_chunk[which] for by_chunk in answers]
            assert any(told), "an answer of neither version, or a mix of both"
            seen[told.index(True)] += len(found)
            if turn % 16 == 0:
                keys = adapter.top_k(weights[which][:20], 3).keys
                assert keys in [by_chunk[which] for by_chunk in rankings]
            turn += 1
        return seen

    def renew():
        resident = [resident_bytes()]
        n_renewed = 0
        try:
            while not done.wait(between_s):
                publisher.publish()
                n_renewed += adapter.refresh()
                resident.append(resident_bytes())
                if n_renewed >= least_renewals:
                    enough.set()
        finally:
            enough.set()
        return n_renewed, resident

    with ThreadPoolExecutor(N_THREADS + 1) as pool:
        renewing = pool.submit(renew)
        try:
            seen = [future.result() for future in [pool.submit(ask, i) for i in range(N_THREADS)]]
        finally:
            done.set()
        n_renewed, resident = renewing.result()
    assert n_renewed == publisher.n_published - 1  # every renewal brought the other version
    return np.sum(seen, axis=0).tolist(), n_renewed, resident


def test_threads_that_share_an_adapter_get_the_answers_of_one_version(tmp_path):
    n_rows = 20_000
    seen, n_renewed, _ = soak(tmp_path, n_rows, between_s=0.005, least_renewals=6)
    assert sum(seen) >= N_THREADS * n_rows
    assert min(seen) > 0
    assert n_renewed >= 6


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_rows_for_each_thread_leave_memory_as_it_was(tmp_path):
    n_rows = 1_000_000
    seen, n_renewed, resident = soak(tmp_path, n_rows, between_s=1.0, least_renewals=180)
    assert sum(seen) >= N_THREADS * n_rows
    assert min(seen) > 0
    second_half = np.array(resident[len(resident) // 2 :], dtype=float)
    slope, level = np.polyfit(np.arange(len(second_half)), second_half, 1)
    growth = slope * len(second_half) / level
    print(f"{n_renewed} renewals, {seen} answers, second half {level / 2**20:.1f} MiB, {growth:+.2%}")
    assert growth < MOST_GROWTH

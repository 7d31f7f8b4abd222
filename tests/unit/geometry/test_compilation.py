"""Every scorer with a compiled search begins without it, and turns to it once that is worth it."""

import subprocess
import sys
import threading
import time
import warnings

import pytest

from labelgrove.ontology.geometry.scoring.background import Background

TREE = "TreeScorer(TreeSpace.from_arrays(keys, parent), observed)"
LEAVES = "RestrictedTreeScorer(TreeSpace.from_arrays(keys, parent, allowed=leaves), observed)"
GRAPH = "GraphScorer(distances)"
PROGRAM = """
import sys, threading, time
import numpy as np
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.geometry.scoring.kernelloading import is_loaded
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.keys import Keys

n, observed = 3000, np.arange(1, 2000, 50)
keys = Keys.from_strings(f"{i:04d}" for i in range(n))
parent = (np.arange(n) - 1) // 3
parent[0] = -1
leaves = np.setdiff1d(np.arange(n), parent)
distances = TreeSpace.from_arrays(keys, parent).distances(cols=observed)
top = int(sys.argv[2])
scorer, rehearsal = eval(sys.argv[1]), sys.argv[3]
rows = np.random.default_rng(0).random((512, len(observed)))

def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("labelgrove")]

first = scorer.score(rows[:1], top)
assert scorer.decision() is None and not threads() and "numba" not in sys.modules
expected = scorer.score(rows, top).index.tolist()
limit = time.monotonic() + 100
while not is_loaded(rehearsal):
    assert time.monotonic() < limit, "no compiled search"
    assert scorer.score(rows, top).index.tolist() == expected
    for thread in threads():
        thread.join(0.05)
assert scorer.score(rows, top).index.tolist() == expected
assert scorer.score(rows[:1], top).index.tolist() == first.index.tolist()
"""


@pytest.mark.parametrize("top", [1, 5])
@pytest.mark.parametrize(
    ("scorer", "rehearsal"),
    [(TREE, "tree_search"), (LEAVES, "restricted_search"), (GRAPH, "row_search:uint8")],
    ids=["tree", "leaves", "graph"],
)
def test_a_scorer_turns_to_compiled_loops_once_they_are_worth_it(
    scorer: str, rehearsal: str, top: int
) -> None:
    if scorer == TREE and top > 1:
        rehearsal = "restricted_search"
    subprocess.run([sys.executable, "-c", PROGRAM, scorer, str(top), rehearsal], check=True)


def test_a_function_in_the_background_runs_once_however_many_threads_ask_for_it() -> None:
    ran, ready = [], threading.Barrier(8)
    task = Background(lambda: ran.append(1), "count")

    def ask() -> None:
        ready.wait()
        task.start()

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    limit = time.monotonic() + 10
    while any(thread.name == "labelgrove: count" for thread in threading.enumerate()):
        assert time.monotonic() < limit
    assert ran == [1]


def test_a_thread_that_cannot_be_started_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.warns(RuntimeWarning, match="answers more slowly: count: RuntimeError: can't start new"):
        Background(list, "count").start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Background(list, "count").start()

"""Kernels that are loaded in the background: by no call of a scorer, by any process, and never twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long  # processes that compile, each from nothing

HEAD = """
import os, sys, threading, time
import numpy as np
from labelgrove import Adapter, LabelGraph
from labelgrove.ontology.geometry.scoring.kernelloading import is_loaded, load, load_in_background

edges = [(f"n{i:03d}", f"n{(i - 1) // 3:03d}") for i in range(1, 400)]
observed = [f"n{i:03d}" for i in range(200, 260)]
adapter = Adapter.from_graph(LabelGraph.from_edges(edges), observed)
P = np.random.default_rng(0).random((50, 60))

def compiled_by():
    from labelgrove.ontology.geometry.kernels import jit
    return sum(sum(d.stats.cache_misses.values()) for d in kernels())

def kernels():
    for name, module in list(sys.modules.items()):
        if name.startswith("labelgrove.ontology.geometry.kernels."):
            yield from (value for value in vars(module).values() if hasattr(value, "overloads"))
"""
IN_BACKGROUND = """
expected = adapter.predict(P)
while not is_loaded("tree_search"):
    assert adapter.predict(P) == expected
    for thread in threading.enumerate():
        if thread.name.startswith("labelgrove"):
            thread.join(0.05)
assert adapter.predict(P) == expected
assert adapter.predict(P.astype(np.float32)[:1]) == expected[:1]
print(len([t for t in threading.enumerate() if t.name.startswith("labelgrove")]), compiled_by())
"""
FORKED = """
load_in_background("tree_search")
while "numba" not in sys.modules:
    pass
child = os.fork()
expected = adapter.predict(P)
if child == 0:
    while not is_loaded("tree_search"):
        load_in_background("tree_search")
    os._exit(0 if adapter.predict(P) == expected else 1)
print(os.waitpid(child, 0)[1])
"""
ENDED = """
load_in_background("tree_search")
while "numba" not in sys.modules:
    pass
"""
OPTED_OUT = """
import builtins
actual = builtins.__import__
def refused(name, *rest, **more):
    if name.partition(".")[0] == "numba":
        raise ImportError(name)
    return actual(name, *rest, **more)
builtins.__import__ = refused
expected = adapter.predict(P)
assert adapter.warm(k=3).predict(P) == expected
load_in_background("tree_search")
for thread in threading.enumerate():
    if thread.name.startswith("labelgrove"):
        thread.join()
print(is_loaded("tree_search"), adapter.predict(P) == expected)
"""


def run(program: str, cache: Path, *, limit: str = ":", **environment: str) -> str:
    command = ["sh", "-c", f'{limit}; exec "$@"', "sh", sys.executable, "-W", "error", "-c", HEAD + program]
    done = subprocess.run(
        command,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)} | environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.returncode
    return done.stdout.strip()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the code of the search on trees."""
    cache = tmp_path_factory.mktemp("cache")
    assert run("print(load('tree_search'), load('tree_search'))", cache) == "True False"
    return cache


def test_another_process_compiles_and_this_one_loads_while_it_answers(tmp_path):
    assert run(IN_BACKGROUND, tmp_path) == "0 0"
    assert len(list(tmp_path.rglob("*.nbc"))) > 10


def test_code_in_a_folder_that_nothing_can_be_written_to_is_used(filled):
    assert run("print(load('tree_search'), compiled_by())", filled, limit="ulimit -f 0") == "False 0"


def test_code_that_cannot_be_kept_is_compiled_in_the_background(tmp_path):
    found = run(IN_BACKGROUND, tmp_path, limit="ulimit -f 0")
    assert found.startswith("0 ")
    assert int(found.removeprefix("0 ")) > 10


def test_a_process_that_forks_while_kernels_load_has_a_child_that_loads_them_too(filled):
    assert run(FORKED, filled) == "0"


def test_a_process_ends_well_while_kernels_load(filled, tmp_path):
    assert run(ENDED, filled) == ""
    assert run(ENDED, tmp_path) == ""


def test_without_numba_nothing_is_loaded_and_nothing_is_said(tmp_path):
    assert run(OPTED_OUT, tmp_path) == "False True"


def test_a_fault_while_kernels_load_is_a_warning_and_not_the_end(tmp_path):
    program = """
import warnings
from labelgrove.ontology.geometry import rehearsals
def broken(name): raise OSError("no such processor")
rehearsals.rehearse = broken
warnings.simplefilter("default")
with warnings.catch_warnings(record=True) as caught:
    load_in_background("tree_search")
    for thread in threading.enumerate():
        if thread.name.startswith("labelgrove"):
            thread.join()
print([str(w.message) for w in caught if w.category is RuntimeWarning], is_loaded("tree_search"))
"""
    text = run(program, tmp_path)
    assert "load compiled kernels (tree_search): OSError: no such processor" in text
    assert text.endswith("False")


def test_a_program_with_a_python_inside_does_not_start_itself(tmp_path):
    program = """
sys.executable = "/bin/false-python"
load_in_background("tree_search")
while not is_loaded("tree_search"):
    time.sleep(0.01)
print(compiled_by() > 10)
"""
    assert run(program, tmp_path) == "True"

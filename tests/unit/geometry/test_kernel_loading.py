"""Kernels that are loaded in the background: by no call of a scorer, by any process, and never twice."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packagecopy import copied_package

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
ENDED_WHILE_IT_COMPILES = (
    """
import atexit
atexit.register(lambda: print(compiled_by()))  # called last, when no kernel is compiled any more
"""
    + HEAD
    + """
load_in_background("tree_search")
while "numba" not in sys.modules or compiled_by() == 0:
    time.sleep(0.01)
"""
)
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


Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a program with a copy of the package, so that no other test keeps code beside it."""
    copy = tmp_path_factory.mktemp("copy")

    def run(program: str, cache: Path, *, limit: str = ":") -> str:
        command = ["sh", "-c", f'{limit}; exec "$@"', "sh", sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(
            command,
            cwd=copy,
            env=os.environ | copied_package(copy, cache),
            stdout=subprocess.PIPE,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, done.returncode
        return done.stdout.strip()

    return run


@pytest.fixture(scope="module")
def filled(run, tmp_path_factory):
    """A folder with the code of the search on trees."""
    cache = tmp_path_factory.mktemp("cache")
    assert run(HEAD + "print(load('tree_search'), load('tree_search'))", cache) == "True False"
    return cache


def test_another_process_compiles_and_this_one_loads_while_it_answers(run, tmp_path):
    assert run(HEAD + IN_BACKGROUND, tmp_path) == "0 0"
    assert len(list(tmp_path.rglob("*.nbc"))) > 10


@pytest.mark.slow
def test_code_in_a_folder_that_nothing_can_be_written_to_is_used(run, filled):
    assert run(HEAD + "print(load('tree_search'), compiled_by())", filled, limit="ulimit -f 0") == "False 0"


@pytest.mark.slow
def test_code_that_cannot_be_kept_is_compiled_in_the_background(run, tmp_path):
    found = run(HEAD + IN_BACKGROUND, tmp_path, limit="ulimit -f 0")
    assert found.startswith("0 ")
    assert int(found.removeprefix("0 ")) > 10


@pytest.mark.slow
def test_a_process_that_forks_while_kernels_load_has_a_child_that_loads_them_too(run, filled):
    assert run(HEAD + FORKED, filled) == "0"


def test_a_process_ends_well_while_kernels_load(run, filled, tmp_path):
    assert run(HEAD + ENDED, filled) == ""
    assert run(HEAD + ENDED, tmp_path) == ""


@pytest.mark.slow
def test_the_end_waits_for_one_kernel_that_is_compiled_and_not_for_all(run, tmp_path):
    assert 1 <= int(run(ENDED_WHILE_IT_COMPILES, tmp_path, limit="ulimit -f 0")) <= 5


def test_without_numba_nothing_is_loaded_and_nothing_is_said(run, tmp_path):
    assert run(HEAD + OPTED_OUT, tmp_path) == "False True"


def test_a_fault_while_kernels_load_is_a_warning_and_not_the_end(run, tmp_path):
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
    text = run(HEAD + program, tmp_path)
    assert "load compiled kernels (tree_search): OSError: no such processor" in text
    assert text.endswith("False")


@pytest.mark.slow
def test_a_program_with_a_python_inside_does_not_start_itself(run, tmp_path):
    program = """
sys.executable = "/bin/false-python"
load_in_background("tree_search")
while not is_loaded("tree_search"):
    time.sleep(0.01)
print(compiled_by() > 10)
"""
    assert run(HEAD + program, tmp_path) == "True"

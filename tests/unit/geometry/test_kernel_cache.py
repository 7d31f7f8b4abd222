"""The cache of compiled kernels: used again while nothing changes, and never for other sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ontology

FILES = (
    "__init__.py",
    "errors.py",
    "extras.py",
    "geometry/__init__.py",
    "geometry/kernels/__init__.py",
    "geometry/kernels/jit.py",
)
INNER = """
from ontology.geometry.kernels.jit import compiled

@compiled
def inner(x: int) -> int:
    return x + 1
"""
OUTER = """
from ontology.geometry.kernels.inner import inner
from ontology.geometry.kernels.jit import compiled

@compiled
def outer(x: int) -> int:
    return 10 * inner(x)
"""
PROGRAM = """
import importlib, sys
from pathlib import Path

def answer():
    for name in [name for name in sys.modules if name.startswith("ontology")]:
        del sys.modules[name]
    outer = importlib.import_module("ontology.geometry.kernels.outer").outer
    print(outer(1), sum(outer.stats.cache_hits.values()))

answer()
answer()
inner = Path(sys.argv[1])
inner.write_text(inner.read_text().replace("+ 1", "+ 2"))
answer()
"""


def test_a_kernel_is_compiled_again_when_one_that_it_inlines_has_changed(tmp_path: Path) -> None:
    here, folder = Path(ontology.__file__).parent, tmp_path / "ontology"
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(here / name, folder / name)
    kernels = folder / "geometry" / "kernels"
    (kernels / "inner.py").write_text(INNER)
    (kernels / "outer.py").write_text(OUTER)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM, str(kernels / "inner.py")]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.splitlines() == ["20 0", "20 1", "30 0"]

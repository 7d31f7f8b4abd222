"""The cache of compiled kernels: used again while nothing changes, and never for other sources."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import labelgrove
from labelgrove.ontology.geometry.kernels.codefiles import CodeFiles

pytestmark = pytest.mark.long  # processes that compile, each from nothing

FILES = (
    "__init__.py",
    "__init__.pyi",
    "ontology/__init__.py",
    "ontology/__init__.pyi",
    "ontology/errors.py",
    "ontology/extras.py",
    "ontology/geometry/__init__.py",
    "ontology/geometry/__init__.pyi",
    "ontology/geometry/kernels/__init__.py",
    "ontology/geometry/kernels/codefiles.py",
    "ontology/geometry/kernels/jit.py",
    "ontology/geometry/kernels/rows/__init__.py",
    "ontology/lazynames.py",
    "ontology/store/__init__.py",
    "ontology/store/posix.py",
    "ontology/store/wholefile.py",
)
INNER = """
from labelgrove.ontology.geometry.kernels.jit import compiled

@compiled
def inner(x: int) -> int:
    return x + 1
"""
OUTER = """
from labelgrove.ontology.geometry.kernels.rows.inner import inner
from labelgrove.ontology.geometry.kernels.jit import compiled

@compiled
def outer(x: int) -> int:
    return 10 * inner(x)
"""
PROGRAM = """
import importlib, sys
from pathlib import Path

def answer():
    for name in [name for name in sys.modules if name.startswith("labelgrove")]:
        del sys.modules[name]
    outer = importlib.import_module("labelgrove.ontology.geometry.kernels.outer").outer
    print(outer(1), sum(outer.stats.cache_hits.values()))

answer()
answer()
inner = Path(sys.argv[1])
inner.write_text(inner.read_text().replace("+ 1", "+ 2"))
answer()
"""


TYPED = """
import os, sys
import numpy as np
from labelgrove.ontology.geometry.kernels.jit import compiled

@compiled
def total(values: np.ndarray) -> float:
    return values.sum()

print(float(total(np.array([1, 2, 4], dtype=sys.argv[1]))), sum(total.stats.cache_hits.values()))
"""


class Program:
    """A program with a kernel of its own, run in processes that share a cache folder."""

    def __init__(self, tmp_path: Path) -> None:
        self.path, self.cache = tmp_path / "typed.py", tmp_path / "cache"
        self.path.write_text(TYPED)

    def run(self, dtype: str, limit: str = ":") -> str:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(self.cache)}
        command = ["sh", "-c", f'{limit}; exec "$@"', "sh", sys.executable, str(self.path), dtype]
        where = Path(labelgrove.__file__).parents[1]
        done = subprocess.run(command, env=environment, cwd=where, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip() if done.returncode == 0 else f"exit {done.returncode}"

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.cache.rglob("*") if path.is_file()}


def test_two_processes_that_compile_two_types_at_once_never_read_the_code_of_each_other(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    assert program.run("float64") == "7.0 0"
    of_the_first = program.files()
    shutil.rmtree(program.cache)
    assert program.run("int64") == "7.0 0"
    # both found an empty folder; the first wrote its files while the second compiled, and wrote some last
    for path, content in of_the_first.items():
        if path.suffix == ".nbc" or not path.exists():
            path.write_bytes(content)
    assert [program.run(dtype) for dtype in ("int64", "float64", "uint64")] == ["7.0 1", "7.0 1", "7.0 0"]


def flipped(content: bytes) -> bytes:
    """Return the content with one bit of its middle byte changed; the length stays the same."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [lambda content: b"", lambda content: content[: len(content) // 2], flipped]
)
def test_a_damaged_file_of_the_cache_is_compiled_again(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    program = Program(tmp_path)
    assert program.run("float64") == "7.0 0"
    for path, content in program.files().items():
        path.write_bytes(damage(content))
    assert [program.run("float64"), program.run("float64")] == ["7.0 0", "7.0 1"]


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "change", [lambda path: path.chmod(0o664), lambda path: path.chmod(0o646), pipe, endless]
)
def test_only_files_that_nobody_else_can_write_to_are_run(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    program = Program(tmp_path)
    assert program.run("float64") == "7.0 0"
    for path in program.cache.rglob("*.nbc"):
        change(path)
    assert program.run("float64") == "7.0 0"


def test_files_of_another_user_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = CodeFiles([tmp_path])
    files.save("kernel.nbc", b"code")
    assert files.load("kernel.nbc") == b"code"
    if os.geteuid() == 0:
        os.chown(tmp_path / "kernel.nbc", 12345, -1)
    else:  # who cannot give files away becomes another user
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert files.load("kernel.nbc") is None


def test_a_kernel_runs_where_its_code_cannot_be_kept(tmp_path: Path) -> None:
    program = Program(tmp_path)
    assert [program.run("float64", "ulimit -f 0"), program.run("float64")] == ["7.0 0", "7.0 0"]


def test_a_kernel_is_compiled_again_when_one_that_it_inlines_has_changed(tmp_path: Path) -> None:
    here, folder = Path(labelgrove.__file__).parent, tmp_path / "labelgrove"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here / name, folder / name)
    kernels = folder / "ontology" / "geometry" / "kernels"
    (kernels / "rows" / "inner.py").write_text(INNER)
    (kernels / "outer.py").write_text(OUTER)
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",  # a change within a second that keeps the size is not noticed there
    }
    command = [sys.executable, "-c", PROGRAM, str(kernels / "rows" / "inner.py")]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.splitlines() == ["20 0", "20 1", "30 0"]

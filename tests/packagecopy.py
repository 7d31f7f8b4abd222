"""A copy of the package, so that a process finds no compiled code of other runs beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import labelgrove

__all__ = ["copied_package"]


def copied_package(folder: Path, compiled: Path) -> dict[str, str]:
    """Copy the package into a folder; return the environment of processes that are to import this copy.

    They keep compiled code in the folder `compiled`, and read it from nowhere else.
    """
    source, copy = Path(labelgrove.__file__).parent, folder / "labelgrove"
    if not copy.exists():
        for path in (source, source.parent / "migrations"):
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    return {"PYTHONPATH": str(folder), "HOME": str(folder), "NUMBA_CACHE_DIR": str(compiled)}

"""compiled: numba's njit, with its cache on disk wherever a folder for it can be written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["compiled"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    """Return a digest of every file of this folder: what a kernel is made of stands nowhere else."""
    hashed = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:12]


_SOURCES = _digest_of_sources()


def compiled(kernel: Kernel) -> Kernel:
    """Compile `kernel` on its first call; it runs without the interpreter lock and divides like numpy.

    numba's cache notices changes of the file that a kernel stands in, and of no other, while kernels inline
    functions of their neighbours. So each kernel is named after the state of the whole folder, and the cache,
    which goes by that name, has no other state's code for it. Decorating with a cache raises where no cache
    folder is writable, an image mounted read-only for instance; the kernel is then compiled once for each
    process.
    """
    kernel.__qualname__ = f"{kernel.__qualname__}_{_SOURCES}"
    try:
        return cast(Kernel, njit(cache=True, nogil=True, error_model="numpy")(kernel))
    except RuntimeError:
        return cast(Kernel, njit(nogil=True, error_model="numpy")(kernel))

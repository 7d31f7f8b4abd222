"""compiled: numba's njit, with its cache on disk wherever a folder for it can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["compiled"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(kernel: Kernel) -> Kernel:
    """Compile `kernel` on its first call; it runs without the interpreter lock and divides like numpy.

    Decorating with a cache raises where no cache folder is writable, an image mounted read-only for instance;
    the kernel is then compiled once for each process. The cache does not see changes of functions that are
    imported from other files, so whatever a kernel inlines stands in the same file.
    """
    try:
        return cast(Kernel, njit(cache=True, nogil=True, error_model="numpy")(kernel))
    except RuntimeError:
        return cast(Kernel, njit(nogil=True, error_model="numpy")(kernel))

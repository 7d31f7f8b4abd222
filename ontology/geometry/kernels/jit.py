"""compiled: a decorator like numba's njit, with a cache on disk that works in read-only folders as well."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
from numba import njit
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps, loads
from numba.misc.appdirs import AppDirs

from labelgrove.ontology.geometry.kernels.codefiles import CodeFiles

__all__ = ["CODE_FILES", "CodeMissingError", "compiled", "compiled_fused", "compiled_sum", "compiling_if"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    """Return a digest of all Python files in this folder and its subfolders: all code of the kernels."""
    folder, hashed = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:12]


def _folders() -> Iterator[Path]:
    """Yield the folders where numba keeps compiled code: the one set for it, that of bytecode, the user's."""
    chosen = cast(Any, numba.config).CACHE_DIR
    if chosen:
        yield Path(chosen) / "labelgrove"
    yield Path(__file__).parent / "__pycache__"
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir) / "labelgrove"


CODE_FILES = CodeFiles(list(_folders()))
"""Where compiled code is kept."""

_SOURCES = _digest_of_sources()
_MADE_BY = (_SOURCES, numba.__version__, llvmlite.__version__, sys.implementation.cache_tag)


class CodeMissingError(Exception):
    """A kernel would have to be compiled, and `compiling_if` does not allow it."""


_thread = threading.local()


@contextmanager
def compiling_if(is_allowed: Callable[[], bool]) -> Iterator[None]:
    """Within this context, a call of a kernel in this thread compiles it only if `is_allowed` returns True.

    Otherwise `CodeMissingError` is raised. `is_allowed` is called before each kernel is compiled.
    """
    _thread.is_allowed = is_allowed
    try:
        yield
    finally:
        del _thread.is_allowed


class _Cache(NullCache):
    """A cache of compiled code with one file for each signature of a kernel, and without an index file.

    The name of each file contains a digest of the signature, the processor, the versions and all sources of
    the kernels; the file itself contains all of these too, before the code.

    This replaces numba's own cache, which numbers its files and maps signatures to numbers in an index. With
    numba's cache, two processes that compile different signatures at the same time may take the same number.
    The index of one process may then point to the code of the other. That code was compiled for other types,
    and may read integers as floating-point numbers. Without an index, no process can read the code of another
    signature. numba's cache also ignores folders that cannot be written to, and notices changes only in the
    file that contains a kernel, but kernels inline functions from other files.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        if kernel.__closure__:
            raise TypeError(
                f"{kernel.__qualname__}: uses variables of the function around it, and code of another value "
                "of these would be loaded in its place; define the kernel in its module"
            )
        self._name = f"{kernel.__module__}.{kernel.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        content = CODE_FILES.load(self._file(key))
        if content is not None:
            with suppress(Exception):  # what cannot be read is compiled again, as numba does
                found, code = loads(content)
                if found == key:
                    return CompileResult._rebuild(target_context, *code)  # noqa: SLF001  (as numba's cache does)
        if not getattr(_thread, "is_allowed", lambda: True)():
            raise CodeMissingError(self._name)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        key = self._key(sig, data.codegen)
        CODE_FILES.save(self._file(key), dumps((key, data._reduce())))  # noqa: SLF001

    def _key(self, sig: Any, codegen: Any) -> tuple[object, ...]:
        return self._name, repr(sig), codegen.magic_tuple(), _MADE_BY

    def _file(self, key: tuple[object, ...]) -> str:
        name = ".".join(self._name.split(".")[-2:])
        return f"{name}-{_SOURCES}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


def compiled(kernel: Kernel) -> Kernel:
    """Compile `kernel` on its first call.

    The compiled code releases the interpreter lock, and divides by zero as numpy does, without an error.

    The code is kept in `CODE_FILES`. It is found again for the same sources of all kernels, the same versions
    and the same processor. If no folder can be written to, each process compiles the kernel once.
    """
    return _compiled(kernel, fastmath=False)


def compiled_sum(kernel: Kernel) -> Kernel:
    """Compile `kernel` like `compiled`, but allow sums in any order, so that vector instructions can be used.

    The sums may differ in the last bits between processors, so they may only rule out labels, with a margin
    for rounding; they never decide which label is best.
    """
    return _compiled(kernel, fastmath={"nsz", "reassoc"})


def compiled_fused(kernel: Kernel) -> Kernel:
    """Compile `kernel` like `compiled`, but allow a product and a sum to be computed in one step.

    As for `compiled_sum`, the last bits may differ between processors, so the results may only rule out.
    """
    return _compiled(kernel, fastmath={"contract"})


def _compiled(kernel: Kernel, *, fastmath: bool | set[str]) -> Kernel:
    dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath)(kernel)
    dispatcher._cache = _Cache(kernel)
    return cast(Kernel, dispatcher)

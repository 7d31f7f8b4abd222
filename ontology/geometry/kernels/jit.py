"""compiled: numba's njit, with its cache on disk wherever a folder for it can be written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["compiled", "compiled_sum"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    """Return a digest of every file below this folder: what a kernel is made of stands nowhere else."""
    folder, hashed = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:12]


_SOURCES = _digest_of_sources()


class _FileEach(IndexDataCacheFile):
    """One file for each signature of a kernel, named after it, which says itself what it is for.

    numba numbers these files, and says in an index which number is for which signature. Two processes that
    compile two signatures at once both take the same number; the index of one may then name the code of the
    other, and integers are read as floating-point numbers from then on. Without an index nothing is shared.
    """

    def _name_of(self, key: object) -> str:
        digest = hashlib.sha256(repr((self._version, key)).encode()).hexdigest()
        return f"{Path(self._index_name).stem}.{digest[:16]}.nbc"

    def save(self, key: object, data: object) -> None:
        self._save_data(self._name_of(key), (self._version, key, data))

    def load(self, key: object) -> object:
        try:
            version, found, data = self._load_data(self._name_of(key))
        except Exception:  # not there, or cut short by a power failure: compiled again
            return None
        return data if (version, found) == (self._version, key) else None


class _Cache(FunctionCache):
    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)
        self._cache_file = _FileEach(self.cache_path, self._impl.filename_base, source_stamp=None)

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # no space left, for instance: the next process compiles again
            super().save_overload(sig, data)


def compiled(kernel: Kernel) -> Kernel:
    """Compile `kernel` on its first call; it runs without the interpreter lock and divides like numpy.

    numba's cache notices changes of the file that a kernel stands in, and of no other, while kernels inline
    functions of their neighbors. So each kernel is named after the state of the whole folder, and the cache,
    which goes by that name, has no other state's code for it. Where no cache folder is writable, an image
    mounted read-only for instance, the kernel is compiled once for each process.
    """
    return _compiled(kernel, fastmath=False)


def compiled_sum(kernel: Kernel) -> Kernel:
    """Compile `kernel` like `compiled`, but free to add up in any order, and so several numbers at a time.

    What it returns may differ in the last bits from one processor to another: it may filter, never decide.
    """
    return _compiled(kernel, fastmath={"nsz", "reassoc"})


def _compiled(kernel: Kernel, *, fastmath: bool | set[str]) -> Kernel:
    kernel.__qualname__ = f"{kernel.__qualname__}_{_SOURCES}"
    dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath)(kernel)
    with suppress(RuntimeError):  # no folder to write to
        dispatcher._cache = _Cache(kernel)
    return cast(Kernel, dispatcher)

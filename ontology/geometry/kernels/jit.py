"""compiled: a decorator like numba's njit, with a cache on disk if its folder is writable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["compiled", "compiled_fused", "compiled_sum"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    """Return a digest of all Python files in this folder and its subfolders: all code of the kernels."""
    folder, hashed = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:12]


_SOURCES = _digest_of_sources()
_DIGEST_BYTES = hashlib.sha256().digest_size


class _FileEach(IndexDataCacheFile):
    """A cache of compiled code with one file for each signature of a kernel, and without an index file.

    The name of each file contains a digest of the signature; the file itself contains the signature and the
    code.

    This replaces numba's own cache, which numbers its files and maps signatures to numbers in an index. With
    numba's cache, two processes that compile different signatures at the same time may take the same number.
    The index of one process may then point to the code of the other. That code was compiled for other types,
    and may read integers as floating-point numbers. Without an index, no process can read the code of another
    signature.

    Each file ends with the sha256 of what precedes it, which unpickling ignores. Without it, a damaged file
    would be run as machine code.
    """

    def _name_of(self, key: object) -> str:
        digest = hashlib.sha256(repr((self._version, key)).encode()).hexdigest()
        return f"{Path(self._index_name).stem}.{digest[:16]}.nbc"

    def save(self, key: object, data: object) -> None:
        self._save_data(self._name_of(key), (self._version, key, data))

    def load(self, key: object) -> object:
        try:
            version, found, data = self._load_data(self._name_of(key))
        except Exception:  # missing, damaged, or cut short by a power failure: compile again
            return None
        return data if (version, found) == (self._version, key) else None

    def _dump(self, obj: object) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
            raise ValueError(f"{name}: damaged")
        return super()._load_data(name)


class _Cache(FunctionCache):
    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)
        self._cache_file = _FileEach(self.cache_path, self._impl.filename_base, source_stamp=None)

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # for instance no space left: the next process compiles again
            super().save_overload(sig, data)


def compiled(kernel: Kernel) -> Kernel:
    """Compile `kernel` on its first call.

    The compiled code releases the interpreter lock, and divides by zero as numpy does, without an error.

    numba's cache notices changes only in the file that contains a kernel, but kernels inline functions from
    other files of this folder. So the name of each kernel contains a digest of the whole folder. The cache
    looks up this name, so it never returns code that was compiled from other sources. If no cache folder is
    writable, for instance in an image mounted read-only, each process compiles the kernel once.
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
    kernel.__qualname__ = f"{kernel.__qualname__}_{_SOURCES}"
    dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath)(kernel)
    with suppress(RuntimeError):  # no folder to write to
        dispatcher._cache = _Cache(kernel)
    return cast(Kernel, dispatcher)

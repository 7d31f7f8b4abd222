"""The cache of artifacts in a folder on this machine.

Each copy is compared with its sha256 when it arrives and whenever it is read through this module. A copy that
is missing or damaged is fetched again and replaced. If the folder cannot be written, artifacts are kept in
memory instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from labelgrove.adapter.loading.cachefaults import warn_once
from labelgrove.adapter.loading.stamps import mark_used, settle
from labelgrove.ontology.errors import ArtifactError, GroveError, PlatformError, ServiceError
from labelgrove.ontology.store.artifacts import ArtifactStore
from labelgrove.ontology.store.localfolder import LocalFolder
from labelgrove.ontology.store.posix import locked
from labelgrove.ontology.store.wholefile import make_folder

__all__ = ["FOLDER_CAP", "FolderCache"]

FOLDER_CAP = 10 * 2**30
"""Most bytes of copies in the folder, or a quarter of its disk if that is less.

The copies that were used least recently are deleted first.
"""

_TURN_S = 120.0  # the turn only saves work: a frozen holder must not stop the others


class FolderCache:
    """Copies of artifacts in a folder on this machine; the folder is created with the first copy.

    Parameters
    ----------
    folder : Path
        Folder of the cache. Copies are kept at the same relative paths as artifacts in a store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.copies = ArtifactStore(LocalFolder(folder))

    def local_path(self, digest: str) -> Path:
        """Return the path at which the copy of an artifact is kept; there may be no file yet."""
        return self.folder / "sha256" / digest[:2] / digest

    def content(self, digest: str, fetch: Callable[[], bytes | mmap.mmap]) -> bytes | mmap.mmap:
        """Return the copy of an artifact; if there is none, call `fetch`, keep a copy and return it."""
        held = self._held(digest)
        if held is None:
            with self._turn(digest):
                held = self._held(digest)  # another thread may have fetched it during the wait
                if held is None:
                    held = self._kept(digest, bytes(fetch()))
        return held

    def keep(self, data: bytes) -> str:
        """Keep a copy of `data` and return its digest."""
        digest = hashlib.sha256(data).hexdigest()
        self.content(digest, lambda: data)
        return digest

    def _held(self, digest: str) -> bytes | mmap.mmap | None:
        """Return the copy of an artifact in the folder, or None if the copy is missing or damaged."""
        try:
            data = self.copies.content(digest)
        except (LookupError, ArtifactError, ServiceError):
            return None
        mark_used(self.local_path(digest))
        return data

    def _kept(self, digest: str, data: bytes) -> bytes | mmap.mmap:
        """Write a copy of `data` to the folder, and return the copy.

        If there is no room for it or writing fails, return `data`.
        """
        try:
            if self._make_room(len(data)):
                self.copies.put_bytes(data)
                settle(self.local_path(digest))
                return self.copies.content(digest)
        except (GroveError, OSError) as error:
            warn_once(str(self.folder), f"{error}; artifacts are kept in memory instead")
        return data

    def _make_room(self, size: int) -> bool:
        """Delete the least recently used copies until `size` more bytes fit below the folder's size limit.

        Return whether they fit. The limit is `FOLDER_CAP` or a quarter of the disk, whichever is smaller.
        """
        make_folder(self.folder)
        cap = min(FOLDER_CAP, shutil.disk_usage(self.folder).total // 4)
        found = []
        for path in self.folder.glob("sha256/*/*"):
            with contextlib.suppress(FileNotFoundError):  # another process may make room too
                status = path.stat()
                used = max(status.st_atime_ns, status.st_mtime_ns)
                found.append((used, status.st_size, path))
        excess = size + sum(length for _, length, _ in found) - cap
        for _, length, path in sorted(found):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)  # memory maps of it stay valid
            (self.folder / "checked" / path.name).unlink(missing_ok=True)
            excess -= length
        return excess <= 0

    @contextlib.contextmanager
    def _turn(self, digest: str) -> Iterator[None]:
        """Let the threads and processes of this machine fetch the same artifact one after the other.

        The context manager waits, but at most `_TURN_S` seconds, while another thread or process fetches an
        artifact whose digest begins with the same two digits.
        """
        locks = self.folder / "locks"
        with contextlib.ExitStack() as stack:
            try:
                make_folder(locks)
                with contextlib.suppress(PlatformError):  # an artifact may be fetched more than once
                    stack.enter_context(locked(locks / digest[:2], _TURN_S))
            except OSError as error:
                warn_once(str(self.folder), f"{error}; an artifact may be fetched more than once")
            yield

"""CodeFiles: the folders in which compiled code is kept, and files in them that are whole or ignored."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from labelgrove.ontology.errors import PlatformError
from labelgrove.ontology.store.posix import locked
from labelgrove.ontology.store.wholefile import make_folder, write_whole

__all__ = ["CodeFiles"]

_DIGEST_BYTES = hashlib.sha256().digest_size
_LOCK = "labelgrove-compiling.lock"
_LONGEST_WAIT_S = 300.0  # far more than all kernels together take


class CodeFiles:
    """Files of compiled code, in several folders.

    A file is read from the first folder that has it, and written to the first folder that can be written
    to. So code that was compiled while an image was built is used where the image is mounted read-only.

    Code that is read is run. So a folder is used only if it belongs to this user or to root, and only if not
    everybody can write to it; a file only if it belongs to one of them too, and nobody else can write to it.
    A relative path is not used, because what it names depends on where the program was started. Each file
    ends with the sha256 of what precedes it, so that damaged code is never run.

    Parameters
    ----------
    folders : sequence of Path
        The folders, which need not exist.

    Attributes
    ----------
    used : set of Path
        The folders that files were read from or written to.
    not_kept : list of str
        Names of the files that could not be kept in any folder.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders, self.used, self.not_kept = tuple(folders), set[Path](), list[str]()

    def load(self, name: str) -> bytes | None:
        """Return the content of a file, or None if no folder has it undamaged."""
        for folder in self.folders:
            with suppress(OSError):
                if _is_trusted(folder):
                    content = _read_trusted(folder / name)
                    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
                    if hashlib.sha256(body).digest() == digest:
                        self.used.add(folder)
                        return body
        return None

    def save(self, name: str, content: bytes) -> None:
        """Write a file; if it cannot be kept in any folder, add its name to `not_kept`."""
        whole = content + hashlib.sha256(content).digest()
        for folder in self.folders:
            with suppress(OSError):
                if _is_writable(folder):
                    write_whole(folder / name, [whole], rights=0o644)
                    self.used.add(folder)
                    return
        self.not_kept.append(name)

    def writable(self) -> Path | None:
        """Return the first folder that can be written to; it is created if it is missing."""
        for folder in self.folders:
            with suppress(OSError):
                if _is_writable(folder):
                    return folder
        return None

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Wait until no other process compiles for the folder that is written to; then keep others waiting.

        Nobody waits where files cannot be locked, or longer than five minutes; several processes may then
        compile the same code.
        """
        folder = self.writable()
        with ExitStack() as held:
            if folder is not None:
                with suppress(OSError, PlatformError):
                    held.enter_context(locked(folder / _LOCK, _LONGEST_WAIT_S, rights=0o644))
            yield


def _is_writable(folder: Path) -> bool:
    if not folder.is_absolute():
        return False
    make_folder(folder, rights=0o755)
    return _is_trusted(folder) and os.access(folder, os.W_OK | os.X_OK)


def _is_trusted(folder: Path) -> bool:
    """Return whether what the folder contains may be run; raise OSError if the folder is missing."""
    return folder.is_absolute() and _is_safe(folder.stat(), stat.S_IWOTH)


def _read_trusted(path: Path) -> bytes:
    """Return the content of a file; raise OSError unless it is one that may be run."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not hang
    with open(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not (stat.S_ISREG(about.st_mode) and _is_safe(about, stat.S_IWOTH | stat.S_IWGRP)):
            raise PermissionError(f"{path}: not a file that only you or root can write to")
        return file.read()


def _is_safe(about: os.stat_result, others: int) -> bool:
    """Return whether this user or root owns a file or folder, and none of the rights `others` is given."""
    if not hasattr(os, "geteuid"):  # Windows, where rights are lists
        return True
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & others

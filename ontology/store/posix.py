"""Lock files and look for processes, which is possible on Linux and macOS but not on other systems."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from labelgrove.ontology.errors import PlatformError

__all__ = ["is_alive", "locked", "require_posix", "try_lock"]

_POLL_S = 0.05


def require_posix(purpose: str) -> None:
    """Raise `PlatformError` on a system without POSIX locks.

    Parameters
    ----------
    purpose : str
        What needs the locks, as the subject of a sentence.
    """
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise PlatformError(
            f"{purpose} needs Linux or macOS; scoring, readers and reports work on every system"
        ) from None


def try_lock(file: int | IO[Any]) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it.

    Raises
    ------
    PlatformError
        On a system without POSIX locks.
    OSError
        If files in this folder cannot be locked.
    """
    require_posix("a lock on a file")
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # network folders raise either
        return False
    return True


@contextmanager
def locked(path: Path, longest_s: float, *, rights: int = 0o600) -> Iterator[bool]:
    """Lock a file for the time of a context, after waiting for whoever holds the lock.

    Child processes that are forked meanwhile do not keep the lock.

    Parameters
    ----------
    path : Path
        The file, which is created if it is missing. It stays afterwards.
    longest_s : float
        After so many seconds the context is entered without the lock.
    rights : int, default=0o600
        Rights of a file that is created.

    Yields
    ------
    held : bool
        Whether the lock is held.

    Raises
    ------
    PlatformError
        On a system without POSIX locks.
    OSError
        If the file cannot be written to, or files in its folder cannot be locked.
    """
    require_posix("a lock on a file")
    import fcntl

    file = os.open(path, os.O_WRONLY | os.O_CREAT, rights)
    try:
        deadline = time.monotonic() + longest_s
        while not (held := try_lock(file)) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        yield held
    finally:
        # Closing would not do: a child that was forked has the file open too.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def is_alive(process: int) -> bool:
    """Return whether a process with this process ID runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

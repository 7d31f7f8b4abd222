"""Deny access to files, even for root, whose privileges are dropped for a while."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["with_rights", "without_privileges"]

_CAP_VERSION = 0x20080522
_OVERRIDING = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


@contextmanager
def without_privileges() -> Iterator[None]:
    """Enforce file permissions in this thread, and in threads that it starts, even if it runs as root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_CAP_VERSION, 0), (_Data * 2)()
    _check(libc.capget(ctypes.byref(header), data))
    before = data[0].effective
    data[0].effective = before & ~_OVERRIDING
    _check(libc.capset(ctypes.byref(header), data))
    try:
        yield
    finally:
        data[0].effective = before
        _check(libc.capset(ctypes.byref(header), data))


def _check(status: int) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), "the privileges of this thread cannot be changed")


@contextmanager
def with_rights(folder: Path, *, folders: int, files: int) -> Iterator[None]:
    """Give these rights to `folder` and to all folders and files below it while the block runs."""
    inside = [folder, *folder.rglob("*")]
    before = {path: path.stat().st_mode for path in inside}
    try:
        for path in reversed(inside):
            path.chmod(folders if path.is_dir() else files)
        yield
    finally:
        for path in inside:
            if path.exists():
                path.chmod(before[path])

"""Load compiled kernels: now, or in the background while the caller goes on without them.

A *rehearsal* (see `ontology.geometry.rehearsals`) calls kernels with every type of argument that they get, on
tiny inputs. So a rehearsal loads their code, or compiles the code that no folder has.

In the background, a thread loads the code, and another process compiles it, because a thread that compiles
keeps the interpreter lock for long. Only code that cannot be kept in any folder is compiled in the thread.

A fork waits until code that is being loaded or compiled in this process is ready, because the child would
wait for ever for the thread that held a lock. Loading takes half a second, and longer while other threads
compute in Python; a server that forks calls `Adapter.warm` before. The end of a process waits for one kernel.
"""

from __future__ import annotations

import atexit
import logging  # noqa: F401  (it locks before forks too: see `_wait_before_forks`)
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.scoring.background import Background

__all__ = ["is_loaded", "load", "load_in_background"]

_REHEARSALS = "labelgrove.ontology.geometry.rehearsals"

_loaded: set[str] = set()
_in_background: dict[str, Background] = {}
_ending = threading.Event()
# Held while code is loaded: then the process may neither fork, as a child would wait for locks that no thread
# gives back, nor end, as LLVM would be taken down while it works.
_loading = threading.RLock()


def is_loaded(rehearsal: str) -> bool:
    """Return whether this process has loaded all kernels of a rehearsal."""
    return rehearsal in _loaded


def load(rehearsal: str) -> bool:
    """Load the kernels of a rehearsal; compile those that are missing, or wait for a process that does so.

    Loading takes half a second, compiling some seconds. Return whether this process has compiled.

    Raises
    ------
    MissingExtraError
        If numba is not installed.
    """
    if rehearsal in _loaded or _load_kept(rehearsal):
        return False
    from labelgrove.ontology.geometry.kernels.jit import CODE_FILES

    with CODE_FILES.one_at_a_time():
        if _load_kept(rehearsal):
            return False
        _rehearse(rehearsal)
    return True


def load_in_background(rehearsal: str) -> None:
    """Load the kernels of a rehearsal in a thread, unless this has begun before; return at once.

    If numba is not installed, nothing happens. After any other fault, which gives a `RuntimeWarning`, this
    process goes on without the kernels.
    """
    if rehearsal not in _in_background:
        task = Background(lambda: _load_in_this_thread(rehearsal), f"load compiled kernels ({rehearsal})")
        _in_background.setdefault(rehearsal, task)
    _in_background[rehearsal].start()


def _load_in_this_thread(rehearsal: str) -> None:
    with suppress(MissingExtraError):
        if _load_kept(rehearsal):
            return
        from labelgrove.ontology.geometry.kernels.jit import CODE_FILES

        if CODE_FILES.writable() is not None:
            with CODE_FILES.one_at_a_time():
                if _load_kept(rehearsal):
                    return
                _compile_in_another_process(rehearsal)
        _rehearse_if(lambda: not _ending.is_set(), rehearsal)


def _load_kept(rehearsal: str) -> bool:
    """Load the kernels of a rehearsal, unless one must be compiled; return whether they are loaded."""
    with _loading:
        if _ending.is_set():
            return True
        return _rehearse_if(lambda: False, rehearsal)


def _rehearse_if(may_compile: Callable[[], bool], rehearsal: str) -> bool:
    """Rehearse, and compile only while `may_compile` returns True; return whether the kernels are loaded."""
    from labelgrove.ontology.geometry.kernels.jit import CodeMissingError, compiling_if

    try:
        with compiling_if(may_compile):
            _rehearse(rehearsal)
    except CodeMissingError:
        return False
    return True


def _rehearse(rehearsal: str) -> None:
    with _loading:
        if not _ending.is_set():
            import_module(_REHEARSALS).rehearse(rehearsal)
            _loaded.add(rehearsal)


def _compile_in_another_process(rehearsal: str) -> None:
    """Compile the kernels of a rehearsal in a process of its own; return when it ends, however it ends."""
    program = sys.executable or ""
    if getattr(sys, "frozen", False) or not re.match(r"python[\d.]*(\.exe)?$", Path(program).name, re.I):
        return  # a program with a Python inside, such as uWSGI, would start itself
    with suppress(OSError):  # the process cannot be started: this one compiles
        subprocess.run(
            [program, "-P", "-m", _REHEARSALS, rehearsal],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )


def _end() -> None:
    _ending.set()
    with _loading:
        pass


def _wait_before_forks() -> None:
    # What is registered last is called first. So logging, whose lock the modules of numba take when they are
    # imported, must be registered before: a fork that holds its lock would wait for the import for ever.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release
        )


atexit.register(_end)
_wait_before_forks()

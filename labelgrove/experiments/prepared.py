"""Provide the files and data that the units of a job share.

A process prepares them for the first unit, and keeps them for the next units. The files are in a folder in
``$GROVE_HOME/experiments``, which the process locks. The ending of each file name tells the format of the
file. A process removes its folder when it releases the data. The folder of a killed process, which is no
longer locked, is removed when the next job is prepared.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.store.disk_faults import disk_advice
from labelgrove.ontology.store.filedigest import sha256_of
from labelgrove.ontology.store.posix import try_lock
from labelgrove.ontology.store.wholefile import make_folder
from labelgrove.workers.ledger.specs import canonical_json

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files
    from labelgrove.experiments.experiment import Experiment
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.workers.kinds import Work

__all__ = ["Prepared", "forget", "kept", "named_files", "turn"]

_IDLE_S = 60.0
"""The data of a job are released this many seconds after its last unit in this process has ended."""

_NEW = "new-"
"""Beginning of the name of a folder that is not locked yet."""

_NEW_S = 60.0
"""If a folder still has the prefix `_NEW` after this many seconds, its process was killed."""

turn = threading.Lock()
"""Held while a unit runs: its data, limit of BLAS threads and warning filters apply to the whole process."""


@dataclass
class Prepared:
    """The files of a job, and the data that its units share.

    Attributes
    ----------
    job : tuple of str
        The artifact store and the parameters of the job.
    files : Files or None
        The files of the job, which exist until the data are released; None if it has none.
    """

    job: tuple[str, str]
    files: Files | None
    _folder: ExitStack
    _data: list[Any] = field(default_factory=list)

    @property
    def is_prepared(self) -> bool:
        """Whether the data have been prepared already."""
        return bool(self._data)

    def data(self, experiment: Experiment[Any, Any], settings: Any) -> Any:
        """Return the data that all units share; the first call prepares them."""
        if not self._data:
            self._data.append(experiment.prepare(settings, self.files))
        return self._data[0]

    def release(self) -> None:
        """Release the data, and remove the files."""
        self._data.clear()
        self._folder.close()


_last: list[Prepared] = []
"""A list with the `Prepared` of the last job, or an empty list.

It stays in memory between the units of a job.
"""

_idle = threading.Timer(_IDLE_S, lambda: None)  # replaced after each unit


@contextmanager
def kept(work: Work) -> Iterator[Prepared]:
    """Yield the files and data of a job for one of its units; the caller must hold the lock `turn`.

    The files and data are kept for the next unit. They are released after an error, after a minute without a
    unit, or when a unit of another job begins.

    Raises
    ------
    ServiceError
        If the files of the job cannot be written to ``$GROVE_HOME``.
    """
    _idle.cancel()
    try:
        job = work.artifacts.where, canonical_json({k: v for k, v in work.parameters.items() if k != "unit"})
        if not _last or _last[0].job != job:
            forget()  # before the next data are loaded: both may not fit into memory
            with ExitStack() as stack:
                files = stack.enter_context(_provided(work))
                _last.append(Prepared(job, files, stack.pop_all()))
        yield _last[0]
    except BaseException:
        forget()
        raise
    _forget_later()


def forget() -> None:
    """Release the data and remove the files of the job that was prepared last."""
    while _last:
        _last.pop().release()


atexit.register(forget)


def _forget_later() -> None:
    def end() -> None:
        with turn:
            if timer is _idle:  # else a unit came meanwhile
                forget()

    global _idle
    timer = _idle = threading.Timer(_IDLE_S, end)
    timer.daemon = True
    timer.start()


def named_files(parameters: Mapping[str, Any], folder: Path = Path()) -> Files | None:
    """Return the files of a job, with their paths in `folder`; None if the job has no files."""
    from labelgrove.datasets.ownfiles import Files

    paths: dict[str, Any] = {name: _path(folder, name, entry) for name, entry in parameters["files"].items()}
    return Files(**paths, metric=parameters["metric"], answers=parameters["answers"]) if paths else None


def _path(folder: Path, name: str, entry: Mapping[str, str]) -> Path:
    return folder / (name + entry["ending"])


@contextmanager
def _provided(work: Work) -> Iterator[Files | None]:
    """Yield the files of a job, which exist until the ``with`` block ends.

    If the job has no files, yield None and make no folder.
    """
    shared = work.workspace.settings.home / "experiments"
    _sweep(shared)
    if not work.parameters["files"]:
        yield None
        return
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(_locked_folder(shared))
            for name, entry in work.parameters["files"].items():
                _provide(work.artifacts, entry["sha256"], _path(folder, name, entry))
        except ServiceError:
            raise
        except OSError as error:
            other = "name a folder that this process may write"
            advice = disk_advice(error, "the folder", "GROVE_HOME", otherwise=other)
            raise ServiceError(f"{shared}: cannot be written ({error.strerror}); {advice}") from error
        yield named_files(work.parameters, folder)


@contextmanager
def _locked_folder(shared: Path) -> Iterator[Path]:
    """Make and lock a folder in `shared`, and yield its path; remove it when the ``with`` block ends."""
    make_folder(shared)
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=shared))
    descriptor = os.open(new, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # no locks here: `_sweep` cannot lock either, and removes nothing
            try_lock(descriptor)
        folder = new.rename(shared / new.name.removeprefix(_NEW))  # only now, so that no other removes it
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _sweep(shared: Path) -> None:
    """Remove the folders in `shared` that no process has locked, because their processes were killed.

    A process ID could not show that a process was killed, because processes in several containers may use
    `shared`, and each container has its own process IDs.
    """
    for path in list(filter(Path.is_dir, shared.iterdir())) if shared.is_dir() else []:
        with contextlib.suppress(OSError):
            if path.name.startswith(_NEW) and time.time() - path.stat().st_mtime < _NEW_S:
                continue
            descriptor = os.open(path, os.O_RDONLY)
            try:
                if try_lock(descriptor):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _provide(artifacts: ArtifactStore, digest: str, path: Path) -> None:
    """Write the artifact `digest` to `path`: as a hard link where possible, otherwise as a copy.

    The sha256 of its bytes is checked; if the artifact is damaged, raise `ArtifactError`.
    """
    content = artifacts.content(digest)
    held = artifacts.local_path(digest)
    if held is not None:
        with contextlib.suppress(OSError):  # another disk, or there is no copy
            os.link(held, path)
            if sha256_of(path) == digest:  # else a damaged copy that could not be replaced
                return
            path.unlink()
    path.write_bytes(content)

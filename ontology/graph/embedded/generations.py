"""Keep immutable generations of one file, so that readers see the old or the new one, never a mixture.

::

    graph/CURRENT           names the newest generation; replaced atomically
    graph/g7.lbug           that generation; never written again
    graph/LOCK              locked by the only writer
    graph/writing-PID-x/    the next generation while it is being made
    graph/reading-PID-x/    a reader's own hard link to a generation

A writer copies the newest file, changes the copy, and makes the copy the newest by replacing CURRENT. If it
is killed at any point, the old generation stays in place, and the next writer removes the leftover folders.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labelgrove.ontology.errors import ConflictError, GraphDamagedError, ServiceError
from labelgrove.ontology.store.disk_faults import NOT_WRITABLE, disk_advice
from labelgrove.ontology.store.posix import is_alive, try_lock
from labelgrove.ontology.store.wholefile import PRIVATE, make_folder, open_private, sync_file, sync_folder

__all__ = ["Generations"]

_POLL_S = 0.02
_ROOM_BYTES = 1 << 20
"""Free bytes below which a disk counts as full; not 0, because a failed engine frees some space again."""
_GENERATION = re.compile(r"g(\d+)\.lbug")
_PRIVATE = re.compile(r"(?:reading|writing)-(\d+)-\w+")


class Generations:
    """The generations in one folder of a local disk.

    Parameters
    ----------
    folder : Path
        Folder of the generations, created by the first write. All its writers must run on one machine.
    wait_s : float, default=120
        Longest wait for another writer, in seconds.
    """

    def __init__(self, folder: Path, *, wait_s: float = 120.0) -> None:
        self.folder = folder
        self.wait_s = wait_s

    def newest(self) -> int | None:
        """Return the number of the newest generation, or None if there is none yet.

        Raises
        ------
        GraphDamagedError
            If CURRENT does not name a generation.
        ServiceError
            If `folder` is not a folder, or cannot be read.
        """
        try:
            text = (self.folder / "CURRENT").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise GraphDamagedError(
                f"graph {self.folder}: CURRENT cannot be read ({error}); {_REBUILD}"
            ) from error
        except OSError as error:  # not damage: a rebuild would drop an intact graph
            raise self._unusable(error) from error
        match = _GENERATION.fullmatch(text.strip())
        if not match:
            raise GraphDamagedError(
                f"graph {self.folder}: CURRENT says {text[:40]!r}, not the name of a generation; {_REBUILD}"
            )
        return int(match[1])

    @contextmanager
    def reading(self) -> Iterator[tuple[int, Path] | None]:
        """Yield the newest generation under a private name.

        The name is a hard link, which is removed at the end of the ``with`` block.

        If the link cannot be created, as on a full or read-only disk, the public name is yielded instead. A
        writer may then remove the file before the caller opens it. If that happens, the caller's attempt to
        open the file fails, and the next call of `reading` finds the next generation.

        Yields
        ------
        (number, path) or None
            None before the first generation and after a wipe. A file that is opened in the ``with`` block may
            be read after it, because an open file remains readable after its last name is removed.

        Raises
        ------
        GraphDamagedError
            If the file of the newest generation is missing.
        """
        number = self.newest()
        if number is None:
            yield None
            return
        with contextlib.ExitStack() as stack:
            held: tuple[int, Path] | None
            try:
                held = self._link(stack.enter_context(self._private("reading")))
            except ServiceError as error:
                if getattr(error.__cause__, "errno", None) not in NOT_WRITABLE:
                    raise
                held = number, self.folder / f"g{number}.lbug"
            yield held

    @contextmanager
    def writing(self) -> Iterator[tuple[int | None, Path]]:
        """Yield a copy of the newest generation, which the caller may change in the ``with`` block.

        If the block ends without an error, the copy becomes the newest generation.

        Yields
        ------
        (number, path)
            Number of the generation that was copied, and path of the copy. If there is no generation, None,
            and the path where the block must create the first one.

        Raises
        ------
        ConflictError
            If another writer keeps the folder locked for longer than `wait_s`.
        """
        with self._lock():
            number = self.newest()
            self._clear()
            with self._private("writing") as private:
                path = private / "next.lbug"
                if number is not None:
                    try:
                        shutil.copyfile(self.folder / f"g{number}.lbug", path)
                    except FileNotFoundError as error:
                        raise self._gone(number) from error
                    except OSError as error:
                        raise self._unusable(error) from error
                yield number, path
                try:
                    self._publish(path, self._highest() + 1)
                except OSError as error:
                    raise self._unusable(error) from error

    def wipe(self) -> None:
        """Remove every generation; readers keep the files that they have open."""
        if not self.folder.is_dir():
            return
        with self._lock():
            (self.folder / "CURRENT").unlink(missing_ok=True)
            sync_folder(self.folder)
            self._clear()

    # ---- helpers -----------------------------------------------------------------------------------

    def _link(self, private: Path) -> tuple[int, Path] | None:
        while True:
            number = self.newest()
            if number is None:  # wiped meanwhile
                return None
            path = private / f"g{number}.lbug"
            try:
                os.link(self.folder / f"g{number}.lbug", path)
            except FileNotFoundError as error:
                if self.newest() == number:  # nobody replaced it meanwhile
                    raise self._gone(number) from error
            except OSError as error:
                raise self._unusable(error) from error
            else:
                return number, path

    def _publish(self, path: Path, number: int) -> None:
        path.chmod(PRIVATE)
        sync_file(path)
        name = f"g{number}.lbug"
        os.replace(path, self.folder / name)
        pointer = path.with_name("CURRENT")
        pointer.write_text(f"{name}\n", encoding="utf-8")
        pointer.chmod(PRIVATE)
        sync_file(pointer)
        sync_folder(self.folder)  # the generation's name is on disk before CURRENT names it
        os.replace(pointer, self.folder / "CURRENT")
        sync_folder(self.folder)
        self._clear()

    def _highest(self) -> int:
        found = (_GENERATION.fullmatch(p.name) for p in self.folder.iterdir())
        return max([self.newest() or 0, *(int(m[1]) for m in found if m)])

    def _clear(self) -> None:
        """Remove older generations and the files of dead processes; the caller must hold the lock."""
        try:
            newest = self.newest()
        except GraphDamagedError:
            newest = None
        for path in list(self.folder.iterdir()):
            generation, private = _GENERATION.fullmatch(path.name), _PRIVATE.fullmatch(path.name)
            if generation and int(generation[1]) != newest:
                path.unlink(missing_ok=True)
            elif private and not is_alive(int(private[1])):
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def _private(self, purpose: str) -> Iterator[Path]:
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"{purpose}-{os.getpid()}-", dir=self.folder))
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            make_folder(self.folder)
            handle = open(self.folder / "LOCK", "a+", encoding="utf-8", opener=open_private)  # noqa: SIM115
        except OSError as error:
            raise self._unusable(error) from error
        with handle:
            deadline = time.monotonic() + self.wait_s
            while True:
                try:
                    if try_lock(handle):
                        break
                except OSError as error:
                    raise self._unusable(error) from error
                if time.monotonic() > deadline:
                    handle.seek(0)
                    raise ConflictError(
                        f"graph {self.folder}: process {handle.read().strip() or 'unknown'} has been writing "
                        f"to it for more than {self.wait_s:g} s; wait for it to finish, or end it"
                    )
                time.sleep(_POLL_S)
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            yield

    def _gone(self, number: int) -> GraphDamagedError:
        return GraphDamagedError(f"graph {self.folder}: generation {number} is gone; {_REBUILD}")

    def no_room(self) -> ServiceError | None:
        """If the disk is full, return the error that the caller should raise; otherwise return None.

        The free space is measured, because the engine reports a full disk with varying texts.
        """
        if not self.folder.is_dir() or shutil.disk_usage(self.folder).free >= _ROOM_BYTES:
            return None
        return self._unusable(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def _unusable(self, error: OSError) -> ServiceError:
        other = "it must be a writable folder on a local disk"
        advice = disk_advice(error, "the graph", "GROVE_GRAPH_URL", otherwise=other)
        return ServiceError(f"graph {self.folder}: {error.strerror}; {advice}")


_REBUILD = "run: grove graph rebuild"

"""Tell an orchestrator whether this process can answer: soon, also while a database or a store hangs.

Each part is looked at by a thread of its own, at most once a second, and by one thread at a time: a part that
hangs keeps one thread, however often it is asked for, and neither the event loop nor the threads of requests.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from labelgrove.ontology.errors import GroveError, MigrationError
from labelgrove.ontology.sql.database import check_schema
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["Readiness", "ask_store"]

logger = logging.getLogger(__name__)

_WITHIN_S = 2.0
_KEPT_S = 1.0
_LOOK_S = 0.005
_NO_DIGEST = "0" * 64


def ask_store(workspace: Workspace) -> None:
    """Ask the artifact store for something that it cannot have; an error says that it cannot be read."""
    workspace.artifacts.exists(_NO_DIGEST)


class Readiness:
    """What a process needs in order to answer, and whether it is there; `missing` is for one event loop.

    Parameters
    ----------
    workspace : Workspace
    within_s : float, default=2
        Seconds after which a part that did not answer is missing.
    kept_s : float, default=1
        Seconds for which the outcome of a look is used again.
    """

    def __init__(self, workspace: Workspace, *, within_s: float = _WITHIN_S, kept_s: float = _KEPT_S) -> None:
        looks = {"database": self._look_at_database, "artifacts": self._look_at_artifacts}
        self._workspace = workspace
        self._parts = {name: _Part(name, look, within_s, kept_s) for name, look in looks.items()}
        self._draining = False

    def drain(self) -> None:
        """Note that this process ends: from now on it wants no further requests."""
        self._draining = True

    async def missing(self) -> list[str]:
        """Return what is missing; empty if the process can answer.

        ``draining``: it ends soon. ``database``, ``artifacts``: these cannot be read, or not within the time.
        ``schema``: that of the database is of another release.
        """
        if self._draining:
            return ["draining"]
        found = await asyncio.gather(*(part.missing() for part in self._parts.values()))
        return [name for name in found if name is not None]

    def _look_at_database(self) -> None:
        check_schema(self._workspace.engine)  # as it is now: another release may have changed it meanwhile
        self._workspace.catalog.currents()

    def _look_at_artifacts(self) -> None:
        ask_store(self._workspace)


class _Part:
    """One part, and the last look at it."""

    def __init__(self, name: str, look: Callable[[], None], within_s: float, kept_s: float) -> None:
        self._name, self._look = name, look
        self._within_s, self._kept_s = within_s, kept_s
        self._last: Future[str | None] | None = None
        self._began = self._ended = 0.0
        self._said: str | None = None

    async def missing(self) -> str | None:
        """Return the name of what is missing, or None."""
        last = self._last
        if last is None or (last.done() and time.monotonic() > self._ended + self._kept_s):
            last = self._last = Future()
            self._began = time.monotonic()
            # A thread of a pool would be waited for when the process ends.
            threading.Thread(target=self._answer, args=(last,), daemon=True).start()
        try:
            async with asyncio.timeout(max(0.0, self._began + self._within_s - time.monotonic())):
                while not last.done():
                    await asyncio.sleep(_LOOK_S)
            found = last.result()
        except TimeoutError:
            found = self._name
        if found != self._said and found is None:
            logger.warning("%s can be read again", self._name)
        self._said = found
        return found

    def _answer(self, asked: Future[str | None]) -> None:
        found = None
        try:
            self._look()
        except (GroveError, OSError) as error:
            found = "schema" if isinstance(error, MigrationError) else self._name
            logger.warning("not ready: %s", error)
        except BaseException as error:  # an orchestrator must hear of it, whatever it was
            found = self._name
            logger.exception("not ready", exc_info=error)
        finally:
            self._ended = time.monotonic()
            asked.set_result(found)

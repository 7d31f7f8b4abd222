"""Tell clients when jobs change: one look at the ledger a second in each process feeds them all.

Clients get the present state, never a log of what was: whoever was away is told all they missed by one event.
The id of an event is a digest of the state that it tells, so that a client that connects again to any
process, after any process was killed, is told only what it does not know.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from starlette.concurrency import run_in_threadpool

from labelgrove.documents.jobs import describe_jobs
from labelgrove.ontology.errors import GroveError, NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.problems import busy

__all__ = ["Event", "Watcher", "as_text"]

logger = logging.getLogger(__name__)

_LOOK_S = 1.0
_HEARTBEAT_S = 15.0
_NEWEST = 200
"""Jobs that a stream of all jobs tells about."""


@dataclass(frozen=True)
class Event:
    """A state that clients are told: the documents of jobs, and a digest of them."""

    id: str
    jobs: list[dict[str, Any]]

    @classmethod
    def of(cls, jobs: list[dict[str, Any]]) -> Event:
        """Return the event that tells these documents."""
        return cls(hashlib.sha256(json.dumps(jobs, default=str).encode()).hexdigest()[:16], jobs)


def as_text(event: Event | None) -> bytes:
    r"""Return an event as a stream has it; None is a comment that keeps the connection open.

    >>> as_text(Event("ab", []))
    b'id: ab\nevent: jobs\ndata: []\n\n'
    """
    if event is None:
        return b": still here\n\n"
    return f"id: {event.id}\nevent: jobs\ndata: {json.dumps(event.jobs, default=str)}\n\n".encode()


@dataclass(eq=False)
class _Watch:
    """What one client watches: one job, or the newest ones."""

    workspace: Workspace
    job: str | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Watcher:
    """Looks at the ledger as long as somebody watches; runs inside an ``async with`` block.

    Parameters
    ----------
    workspace : Workspace
    most : int
        Most clients that watch at once in this process.
    """

    def __init__(self, workspace: Workspace, most: int) -> None:
        self.workspace, self._most = workspace, most
        self._watches: set[_Watch] = set()
        self._ended = asyncio.Event()
        self._seen: Event | None = None

    async def __aenter__(self) -> Self:
        self._ended.clear()
        self._wanted = asyncio.Event()
        self._task = asyncio.create_task(self._look())
        self._stop = self._before_the_server_stops()
        self._stop.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()
        self._stop.__exit__(None, None, None)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    def watch(self, workspace: Workspace, job: str | None, known: str) -> AsyncIterator[Event | None]:
        """Return the events of a job, or of the newest jobs, that `workspace` shows.

        Parameters
        ----------
        workspace : Workspace
        job : str or None
            Whole id of a job.
        known : str
            Id of the last event that the client got; empty if it got none.

        Raises
        ------
        Problem
            With status 503, if too many clients watch already.
        """
        if len(self._watches) >= self._most:
            raise busy(
                f"{self._most} clients watch jobs here already; ask for the job itself now and then", 10
            )
        return self._events(_Watch(workspace, job), known)

    async def _events(self, watch: _Watch, known: str) -> AsyncIterator[Event | None]:
        self._watches.add(watch)
        self._wanted.set()
        seen: Event | None = None  # what a look found before this client came may be old
        try:
            while not self._ended.is_set():
                watch.changed.clear()
                try:
                    event = _told(watch, seen) or await run_in_threadpool(_state, watch.workspace, watch.job)
                except NotFoundError:  # forgotten meanwhile
                    return
                except GroveError as error:  # the database is away; the next look tells when it is back
                    logger.warning("jobs cannot be watched: %s", error)
                    event = None
                if event is not None and event.id != known:
                    known = event.id
                    yield event
                try:
                    await asyncio.wait_for(watch.changed.wait(), _HEARTBEAT_S)
                except TimeoutError:
                    yield None
                seen = self._seen
        finally:
            self._watches.discard(watch)

    async def _look(self) -> None:
        """Wake all who watch whenever the ledger differs from the last look."""
        while True:
            if not self._watches:
                self._wanted.clear()
                await self._wanted.wait()
            seen = None
            with contextlib.suppress(GroveError):  # who watches is told when the database is back
                seen = await run_in_threadpool(_state, self.workspace, None)
            if seen != self._seen or seen is None:
                self._seen = seen
                self._wake()
            await asyncio.sleep(_LOOK_S)

    def _wake(self) -> None:
        for watch in self._watches:
            watch.changed.set()

    def _end(self) -> None:
        self._ended.set()
        self._wake()

    @contextlib.contextmanager
    def _before_the_server_stops(self) -> Iterator[None]:
        """End all streams when a signal arrives, because the server waits for them before it stops."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def ended(number: int, frame: Any) -> None:
            loop.call_soon_threadsafe(self._end)
            handler = before[signal.Signals(number)]
            if callable(handler):
                handler(number, frame)

        for number in before:
            signal.signal(number, ended)
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) is ended:
                    signal.signal(number, handler)


def _told(watch: _Watch, seen: Event | None) -> Event | None:
    """Return what the last look found of the jobs that a client watches; None if it cannot tell."""
    if seen is None:
        return None
    if watch.job is None:
        return seen if watch.workspace.only is None else None
    found = [document for document in seen.jobs if document["id"] == watch.job]
    return Event.of(found) if found else None


def _state(workspace: Workspace, job: str | None) -> Event:
    """Return the present state of a job, or of the newest jobs."""
    from labelgrove.workers import client

    if job is not None:
        return Event.of(describe_jobs(workspace, [client.status(workspace, job)]))
    return Event.of(describe_jobs(workspace, client.list_jobs(workspace, limit=_NEWEST)))

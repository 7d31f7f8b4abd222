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
import math
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import cached_property
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
    _each: dict[str, Event | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, jobs: list[dict[str, Any]]) -> Event:
        """Return the event that tells these documents."""
        return cls(hashlib.sha256(json.dumps(jobs, default=str).encode()).hexdigest()[:16], jobs)

    @cached_property
    def text(self) -> bytes:
        """The event as a stream has it; written once, however many clients are told."""
        return f"id: {self.id}\nevent: jobs\ndata: {json.dumps(self.jobs, default=str)}\n\n".encode()

    def about(self, job: str) -> Event | None:
        """Return the event that tells only this job; None if this one does not tell it."""
        if job not in self._each:
            found = [document for document in self.jobs if document["id"] == job]
            self._each[job] = Event.of(found) if found else None
        return self._each[job]


def as_text(event: Event | None) -> bytes:
    r"""Return an event as a stream has it; None is a comment that keeps the connection open.

    >>> as_text(Event("ab", []))
    b'id: ab\nevent: jobs\ndata: []\n\n'
    """
    if event is None:
        return b": still here\n\n"
    return event.text


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
        self._began = 0.0

    @property
    def n_watching(self) -> int:
        """How many clients watch."""
        return len(self._watches)

    async def __aenter__(self) -> Self:
        self._ended.clear()
        self._wanted = asyncio.Event()
        async with contextlib.AsyncExitStack() as opening:
            await opening.enter_async_context(_running(self._look()))
            opening.enter_context(self._before_the_server_stops())
            opening.callback(self._end)
            self._opened = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    def watch(self, workspace: Workspace, job: str | None, known: str) -> AsyncGenerator[Event | None]:
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

    async def _events(self, watch: _Watch, known: str) -> AsyncGenerator[Event | None]:
        self._watches.add(watch)
        self._wanted.set()
        loop, read = asyncio.get_running_loop(), math.inf
        try:
            while not self._ended.is_set():
                watch.changed.clear()
                event = _told(watch, self._seen) if read < math.inf else None
                try:
                    # A look that began before this client read for itself may have found an earlier state.
                    if event is None or (self._began <= read and event.id != known):
                        event = await run_in_threadpool(_state, watch.workspace, watch.job)
                        read = loop.time()
                except NotFoundError:  # forgotten meanwhile
                    return
                except GroveError as error:
                    event = None
                    if self._seen is not None:  # else the database is away, which the look has told
                        logger.warning("a job cannot be watched: %s", error)
                if event is not None and event.id != known:
                    known = event.id
                    yield event
                try:
                    await asyncio.wait_for(watch.changed.wait(), _HEARTBEAT_S)
                except TimeoutError:
                    yield None
        finally:
            self._watches.discard(watch)

    async def _look(self) -> None:
        """Wake all who watch whenever the ledger differs from the last look.

        While the database is away nobody is woken: each would ask it in vain, on a thread of its own.
        """
        is_away = False
        while True:
            if not self._watches:
                self._wanted.clear()
                await self._wanted.wait()
            before, began = self._seen, asyncio.get_running_loop().time()
            try:
                self._seen = await run_in_threadpool(_state, self.workspace, None)
                self._began = began
            except Exception as error:  # whatever it is, the next look may work
                self._seen = None
                if not is_away:
                    logger.warning(
                        "jobs cannot be watched: %s", error, exc_info=not isinstance(error, GroveError)
                    )
            is_away = self._seen is None
            if not is_away and self._seen != before:
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


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something as long as the block, and no longer."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _told(watch: _Watch, seen: Event | None) -> Event | None:
    """Return what the last look found of the jobs that a client watches; None if it cannot tell."""
    if seen is None:
        return None
    if watch.job is None:
        return seen if watch.workspace.only is None else None
    return seen.about(watch.job)


def _state(workspace: Workspace, job: str | None) -> Event:
    """Return the present state of a job, or of the newest jobs."""
    from labelgrove.workers import client

    if job is not None:
        return Event.of(describe_jobs(workspace, [client.status(workspace, job)]))
    return Event.of(describe_jobs(workspace, client.list_jobs(workspace, limit=_NEWEST)))

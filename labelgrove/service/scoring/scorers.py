"""Run scoring on threads of its own, with a bounded number of requests that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Self, TypeVar

from starlette.requests import Request

from labelgrove.service.problems import Problem, busy

__all__ = ["Scorers"]

T = TypeVar("T")


class Scorers:
    """Threads that score, one for each core that the service may use; they run inside a ``with`` block.

    Parameters
    ----------
    threads : int
    waiting : int
        Most requests that wait for a thread; further ones are refused with status 503.
    body_s : float
        Longest time in which the body of a request arrives.
    """

    def __init__(self, threads: int, waiting: int, body_s: float) -> None:
        self._body_s = body_s
        self._threads = threads
        self._room = threading.BoundedSemaphore(threads + waiting)

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scoring")
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Take a place among those that wait; a request takes it before its body is read into memory."""
        if not self._room.acquire(blocking=False):
            raise busy("too many requests for scores are waiting; send this one again in a second", 1)
        try:
            yield
        finally:
            self._room.release()

    async def body(self, request: Request) -> bytes:
        """Return the body of a request, or refuse one that is compressed or comes too slowly."""
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise Problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "encoding",
                f"content-encoding: {encoding!r:.40} given; send the body as it is",
            )
        try:
            return await asyncio.wait_for(request.body(), self._body_s)
        except TimeoutError:
            raise Problem(
                HTTPStatus.REQUEST_TIMEOUT,
                "slow",
                f"the body did not arrive within {self._body_s:g} s; send fewer rows at a time",
                exit_code=1,
            ) from None

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which a thread computes while the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

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
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelgrove.service.problems import Problem, busy

__all__ = ["Scorers"]

T = TypeVar("T")


class Scorers:
    """Threads that score, one for each core that the service may use; they run inside a ``with`` block.

    Inside of it, matrix products of the whole process run on the thread that asks for them.

    Parameters
    ----------
    threads : int
    waiting : int
        Most requests that wait for a thread; further ones are refused with status 503.

    Attributes
    ----------
    n_places, n_taken : int
        How many requests have a place at most, and at present.
    n_scored : int
        How many rows were answered so far.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._threads = threads
        self._counting = threading.Lock()
        self.n_places, self.n_taken, self.n_scored = threads + waiting, 0, 0

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scoring")
        # The matrix products of each scorer would start as many threads again as the machine has cores.
        self._products = threadpool_limits(limits=1, user_api="blas")
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._products.restore_original_limits()

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Take a place among those that wait; a request takes it before its body is read into memory."""
        with self._counting:
            if self.n_taken == self.n_places:
                raise busy("too many requests for scores are waiting; send this one again in a second", 1)
            self.n_taken += 1
        try:
            yield
        finally:
            with self._counting:
                self.n_taken -= 1

    def count(self, n_rows: int) -> None:
        """Count rows that were answered."""
        with self._counting:
            self.n_scored += n_rows

    async def body(self, request: Request) -> bytes:
        """Return the body of a request, or refuse one that is compressed."""
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise Problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "encoding",
                f"content-encoding: {encoding!r:.40} given; send the body as it is",
            )
        return await request.body()

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which a thread computes while the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

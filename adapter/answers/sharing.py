"""Share the rows of one call among threads; compiled loops and numpy release the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.candidates import Candidates, read_candidates
from labelgrove.adapter.outputs.rows import OutputRows
from labelgrove.ontology.errors import WeightError
from labelgrove.ontology.geometry.arguments import whole_number

__all__ = ["shared"]

_MOST_THREADS = 64

Answer = Callable[[OutputRows, Candidates | None], NDArray[np.int64]]
"""Returns the answer of each row; takes the rows and their candidates."""


def shared(
    answer: Answer, rows: OutputRows, candidates: Candidates | None, threads: int
) -> NDArray[np.int64]:
    """Return ``answer(rows, candidates)``, computed by up to `threads` threads, at most `_MOST_THREADS`.

    The first row is answered before any thread starts, so that what all rows need is prepared once. Parts of
    the rows for which the system gives no thread are answered in this one.

    Raises
    ------
    InputError
        If `threads` is not a whole number from 1.
    WeightError
        The same error as without threads: if a part of the rows is refused, all rows are answered again in
        this thread, because messages count the wrong rows of the whole input.
    """
    n = len(rows)
    threads = min(whole_number("threads", threads, 1), _MOST_THREADS)
    step = max(1, -(-n // threads))
    each = None if candidates is None else read_candidates(candidates, n)
    listed: list[Any] | None = list(candidates) if isinstance(each, list) else None  # type: ignore[arg-type]

    def part(start: int, stop: int) -> NDArray[np.int64]:
        of = slice(start, stop)
        return answer(rows.only(of), candidates if listed is None else listed[of])

    try:
        first = part(0, min(1, n))
        with ThreadPoolExecutor(threads) as pool:
            parts = [(start, min(start + step, n)) for start in range(len(first), n, step)]
            begun: list[Future[NDArray[np.int64]]] = []
            with suppress(RuntimeError):  # no more threads: those that run answer what was accepted
                begun.extend(pool.submit(part, *one) for one in parts)
            rest = [part(*one) for one in parts[len(begun) :]]
            found = [one.result() for one in begun] + rest
    except WeightError:
        return answer(rows, candidates)
    return np.concatenate([first, *found])

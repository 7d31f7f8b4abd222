"""Read mutants in child processes with limits on time and memory, and restart those that die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import counted
from tests.fuzz.mutations import mutant
from tests.fuzz.reading import options_of, read_mutant
from tests.fuzz.sources import Source

__all__ = ["Failure", "Limits", "Outcome", "case", "fuzz"]

_Reader = Callable[[Path, dict[str, Any]], str]


@dataclass(frozen=True)
class Limits:
    """What one read may take: seconds of processor time, and bytes beside those of the idle process."""

    seconds: int = 10
    memory: int = 2 << 30
    waiting: int = 60
    """Seconds by the clock after which a child that does not answer counts as hanging."""


@dataclass(frozen=True)
class Failure:
    """A mutant that its reader did not survive."""

    number: int
    title: str
    options: dict[str, Any]
    what: str


@dataclass
class Outcome:
    """What became of all mutants."""

    n_mutants: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    titles: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)
    failures: list[Failure] = field(default_factory=list)


def _source(held: list[Source], number: int) -> Source:
    """Return the source of a number; formats take turns."""
    return held[number % len(held)]


def case(held: list[Source], seed: int, number: int) -> tuple[Source, bytes, dict[str, Any]]:
    """Return the source, the mutant and the options of a number."""
    source = _source(held, number)
    name = f"{seed} {number}"
    return source, mutant(source.content, [one.content for one in held], name), options_of(source, name)


def fuzz(
    held: list[Source],
    numbers: Iterable[int],
    seed: int,
    *,
    jobs: int = 2,
    limits: Limits | None = None,
    reader: _Reader = read_mutant,
    report: Callable[[Failure], None] = lambda _: None,
) -> Outcome:
    """Read the mutants with these numbers and return what became of them.

    Each failure is also given to `report` when it is found.
    """
    limits = limits or Limits()
    outcome = Outcome()
    left = iter(numbers)
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(_Child(held, seed, limits, reader)) for _ in range(jobs)]
        while True:
            for child in children:
                if child.number is None and (number := next(left, None)) is not None:
                    child.give(number)
            busy = [child for child in children if child.number is not None]
            if not busy:
                return outcome
            wait([child.connection for child in busy], timeout=1)
            for child in busy:
                for kind, what, seconds in child.answers():
                    _note(outcome, held, seed, child.taken(), kind, what, seconds)
                    if what:
                        report(outcome.failures[-1])


def _note(
    outcome: Outcome, held: list[Source], seed: int, number: int, kind: str, what: str, seconds: float
) -> None:
    outcome.n_mutants += 1
    outcome.kinds[kind] += 1
    outcome.titles[_source(held, number).title] += 1
    if outcome.n_mutants % 1_000 == 0:
        print(f"{outcome.n_mutants:,} mutants, {counted(len(outcome.failures), 'failure')}", file=sys.stderr)
    outcome.slowest = max(outcome.slowest, (seconds, number))
    if what:
        source, _, options = case(held, seed, number)
        outcome.failures.append(Failure(number, source.title, options, what))


class _Child:
    """A process that reads one mutant after another."""

    def __init__(self, held: list[Source], seed: int, limits: Limits, reader: _Reader) -> None:
        self._arguments = (held, seed, limits, reader)
        self._waiting = limits.waiting
        self.number: int | None = None
        self._since = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    def give(self, number: int) -> None:
        self.number, self._since = number, time.monotonic()
        self.connection.send(number)

    def taken(self) -> int:
        """Return the number that was answered; the child is free again."""
        assert self.number is not None
        number, self.number = self.number, None
        return number

    def answers(self) -> Iterator[tuple[str, str, float]]:
        """Yield (kind, failure or "", seconds) if the child has answered or is dead."""
        seconds = time.monotonic() - self._since
        try:
            if self.connection.poll():
                yield self.connection.recv()
                return
        except EOFError:
            self._process.join()
            code = self._process.exitcode or 0
            died = signal.Signals(-code).name if code < 0 else f"exit {code}"
            kind = "hang" if died == "SIGPROF" else "death"
            yield kind, f"{kind}: the reader's process ended by {died} after {seconds:.0f} s", seconds
            self._restart()
            return
        if seconds > self._waiting:
            yield "hang", f"hang: no answer after {seconds:.0f} s", seconds
            self._restart()

    def _restart(self) -> None:
        self.__exit__()
        self._start()


def _serve(connection: Connection, held: list[Source], seed: int, limits: Limits, reader: _Reader) -> None:
    """Read the mutants whose numbers arrive; the system ends this process if a read takes too long."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Without its parent, the process ends.
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            number = connection.recv()
            source, content, options = case(held, seed, number)
            path = Path(folder) / source.name
            path.write_bytes(content)
            labels = path.with_name("labels.csv")
            labels.unlink(missing_ok=True)
            if source.labels is not None:
                labels.write_bytes(source.labels)
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            try:
                kind, what = reader(path, options), ""
            except Exception:  # whatever it is, it is what this program looks for
                kind, what = "traceback", traceback.format_exc()
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            path.unlink(missing_ok=True)
            connection.send((kind, what, time.process_time() - start))

"""A whole deployment to break on purpose: broker, database, artifacts, nodes, and a history of faults."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.pool import Pool
from tests.faults.faulty_app import COMMITS
from tests.faults.invariants import keep_trail, read_trail, totals, violations
from tests.faults.trial_kind import KINDS, Conditions, plan_trial
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import notes, registered, settings_in
from tests.services import RedisServer, patient, wait_until

__all__ = ["DRAIN_S", "Deployment", "Node", "Result", "undisturbed"]

DRAIN_S = 60.0
"""The largest number of seconds from the last fault until everything is done."""


class Node(CeleryWorker):
    """A worker node that can be frozen, and whose main process can be killed without its children."""

    _left: tuple[int, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the main process of the node runs."""
        return self._process is not None and self._process.poll() is None

    def able_children(self) -> list[int]:
        """Return the children that are neither dead nor frozen."""
        able = []
        for child in psutil.Process(self.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_STOPPED):
                    able.append(child.pid)
        return able

    def kill_main(self) -> None:
        """End the main process, with its sweeper, by SIGKILL; its children stay alive."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        self._process.wait(30)
        self._left += (pid,)
        self._process = None

    def close(self) -> None:
        """End every process that this node ever had."""
        self.kill()
        for group in self._left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


@dataclass(frozen=True)
class Result:
    """The figures of a trial in which all laws held, as in `docs/reliability.md`."""

    seed: int
    faults: int
    units: int
    claims: int
    orphans: int
    drain_s: float
    seconds: float


class Deployment:
    """Real Redis, a database, artifacts in a folder and Celery nodes, under `Conditions`.

    Parameters
    ----------
    home : Path
        An empty folder for all files; the history stays there.
    seed : int
        The seed of the faults, which is printed and kept.
    database_url : str, optional
        An empty PostgreSQL database; SQLite by default.
    nodes, slots : int
        The number of worker nodes, and of units that each runs at a time.
    conditions : Conditions, optional
        How the workers behave.
    appendonly : bool
        Whether the broker keeps its messages on disk.
    """

    def __init__(
        self,
        home: Path,
        *,
        seed: int,
        database_url: str | None = None,
        nodes: int = 1,
        slots: int = 2,
        conditions: Conditions | None = None,
        appendonly: bool = False,
    ) -> None:
        self.home, self.seed, self.slots = home, seed, nodes * slots
        self.conditions = conditions or Conditions()
        self.broker = RedisServer(appendonly=appendonly)
        self.settings = settings_in(home, broker_url=self.broker.url, database_url=database_url)
        self.nodes = [
            Node(self.settings, home / f"node-{i}.log", app="tests.faults.faulty_app", slots=slots)
            for i in range(nodes)
        ]
        self.jobs: list[PlannedJob] = []
        self.faults = 0
        self._begin = self._last_fault = time.time()
        self._starter = ThreadPoolExecutor(max_workers=nodes, thread_name_prefix="node")
        self._starting: dict[Node, Future[None]] = {}
        self._timers: list[threading.Timer] = []

    # ---- work --------------------------------------------------------------------------------------

    def submit(self, units: int) -> PlannedJob:
        """Submit a new job of `units` units and one more that adds them up."""
        plan = plan_trial(seed=1000 * self.seed + len(self.jobs), units=units)
        self.jobs.append(plan)
        client.submit(self.workspace, "trial", json.loads(plan.spec_json)["parameters"], wait=False)
        return plan

    def units(self, state: State) -> int:
        """Return the number of units in this state."""
        with self.workspace.engine.connect() as connection:
            query = f"SELECT count(*) FROM unit WHERE state = '{state.value}'"
            return int(connection.exec_driver_sql(query).scalar_one())

    def done(self, job: PlannedJob) -> bool:
        """Return whether a job is done."""
        return self.ledger.job(job.id).state is State.DONE

    # ---- faults ------------------------------------------------------------------------------------

    def note(self, fault: str, **details: Any) -> None:
        """Record one fault in the history."""
        self.faults += 1
        self._last_fault = time.time()
        self._write({"fault": fault, "at": self._since(self._last_fault), **details})

    def restart(self, node: Node) -> None:
        """Start a node again as a supervisor does, without waiting for it."""
        self._starting[node] = self._starter.submit(_keep_starting, node)

    def ready_nodes(self) -> list[Node]:
        """Return the nodes that take messages."""
        for node, start in list(self._starting.items()):
            if start.done():
                start.result()
                del self._starting[node]
        return [node for node in self.nodes if node not in self._starting and node.ready]

    def freeze(self, processes: Sequence[int], seconds: float) -> None:
        """Stop processes, and let them go on after `seconds`."""
        for process in processes:
            _signal(process, signal.SIGSTOP)
        timer = threading.Timer(seconds, self._thaw, args=(processes,))
        self._timers.append(timer)
        timer.start()

    def _thaw(self, processes: Sequence[int]) -> None:
        for process in processes:
            _signal(process, signal.SIGCONT)
        self._last_fault = time.time()

    # ---- the end -----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until no fault is active: frozen processes go on, and every node is back."""
        for timer in self._timers:
            timer.join()
        wait_until(lambda: len(self.ready_nodes()) == len(self.nodes), deadline_s=60, what="the nodes")

    def drain(self, *, deadline_s: float = DRAIN_S) -> float:
        """Wait until every job is done, or the deadline is over; return the seconds since the last fault."""
        with contextlib.suppress(TimeoutError):
            wait_until(
                lambda: (
                    self.units(State.PENDING) + self.units(State.RUNNING) == 0
                    and all(self.ledger.job(job.id).finished for job in self.jobs)
                ),
                deadline_s=self._left(deadline_s),
                what="all jobs",
                interval_s=0.2,
            )
        return time.time() - self._last_fault

    def _left(self, deadline_s: float) -> float:
        """Return what is left of a deadline that began with the last fault, as `wait_until` takes it."""
        return deadline_s - (time.time() - self._last_fault) / patient(1)

    def breaches(self) -> list[str]:
        """Return every breach of the promise so far."""
        found = violations(
            self.workspace.engine,
            self.jobs,
            expected=undisturbed(self.home / "undisturbed", self.jobs),
            store=self.home / "artifacts",
            told=notes(self.home / COMMITS),
            faults=self.faults,
        )
        for breach in found:
            self._write({"breach": breach})
        return found

    def finish(self, *, deadline_s: float = DRAIN_S) -> Result:
        """Wait until all jobs are done, check every law, and return the figures."""
        self.settle()
        drain_s = self.drain(deadline_s=deadline_s)
        seconds = time.time() - self._begin
        for move in read_trail(self.workspace.engine):
            self._write({**asdict(move), "at": self._since(move.at)})
        found = self.breaches()
        assert not found, f"seed {self.seed}, history in {self.history}:\n" + "\n".join(found[:20])
        assert drain_s <= patient(deadline_s), f"seed {self.seed}: {drain_s:.1f} s; {self.history}"
        count = totals(self.workspace.engine, self.jobs, self.home / "artifacts")
        assert count.claims >= count.commits == count.units, f"seed {self.seed}: {count}; {self.history}"
        return Result(
            seed=self.seed,
            faults=self.faults,
            units=count.units,
            claims=count.claims,
            orphans=count.orphans,
            drain_s=round(drain_s, 1),
            seconds=round(seconds, 1),
        )

    @property
    def history(self) -> Path:
        """The file with all events, one JSON object per line."""
        return self.home / "history.jsonl"

    def text(self) -> str:
        """Return the logs of all nodes."""
        return "".join(node.text() for node in self.nodes)

    def _since(self, instant: float) -> float:
        return round(instant - self._begin, 3)

    def _write(self, line: dict[str, Any]) -> None:
        with self.history.open("a", encoding="utf-8") as history:
            history.write(json.dumps(line) + "\n")

    # ---- life --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self.home.mkdir(parents=True, exist_ok=True)
            self.conditions.write(self.home)
            stack.enter_context(self.broker)
            stack.enter_context(registered(*KINDS))
            _prepare(self.settings)
            self.workspace = stack.enter_context(Workspace.open(self.settings))
            self.ledger = Ledger(self.workspace.engine)
            stack.callback(self._end)
            for node in self.nodes:
                self.restart(node)
            self.settle()
            self._begin = self._last_fault = time.time()
            print(f"seed {self.seed}, history in {self.history}")
            self._write({"seed": self.seed, "began": self._begin, **asdict(self.conditions)})
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._starter.shutdown(cancel_futures=True)
        for node in self.nodes:
            node.close()


def undisturbed(home: Path, jobs: Sequence[PlannedJob]) -> dict[str, str]:
    """Compute jobs in this process without faults, and return the digest of each unit's artifact."""
    with Workspace.open(settings_in(home)) as workspace:
        ledger = Ledger(workspace.engine)
        for job in jobs:
            ledger.submit(job)
        with Pool(workspace, threads=2) as pool:
            pool.run_until(lambda: all(ledger.job(job.id).finished for job in jobs))
        units = [ledger.unit(unit.key) for job in jobs for unit in job.units]
    return {unit.key: unit.sha256 for unit in units if unit is not None and unit.sha256 is not None}


def _prepare(settings: Settings) -> None:
    engine = create_engine(settings.database_url)
    upgrade(engine)
    keep_trail(engine)
    engine.dispose()


def _keep_starting(node: Node) -> None:
    """Start a node, and try again if it refused to start because a server was away."""
    deadline = time.monotonic() + patient(DRAIN_S)
    while True:
        try:
            return node.start()
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _signal(process: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)

"""Kinds of jobs for fault tests: one with a known answer and a chosen duration, and poisonous ones.

The duration of a unit is stored with the deployment, not in the request, so that the same units can be
computed quickly elsewhere without faults.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.workers.kinds import JobKind, Product, Step, Work
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.requests.plan import plan_job
from tests.integration.workers_support import as_given

__all__ = ["KINDS", "POISON", "POISONS", "TRIAL", "Conditions", "plan_trial"]

_LOOKS_UP_EVERY_S = 0.05
_MEMORY_LIMIT = 8 << 30


@dataclass(frozen=True)
class Conditions:
    """The behavior of the workers of one deployment, which every process reads from a file in its home."""

    lease_s: float = 2.0
    sweep_s: float = 0.5
    unit_s: float = 0.3
    visibility_s: float = 3600.0
    time_limit_s: float = 60.0
    max_attempts: int = 10
    mutant: str = ""  # "fence", "lease" or "sweeper": the safeguard that is taken out

    def write(self, home: Path) -> None:
        """Store these conditions for the deployment in `home`."""
        (home / "conditions.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def of(cls, home: Path) -> Conditions:
        """Return the conditions that are stored in `home`; without any, units take no time."""
        path = home / "conditions.json"
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls(unit_s=0.0)


# ---- trial: a fan of units, then one that adds them up -----------------------------------------------------


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    numbers = range(parameters["units"])
    return [
        *(Step({"seed": parameters["seed"], "number": number}) for number in numbers),
        Step({"seed": parameters["seed"], "sum": True}, stage=1),
    ]


def _execute(work: Work) -> Product:
    _take_time(work)
    if "sum" in work.parameters:
        values = sum(work.artifacts.open_arrays(digest)[0]["values"] for digest in work.inputs)
    else:
        random = np.random.default_rng([work.parameters["seed"], work.parameters["number"]])
        values = random.integers(0, 1 << 40, size=500, dtype=np.int64)
    return Product({"values": np.asarray(values, dtype=np.int64)}, {"format": "trial"})


def _take_time(work: Work) -> None:
    """Wait for the duration in the conditions, and check for cancellation meanwhile."""
    end = time.monotonic() + Conditions.of(work.workspace.settings.home).unit_s
    pause = threading.Event()
    while (left := end - time.monotonic()) > 0:
        work.check()
        pause.wait(min(left, _LOOKS_UP_EVERY_S))


TRIAL = JobKind("trial", 1, as_given, _plan, _execute)


def plan_trial(seed: int, units: int) -> PlannedJob:
    """Return a job of `units` units and one more that adds them up."""
    return plan_job(TRIAL, {"seed": seed, "units": units})


# ---- poison: a unit that cannot be survived ----------------------------------------------------------------


def _segfault() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


def _killed_for_memory() -> None:
    """Kill this process, as the kernel kills one that takes the last memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def _memory_bomb() -> None:
    """Allocate memory without end, in a limited address space."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, before[1]))
    try:
        np.ones(1 << 40, dtype=np.uint8)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _endless_loop() -> None:
    while True:
        hashlib.sha256(b"").digest()


def _endless_native_loop() -> None:
    """Loop without handling signals, as compiled code may; only the hard time limit ends it."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    _endless_loop()


POISONS = {
    "segfault": _segfault,
    "killed for memory": _killed_for_memory,
    "endless native loop": _endless_native_loop,
    "endless loop": _endless_loop,
    "memory bomb": _memory_bomb,
}
"""The first three end their process, the others raise an error inside it."""


def _poison(work: Work) -> Product:
    POISONS[work.parameters["poison"]]()
    raise AssertionError(f"{work.parameters['poison']} was survived")


POISON = JobKind("poison", 1, as_given, lambda parameters: [Step(parameters)], _poison)

KINDS = (TRIAL, POISON)

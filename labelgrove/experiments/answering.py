"""Answer a request for an experiment with the result of its job, and count what was computed for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelgrove.experiments.prepared import forget

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job, Unit

__all__ = ["Answer", "answer_experiment", "busy_seconds"]


@dataclass(frozen=True)
class Answer:
    """The result of an experiment, and how much was computed for it.

    The unit that joins the results of the other units is not counted.

    Attributes
    ----------
    sha256 : str
        The artifact that contains the document of the experiment.
    computed : int
        How many units were computed during this call, here or by other processes.
    seconds : float
        Wall-clock seconds in which at least one unit was being computed, in this call or earlier.
    """

    sha256: str
    computed: int
    seconds: float


def answer_experiment(
    workspace: Workspace, request: Mapping[str, Any], wait: Callable[[Callable[[], Job]], Job]
) -> Answer:
    """Return the result of an experiment from the ledger; compute it first if it is not there yet.

    Parameters
    ----------
    workspace : Workspace
    request : mapping
        The parameters of the job.
    wait : callable
        Called with a function that submits the job and returns at once. `wait` must wait for the job, and
        return the job with its result. Errors that `wait` raises are passed on. If Ctrl-C stops `wait`, this
        process removes the files that it prepared for the units (`experiments.prepared`), and then passes
        the `KeyboardInterrupt` on.
    """
    from labelgrove.workers.client import list_units, submit

    def units(job: Job) -> list[Unit]:
        every = list_units(workspace, job.id, limit=sum(job.units.values()))
        return [unit for unit in every if unit.stage == 0]

    ended: dict[str, float | None] = {}

    def submitted() -> Job:
        job = submit(workspace, "experiment", request, wait=False)
        ended.update({unit.key: unit.ended_at for unit in units(job)})
        return job

    try:
        job = wait(submitted)
    except KeyboardInterrupt:  # the process ends at once, without waiting for the unit that runs
        forget()
        raise
    now = units(job)
    computed = sum(unit.ended_at != ended[unit.key] for unit in now)
    return Answer(str(job.result_sha256), computed, busy_seconds(now))


def busy_seconds(units: Iterable[Unit]) -> float:
    """Return the wall-clock seconds in which at least one of the units was being computed.

    Units of several processes run at the same time, so a sum over units would count some seconds twice.
    """
    total, until = 0.0, -math.inf
    spans = [(u.claimed_at, u.ended_at) for u in units if u.claimed_at is not None and u.ended_at is not None]
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return round(total, 1)

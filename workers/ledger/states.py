"""States of jobs and units, every legal move between them, and the records that the ledger hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from labelgrove.workers.ledger.specs import job_parameters, recorded_object

__all__ = ["GRAPH", "JOB_MOVES", "UNIT_MOVES", "Beat", "Claim", "Job", "Move", "Publication", "State", "Unit"]


class State(StrEnum):
    """Where a job or a unit stands; a job is only ever stored as pending or as one of the three ends."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Move:
    """One legal change of state: from any of `sources` to `target`."""

    target: State
    sources: frozenset[State]


def _move(target: State, *sources: State) -> Move:
    return Move(target, frozenset(sources))


UNIT_MOVES: Mapping[str, Move] = {
    "claim": _move(State.RUNNING, State.PENDING, State.RUNNING),  # a running one only when its lease ended
    "renew": _move(State.RUNNING, State.RUNNING),
    "commit": _move(State.DONE, State.RUNNING),
    "release": _move(State.PENDING, State.RUNNING),
    "fail": _move(State.FAILED, State.RUNNING),
    "cancel": _move(State.CANCELLED, State.PENDING),
    "abandon": _move(State.CANCELLED, State.RUNNING),
    "retry": _move(State.PENDING, State.FAILED, State.CANCELLED),
    "recompute": _move(State.PENDING, State.DONE),
}
"""Every legal move of a unit."""

JOB_MOVES: Mapping[str, Move] = {
    "finish": _move(State.DONE, State.PENDING),
    "fail": _move(State.FAILED, State.PENDING),
    "cancel": _move(State.CANCELLED, State.PENDING),
    "retry": _move(State.PENDING, State.FAILED, State.CANCELLED),
    "recompute": _move(State.PENDING, State.DONE),
}
"""Every legal move of a stored job; a pending job reads as running once any of its units has begun."""


@dataclass(frozen=True)
class Job:
    """A job as it stood when it was read.

    Attributes
    ----------
    id : str
        The job key, 64 hexadecimal digits.
    kind, version : str, int
        The job kind and the version of its algorithm.
    parameters : mapping
        What was asked for, complete with defaults.
    state : State
        Running once any unit has begun; done, failed and cancelled are ends.
    created_at, finished_at : float, float or None
        Seconds since 1970, UTC.
    result_sha256 : str or None
        Digest of the artifact of the last unit, when done.
    error : str or None
        Why it failed, or why its result could not be given its name.
    units : mapping of state to int
        How many units stand where.
    publishing : bool
        Whether a name is still to be pointed at the result, or the result to be shown in the graph: never
        of a job without a result to come. A graph that is away is not waited for.
    delayed : str or None
        What kept the result from getting its name until now; every sweep tries again.
    """

    id: str
    kind: str
    version: int
    parameters: Mapping[str, Any]
    state: State
    created_at: float
    finished_at: float | None
    result_sha256: str | None
    error: str | None
    units: Mapping[str, int]
    publishing: bool
    delayed: str | None = None

    @property
    def ended(self) -> bool:
        """Whether its result is there, or none will come."""
        return self.state in (State.DONE, State.FAILED, State.CANCELLED)

    @property
    def finished(self) -> bool:
        """Whether nothing of it is left to do, the naming of its result included."""
        if self.state is State.DONE:
            return not self.publishing
        return self.state in (State.FAILED, State.CANCELLED)


@dataclass(frozen=True)
class Unit:
    """A unit as it stood when it was read.

    Attributes
    ----------
    key : str
        Digest of what it computes, 64 hexadecimal digits.
    kind, version : str, int
        The job kind that computes it.
    stage : int
        It runs after every unit of a lower stage of its jobs.
    state : State
        Where it stands.
    fence : int
        Raised by every claim; who holds an older number changes nothing any more.
    lease_until : float
        When the present claim ends unless renewed, in seconds since 1970.
    attempts : int
        Claims since it was last asked for.
    sha256, size : str or None, int or None
        Its artifact and the bytes of it, when done.
    error : str or None
        What the last attempt ended with, unless it succeeded.
    claimed_at, ended_at : float or None
        When the last attempt began and ended; a lost worker's ends when its lease did.
    """

    key: str
    kind: str
    version: int
    stage: int
    state: State
    fence: int
    lease_until: float
    attempts: int
    sha256: str | None
    size: int | None
    error: str | None
    claimed_at: float | None
    ended_at: float | None


@dataclass(frozen=True)
class Claim:
    """The right to compute one unit, valid while `fence` is the unit's own.

    Attributes
    ----------
    key, fence, attempts
        As in `Unit`.
    parameters : mapping
        What to compute.
    inputs : tuple of str
        Digests of the artifacts of the stage before, in the order of the plan.
    """

    key: str
    fence: int
    attempts: int
    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Publication:
    """A name (`target`) that waits to be pointed at `sha256`, the result of a done job."""

    kind: str
    version: int
    target_json: str
    job_id: str
    sha256: str
    spec_json: str

    @cached_property
    def target(self) -> Mapping[str, str]:
        """The name, as the kind understands it; `InputError` where the row was damaged."""
        return recorded_object("target_json", self.target_json)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the job; `InputError` where the row was damaged."""
        return job_parameters(self.spec_json)


GRAPH = "graph"
"""Key of the target under which a job's own result is shown in the graph; its value is the id of the job."""


class Beat(StrEnum):
    """What a heartbeat learns: the claim is held, no job wants the unit any more, or the claim is lost."""

    HELD = "held"
    UNWANTED = "unwanted"
    LOST = "lost"

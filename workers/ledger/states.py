"""Define the states of jobs and units, the legal moves between them, and the records of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from labelgrove.workers.ledger.specs import job_parameters, recorded_object

__all__ = ["GRAPH", "JOB_MOVES", "UNIT_MOVES", "Beat", "Claim", "Job", "Move", "Publication", "State", "Unit"]


class State(StrEnum):
    """The state of a job or a unit.

    A job is never stored as running: it counts as running when it is pending and one of its units has begun.
    """

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
    "claim": _move(State.RUNNING, State.PENDING, State.RUNNING),  # from running only when its lease ended
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
"""Every legal move of a stored job; a pending job counts as running once any of its units has begun."""


@dataclass(frozen=True)
class Job:
    """A job at the moment when it was read.

    Attributes
    ----------
    id : str
        The job key, 64 hexadecimal digits.
    kind, version : str, int
        The job kind, and the version of that kind.
    parameters : mapping
        Complete parameters of the request, defaults included.
    state : State
        Running once any unit has begun; a job in one of the states done, failed and cancelled has ended.
    created_at, finished_at : float, float or None
        Seconds since 1970, UTC.
    result_sha256 : str or None
        Digest of the artifact of the last unit, when done.
    error : str or None
        Why the job failed, or why its result could not be given its name.
    units : mapping of state to int
        Number of units in each state.
    publishing : bool
        Whether the result is still to get a name or to be written into the graph. False for a job that will
        have no result, and for a result that is only delayed because the graph is unreachable.
    delayed : str or None
        Why the result has not got its name so far; every sweep tries again.
    asked_by : str or None
        Who requested it first; None if nobody recorded it.
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
    asked_by: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the job is done, failed or cancelled; the result may still be without its name."""
        return self.state in (State.DONE, State.FAILED, State.CANCELLED)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do for the job, including the naming of its result."""
        if self.state is State.DONE:
            return not self.publishing
        return self.state in (State.FAILED, State.CANCELLED)


@dataclass(frozen=True)
class Unit:
    """A unit at the moment when it was read.

    Attributes
    ----------
    key : str
        Digest of its computation, 64 hexadecimal digits.
    kind, version : str, int
        The job kind that computes the unit, and the version of that kind.
    stage : int
        The unit runs after all units of lower stages of its jobs.
    state : State
        State of the unit.
    fence : int
        The number that rises with every claim; a worker with an older number can no longer change the unit.
    lease_until : float
        When the lease of the current claim ends unless it is renewed, in seconds since 1970.
    attempts : int
        Number of claims since it was last requested.
    sha256, size : str or None, int or None
        Digest and bytes of its artifact, when done.
    error : str or None
        Error of the last attempt, unless it succeeded.
    claimed_at, ended_at : float or None
        When the last attempt began and ended; the attempt of a lost worker ends with its lease.
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
    """The right to compute one unit, valid while `fence` equals the fence of the unit.

    Attributes
    ----------
    key, fence, attempts
        As in `Unit`, at the time of the claim.
    parameters : mapping
        Parameters of the computation.
    inputs : tuple of str
        Digests of the artifacts of the inputs, in the order in which `plan_job` listed the inputs.
    """

    key: str
    fence: int
    attempts: int
    parameters: Mapping[str, Any]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Publication:
    """A request to give the result of a done job the name in `target`, or to write it into the graph."""

    kind: str
    version: int
    target_json: str
    job_id: str
    sha256: str
    spec_json: str

    @cached_property
    def target(self) -> Mapping[str, str]:
        """The name to give, in the form that the kind defines; raises `InputError` if the row was damaged."""
        return recorded_object("target_json", self.target_json)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the job; raises `InputError` if the row was damaged."""
        return job_parameters(self.spec_json)


GRAPH = "graph"
"""The key that marks a target as a request to write a result into the graph; its value is the job's id."""


class Beat(StrEnum):
    """The answer to a heartbeat: the claim is held, no job wants the unit any more, or the claim is lost."""

    HELD = "held"
    UNWANTED = "unwanted"
    LOST = "lost"

"""The shapes of answers about jobs and their kinds."""

from __future__ import annotations

from typing import Any

from labelgrove.service.schemas.parts import Document

__all__ = [
    "Costs",
    "Estimated",
    "JobDocument",
    "JobList",
    "KindList",
    "ScheduleDocument",
    "ScheduleList",
    "Strip",
    "UnitList",
]


class JobDocument(Document):
    """One job."""

    id: str
    kind: str
    parameters: dict[str, Any]
    state: str
    created_at: str
    finished_at: str | None
    result_sha256: str | None
    error: str | None
    units: dict[str, int]
    stale: bool
    asked_by: str | None = None


class JobList(Document):
    """Jobs, the newest first."""

    items: list[JobDocument]
    total: int


class UnitList(Document):
    """Units of a job."""

    items: list[dict[str, Any]]
    total: int
    next: str | None


class _Cell(Document):
    first: int
    n_units: int
    state: str
    units: dict[str, int]


class Strip(Document):
    """The units of a job in cells; `state` is the worst state in a cell."""

    items: list[_Cell]
    total: int


class _Parameter(Document):
    name: str
    required: bool
    default: Any
    values: str


class _Kind(Document):
    kind: str
    version: int
    queue: str
    named: bool
    parameters: list[_Parameter]


class KindList(Document):
    """Kinds of jobs."""

    items: list[_Kind]
    total: int


class _Size(Document):
    units: int
    n_bytes: int
    graph_rows: int
    seconds: float | None
    least_bytes: int


class Estimated(_Size):
    """What a job would need."""

    free_bytes: int | None


class _Used(Document):
    units: int
    n_bytes: int
    seconds: float
    attempts: int


class Costs(Document):
    """What was estimated for a job, and what it used so far; `elapsed_s` once it ended."""

    estimated: _Size | None
    used: _Used
    elapsed_s: float | None


class ScheduleDocument(Document):
    """A request that is made whenever it is due."""

    name: str
    cron: str
    kind: str
    parameters: dict[str, Any]
    target: dict[str, str] | None
    created_at: str
    next_at: str
    damage: str | None
    last_due_at: str | None
    last_fired_at: str | None
    last_job: str | None
    last_error: str | None


class ScheduleList(Document):
    """Schedules, by name."""

    items: list[ScheduleDocument]
    total: int

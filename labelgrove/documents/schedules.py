"""Describe schedules: when each is due, and what happened when it was last due."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.schedules.schedule import Schedule

__all__ = ["describe_schedules"]


def describe_schedules(workspace: Workspace) -> list[dict[str, Any]]:
    """Return each schedule that the workspace shows, ordered by name, with its latest firing."""
    from labelgrove.workers.schedules.schedule import seen_schedules

    return [_described(found) for found in seen_schedules(workspace)]


def _described(found: Schedule) -> dict[str, Any]:
    last = found.last
    described = asdict(found) | {"created_at": when(found.created_at), "next_at": when(found.next_at)}
    described.pop("last")
    return described | {
        "last_due_at": None if last is None else when(last.due_at),
        "last_fired_at": None if last is None else when(last.fired_at),
        "last_job": None if last is None else last.job_id,
        "last_error": None if last is None else last.error,
    }

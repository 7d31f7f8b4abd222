"""Read the names of jobs and schedules quickly, without SQLAlchemy, for completion in shells."""

from __future__ import annotations

from labelgrove.ontology.sql.quickread import read_rows

__all__ = ["newest_jobs", "schedule_names"]


def newest_jobs(database_url: str, states: tuple[str, ...], limit: int) -> list[tuple[str, str]]:
    """Return the beginning of the id of each of the newest jobs, with its kind and state, newest first.

    If `states` are given, only jobs that are stored with one of them are returned.
    """
    condition = f"WHERE state IN ({', '.join(map(repr, states))})" if states else ""
    return read_rows(
        database_url,
        "SELECT substr(id, 1, 12), kind || ' ' || state "
        f"FROM job {condition} ORDER BY created_at DESC LIMIT {limit}",
    )


def schedule_names(database_url: str, limit: int) -> list[tuple[str, str]]:
    """Return the name and the cron expression of each schedule, in the order of the names."""
    return read_rows(database_url, f"SELECT name, cron FROM schedule ORDER BY name LIMIT {limit}")

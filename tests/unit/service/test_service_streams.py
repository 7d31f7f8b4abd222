"""Streams of events: what they tell while the database is away, and that no state follows a later one."""

from __future__ import annotations

import asyncio
import logging
import threading

import sqlalchemy as sa

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.kept import streams
from labelgrove.service.kept.streams import Watcher
from labelgrove.workers import client
from tests.unit.service.service_cases import settings_of

WATCHERS = 20
SOON_S = 30


def rename(workspace, old, new):
    with writing(workspace.engine) as connection:
        connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))


async def told(stream):
    """Return the states of the jobs in the next event."""
    async with asyncio.timeout(SOON_S):
        async for event in stream:
            if event is not None:
                return [one["state"] for one in event.jobs]
    return None


def test_an_outage_is_told_once_and_then_what_was_missed(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(streams, "_LOOK_S", 0.02)
    asked = []

    def state(workspace, job, state=streams._state):
        asked.append(job)
        return state(workspace, job)

    monkeypatch.setattr(streams, "_state", state)

    async def watched(workspace):
        job = client.submit(workspace, "cover", {"ontology": "garden"}, wait=False).id
        async with Watcher(workspace, WATCHERS) as watcher:
            all_jobs = [watcher.watch(workspace, None, "") for _ in range(WATCHERS // 2)]
            one_job = [watcher.watch(workspace, job, "") for _ in range(WATCHERS // 2)]
            clients = [*all_jobs, *one_job]
            assert await asyncio.gather(*map(told, clients)) == [["pending"]] * WATCHERS
            waiting = [asyncio.create_task(told(one)) for one in clients]
            rename(workspace, "job", "job_away")
            async with asyncio.timeout(SOON_S):
                while "jobs cannot be watched" not in caplog.text:
                    await asyncio.sleep(0.01)
                asked.clear()
                while len(asked) < 10:
                    await asyncio.sleep(0.01)
            assert set(asked) == {None}
            rename(workspace, "job_away", "job")
            client.cancel(workspace, job)
            assert await asyncio.gather(*waiting) == [["cancelled"]] * WATCHERS
            for one in clients:
                await one.aclose()

    with caplog.at_level(logging.WARNING), Workspace.open(settings_of(tmp_path)) as workspace:
        register(workspace, "garden", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
        asyncio.run(watched(workspace))
    assert caplog.text.count("watched") == caplog.text.count("jobs cannot be watched") == 1


def test_what_a_slow_look_found_is_not_told_after_a_later_state(tmp_path, monkeypatch):
    """The first look reads a job, is held up, and ends after the job and after a client read it."""
    monkeypatch.setattr(streams, "_LOOK_S", 0.02)
    found, go, looks = threading.Event(), threading.Event(), []

    def state(workspace, job, state=streams._state):
        event = state(workspace, job)
        if job is None:
            looks.append(event)
            found.set()
            assert go.wait(SOON_S)
        return event

    monkeypatch.setattr(streams, "_state", state)

    async def watched(workspace):
        job = client.submit(workspace, "cover", {"ontology": "garden"}, wait=False).id
        async with Watcher(workspace, WATCHERS) as watcher:
            early, late = (watcher.watch(workspace, job, "") for _ in range(2))
            assert await told(early) == ["pending"]
            assert await asyncio.to_thread(found.wait, SOON_S)
            client.cancel(workspace, job)
            assert await told(late) == ["cancelled"]
            after = asyncio.create_task(told(late))
            go.set()
            assert await told(early) == ["cancelled"]
            async with asyncio.timeout(SOON_S):
                while len(looks) < 4:
                    await asyncio.sleep(0.01)
            assert not after.done()
            after.cancel()
            await asyncio.wait([after])
            for one in (early, late):
                await one.aclose()

    with Workspace.open(settings_of(tmp_path)) as workspace:
        register(workspace, "garden", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
        asyncio.run(watched(workspace))

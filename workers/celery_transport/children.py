"""The child processes of a node: Celery's prefork pool, made to survive a child that dies at a bad moment."""

from __future__ import annotations

from typing import Any

from celery.concurrency import asynpool, prefork

__all__ = ["ChildPool", "TaskPool"]


class ChildPool(asynpool.AsynPool):  # type: ignore[misc]
    """A pool that watches every child that can still end.

    After a reconnect to the broker Celery watches all children again. A child whose end was just noticed, and
    whose place is not yet filled, has nothing left to watch. Celery's own pool then ends the whole node.
    """

    def _track_child_process(self, proc: Any, hub: Any) -> None:
        if getattr(proc, "_sentinel_poll", proc) is not None:
            super()._track_child_process(proc, hub)


class TaskPool(prefork.TaskPool):  # type: ignore[misc]
    """The class that the setting ``worker_pool`` names."""

    Pool = ChildPool

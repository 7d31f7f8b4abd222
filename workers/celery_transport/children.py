"""Run the child processes of a worker: Celery's prefork pool, made to survive a child that dies unnoticed."""

from __future__ import annotations

from typing import Any

from celery.concurrency import asynpool, prefork

__all__ = ["ChildPool", "TaskPool"]


class ChildPool(asynpool.AsynPool):  # type: ignore[misc]
    """A pool that watches only children that can still end.

    After a reconnect to the broker, Celery watches all children again. If the end of a child was just noticed
    and its place is not yet filled, there is nothing to watch, and Celery's own pool ends the whole worker.
    """

    def _track_child_process(self, proc: Any, hub: Any) -> None:
        if getattr(proc, "_sentinel_poll", proc) is not None:
            super()._track_child_process(proc, hub)


class TaskPool(prefork.TaskPool):  # type: ignore[misc]
    """The class that the setting ``worker_pool`` names."""

    Pool = ChildPool

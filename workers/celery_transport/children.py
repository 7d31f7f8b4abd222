"""Run the child processes of a worker in a variant of Celery's prefork pool that survives a child's death."""

from __future__ import annotations

from typing import Any

from celery.concurrency import asynpool, prefork

__all__ = ["ChildPool", "TaskPool"]


class ChildPool(asynpool.AsynPool):  # type: ignore[misc]
    """A pool that registers a child process with Celery's event loop only if the child still runs.

    The event loop notices when a registered child ends. After a reconnect to the broker, Celery registers all
    child processes again. With Celery's own pool, this fails for a child that has ended and is not yet
    replaced, and the failure ends the whole worker.
    """

    def _track_child_process(self, proc: Any, hub: Any) -> None:
        if getattr(proc, "_sentinel_poll", proc) is not None:
            super()._track_child_process(proc, hub)


class TaskPool(prefork.TaskPool):  # type: ignore[misc]
    """The prefork pool that uses `ChildPool`; the Celery setting ``worker_pool`` names this class."""

    Pool = ChildPool

"""The application of `slow_kind_app` with a time limit of one second for units: `celery -A` this module."""

from __future__ import annotations

from typing import Any

from labelgrove.workers.celery_transport.transport import TASK
from tests.integration import slow_kind_app


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    app = slow_kind_app.app
    app.tasks[TASK].soft_time_limit = 1
    return app

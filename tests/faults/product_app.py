"""A Celery application for fault tests of the product's own kinds of jobs, on a network that may fail.

It works like `tests.faults.faulty_app`. In addition to its work, each unit waits for the time in the
conditions of the home, so that faults happen while it is running.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import celery

import labelgrove.ontology.sql.postgresql
from labelgrove.ontology.settings import Settings
from labelgrove.workers import kinds
from labelgrove.workers.kinds import JobKind, Product, Work
from tests.faults.faulty_app import faulty_app
from tests.faults.trial_kind import _take_time

SLOWED = ("distances", "locus", "summary")


@dataclass(frozen=True)
class Patience:
    """How long a worker waits for silent servers; by default as long as the product does."""

    socket_s: float = 10.0
    answer_s: float = 30.0

    def write(self, home: Path) -> None:
        """Store these waiting times for the deployment in `home`."""
        (home / "patience.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def of(cls, home: Path) -> Patience:
        """Return the waiting times that are stored in `home`."""
        return cls(**json.loads((home / "patience.json").read_text(encoding="utf-8")))


def product_app(settings: Settings) -> celery.Celery:
    """Return the application of the deployment in the home of `settings`."""
    patience = Patience.of(settings.home)
    labelgrove.ontology.sql.postgresql.ANSWER_S = patience.answer_s
    for name in SLOWED:
        kinds.registry._registry()[name] = _slowed(kinds.registry._registry()[name])
    app = faulty_app(settings)
    app.conf.broker_transport_options |= {
        "socket_timeout": patience.socket_s,
        "health_check_interval": min(10.0, patience.socket_s),
    }
    return app


def _slowed(kind: JobKind) -> JobKind:
    def execute(work: Work) -> Product:
        _take_time(work)
        return kind.execute(work)

    return replace(kind, execute=execute)


@functools.cache
def _default_app() -> celery.Celery:
    return product_app(Settings.from_env())


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    return _default_app()

"""A Celery application that also knows the test kinds, with a short lease: `celery -A` this module."""

from __future__ import annotations

from typing import Any

from labelgrove.ontology.settings import Settings
from labelgrove.workers.app import make_app
from labelgrove.workers.kinds import find_kind, register
from tests.integration.workers_support import GATED, PARTS

LEASE_S = 3.0


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    for kind in (GATED, PARTS):
        if find_kind(kind.name) is None:
            register(kind)
    return make_app(Settings.from_env(), lease_s=LEASE_S, sweep_s=0.5)

"""How long units may take, and how many wait for a node: what settings and options make of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.app import make_app
from labelgrove.workers.celery_transport.transport import TASK
from labelgrove.workers.running.sweeper import WINDOW_PER_SLOT
from tests.integration.workers_support import settings_in

LIMIT = "GROVE_UNIT_TIME_LIMIT_S"


@pytest.mark.parametrize(
    ("limit_s", "visibility_s"), [(10, 3600), (600, 3600), (1140, 3600), (86_400, 259_380)]
)
def test_a_message_outlives_its_unit(tmp_path: Path, limit_s: int, visibility_s: int) -> None:
    """A message that came back while its unit may still run would have it sent about in vain."""
    settings = replace(settings_in(tmp_path, broker_url="redis://127.0.0.1:1/0"), unit_time_limit_s=limit_s)
    with make_app(settings) as app:
        assert (app.conf.task_soft_time_limit, app.conf.task_time_limit) == (limit_s, limit_s + 60)
        assert app.conf.broker_transport_options["visibility_timeout"] == visibility_s


@pytest.mark.parametrize("value", ["9", "86401", "0", "-60", "10.5", "1e3", " 60", "060", "ten", "9" * 5000])
def test_a_limit_that_is_none_is_refused_with_its_rule(value: str) -> None:
    with pytest.raises(SettingsError, match=f"{LIMIT}: .* is not a whole number from 10 to 86400"):
        Settings.from_env({LIMIT: value})


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        (LIMIT, 10, 86_400),
        ("GROVE_KEEP_JOBS_DAYS", 1, 99_999),
        ("GROVE_KEEP_RESULTS", 0, 99_999),
        ("GROVE_METRICS_PORT", 0, 65_535),
    ],
)
def test_both_ends_of_each_range_are_taken_and_nothing_beyond(name: str, least: int, most: int) -> None:
    field = name.removeprefix("GROVE_").lower()
    for value in (least, most):
        assert getattr(Settings.from_env({name: str(value)}), field) == value
    for value in (least - 1, most + 1):
        with pytest.raises(SettingsError, match=f"{name}: .* from {least} to {most}"):
            Settings.from_env({name: str(value)})


@pytest.mark.services
def test_children_send_as_many_as_their_node_has_slots_for(tmp_path: Path, redis_url: str) -> None:
    settings = settings_in(tmp_path, broker_url=redis_url)
    with Workspace.open(settings) as workspace:
        workspace.engine.dispose()
    with make_app(settings) as app:
        app.WorkController(concurrency=7)
        assert app.tasks[TASK].window == 7 * WINDOW_PER_SLOT

"""What somebody writes into the broker under a name of ours ends no worker, and stops none from starting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import redis

from labelgrove.ontology.errors import ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.app import make_app
from labelgrove.workers.celery_transport.broker_check import (
    check_broker,
    check_deployment,
    rename_foreign_keys,
)
from labelgrove.workers.celery_transport.tasks import sender
from labelgrove.workers.kinds import DEFAULT_QUEUE
from labelgrove.workers.ledger.states import State
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import GATED, PARTS, registered, settings_in
from tests.services import wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]

TYPES: dict[str, Callable[[redis.Redis, str], object]] = {
    "string": lambda broker, key: broker.set(key, "somebody else's"),
    "list": lambda broker, key: broker.lpush(key, "a", "b"),
    "hash": lambda broker, key: broker.hset(key, "a", "b"),
    "set": lambda broker, key: broker.sadd(key, "a"),
    "zset": lambda broker, key: broker.zadd(key, {"a": 1.0}),
    "stream": lambda broker, key: broker.xadd(key, {"a": "b"}),
}
KEYS = {
    f"labelgrove:{DEFAULT_QUEUE}": "list",
    f"labelgrove:{DEFAULT_QUEUE}\x06\x163": "list",
    "labelgrove:lp": "list",
    "labelgrove:unacked": "hash",
    "labelgrove:unacked_index": "zset",
    "labelgrove:unacked_mutex": "string",
    f"labelgrove:_kombu.binding.{DEFAULT_QUEUE}": "set",
    f"labelgrove:_kombu.binding_permanent.{DEFAULT_QUEUE}": "set",
}
NUMBERS = count(1)
LOST = "Connection to broker lost"


@pytest.fixture
def settings(tmp_path: Path, redis_url: str) -> Settings:
    (tmp_path / "home").mkdir()
    return settings_in(tmp_path / "home", broker_url=redis_url)


@pytest.fixture
def broker(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(str(settings.broker_url), decode_responses=True) as broker:
        yield broker


def write(broker: redis.Redis, key: str, kind: str) -> None:
    broker.delete(key)
    TYPES[kind](broker, key)


def aside(broker: redis.Redis, key: str) -> list[str]:
    """Return where a key was put."""
    name = key.removeprefix("labelgrove:").replace("\x06", "?").replace("\x16", "?")
    return list(broker.scan_iter(f"labelgrove:aside:{name}:*"))


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_another_type_is_told_and_put_aside_whole(key, settings, broker):
    for kind in TYPES.keys() - {KEYS[key]}:
        write(broker, key, kind)
        said = re.escape(f"key {key!r} is a {kind}, not a {KEYS[key]}; something else writes to this Redis")
        with pytest.raises(SettingsError, match=f"{said}.*GROVE_BROKER_URL.*DEL"):
            check_deployment(settings)
        before = broker.dump(key)
        (new,) = rename_foreign_keys(str(settings.broker_url))
        assert aside(broker, key) == [new]
        assert broker.dump(new) == before
        assert not broker.exists(key)
        check_deployment(settings)
        broker.delete(new)
    write(broker, key, KEYS[key])
    assert rename_foreign_keys(str(settings.broker_url)) == []
    assert broker.exists(key)


def test_a_sender_is_told_until_then(settings, broker):
    write(broker, f"labelgrove:{DEFAULT_QUEUE}", "string")
    with make_app(settings) as app, pytest.raises(ServiceError, match=r"WRONGTYPE.*grove doctor"):
        sender(app)("f" * 64, DEFAULT_QUEUE)


def work_is_done(workspace: Workspace) -> None:
    job = client.submit(workspace, "parts", {"numbers": [next(NUMBERS)]}, wait=False)
    assert client.wait(workspace, job.id, timeout_s=60).state is State.DONE


def test_keys_of_other_types_end_no_worker_that_starts_or_runs(tmp_path, settings, broker):
    write(broker, f"labelgrove:{DEFAULT_QUEUE}", "string")
    with registered(PARTS, GATED), Workspace.open(settings) as workspace:
        with CeleryWorker(settings, tmp_path / "log") as worker:
            assert aside(broker, f"labelgrove:{DEFAULT_QUEUE}")
            work_is_done(workspace)
            for key, wanted in KEYS.items():
                kind = "hash" if wanted != "hash" else "list"
                write(broker, key, kind)
                wait_until(lambda key=key: bool(aside(broker, key)), deadline_s=30, what="the key to go")
                work_is_done(workspace)
                assert worker.running
            assert worker.stop() == 0
        said = worker.text()
    assert said.count("the key is renamed to") == 1 + len(KEYS)


@pytest.mark.parametrize("key", [f"labelgrove:{DEFAULT_QUEUE}", "labelgrove:unacked"])
def test_a_worker_that_meets_such_a_key_before_its_sweep_goes_on(key, tmp_path, settings, broker):
    with registered(PARTS, GATED), Workspace.open(settings) as workspace:
        worker = CeleryWorker(settings, tmp_path / "log", app="tests.integration.rare_sweep_app")
        with worker:
            work_is_done(workspace)
            for _ in range(3):  # the first may be seen by a sweep before the worker meets it
                met = worker.text().count(LOST)
                write(broker, key, "string")
                work_is_done(workspace)
                if worker.text().count(LOST) > met:
                    break
            assert LOST in worker.text()
            assert worker.running
            assert worker.stop() == 0
    check_broker(str(settings.broker_url))

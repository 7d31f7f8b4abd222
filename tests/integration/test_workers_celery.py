"""Jobs through real Celery workers on a real Redis."""

from __future__ import annotations

import base64
import bz2
import dataclasses
import json
import pickle
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import InputError, MigrationError, SettingsError
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.app import make_app
from labelgrove.workers.celery_transport.broker_check import check_broker
from labelgrove.workers.celery_transport.tasks import sender
from labelgrove.workers.celery_transport.transport import TASK
from labelgrove.workers.kinds import DEFAULT_QUEUE
from labelgrove.workers.ledger.states import State
from labelgrove.workers.worker import run_worker
from tests.integration.celery_worker import ROOT, CeleryWorker, environment
from tests.integration.workers_support import PARTS, add_version, notes, registered, settings_in
from tests.services import RedisServer, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]

QUEUE = f"labelgrove:{DEFAULT_QUEUE}"


@pytest.fixture
def parts():
    with registered(PARTS):
        yield


@pytest.fixture
def settings(tmp_path: Path, redis_url: str):
    (tmp_path / "celery").mkdir()
    return settings_in(tmp_path / "celery", broker_url=redis_url)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_same_bundle_embedded_and_through_celery(tmp_path, settings, request, database):
    if database == "postgresql":
        settings = dataclasses.replace(settings, database_url=request.getfixturevalue("postgres_url"))
        engine = create_engine(settings.database_url)
        upgrade(engine)
        engine.dispose()
    jobs = []
    for home in (settings_in(tmp_path / "embedded"), settings):
        with Workspace.open(home) as workspace:
            add_version(workspace, "grid", LabelGraph.grid((9, 9)))
            if home.broker_url is None:
                jobs.append(
                    client.build_bundle_job(workspace, "grid", "corners", ["0,0", "0,8", "8,0", "8,8"])
                )
                continue
            with CeleryWorker(home, tmp_path / "log", app="labelgrove.workers.app") as worker:
                jobs.append(
                    client.build_bundle_job(workspace, "grid", "corners", ["0,0", "0,8", "8,0", "8,8"])
                )
                assert worker.stop() == 0
            assert (
                workspace.artifacts.read_index("grid")["bundles"]["corners"]["sha256"]
                == jobs[1].result_sha256
            )
    assert [job.state for job in jobs] == [State.DONE, State.DONE]
    assert jobs[0].id == jobs[1].id
    assert jobs[0].result_sha256 == jobs[1].result_sha256


def test_a_job_of_two_stages_and_hostile_messages(tmp_path, settings, parts):
    """A forged key, a pickle and a message of another shape change nothing; the worker goes on."""
    with CeleryWorker(settings, tmp_path / "log") as worker, Workspace.open(settings) as workspace:
        with make_app(settings) as app:
            sender(app)("f" * 64, DEFAULT_QUEUE)
        marker = tmp_path / "executed"
        with redis.Redis.from_url(settings.broker_url) as broker:
            for body, content_type in (
                (pickle.dumps(_Bomb(str(marker))), "application/x-python-serialize"),
                (json.dumps([["../../etc/passwd"], {}, {}]).encode(), "application/json"),
                (json.dumps([["f" * 64, "more"], {}, {}]).encode(), "application/json"),
                (
                    json.dumps([[], {"key": "f" * 64, "spec": {"kind": "evil"}}, {}]).encode(),
                    "application/json",
                ),
            ):
                broker.lpush(QUEUE, _message(body, content_type))
            for entry in _shapes():
                broker.lpush(QUEUE, entry)
        refused = "one key and nothing else"
        wait_until(lambda: refused in worker.text(), deadline_s=60, what="the malformed key to be refused")
        wait_until(
            lambda: "x-python-serialize" in worker.text(), deadline_s=60, what="the pickle to be refused"
        )
        assert not marker.exists()
        assert worker.running
        assert client.list_jobs(workspace) == []
        job = client.submit(workspace, "parts", {"numbers": [1, 2, 3, 4], "log": str(tmp_path / "units")})
        assert job.state is State.DONE
        assert workspace.artifacts.open_arrays(job.result_sha256)[0]["value"].tolist() == [30]
        assert sorted(notes(tmp_path / "units")) == ["1", "2", "3", "4"]
        # Each is given back or dropped: one that stayed reserved would take a place of the worker for good.
        with redis.Redis.from_url(settings.broker_url) as broker:
            free = lambda: not broker.exists("labelgrove:unacked")  # noqa: E731
            wait_until(free, deadline_s=30, what="nothing to be reserved")
        password = urlsplit(settings.broker_url).password
        assert not password or password not in worker.text()


class _Bomb:
    """Writes a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def _message(body: bytes, content_type: str) -> str:
    """One message as kombu lays it into a Redis list."""
    number = str(uuid.uuid4())
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-type": content_type,
            "content-encoding": "binary" if "python" in content_type else "utf-8",
            "headers": {
                "lang": "py",
                "task": TASK,
                "id": number,
                "root_id": number,
                "argsrepr": "",
                "kwargsrepr": "",
            },
            "properties": {
                "correlation_id": number,
                "delivery_mode": 2,
                "delivery_tag": number,
                "delivery_info": {"exchange": "", "routing_key": DEFAULT_QUEUE},
                "priority": 0,
                "body_encoding": "base64",
            },
        }
    )


def _shapes() -> list[str | bytes]:
    """Entries that Celery or kombu would stumble over, each in a place of its own."""
    key = json.dumps([["f" * 64], {}, {}]).encode()
    bodies = [b"", b"not json", b'{"a": 1}', b"[]", b"5", b"null", b"[[[]], {}, {}]", b"[[null], {}, {}]"]
    headers = [
        {"timelimit": "x"},
        {"timelimit": [-1, -1]},
        {"eta": "never"},
        {"eta": "2099-01-01T00:00:00"},
        {"expires": {"a": 1}},
        {"retries": "x"},
        {"id": 5},
        {"id": None},
        {"task": []},
        {"task": "os.system"},
        {"compression": "zlib"},
        {"shadow": "x" * 10_000},
        {"stamped_headers": 5},
        {"task": "celery.accumulate", "stamped_headers": 5},
        {"task": "celery.backend_cleanup"},
        {"task": "celery.accumulate", "id": {"a": 1}},
        {"id": {"a": 1}},
        {"group": {}},
    ]
    bomb = _message(bz2.compress(b" " * (1 << 20)), "application/json")
    sound = json.loads(_message(key, "application/json"))
    parts = [{part: value} for part in sound for value in (None, 5, [], "x")]
    properties = [{"body_encoding": "rot13"}, {"delivery_tag": 5}, {"delivery_info": None}]
    return [
        *(b"", b"garbage", b"null", b"5", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000),
        *(_message(body, "application/json") for body in bodies),
        *(_message(key, content_type) for content_type in ("x/y", "application/x-yaml")),
        bomb.replace('"lang"', '"compression": "application/x-bz2", "lang"'),
        _message(b"[" + b" " * 10_000 + key[1:], "application/json"),
        *(json.dumps(sound | {"headers": sound["headers"] | header}) for header in headers),
        *(json.dumps(sound | part) for part in parts),
        *(json.dumps(sound | {"properties": sound["properties"] | part}) for part in properties),
    ]


def test_what_waits_for_acknowledgement_and_is_no_message_holds_no_other_up(settings):
    sound = json.loads(_message(b"[]", "application/json"))
    with make_app(settings) as app, app.connection_for_read() as connection:
        channel, prefix = connection.channel(), "labelgrove:"
        with redis.Redis.from_url(settings.broker_url) as broker:
            broker.hset(
                f"{prefix}unacked", mapping={"a": "garbage", "b": "5", "c": json.dumps([sound, "", QUEUE])}
            )
            broker.zadd(f"{prefix}unacked_index", {"a": 1, "b": 2, "c": 3})
            channel.qos.restore_visible()
            assert not broker.exists(f"{prefix}unacked", f"{prefix}unacked_index")
            names = [key.decode() for key in broker.scan_iter(f"*{DEFAULT_QUEUE}*") if b"binding" not in key]
            assert [json.loads(broker.lindex(name, 0))["body"] for name in names] == [sound["body"]]


def test_children_can_be_replaced_while_the_main_process_sweeps(tmp_path, settings, parts):
    worker = CeleryWorker(settings, tmp_path / "log", slots=2, options=["--max-tasks-per-child=1"])
    with worker, Workspace.open(settings) as workspace:
        job = client.submit(workspace, "parts", {"numbers": list(range(12))}, wait=False)
        job = client.wait(workspace, job.id, timeout_s=60)
        assert (job.state, job.units) == (State.DONE, {"done": 13})


def test_a_message_is_one_key(settings, parts):
    with Workspace.open(settings) as workspace:
        job = client.submit(workspace, "parts", {"numbers": [1]}, wait=False)
        assert job.state is State.PENDING
    with redis.Redis.from_url(settings.broker_url) as broker:
        (raw,) = broker.lrange(QUEUE, 0, -1)
    message = json.loads(raw)
    arguments, keywords, _ = json.loads(base64.b64decode(message["body"]))
    assert message["content-type"] == "application/json"
    assert len(arguments) == 1
    assert len(arguments[0]) == 64
    assert keywords == {}
    assert len(raw) < 2048
    with make_app(settings) as app:
        for arguments, keywords in (
            (("x" * 2**20,), {}),
            (("f" * 64, 1), {}),
            (("f" * 64,), {"a": 1}),
            (([1],), {}),
        ):
            with pytest.raises(InputError, match="key"):
                app.tasks[TASK].apply_async(arguments, keywords)


def test_a_job_is_accepted_while_the_broker_is_away(tmp_path, redis_url, parts):
    home = tmp_path / "celery"
    home.mkdir()
    with RedisServer() as server:
        settings = settings_in(home, broker_url=server.url)
        with Workspace.open(settings) as workspace:
            server.kill()
            job = client.submit(workspace, "parts", {"numbers": [5]}, wait=False)
            assert job.state is State.PENDING
            server.start()
            with CeleryWorker(settings, tmp_path / "log"):  # its sweep finds what was never sent
                assert client.wait(workspace, job.id, timeout_s=60).state is State.DONE


def test_a_broker_that_may_drop_messages_is_refused(tmp_path):
    with RedisServer(arguments=["--maxmemory-policy", "allkeys-lru"]) as server:
        with pytest.raises(SettingsError, match=r"maxmemory-policy is 'allkeys-lru'.*noeviction") as refusal:
            check_broker(server.url)
        assert server.password not in str(refusal.value)
        done = subprocess.run(
            [sys.executable, "-m", "celery", "-A", "labelgrove.workers.app", "worker"],
            cwd=ROOT,
            env=environment(settings_in(tmp_path, broker_url=server.url)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "noeviction" in done.stderr
    assert "Traceback" not in done.stderr
    assert server.password not in done.stdout + done.stderr


def test_a_database_without_schema_is_refused(settings, postgres_url):
    with pytest.raises(MigrationError, match="grove db upgrade"):
        run_worker(dataclasses.replace(settings, database_url=postgres_url))


def test_a_good_broker_passes(redis_url):
    check_broker(redis_url)

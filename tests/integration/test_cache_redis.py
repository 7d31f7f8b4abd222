"""The cache on a real Redis: wrong entries, a full server, killed or frozen, and many processes at once."""

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelgrove.adapter import Adapter
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.loading import cachefaults, rediscache
from labelgrove.adapter.loading.cache import through_cache
from labelgrove.adapter.loading.rediscache import check_cache
from labelgrove.cli import grove
from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from tests.conftest import serving
from tests.integration.cache_support import CountedFolder, settings_at
from tests.services import RedisServer

pytestmark = pytest.mark.services
ROOT = Path(__file__).parents[2]
CONTENT = b"distances" * 5_000
AS_A_CACHE = ("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")


@pytest.fixture(autouse=True)
def _as_in_a_new_process():
    cachefaults._warned.clear()
    rediscache.redis_cache.cache_clear()


@pytest.fixture
def store(tmp_path):
    return ArtifactStore(CountedFolder(tmp_path / "store"))


@pytest.fixture(scope="module")
def cache_server():
    with serving(RedisServer(arguments=AS_A_CACHE)) as server:
        yield server


@pytest.fixture
def cache_url(cache_server):
    cache_server.start()
    with cache_server.client() as client:
        client.flushall()
        client.config_resetstat()
    return cache_server.url


@pytest.fixture
def raw(cache_url):
    import redis

    with redis.Redis.from_url(cache_url) as client:
        yield client


def key(digest):
    return f"grove:zstd:{digest}"


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_second_machine_reads_redis_and_not_the_store(store, tmp_path, cache_url, raw, caplog):
    digest = store.put_bytes(CONTENT)
    assert through_cache(store, settings_at(tmp_path / "one", cache_url)).read_bytes(digest) == CONTENT
    assert raw.strlen(key(digest)) < len(CONTENT) / 10  # compressed
    assert through_cache(store, settings_at(tmp_path / "two", cache_url)).read_bytes(digest) == CONTENT
    assert store.storage.readings() == [digest]
    raw.flushall()  # evicted: the folder still has it
    assert through_cache(store, settings_at(tmp_path / "two", cache_url)).read_bytes(digest) == CONTENT
    assert store.storage.readings() == [digest]
    assert warnings_in(caplog) == []


WRONG = {
    "another artifact": lambda good, other: other,
    "one bit": lambda good, other: good[:-1] + bytes([good[-1] ^ 1]),
    "half of it": lambda good, other: good[: len(good) // 2],
    "nothing": lambda good, other: b"",
    "not even a length": lambda good, other: b"abc",
    "no frame": lambda good, other: good[:8] + b"not zstd at all",
    "another length": lambda good, other: (len(CONTENT) + 1).to_bytes(8, "little") + good[8:],
    "no length": lambda good, other: bytes(8) + good[8:],
    "a length of exabytes": lambda good, other: b"\xff" * 8 + good[8:],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_entry_is_a_miss_and_is_replaced(wrong, store, tmp_path, cache_url, raw, caplog):
    digest, other = store.put_bytes(CONTENT), store.put_bytes(b"another" * 5_000)
    first = through_cache(store, settings_at(tmp_path / "first", cache_url))
    first.read_bytes(digest)
    first.read_bytes(other)
    good = raw.get(key(digest))
    raw.set(key(digest), WRONG[wrong](good, raw.get(key(other))))
    second = through_cache(store, settings_at(tmp_path / "second", cache_url))
    assert second.read_bytes(digest) == CONTENT
    assert store.storage.readings() == [digest, other, digest]
    assert raw.get(key(digest)) == good
    assert len(warnings_in(caplog)) == 1


def test_an_entry_of_another_type_is_a_miss_and_is_replaced(store, tmp_path, cache_url, raw, caplog):
    digest = store.put_bytes(CONTENT)
    raw.rpush(key(digest), "a list")
    cached = through_cache(store, settings_at(tmp_path / "machine", cache_url))
    assert cached.read_bytes(digest) == CONTENT
    assert raw.type(key(digest)) == b"string"
    assert len(warnings_in(caplog)) == 1


def test_an_entry_longer_than_any_of_ours_is_not_read_whole(store, tmp_path, cache_url, raw, monkeypatch):
    monkeypatch.setattr(rediscache, "_LARGEST_ENTRY", 1 << 16)
    digest = store.put_bytes(CONTENT)
    raw.set(key(digest), b"x" * (8 << 20))
    before = raw.info("stats")["total_net_output_bytes"]
    cached = through_cache(store, settings_at(tmp_path / "machine", cache_url))
    assert cached.read_bytes(digest) == CONTENT
    assert raw.info("stats")["total_net_output_bytes"] - before < 1 << 20
    assert raw.strlen(key(digest)) < len(CONTENT)


def test_a_large_artifact_is_not_kept_in_redis(store, tmp_path, cache_url, raw, monkeypatch):
    monkeypatch.setattr(rediscache, "VALUE_CAP", len(CONTENT))
    fits, large = store.put_bytes(CONTENT), store.put_bytes(CONTENT + b"!")
    cached = through_cache(store, settings_at(tmp_path / "machine", cache_url))
    assert (cached.read_bytes(fits), cached.read_bytes(large)) == (CONTENT, CONTENT + b"!")
    assert raw.keys() == [key(fits).encode()]


def test_a_full_redis_is_a_miss_with_one_warning(store, tmp_path, caplog):
    rng = np.random.default_rng(7)
    contents = [rng.bytes(300_000) for _ in range(12)]  # does not compress
    digests = [store.put_bytes(content) for content in contents]
    with serving(RedisServer(arguments=("--maxmemory", "3mb"))) as server:
        for home in ("one", "two"):
            cached = through_cache(store, settings_at(tmp_path / home, server.url))
            assert [cached.read_bytes(digest) for digest in digests] == contents
        with server.client() as client:
            kept = client.dbsize()
        assert 0 < kept < len(digests)
        assert (
            len(store.storage.readings()) == 2 * len(digests) - kept
        )  # a full server still answers what it holds
    (warning,) = warnings_in(caplog)
    assert "maxmemory" in warning
    assert server.password not in caplog.text


@pytest.mark.faults
def test_a_redis_killed_in_the_middle_and_back_again(
    store, tmp_path, cache_server, cache_url, monkeypatch, caplog
):
    monkeypatch.setattr(rediscache, "_REST_S", 0.0)
    contents = [CONTENT + str(i).encode() for i in range(6)]
    digests = [store.put_bytes(content) for content in contents]
    cached = through_cache(store, settings_at(tmp_path / "machine", cache_url))
    assert [cached.read_bytes(d) for d in digests[:2]] == contents[:2]
    cache_server.kill()
    assert [cached.read_bytes(d) for d in digests[2:4]] == contents[2:4]
    cache_server.start()
    assert [cached.read_bytes(d) for d in digests[4:]] == contents[4:]
    with cache_server.client() as client:
        assert sorted(client.keys()) == sorted(map(key, digests[4:]))  # nothing is kept on disk
    assert len(warnings_in(caplog)) == 1
    assert cache_server.password not in caplog.text


@pytest.mark.faults
def test_a_frozen_redis_costs_one_timeout(store, tmp_path, cache_server, cache_url, monkeypatch, caplog):
    monkeypatch.setattr(rediscache, "_ANSWER_S", 0.2)
    contents = [CONTENT + str(i).encode() for i in range(20)]
    digests = [store.put_bytes(content) for content in contents]
    cached = through_cache(store, settings_at(tmp_path / "machine", cache_url))
    asked = []
    client_of = rediscache.RedisCache._client
    monkeypatch.setattr(rediscache.RedisCache, "_client", lambda self: asked.append(1) or client_of(self))
    os.kill(cache_server.pid, signal.SIGSTOP)
    try:
        assert [cached.read_bytes(digest) for digest in digests] == contents
    finally:
        os.kill(cache_server.pid, signal.SIGCONT)
    assert len(asked) == 1
    assert len(warnings_in(caplog)) == 1
    assert cache_server.password not in caplog.text


def test_eight_processes_at_once_download_it_once(store, tmp_path, cache_url, raw):
    digest = store.put_bytes(CONTENT)
    pull = [sys.executable, "-m", "tests.integration.cache_support"]
    pull += [str(store.storage.root), str(tmp_path / "machine"), digest, "8", cache_url]
    pulls = [
        subprocess.Popen(pull, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    ended = [(*pull.communicate(timeout=120), pull.returncode) for pull in pulls]
    assert ended == [(f"{digest}\n", "", 0)] * 8
    assert store.storage.readings() == [digest]
    assert raw.info("commandstats")["cmdstat_getrange"]["calls"] == 1
    assert raw.keys() == [key(digest).encode()]


def test_a_model_server_scores_from_redis_while_the_store_is_gone(tmp_path, cache_url, monkeypatch):
    bundle = build_bundle(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]), ["oak", "elm"])
    folder = open_store(str(tmp_path / "shared"))
    digest = folder.put_arrays(*bundle.to_arrays())
    monkeypatch.setenv("GROVE_CACHE_URL", cache_url)
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", folder.where)
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "one"))
    assert Adapter.load(digest).predict([[1, 1]]) == ["tree"]
    folder.delete(digest)
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "two"))
    assert Adapter.load(digest).predict([[1, 1]]) == ["tree"]


# --- doctor -------------------------------------------------------------------------------------------------


def test_a_fit_cache_is_described(cache_url, redis_url, tmp_path):
    settings = Settings.from_env(
        {"GROVE_HOME": str(tmp_path), "GROVE_CACHE_URL": cache_url, "GROVE_BROKER_URL": redis_url}
    )
    assert check_cache(settings).endswith("answers, allkeys-lru, limit 64 MiB")


@pytest.mark.parametrize("other", ["the same", "another database", "another spelling of the host"])
def test_the_brokers_redis_is_no_cache(other, cache_url, tmp_path):
    broker = {
        "the same": cache_url,
        "another database": cache_url.removesuffix("0") + "1",
        "another spelling of the host": cache_url.replace("127.0.0.1", "localhost"),
    }[other]
    settings = Settings.from_env(
        {"GROVE_HOME": str(tmp_path), "GROVE_CACHE_URL": cache_url, "GROVE_BROKER_URL": broker}
    )
    with pytest.raises(SettingsError, match=r"GROVE_CACHE_URL.*GROVE_BROKER_URL are the same") as refusal:
        check_cache(settings)
    assert cache_url not in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (("--maxmemory", "64mb"), "CONFIG SET maxmemory-policy allkeys-lru"),
        (("--maxmemory-policy", "allkeys-lru"), "CONFIG SET maxmemory 1gb"),
    ],
)
def test_a_redis_that_is_no_cache_is_told_how_to_become_one(arguments, fix, tmp_path):
    with serving(RedisServer(arguments=arguments)) as server:
        settings = settings_at(tmp_path, server.url)
        with pytest.raises(SettingsError, match=fix) as refusal:
            check_cache(settings)
        assert server.password not in str(refusal.value)
        command = fix.split()
        with server.client() as client:
            client.config_set(*command[2:])
        check_cache(settings)


def test_doctor_shows_the_cache_and_no_password(cache_url, cache_server, monkeypatch, tmp_path):
    monkeypatch.setenv("GROVE_CACHE_URL", cache_url)
    line = _cache_line(code=0)
    assert line["ok"] is True
    assert line["uses"] == cache_url.replace(cache_server.password, "***")
    monkeypatch.setenv("GROVE_CACHE_URL", "redis://:canary@127.0.0.1:9/0")
    line = _cache_line(code=0)  # work goes on without it
    assert line["ok"] is None
    assert line["reachable"] is False
    assert "GROVE_CACHE_URL" in line["detail"]
    assert "canary" not in json.dumps(line)
    monkeypatch.delenv("GROVE_CACHE_URL")
    assert _cache_line(code=0)["uses"] == "local folder"


def _cache_line(code):
    result = CliRunner().invoke(grove, ["doctor", "--json"])
    assert result.exit_code == code, result.output
    return next(part for part in json.loads(result.stdout)["parts"] if part["part"] == "cache")


def test_entries_are_what_the_documents_say(store, tmp_path, cache_url, raw):
    import pyarrow

    digest = store.put_bytes(CONTENT)
    through_cache(store, settings_at(tmp_path / "machine", cache_url)).read_bytes(digest)
    value = raw.get(key(digest))
    length = int.from_bytes(value[:8], "little")
    frame = pyarrow.decompress(value[8:], decompressed_size=length, codec="zstd", asbytes=True)
    assert hashlib.sha256(frame).hexdigest() == digest

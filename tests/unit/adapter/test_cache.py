"""The caches in front of the artifact store: never an error, never other bytes, one download."""

import logging
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from labelgrove.adapter import open_bundle
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.loading import cachefaults, foldercache, rediscache
from labelgrove.adapter.loading.cache import local_cache, through_cache
from labelgrove.adapter.loading.rediscache import check_cache
from labelgrove.ontology.errors import (
    ArtifactError,
    InputError,
    MissingExtraError,
    NotFoundError,
    ServiceError,
    SettingsError,
)
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from tests.integration.cache_support import CountedFolder, settings_at
from tests.services import patient

CONTENT = np.random.default_rng(0).bytes(10_000)


@pytest.fixture(autouse=True)
def _as_in_a_new_process():
    cachefaults._warned.clear()
    rediscache.redis_cache.cache_clear()


@pytest.fixture
def store(tmp_path):
    return ArtifactStore(CountedFolder(tmp_path / "store"))


@pytest.fixture
def home(tmp_path):
    return tmp_path / "machine"


def copy_of(home, digest):
    return home / "cache" / "sha256" / digest[:2] / digest


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# --- the local folder ---------------------------------------------------------------------------------------


def test_a_folder_is_read_in_place(tmp_path, home):
    folder = open_store(str(tmp_path / "artifacts"))
    assert through_cache(folder, settings_at(home)) is folder
    assert not home.exists()


def test_what_was_read_once_is_read_here_and_mapped_read_only(store, home):
    digest = store.put_arrays({"x": np.arange(1000)}, {"kind": "test"})
    cached = through_cache(store, settings_at(home))
    for _ in range(3):
        arrays, metadata = cached.open_arrays(digest)
        assert arrays["x"].tolist() == list(range(1000))
        assert metadata == {"kind": "test"}
        with pytest.raises(ValueError, match="read-only"):
            arrays["x"][0] = 1
    assert store.storage.readings() == [digest]
    copy_of(home, digest).unlink()
    assert arrays["x"][999] == 999  # the map outlives the file
    store.delete(digest)
    with pytest.raises(NotFoundError):
        cached.open_arrays(digest)


@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped", "a folder"])
def test_a_damaged_copy_is_fetched_again_and_never_served(store, home, damage, caplog):
    digest = store.put_bytes(CONTENT)
    cached = through_cache(store, settings_at(home))
    cached.read_bytes(digest)
    path = copy_of(home, digest)
    if damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        flipped = bytes([CONTENT[0] ^ 1]) + CONTENT[1:]
        path.write_bytes({"truncated": CONTENT[:-1], "emptied": b"", "flipped": flipped}[damage])
    assert cached.read_bytes(digest) == CONTENT
    assert store.storage.readings() == [digest, digest]
    if damage == "a folder":  # cannot be replaced: said, and done without
        assert len(warnings_in(caplog)) == 1
    else:
        assert path.read_bytes() == CONTENT
        assert warnings_in(caplog) == []
    assert list(path.parent.glob(".tmp*")) == []


def test_the_stores_own_errors_are_not_hidden(store, home):
    digest = store.put_bytes(CONTENT)
    (store.storage.root / "sha256" / digest[:2] / digest).write_bytes(CONTENT[1:])
    cached = through_cache(store, settings_at(home))
    with pytest.raises(ArtifactError, match="sha256"):
        cached.read_bytes(digest)
    assert not copy_of(home, digest).exists()
    with pytest.raises(NotFoundError):
        cached.read_bytes("0" * 64)
    with pytest.raises(InputError, match="64 lower-case"):
        cached.read_bytes("../" + "0" * 61)


def test_all_but_reading_goes_to_the_store(store, home):
    cached = through_cache(store, settings_at(home))
    digest = cached.put_bytes(CONTENT)
    assert cached.where == store.where
    assert store.exists(digest)
    assert (cached.size(digest), list(cached.digests())) == (len(CONTENT), [digest])
    cached.touch(digest)
    cached.write_index("plants", {"a": 1})
    assert cached.index_names() == ["plants"]
    store.write_index("plants", {"a": 2})
    assert cached.read_index("plants") == {"a": 2}
    cached.delete(digest)
    assert not cached.exists(digest)


def test_a_folder_that_cannot_be_written_costs_one_warning(store, tmp_path, caplog):
    digests = [store.put_bytes(CONTENT[i:]) for i in range(3)]
    (tmp_path / "file").touch()
    cached = through_cache(store, settings_at(tmp_path / "file" / "home"))
    assert [cached.read_bytes(d) for d in digests] == [CONTENT[i:] for i in range(3)]
    assert len(warnings_in(caplog)) == 1


def test_the_longest_unused_copies_make_room(store, home, monkeypatch):
    monkeypatch.setattr(foldercache, "FOLDER_CAP", 2 * len(CONTENT))
    first, second, third = (store.put_bytes(CONTENT[i:]) for i in range(3))
    large = store.put_bytes(CONTENT * 3)
    cached = through_cache(store, settings_at(home))
    cached.read_bytes(first)
    cached.read_bytes(second)
    cached.read_bytes(first)  # used after the second
    cached.read_bytes(third)
    assert [copy_of(home, d).exists() for d in (first, second, third)] == [True, False, True]
    assert cached.read_bytes(large) == CONTENT * 3
    assert not copy_of(home, large).exists()


def test_threads_that_want_one_artifact_fetch_it_once(store, home):
    digest = store.put_bytes(CONTENT)
    cached = through_cache(store, settings_at(home))
    start = threading.Barrier(8)

    def pull(_):
        start.wait(30)
        return cached.read_bytes(digest)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(pull, range(8))) == [CONTENT] * 8
    assert store.storage.readings() == [digest]


def test_a_system_without_file_locks_fetches_without_taking_turns(store, home, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    digest = store.put_bytes(CONTENT)
    cached = through_cache(store, settings_at(home))
    assert [cached.read_bytes(digest) for _ in range(2)] == [CONTENT] * 2
    assert copy_of(home, digest).exists()
    assert warnings_in(caplog) == []


def test_a_frozen_process_with_the_turn_does_not_stop_the_others(store, home, monkeypatch):
    monkeypatch.setattr(foldercache, "_TURN_S", 0.05)
    digest = store.put_bytes(CONTENT)
    with local_cache(settings_at(home))._turn(digest):
        assert through_cache(store, settings_at(home)).read_bytes(digest) == CONTENT


def test_a_bundle_of_a_remote_store_is_opened_through_the_folder(tmp_path):
    bundle = build_bundle(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]), ["oak", "elm"])
    remote = open_store("memory://caches")
    digest = remote.put_arrays(*bundle.to_arrays())
    assert open_bundle(digest, artifacts_url="memory://caches").digest == digest
    remote.delete(digest)
    assert open_bundle(digest, artifacts_url="memory://caches").digest == digest
    assert copy_of(tmp_path / "home", digest).exists()


# --- settings -----------------------------------------------------------------------------------------------


def test_the_url_may_stand_in_a_file_and_never_shows(home, tmp_path):
    file = tmp_path / "secret"
    file.write_text("redis://:canary@cache:6380/0\n")
    settings = Settings.from_env({"GROVE_HOME": str(home), "GROVE_CACHE_URL_FILE": str(file)})
    assert settings.cache_url == "redis://:canary@cache:6380/0"
    assert "redis://:***@cache:6380/0" in repr(settings)
    with pytest.raises(SettingsError, match="GROVE_CACHE_URL: 'memcached://x' must start with"):
        settings_at(home, "memcached://x")


@pytest.mark.parametrize(
    "url",
    [
        "redis://:canary@host:port/0",
        "redis://:canary@host/0?socket_timeout=soon",
        "redis://:canary@host/0?no_such_option=1",
        "redis://:canary@host/0?protocol=9",
        "rediss://:canary@host/0?ssl_cert_reqs=maybe",
    ],
)
def test_a_url_that_redis_does_not_take_names_the_variable(url, store, home):
    with pytest.raises(SettingsError, match="GROVE_CACHE_URL") as refusal:
        through_cache(store, settings_at(home, url))
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize("package", ["redis", "pyarrow"])
def test_without_the_service_extra_the_setting_names_it(package, store, home, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"extra 'service'.*pip install"):
        through_cache(store, settings_at(home, "redis://:canary@127.0.0.1:9/0"))


# --- a Redis that does not do its part ----------------------------------------------------------------------


@contextmanager
def answering(reply, asked):
    """Listen on a loopback port, answer whatever comes with `reply` and hold the line; note each caller."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = []

        def serve():
            try:
                while True:
                    lines.append(server.accept()[0])
                    asked.append(1)
                    lines[-1].sendall(reply)
            except OSError:  # the listener was closed
                return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"redis://:canary@127.0.0.1:{server.getsockname()[1]}/0"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(30)
        for line in lines:
            line.close()


REPLIES = {
    "silence": b"",
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "half an answer": b"+OK\r\n+OK\r\n+OK\r\n$100000\r\nabc",
    "no number": b"+OK\r\n+OK\r\n+OK\r\n$abc\r\n",
    "an answer of another kind": b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n:7\r\n:7\r\n:7\r\n",
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_server_that_talks_nonsense_is_a_miss(reply, store, home, monkeypatch, caplog):
    monkeypatch.setattr(rediscache, "_ANSWER_S", 0.2)
    digests = [store.put_bytes(CONTENT[i:]) for i in range(5)]
    asked = []
    with answering(REPLIES[reply], asked) as url:
        cached = through_cache(store, settings_at(home, url))
        begun = time.monotonic()
        assert [cached.read_bytes(d) for d in digests] == [CONTENT[i:] for i in range(5)]
        assert time.monotonic() - begun < patient(10)
    assert asked
    if reply == "silence":  # after one timeout it is given a rest
        assert len(asked) == 1
    assert len(warnings_in(caplog)) <= 1
    assert "canary" not in caplog.text


def test_a_server_that_is_away_is_a_miss_with_one_warning(store, home, caplog):
    digests = [store.put_bytes(CONTENT[i:]) for i in range(5)]
    settings = settings_at(home, "redis://:canary@127.0.0.1:9/0")
    for digest in digests:
        assert through_cache(store, settings).exists(digest)
        through_cache(store, settings).read_bytes(digest)
    assert store.storage.readings() == digests
    (warning,) = warnings_in(caplog)
    assert "redis://:***@127.0.0.1:9/0" in warning
    with pytest.raises(ServiceError, match="GROVE_CACHE_URL") as error:
        check_cache(settings)
    assert "canary" not in str(error.value)

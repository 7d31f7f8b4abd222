"""Pulling bundles: pins, URLs, stale versions, offline, and files that are checked once."""

import dataclasses
import http.server
import logging
import mmap
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter import Adapter, open_bundle
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.loading.stamps import Stamps
from labelgrove.ontology.errors import (
    ArtifactError,
    BundleError,
    InputError,
    NotFoundError,
    ServiceError,
    SettingsError,
)
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import open_store

GRAPHS = [LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), (f"{w}", "tree")]) for w in ("ash", "fir")]
OLD, NEW = (build_bundle(graph, ["oak", "elm"]) for graph in GRAPHS)
P = [[0.5, 0.5], [1.0, 0.0]]


def publish(store, bundle, *, version=None):
    store.put_arrays(*bundle.to_arrays())
    entry = {"sha256": bundle.digest, "version": bundle.ontology_digest}
    document = {"name": "plants", "version": version or bundle.ontology_digest, "bundles": {"mine": entry}}
    store.write_index("plants", document)


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "artifacts"))


@pytest.fixture
def remote(tmp_path):
    """A store that is no folder of this machine, under an address of its own."""
    return open_store(f"memory://{tmp_path.name}")


def cache_of(tmp_path):
    return tmp_path / "home" / "cache"


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "home"))


# --- pins ---------------------------------------------------------------------------------------------------


def test_latest_and_the_beginning_of_a_digest_go_with_the_name(store):
    publish(store, OLD)
    for suffix in ("", "@latest", f"@{OLD.digest[:8]}", f"@{OLD.digest[:63]}", f"@{OLD.digest}"):
        assert open_bundle(f"plants/mine{suffix}", artifacts_url=store.where).digest == OLD.digest
    publish(store, NEW)
    for suffix in ("", "@latest"):
        assert open_bundle(f"plants/mine{suffix}", artifacts_url=store.where).digest == NEW.digest
    assert open_bundle(f"plants/mine@{OLD.digest}", artifacts_url=store.where).digest == OLD.digest
    with pytest.raises(
        NotFoundError, match=rf"now refers to {NEW.digest}, which does not begin with .*give its full 64"
    ):
        open_bundle(f"plants/mine@{OLD.digest[:8]}", artifacts_url=store.where)


@pytest.mark.parametrize("suffix", ["@", "@newest", "@abc", "@" + "a" * 65, "@LATEST", "@latest@latest"])
def test_a_suffix_of_no_such_form_is_refused(suffix, store):
    publish(store, OLD)
    with pytest.raises(InputError, match="not a known form of address"):
        open_bundle(f"plants/mine{suffix}", artifacts_url=store.where)


def test_a_pinned_adapter_refuses_another_version_of_its_ontology(store):
    publish(store, OLD)
    adapter = Adapter.load("plants/mine", artifacts_url=store.where, pin=True)
    free = Adapter.load("plants/mine", artifacts_url=store.where)
    same_version = build_bundle(GRAPHS[0], ["elm", "oak"])
    publish(store, same_version)
    assert adapter.refresh() is True
    publish(store, NEW)
    for _ in range(2):
        with pytest.raises(
            BundleError, match=f"{NEW.ontology_digest[:12]}.*{OLD.ontology_digest[:12]}.*load it"
        ):
            adapter.refresh()
    assert adapter.digest == same_version.digest
    assert free.refresh() is True
    assert free.digest == NEW.digest
    with pytest.raises(BundleError, match="pinned to"):
        Adapter.load("plants/mine", artifacts_url=store.where, pin=OLD.ontology_digest)
    named = Adapter.load("plants/mine", artifacts_url=store.where, pin=NEW.ontology_digest[:8])
    assert named.refresh() is False


def test_a_pin_needs_a_version_and_a_form(tmp_path):
    path = tmp_path / "b.safetensors"
    dataclasses.replace(OLD, ontology_digest="").save(path)
    with pytest.raises(BundleError, match="names no ontology version to pin"):
        Adapter.load(path, pin=True)
    for pin in ("abc", "latest", 7):
        with pytest.raises(InputError, match="pin"):
            Adapter.load(path, pin=pin)


# --- stale --------------------------------------------------------------------------------------------------


def test_a_bundle_of_an_older_version_is_said_or_refused(store, caplog):
    publish(store, OLD, version=NEW.ontology_digest)
    ask = {"uri": "plants/mine", "artifacts_url": store.where}
    assert Adapter.load(**ask, stale="ignore").digest == OLD.digest
    assert caplog.records == []
    assert Adapter.load(**ask).digest == OLD.digest
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "is stale: made from version" in record.getMessage()
    assert "grove bundle build plants mine" in record.getMessage()
    with pytest.raises(
        BundleError, match=rf"stale.*{NEW.ontology_digest[:12]}.*grove bundle build plants mine"
    ):
        Adapter.load(**ask, stale="refuse")
    with pytest.raises(InputError, match="stale: 'maybe' given"):
        Adapter.load(**ask, stale="maybe")
    caplog.clear()
    publish(store, NEW)
    assert Adapter.load(**ask, stale="refuse").digest == NEW.digest
    assert Adapter.load(OLD.digest, artifacts_url=store.where, stale="refuse").digest == OLD.digest
    assert caplog.records == []


# --- refresh asks the index first ---------------------------------------------------------------------------


def test_refresh_opens_nothing_while_the_name_means_what_is_at_hand(store, tmp_path):
    publish(store, OLD)
    adapter = Adapter.load("plants/mine", artifacts_url=store.where)
    store.delete(OLD.digest)
    assert adapter.refresh() is False
    publish(store, NEW)
    store.delete(NEW.digest)
    with pytest.raises(NotFoundError):
        adapter.refresh()
    assert adapter.digest == OLD.digest
    publish(store, NEW)
    assert adapter.refresh() is True
    path = tmp_path / "b.safetensors"
    OLD.save(path)
    from_file = Adapter.load(path)
    assert from_file.refresh() is False
    NEW.save(path)
    assert from_file.refresh() is True


# --- URLs ---------------------------------------------------------------------------------------------------


def test_a_url_names_one_file_and_its_digest_saves_fetching_it(remote, tmp_path):
    digest = remote.put_arrays(*OLD.to_arrays())
    url = f"{remote.where}/sha256/{digest[:2]}/{digest}"
    assert open_bundle(url).digest == digest
    remote.delete(digest)
    assert open_bundle(url).digest == digest  # called as its digest is: the local copy will do
    remote.storage._system.pipe_file(
        f"{remote.storage._root}/plants.safetensors", b"".join(map(bytes, _chunks(NEW)))
    )
    plain = f"{remote.where}/plants.safetensors"
    adapter = Adapter.load(plain)
    assert (adapter.digest, adapter.refresh()) == (NEW.digest, False)
    assert isinstance(adapter.bundle.parent.base, mmap.mmap)  # a map of the copy that is kept
    remote.storage._system.rm_file(f"{remote.storage._root}/plants.safetensors")
    assert open_bundle(f"{plain}#sha256={NEW.digest}").digest == NEW.digest
    assert open_bundle(f"{plain}#sha256={NEW.digest}", offline=True).digest == NEW.digest
    with pytest.raises(NotFoundError, match="no such file"):
        open_bundle(plain)
    with pytest.raises(NotFoundError, match=r"offline: .*add #sha256=DIGEST"):
        open_bundle(plain, offline=True)


def _chunks(bundle):
    from labelgrove.ontology.store.safetensors_file import safetensors_chunks

    return safetensors_chunks(*bundle.to_arrays())


def test_a_url_with_other_bytes_than_its_digest_is_refused_and_not_kept(remote, tmp_path):
    remote.storage._system.pipe_file(
        f"{remote.storage._root}/plants.safetensors", b"".join(map(bytes, _chunks(NEW)))
    )
    with pytest.raises(ArtifactError, match=f"expected {OLD.digest}"):
        open_bundle(f"{remote.where}/plants.safetensors#sha256={OLD.digest}")
    remote.storage._system.pipe_file(f"{remote.storage._root}/plants.safetensors", b"nonsense")
    with pytest.raises(ArtifactError):
        open_bundle(f"{remote.where}/plants.safetensors")
    assert list(cache_of(tmp_path).glob("sha256/*/*")) == []


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket",
        "s3://bucket/",
        "memory://a/b.safetensors#sha256=abc",
        "memory://a/b.safetensors#latest",
        "redis://host:6379/0",
        "redis://:canary@host:6379/" + "0" * 64,
        "redis://host:6379/0/abc",
        "nosuchscheme://host/b.safetensors",
    ],
)
def test_a_url_of_no_such_form_is_refused(url):
    with pytest.raises(InputError, match=re.escape(url.partition(":")[0])) as refusal:
        open_bundle(url)
    assert "canary" not in str(refusal.value)


def test_a_redis_that_does_not_answer_is_a_service_error():
    with pytest.raises(ServiceError, match=r"127.0.0.1:9") as refusal:
        open_bundle(f"redis://:canary@127.0.0.1:9/0/{'0' * 64}")
    assert "canary" not in str(refusal.value)


# --- offline ------------------------------------------------------------------------------------------------


def test_a_damaged_copy_of_an_index_document_is_written_again_while_online(remote):
    publish(remote, OLD)
    ask = {"uri": "plants/mine", "artifacts_url": remote.where}
    assert open_bundle(**ask).digest == OLD.digest
    (kept,) = Path(os.environ["GROVE_HOME"]).rglob("index/plants.json")
    kept.write_text("{")
    assert open_bundle(**ask).digest == OLD.digest
    assert open_bundle(**ask, offline=True).digest == OLD.digest


def test_offline_a_name_means_what_it_meant_when_it_was_last_asked(remote, tmp_path, monkeypatch):
    publish(remote, OLD)
    ask = {"uri": "plants/mine", "artifacts_url": remote.where}
    with pytest.raises(NotFoundError, match=r"offline: ontology 'plants' .*never requested .*while online"):
        open_bundle(**ask, offline=True)
    assert open_bundle(**ask).digest == OLD.digest
    publish(remote, NEW)
    remote.delete(OLD.digest)
    assert open_bundle(**ask, offline=True).digest == OLD.digest
    monkeypatch.setenv("GROVE_OFFLINE", "1")
    adapter = Adapter.load(**ask)
    assert (adapter.digest, adapter.refresh()) == (OLD.digest, False)
    with pytest.raises(
        NotFoundError, match=f"offline: artifact {NEW.digest} .* is not kept in .*while online"
    ):
        open_bundle(NEW.digest, artifacts_url=remote.where)
    with pytest.raises(
        NotFoundError, match=r"no bundle 'other' in the index of .*; 1 known, among them 'mine'"
    ):
        open_bundle("plants/other", artifacts_url=remote.where)
    with pytest.raises(NotFoundError, match=r"offline: ontology 'plant' .*'plants'"):
        open_bundle("plant/mine", artifacts_url=remote.where)
    with pytest.raises(NotFoundError, match="offline"):
        open_bundle("plants/mine", artifacts_url="memory://another-store")
    assert open_bundle(**ask, offline=False).digest == NEW.digest
    assert open_bundle(**ask).digest == NEW.digest
    monkeypatch.setenv("GROVE_OFFLINE", "yes")
    with pytest.raises(SettingsError, match="GROVE_OFFLINE: 'yes'"):
        open_bundle(**ask)


def test_offline_no_driver_is_needed_and_no_server_asked():
    digest = "0" * 64
    for url in (f"redis://127.0.0.1:9/0/{digest}", f"s3://bucket/{digest}", f"http://127.0.0.1:9/{digest}"):
        with pytest.raises(NotFoundError, match="offline: artifact"):
            open_bundle(url, offline=True)
    with pytest.raises(NotFoundError, match="offline: ontology"):
        open_bundle("plants/mine", artifacts_url="nosuchdriver://host/x", offline=True)


def test_offline_a_folder_is_read_in_place(store):
    publish(store, OLD)
    assert open_bundle("plants/mine", artifacts_url=store.where, offline=True).digest == OLD.digest


def test_offline_a_damaged_copy_is_refused(remote, tmp_path):
    publish(remote, OLD)
    open_bundle("plants/mine", artifacts_url=remote.where)
    (copy,) = cache_of(tmp_path).glob("sha256/*/*")
    copy.write_bytes(copy.read_bytes()[:-1])
    with pytest.raises(ArtifactError, match=r"offline: the copy .* is damaged .*while online"):
        open_bundle("plants/mine", artifacts_url=remote.where, offline=True)
    assert open_bundle("plants/mine", artifacts_url=remote.where).digest == OLD.digest  # replaces it
    assert open_bundle("plants/mine", artifacts_url=remote.where, offline=True).digest == OLD.digest


# --- checked once -------------------------------------------------------------------------------------------


def flipped(path, *, keep_times):
    """Change the last byte in place: that of the observed indices, here of small numbers."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    if keep_times:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def settled(path):
    """Date it back, as a file that was published a while ago."""
    os.utime(path, ns=(0, time.time_ns() - 10**10))


@pytest.mark.parametrize("kind", ["folder", "remote"])
def test_what_has_not_changed_since_it_was_checked_is_taken_as_it_is(kind, store, remote, tmp_path):
    where = store if kind == "folder" else remote
    publish(where, OLD)
    if kind == "folder":
        settled(store.local_path(OLD.digest))
    ask = {"uri": "plants/mine", "artifacts_url": where.where}
    assert open_bundle(**ask).names == OLD.names
    path = store.local_path(OLD.digest) if kind == "folder" else next(cache_of(tmp_path).glob("sha256/*/*"))
    flipped(path, keep_times=True)  # nobody could see this without reading the file
    trusted = open_bundle(**ask)
    assert trusted.digest == OLD.digest
    assert trusted.to_arrays()[0].keys() == OLD.to_arrays()[0].keys()
    assert any((a != OLD.to_arrays()[0][name]).any() for name, a in trusted.to_arrays()[0].items())
    if kind == "folder":
        with pytest.raises(ArtifactError, match="sha256"):
            open_bundle(**ask, verify="always")
    else:  # fetched again
        assert open_bundle(**ask, verify="always").to_arrays()[0].keys() == OLD.to_arrays()[0].keys()
        assert open_bundle(**ask).names == OLD.names


@pytest.mark.parametrize("change", ["written to", "replaced", "cut", "another name"])
def test_any_change_of_the_file_has_it_checked_again(change, store):
    publish(store, OLD)
    path = store.local_path(OLD.digest)
    settled(path)
    open_bundle("plants/mine", artifacts_url=store.where)
    stamped = path.stat()
    if change == "written to":
        flipped(path, keep_times=False)
    elif change == "cut":
        path.write_bytes(path.read_bytes()[:-1])
        os.utime(path, ns=(stamped.st_atime_ns, stamped.st_mtime_ns))
    else:
        other = path.with_name("other")
        other.write_bytes(path.read_bytes())
        flipped(other, keep_times=False)
        os.utime(other, ns=(stamped.st_atime_ns, stamped.st_mtime_ns))
        os.replace(other, path)
    with pytest.raises(ArtifactError, match="sha256"):
        open_bundle("plants/mine", artifacts_url=store.where)


def test_a_file_written_just_now_gets_no_stamp(store, tmp_path):
    publish(store, OLD)
    path = store.local_path(OLD.digest)
    os.utime(path, ns=(0, time.time_ns() + 10**10))  # as if it had been written in this very tick
    open_bundle("plants/mine", artifacts_url=store.where)
    assert list((cache_of(tmp_path) / "checked").glob("*")) == []
    settled(path)
    open_bundle("plants/mine", artifacts_url=store.where)
    assert [p.name for p in (cache_of(tmp_path) / "checked").iterdir()] == [OLD.digest]


def test_a_stamp_is_not_given_to_what_changed_while_it_was_checked(tmp_path):
    path, stamps, digest = tmp_path / "file", Stamps(tmp_path), "0" * 64
    path.write_bytes(b"evil")
    settled(path)
    seen = stamps.seen(path)
    path.rename(tmp_path / "aside")
    path.write_bytes(b"good")  # this one is checked
    settled(path)
    stamps.record(path, digest, seen)
    (tmp_path / "aside").rename(path)
    assert stamps.open(path, digest) is None
    path.write_bytes(b"good")
    settled(path)
    stamps.record(path, digest, stamps.seen(path))
    assert bytes(stamps.open(path, digest)) == b"good"


@pytest.mark.parametrize("content", ["", "1 2 3", "\u00fc", "9 9 9 9 9\n" * 1000])
def test_a_stamp_that_says_something_else_is_no_stamp(content, store, tmp_path):
    publish(store, OLD)
    settled(store.local_path(OLD.digest))
    open_bundle("plants/mine", artifacts_url=store.where)
    (cache_of(tmp_path) / "checked" / OLD.digest).write_text(content, encoding="utf-8")
    flipped(store.local_path(OLD.digest), keep_times=True)
    with pytest.raises(ArtifactError, match="sha256"):
        open_bundle("plants/mine", artifacts_url=store.where)


def test_a_file_that_is_no_sound_bundle_is_never_stamped(store, tmp_path):
    arrays, metadata = OLD.to_arrays()
    arrays["keys.order"] = arrays["keys.order"][::-1].copy()
    digest = store.put_arrays(arrays, metadata)
    settled(store.local_path(digest))
    for _ in range(2):
        with pytest.raises(BundleError, match=r"keys\.order"):
            open_bundle(digest, artifacts_url=store.where)
    assert not (cache_of(tmp_path) / "checked").exists()


def test_a_home_that_cannot_be_written_only_costs_time(store, tmp_path, monkeypatch):
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "a-file" / "home"))
    publish(store, OLD)
    for _ in range(2):
        assert open_bundle("plants/mine", artifacts_url=store.where).names == OLD.names


def test_readers_beside_a_writer_get_the_bundle_or_an_error_and_nothing_else(store):
    publish(store, OLD)
    path = store.local_path(OLD.digest)
    good = path.read_bytes()
    bad = good[:-1] + bytes([good[-1] ^ 1])
    expected = OLD.to_arrays()[0]
    done = threading.Event()

    def read(_):
        n_right = n_wrong = 0
        while not done.is_set() or not n_right:
            try:
                arrays = open_bundle(OLD.digest, artifacts_url=store.where).to_arrays()[0]
            except ArtifactError:
                n_wrong += 1
                continue
            assert all(np.array_equal(arrays[name], expected[name]) for name in expected)
            n_right += 1
        return n_right, n_wrong

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, i) for i in range(4)]
        try:
            for turn in range(300):
                beside = path.with_name(f"beside-{turn}")
                beside.write_bytes(bad if turn % 2 else good)
                settled(beside)
                os.replace(beside, path)
                time.sleep(0.001)  # so that each state is met; nothing rests on it
            beside.write_bytes(good)
            os.replace(beside, path)
        finally:
            done.set()
        found = [reader.result() for reader in readers]
    assert sum(right for right, _ in found) > 0
    assert sum(wrong for _, wrong in found) > 0


def test_entries_ascend_where_their_bytes_do():
    rng = np.random.default_rng(5)
    alphabets = ["\0a", "ab", "aé\U0001f600z"]
    outcomes = set()
    for _ in range(2000):
        letters = alphabets[rng.integers(3)]
        texts = {
            "p" * rng.choice([0, 0, 7, 8, 63, 64, 70])
            + "".join(letters[i] for i in rng.integers(len(letters), size=rng.integers(10)))
            for _ in range(rng.integers(1, 7))
        }
        listed = list(rng.permutation(sorted(texts)))
        encoded = [text.encode() for text in listed]
        order = np.argsort(np.array(encoded, dtype=object), kind="stable")
        if rng.random() < 0.5:
            order = rng.integers(len(listed), size=len(listed))
        ordered = [encoded[i] for i in order]
        expected = ordered[0] != b"" and all(a < b for a, b in pairwise(ordered))
        table = Texts.from_strings(listed)
        fault = Keys(table.blob, table.offsets, order.astype(np.int32)).order_fault()
        assert (fault is None) == expected, ordered
        outcomes.add(expected)
    assert outcomes == {True, False}
    keys = Keys.from_strings(["n" * 100 + str(i) for i in range(50)])
    assert keys.order_fault() is None


# --- two processes ------------------------------------------------------------------------------------------


class _Counting(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if "/sha256/" in self.path:
            self.server.together.wait(1)  # long enough for others to ask too, if nothing stops them
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def web(store):
    """The folder of `store`, served over HTTP; what is asked for is noted."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: _Counting(*a, directory=store.where)
    )
    server.asked, server.together = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join(30)
    server.server_close()


LOAD = (
    "import sys; from labelgrove import Adapter; a = Adapter.load('plants/mine', artifacts_url=sys.argv[1]); "
    "sys.stdout.write('ready\\n'); print(a.digest, *a.predict([[0.5, 0.5], [1.0, 0.0]]))"
)


def test_processes_that_load_one_bundle_pull_it_once_and_then_do_without(store, web, tmp_path):
    publish(store, OLD)
    url = f"http://127.0.0.1:{web.server_address[1]}"
    root = Path(__file__).parents[3]

    def run(n, **env):
        started = [
            subprocess.Popen(
                [sys.executable, "-c", LOAD, url],
                cwd=root,
                env={**os.environ, **env},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(n)
        ]
        return [(process.communicate(timeout=60), process.returncode) for process in started]

    answer = f"ready\n{OLD.digest} tree oak\n"
    assert [out for (out, _), _ in run(3)] == [answer] * 3
    artifacts = [path for path in web.asked if "/sha256/" in path]
    assert artifacts == [f"/sha256/{OLD.digest[:2]}/{OLD.digest}"]
    web.asked.clear()
    assert run(1, GROVE_OFFLINE="1")[0][0][0] == answer
    assert web.asked == []


def test_a_file_by_path_is_always_checked(tmp_path):
    path = tmp_path / "b.safetensors"
    OLD.save(path)
    assert open_bundle(path).digest == OLD.digest
    data = bytearray(path.read_bytes())
    data[data.index(b"elm") : data.index(b"elm") + 3] = b"oak"
    path.write_bytes(data)
    with pytest.raises(BundleError, match="ascending order of distinct"):
        Adapter.load(path)

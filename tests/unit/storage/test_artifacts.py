"""The artifact store: one contract on every kind of store, and what a local folder survives."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import (
    ArtifactError,
    InputError,
    MissingExtraError,
    NotFoundError,
    ServiceError,
)
from labelgrove.ontology.store import artifacts
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store, write_safetensors

ABSENT = "0" * 64
GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])


@pytest.fixture(params=["folder", "file URL", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    if request.param == "s3":
        return open_store(f"{request.getfixturevalue('s3_url')}/pre/fix")
    urls = {
        "folder": str(tmp_path / "artifacts"),
        "file URL": (tmp_path / "with space").as_uri(),
        "memory": f"memory://{tmp_path.name}-{request.node.name}",
    }
    return open_store(urls[request.param])


@pytest.fixture
def local(tmp_path: Path) -> ArtifactStore:
    return open_store(str(tmp_path / "artifacts"))


def path_of(store: ArtifactStore, digest: str) -> Path:
    path = store.local_path(digest)
    assert path is not None
    return path


def files_under(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# ---- contract ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"oak", bytes(range(256)) * 5000], ids=["nothing", "a word", "a megabyte"]
)
def test_bytes_come_back_under_their_sha256(store: ArtifactStore, data: bytes) -> None:
    digest = store.put_bytes(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert store.read_bytes(digest) == data
    assert store.size(digest) == len(data)
    assert store.exists(digest)
    assert list(store.digests()) == [digest]


def test_arrays_come_back_and_the_same_arrays_are_the_same_file(store: ArtifactStore) -> None:
    digest = store.put_arrays(*GRAPH.to_arrays())
    assert store.put_arrays(*GRAPH.to_arrays()) == digest
    assert store.read_bytes(digest) == write_safetensors(*GRAPH.to_arrays())
    found = LabelGraph.from_arrays(*store.open_arrays(digest))
    assert found.digest == GRAPH.digest
    assert list(found.keys) == list(GRAPH.keys)
    assert not store.open_arrays(digest)[0]["edges.child"].flags.writeable


def test_an_empty_store_answers(store: ArtifactStore) -> None:
    assert list(store.digests()) == []
    assert store.index_names() == []
    assert store.read_index("trees") is None
    assert not store.exists(ABSENT)
    store.delete(ABSENT)
    store.delete_index("trees")
    for ask in (store.read_bytes, store.open_arrays, store.size, store.touch):
        with pytest.raises(NotFoundError, match=ABSENT):
            ask(ABSENT)


def test_what_is_deleted_is_gone(store: ArtifactStore) -> None:
    digest = store.put_bytes(b"oak")
    store.delete(digest)
    assert not store.exists(digest)
    assert list(store.digests()) == []


def test_index_documents_are_replaced_listed_and_deleted(store: ArtifactStore) -> None:
    store.write_index("trees", {"version": "é", "bundles": {}})
    store.write_index("trees", {"version": "b", "bundles": {"x": {"sha256": ABSENT}}})
    store.write_index("animals-2.0", {})
    assert store.read_index("trees") == {"version": "b", "bundles": {"x": {"sha256": ABSENT}}}
    assert store.index_names() == ["animals-2.0", "trees"]
    store.delete_index("trees")
    assert store.read_index("trees") is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../up",
        "a/b",
        "a\\b",
        "/etc/passwd",
        ".hidden",
        "A",
        "é",
        "a\n",
        "a\0",
        "x" * 65,
        "-a",
        None,
    ],
)
def test_no_index_name_leaves_the_store(store: ArtifactStore, name: Any) -> None:
    for ask in (store.read_index, store.delete_index, lambda n: store.write_index(n, {})):
        with pytest.raises(InputError, match="1 to 64 characters of a-z"):
            ask(name)


@pytest.mark.parametrize(
    "digest", ["", "abc", "A" * 64, "g" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n", "../" + "0" * 61, None, 7]
)
def test_no_digest_leaves_the_store(store: ArtifactStore, digest: Any) -> None:
    asks: list[Callable[[Any], object]] = [store.read_bytes, store.open_arrays, store.exists, store.size]
    for ask in [*asks, store.touch, store.delete, store.local_path]:
        with pytest.raises(InputError, match="64 lower-case hexadecimal"):
            ask(digest)


# ---- damage --------------------------------------------------------------------------------------------


def test_each_of_100_flipped_bits_is_found(local: ArtifactStore) -> None:
    digest = local.put_arrays(*GRAPH.to_arrays())
    path = path_of(local, digest)
    whole = path.read_bytes()
    draw = random.Random(20240601)
    for bit in draw.sample(range(8 * len(whole)), 100):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        for ask in (local.read_bytes, local.open_arrays):
            with pytest.raises(ArtifactError, match="damaged") as caught:
                ask(digest)
            found = hashlib.sha256(flipped).hexdigest()
            assert all(part in str(caught.value) for part in (str(path), digest, found))


def test_publishing_again_repairs_and_refreshes(local: ArtifactStore) -> None:
    digest = local.put_bytes(b"oak")
    path = path_of(local, digest)
    path.write_bytes(b"ash")
    os.utime(path, (0, 0))
    assert local.put_bytes(b"oak") == digest
    assert local.read_bytes(digest) == b"oak"
    assert time.time() - path.stat().st_mtime < 60


def test_touch_refreshes_the_time(local: ArtifactStore) -> None:
    digest = local.put_bytes(b"oak")
    os.utime(path_of(local, digest), (0, 0))
    local.touch(digest)
    assert time.time() - path_of(local, digest).stat().st_mtime < 60


def test_arrays_outlive_the_deletion_of_their_file(local: ArtifactStore) -> None:
    digest = local.put_arrays({"a": np.arange(10_000)}, {})
    arrays, _ = local.open_arrays(digest)
    local.delete(digest)
    np.testing.assert_array_equal(arrays["a"], np.arange(10_000))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a": NaN', "[" * 100_000])
def test_a_damaged_index_file_is_named(local: ArtifactStore, tmp_path: Path, text: str) -> None:
    local.write_index("trees", {})
    (tmp_path / "artifacts/index/trees.json").write_text(text)
    with pytest.raises(ArtifactError, match=r"index/trees\.json"):
        local.read_index("trees")


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_an_artifact_is_damage_and_not_waited_for(local: ArtifactStore) -> None:
    path = local.local_path(local.put_bytes(b"leaves"))
    assert path is not None
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ArtifactError, match="damaged"):
        local.content(path.name)


def test_foreign_files_are_not_listed(local: ArtifactStore, tmp_path: Path) -> None:
    digest = local.put_bytes(b"oak")
    for name in (".tmp-1-ab", "notes.txt", digest.upper()):
        (path_of(local, digest).parent / name).write_bytes(b"")
    local.write_index("trees", {})
    (tmp_path / "artifacts/index/.tmp-1-ab").write_bytes(b"")
    (tmp_path / "artifacts/index/README.json").write_bytes(b"")
    assert list(local.digests()) == [digest]
    assert local.index_names() == ["trees"]


# ---- faults of the disk --------------------------------------------------------------------------------


class FailAt:
    """Stands in front of the calls that reach the disk and lets the n-th of them fail."""

    NAMES = ("open", "fsync", "replace")

    def __init__(self, patch: pytest.MonkeyPatch, n: int, code: int) -> None:
        self.calls = 0
        self.failed_at_folder: bool | None = None
        for name in self.NAMES:
            patch.setattr(os, name, self._wrapped(getattr(os, name), n, code))

    def _wrapped(self, real: Callable[..., Any], n: int, code: int) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == n:
                self.failed_at_folder = os.path.isdir(args[0])
                raise OSError(code, os.strerror(code))
            return real(*args, **options)

        return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_a_fault_at_any_call_leaves_all_or_nothing(tmp_path: Path, code: int) -> None:
    data, n = b"oak" * 1000, 0
    while True:
        n += 1
        root = tmp_path / str(n)
        store = open_store(str(root))
        with pytest.MonkeyPatch.context() as patch:
            counter = FailAt(patch, n, code)
            said = None
            try:
                store.put_bytes(data)
            except ServiceError as error:
                said = str(error)
        assert said is None or all(part in said for part in (os.strerror(code), str(root)))
        left = files_under(root) if root.exists() else []
        assert left in ([], [store.local_path(hashlib.sha256(data).hexdigest())])
        assert all(path.read_bytes() == data for path in left)
        assert store.put_bytes(data) in store.digests()
        if counter.failed_at_folder is None:
            break
        # a folder that may be passed and not read takes new folders all the same
        assert said is not None or (counter.failed_at_folder and code == errno.EACCES)
    assert n > 8, f"only {counter.calls} calls were seen; the loop tested nothing"


def test_a_file_has_its_name_only_when_it_is_on_the_disk(
    local: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = path_of(local, hashlib.sha256(b"oak").hexdigest())
    calls: list[tuple[str, str, bool]] = []

    def fsync(handle: int) -> None:
        calls.append(("fsync", Path(os.readlink(f"/proc/self/fd/{handle}")).name, target.exists()))

    def rename(old: Path, new: Path, *, real: Callable[..., None] = os.replace) -> None:
        calls.append(("replace", Path(old).name, target.exists()))
        real(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    local.put_bytes(b"oak")
    *folders, content, renamed, last = calls
    assert [name for _, name, _ in folders] == [target.parents[3].name, "artifacts", "sha256"]
    assert content == ("fsync", renamed[1], False)
    assert renamed[0] == "replace"
    assert renamed[1].startswith(".tmp-")
    assert last == ("fsync", target.parent.name, True)


def test_a_disk_that_fills_up_while_writing_leaves_nothing(tmp_path: Path) -> None:
    """The limit on file size is the kernel's own refusal in the middle of a write."""
    program = (
        "import resource, signal, sys\n"
        "from labelgrove.ontology.store.artifacts import open_store\n"
        "from labelgrove.ontology.errors import ServiceError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "store = open_store(sys.argv[1])\n"
        "try:\n"
        "    store.put_bytes(b'x' * 1_000_000)\n"
        "except ServiceError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "artifacts")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(artifacts.__file__).parent.parent,
    )
    assert "File too large" in done.stdout
    assert files_under(tmp_path) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("")
    with pytest.raises(ServiceError, match="artifacts"):
        open_store(str(tmp_path / "artifacts")).put_bytes(b"oak")


# ---- opening -------------------------------------------------------------------------------------------


def test_opening_creates_nothing(tmp_path: Path) -> None:
    open_store(str(tmp_path / "artifacts"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_url_with_a_host_is_refused() -> None:
    with pytest.raises(InputError, match="three slashes"):
        open_store("file://server/share")


def test_an_unknown_scheme_is_refused_without_its_password() -> None:
    with pytest.raises(InputError) as caught:
        open_store("nowhere://user:hunter2@host/bucket")
    assert "nowhere" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_store_that_connects_at_once_and_fails_is_a_service_error() -> None:
    with pytest.raises(ServiceError, match=r"ftp://user:\*\*\*@127\.0\.0\.1:1"):
        open_store("ftp://user:hunter2@127.0.0.1:1/bucket")


def test_an_unknown_user_is_a_folder_name_and_nul_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("~nobody-of-that-name/x").where == str(tmp_path / "~nobody-of-that-name" / "x")
    for url in ("a\0b", "file:///a%00b"):
        with pytest.raises(InputError, match="NUL"):
            open_store(url)


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(MissingExtraError, match="dropboxdrivefs"):
        open_store("dropbox://folder")


def test_importing_needs_numpy_alone() -> None:
    program = (
        "import sys\n"
        "import labelgrove.ontology.store.artifacts\n"
        "print(sorted({'sqlalchemy', 'fsspec', 'scipy', 'safetensors', 'neo4j'} & sys.modules.keys()))\n"
    )
    root = Path(artifacts.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout == "[]\n"

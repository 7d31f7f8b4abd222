"""Artifacts in S3: what a bucket does that a folder does not, and a whole deployment on one."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import numpy as np
import pytest

from labelgrove.adapter import Adapter
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError, NotFoundError, ServiceError, TransientError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from labelgrove.workers.upkeep.backup import backup
from labelgrove.workers.upkeep.restore import restore
from tests.services.process import free_port

pytestmark = pytest.mark.long

SECRET = "canary-secret-of-the-s3-tests"
ABSENT = "0" * 64
GARDEN = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def settings_on(url: str, home: Path) -> Settings:
    return replace(Settings.from_env({"GROVE_HOME": str(home)}), artifacts_url=url)


# ---- a deployment --------------------------------------------------------------------------------------


def test_ingest_bundle_job_adapter_and_backup_on_a_bucket(s3_url, tmp_path, monkeypatch):
    settings = settings_on(f"{s3_url}/grove", tmp_path / "home")
    with Workspace.open(settings) as workspace:
        register(workspace, "garden", GARDEN)
        job = client.build_bundle_job(workspace, "garden", "all", ["oak", "elm", "moss"])
        assert job.state is State.DONE
        assert workspace.artifacts.index_names() == ["garden"]
        saved = backup(workspace, tmp_path / "backup")
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", settings.artifacts_url)
    adapter = Adapter.load("garden/all")
    assert adapter.predict(np.array([[0.5, 0.5, 0.0]])) == ["tree"]

    with Workspace.open(settings) as workspace:  # the bucket is emptied: the backup brings it back
        for digest in list(workspace.artifacts.digests()):
            workspace.artifacts.delete(digest)
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "no copies here"))
    with pytest.raises(NotFoundError):
        Adapter.load("garden/all")
    restored = restore(settings_on(settings.artifacts_url, tmp_path / "new"), tmp_path / "backup")
    assert restored.n_artifacts == saved.n_artifacts
    assert Adapter.load("garden/all").predict(np.array([[0.5, 0.5, 0.0]])) == ["tree"]


def test_what_another_process_publishes_is_seen_at_once(s3_url):
    store = open_store(s3_url)
    expected = hashlib.sha256(b"oak").hexdigest()
    beside = next(t for t in map(str, range(10_000)) if _sha256(t)[:2] == expected[:2])  # in the same folder
    store.put_bytes(beside.encode())
    assert list(store.digests()) == [_sha256(beside)]
    program = (
        "import sys; from labelgrove.ontology.store.artifacts import open_store; s = open_store(sys.argv[1])"
    )
    program += "; print(s.put_bytes(b'oak')); s.write_index('garden', {'version': '1'})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, s3_url], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    digest = done.stdout.strip()
    assert digest == expected
    assert store.size(digest) == len(b"oak")
    assert sorted(store.digests()) == sorted([digest, _sha256(beside)])
    assert store.index_names() == ["garden"]
    assert store.read_bytes(digest) == b"oak"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_publishing_again_refreshes_and_repairs(s3_url):
    store = open_store(s3_url)
    digest = store.put_bytes(b"oak")
    before = store.modified(digest)
    fsspec.filesystem("s3").pipe_file(f"{s3_url}/sha256/{digest[:2]}/{digest}", b"rot")
    with pytest.raises(ArtifactError, match="damaged"):
        store.read_bytes(digest)
    assert store.put_bytes(b"oak") == digest
    assert store.read_bytes(digest) == b"oak"
    assert store.modified(digest) >= before


def test_a_missing_bucket_is_no_missing_file(s3_url):
    store = open_store("s3://grove-bucket-that-nobody-made/x")
    for ask in (
        lambda: store.put_bytes(b"oak"),
        lambda: store.read_bytes(ABSENT),
        lambda: store.size(ABSENT),
        store.index_names,
    ):
        with pytest.raises(ServiceError, match="NoSuchBucket; create the bucket"):
            ask()


# ---- answers of a service in trouble -------------------------------------------------------------------


class Answers:
    """A service that gives one answer to everything, and keeps what it was sent."""

    def __init__(self, status: int, code: str, *, times: int | None = None) -> None:
        self.status, self.code, self.times = status, code, times
        self.requests: list[dict[str, str]] = []

    def next(self) -> tuple[int, bytes]:
        if self.times is not None and len(self.requests) > self.times:
            return 200, b""
        return self.status, f"<Error><Code>{self.code}</Code><Message>{SECRET}</Message></Error>".encode()


@contextmanager
def answering(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # clients wait for its "100 Continue"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answers.requests.append(
                {"method": self.command, **{k.lower(): v for k, v in self.headers.items()}}
            )
            status, body = answers.next()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    point_to(f"http://127.0.0.1:{server.server_port}", monkeypatch)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def point_to(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # clients are kept by their arguments, the endpoint is none
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIALABELGROVETESTS0")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


ANSWERS = [
    (404, "NoSuchBucket", ServiceError, "create the bucket, or correct GROVE_ARTIFACTS_URL"),
    (403, "AccessDenied", ServiceError, "grant s3:GetObject, s3:PutObject"),
    (403, "InvalidAccessKeyId", ServiceError, "correct the credentials: AWS_ACCESS_KEY_ID"),
    (403, "SignatureDoesNotMatch", ServiceError, "correct the credentials"),
    (403, "RequestTimeTooSkewed", ServiceError, "set the clock"),
    (400, "BadDigest", TransientError, "nothing was published, try again"),
    (409, "OperationAborted", TransientError, "try again later"),
    (501, "NotImplemented", ServiceError, "check GROVE_ARTIFACTS_URL"),
    (400, "SomethingNew", ServiceError, "check GROVE_ARTIFACTS_URL"),
]


def test_every_answer_names_its_fix(monkeypatch):
    answers = Answers(200, "")
    with answering(answers, monkeypatch):
        store = open_store("s3://bucket/grove")
        for answers.status, answers.code, kind, said in ANSWERS:
            with pytest.raises(ServiceError) as caught:
                store.put_bytes(b"oak")
            assert type(caught.value) is kind, answers.code
            shown = f"s3://bucket/grove/sha256/{hashlib.sha256(b'oak').hexdigest()[:2]}/"
            for part in (shown, answers.code, said):
                assert part in str(caught.value)
            assert SECRET not in str(caught.value)


def test_a_busy_service_is_asked_again_and_then_told_of(monkeypatch):
    once = Answers(503, "SlowDown", times=1)
    with answering(once, monkeypatch):
        digest = open_store("s3://bucket").put_bytes(b"oak")
    assert [request["method"] for request in once.requests] == ["PUT", "PUT"]
    assert {request["x-amz-checksum-sha256"] for request in once.requests} == {
        base64.b64encode(bytes.fromhex(digest)).decode()
    }
    always = Answers(503, "ServiceUnavailable")
    with answering(always, monkeypatch), pytest.raises(TransientError, match="try again later"):
        open_store("s3://bucket").put_bytes(b"oak")
    assert 2 <= len(always.requests) <= 15


def test_a_service_that_is_away(monkeypatch):
    monkeypatch.setitem(fsspec.config.conf, "s3", {"config_kwargs": {"retries": {"max_attempts": 1}}})
    point_to(f"http://127.0.0.1:{free_port()}", monkeypatch)
    with pytest.raises(ServiceError, match=r"does not answer \(EndpointConnectionError\)") as caught:
        open_store("s3://bucket").read_bytes(ABSENT)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_no_credentials_at_all(monkeypatch, tmp_path):
    point_to("http://127.0.0.1:9", monkeypatch)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ServiceError, match="there are no credentials; give AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket").read_bytes(ABSENT)

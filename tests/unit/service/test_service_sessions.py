"""Sessions: links work once, sessions end, and nothing but the keys of the home makes one."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.errors import ArtifactError
from labelgrove.ontology.store.posix import locked
from labelgrove.service.access.sessions import COOKIE, OWNER, SESSION_S, Sessions
from tests.unit.service.service_cases import client_of, sign_in

ROOT = Path(__file__).parents[3]
VALIDATE = "/v1/ontologies/a/validate"
FILE = {"file": ("a.csv", b"id;name;parent\na;A;\nb;B;a\n")}
MONTH_S = 30 * 24 * 3600


def test_a_link_works_once_and_its_code_is_not_stored(tmp_path):
    owner = Sessions(tmp_path)
    code = owner.new_link_code()
    assert not [path for path in tmp_path.rglob("*") if code in path.name or code.encode() in _bytes(path)]
    session = owner.use(code)
    assert session is not None
    assert owner.subject(session) == OWNER
    assert owner.use(code) is None
    assert owner.use("") is None
    assert owner.use("../../key") is None


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def test_of_processes_that_use_a_link_at_once_one_gets_a_session(tmp_path):
    code = Sessions(tmp_path).new_link_code()
    program = (
        "import sys, pathlib; from labelgrove.service.access.sessions import Sessions; "
        "owner = Sessions(pathlib.Path(sys.argv[1])); "
        "print('ready', flush=True); sys.stdin.readline(); print(owner.use(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path), code]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(3)
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    sessions = [one.communicate(timeout=60)[0].strip() for one in running]
    assert sorted(session == "None" for session in sessions) == [False, True, True]
    assert [Sessions(tmp_path).subject(one) for one in sessions].count(OWNER) == 1


def test_an_old_link_is_refused_and_removed(tmp_path):
    owner = Sessions(tmp_path)
    codes = [owner.new_link_code() for _ in range(2)]
    links = tmp_path / "service" / "links"
    for link in links.iterdir():
        os.utime(link, (time.time() - 25 * 3600,) * 2)
    assert owner.use(codes[0]) is None
    owner.new_link_code()
    assert len([*links.iterdir()]) == 1


def test_only_the_owner_can_read_the_key_and_a_restart_keeps_sessions(tmp_path):
    session = Sessions(tmp_path).use(Sessions(tmp_path).new_link_code())
    assert session is not None
    key = tmp_path / "service" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    assert [path.name for path in key.parent.iterdir() if path.name.startswith("key")] == ["key"]
    assert Sessions(tmp_path).subject(session) == OWNER


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_damaged_key_signs_nothing(tmp_path, content):
    owner = Sessions(tmp_path)
    code = owner.new_link_code()
    (tmp_path / "service" / "key").write_bytes(content)
    with pytest.raises(ArtifactError, match="a key has 32; delete the file"):
        owner.use(code)
    with pytest.raises(ArtifactError):
        owner.subject(f"{int(time.time()) + 60}.owner.{'0' * 64}")


def test_forged_truncated_and_ended_sessions_are_refused(tmp_path):
    owner, other = Sessions(tmp_path / "a"), Sessions(tmp_path / "b")
    session, foreign = (one.use(one.new_link_code()) for one in (owner, other))
    assert session is not None
    assert foreign is not None
    until, subject, mark = session.split(".")
    assert int(until) - time.time() <= MONTH_S
    wrong = [
        "",
        "..",
        until,
        f"{until}.{subject}",
        f"{until}.{subject}.",
        f"{until}.{mark}",
        f".{subject}.{mark}",
        session[:-1],
        session + "0",
        session + "\n",
        f"{int(until) + 1}.{subject}.{mark}",
        f"0{until}.{subject}.{mark}",
        f"{until}.{subject}.{mark.upper()}",
        f"{until}.{subject}.{'0' * 64}",
        f"{until}.{'a' * 64}.{mark}",
        f"{'9' * 400}.{subject}.{mark}",
        f"-1.{subject}.{mark}",
        f"²{until}.{subject}.{mark}",
        f"{until}.{subject}.é",
        foreign,
    ]
    assert [one for one in wrong if owner.subject(one) is not None] == []
    assert owner.subject(session) == OWNER
    assert owner.subject(owner.begin("ab" * 32)) == "ab" * 32


def test_a_session_ends(tmp_path, monkeypatch):
    owner = Sessions(tmp_path)
    session = owner.begin(OWNER)
    now = time.time()
    for late_s, subject in ((SESSION_S - 5, OWNER), (SESSION_S + 5, None)):
        monkeypatch.setattr("time.time", lambda late_s=late_s: now + late_s)
        assert owner.subject(session) == subject


def test_a_key_is_replaced_when_it_is_old_and_ends_no_session_too_early(tmp_path):
    sessions = Sessions(tmp_path)
    first = sessions.begin(OWNER)
    key = tmp_path / "service" / "key"

    def grow_old() -> None:
        os.utime(key, (time.time() - SESSION_S - 1,) * 2)

    before = key.read_bytes()
    grow_old()
    second = sessions.begin(OWNER)
    assert key.read_bytes() != before
    assert key.with_name("key.before").read_bytes() == before
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [Sessions(tmp_path).subject(one) for one in (first, second)] == [OWNER, OWNER]
    grow_old()
    third = sessions.begin(OWNER)
    assert [sessions.subject(one) for one in (first, second, third)] == [None, OWNER, OWNER]
    for one in (key, key.with_name("key.before")):
        one.unlink()
    assert [sessions.subject(one) for one in (second, third)] == [None, None]


def test_of_processes_that_replace_a_key_at_once_one_does(tmp_path, monkeypatch):
    sessions, other = Sessions(tmp_path), Sessions(tmp_path)
    kept = sessions.begin(OWNER)
    os.utime(tmp_path / "service" / "key", (time.time() - SESSION_S - 1,) * 2)
    begun: list[str] = []

    @contextlib.contextmanager
    def slowly(path: Path, longest_s: float) -> Iterator[bool]:
        """Lock a file after another process has begun a session, which needs the lock as well."""
        monkeypatch.undo()
        begun.append(other.begin(OWNER))
        with locked(path, longest_s) as held:
            yield held

    monkeypatch.setattr("labelgrove.service.access.sessions.locked", slowly)
    begun.append(sessions.begin(OWNER))
    assert len(begun) == 2
    assert [sessions.subject(one) for one in (kept, *begun)] == [OWNER] * 3


def test_uploads_need_a_session_as_a_cookie_or_as_a_bearer(tmp_path):
    with client_of(tmp_path) as client:
        for headers in ({}, {"authorization": "Bearer x"}, {"cookie": f"{COOKIE}=x"}):
            answer = client.post(VALIDATE, files=FILE, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.json()["type"] == "/reference#problem-not-signed-in"
        session = sign_in(client)
        assert client.post(VALIDATE, files=FILE).status_code == 200
        client.cookies.clear()
        assert client.post(VALIDATE, files=FILE).status_code == 401
        for scheme in ("Bearer", "bearer"):
            headers = {"authorization": f"{scheme} {session}"}
            assert client.post(VALIDATE, files=FILE, headers=headers).status_code == 200
        assert client.post(VALIDATE, files=FILE, headers={"authorization": session}).status_code == 401
    with client_of(tmp_path) as again:
        headers = {"authorization": f"Bearer {session}"}
        assert again.post(VALIDATE, files=FILE, headers=headers).status_code == 200


def test_a_link_sets_a_cookie_that_scripts_and_other_sites_do_not_get(tmp_path):
    with client_of(tmp_path) as client:
        code = client.app.state.identity.sessions.new_link_code()
        answer = client.get(f"/enter?code={code}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        said = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
        assert said >= {"httponly", "samesite=strict", "path=/", f"max-age={MONTH_S}"}
        again = client.get(f"/enter?code={code}", follow_redirects=False)
        assert (again.status_code, again.json()["type"]) == (410, "/reference#problem-link")
        assert "set-cookie" not in again.headers
        assert answer.headers["cache-control"] == again.headers["cache-control"] == "no-store"

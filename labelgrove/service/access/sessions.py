"""Sessions of people who signed in on a page, and links that sign the owner of the home in once.

A session is a cookie with the time of its end and its subject: the owner, or the digest of the token from
which it was made. It is signed with a key in the home folder, so that several processes accept it and a
restart does not end it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from labelgrove.ontology.errors import ArtifactError, counted
from labelgrove.ontology.store.posix import locked

__all__ = ["COOKIE", "OWNER", "SESSION_S", "Sessions", "keep"]

COOKIE = "grove-session"

OWNER = "owner"
"""The subject of a session that a link has opened."""

SESSION_S = 30 * 24 * 3600
"""Seconds for which a session lasts at most."""

_LINK_S = 24 * 3600
_KEY_BYTES = 32
_WAIT_S = 30.0
_SESSION = re.compile(r"([1-9][0-9]{0,14})\.([0-9a-z]{1,64})\.([0-9a-f]{64})")


class Sessions:
    """Makes links and sessions, and checks them.

    Parameters
    ----------
    home : Path
        Its folder ``service`` has the keys, and one empty file for each link that was not used yet.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "service"

    def new_link_code(self) -> str:
        """Return a code that `use` accepts once, within a day."""
        code = secrets.token_urlsafe(32)
        links = self._folder / "links"
        links.mkdir(parents=True, exist_ok=True)
        for old in links.iterdir():
            if time.time() - old.stat().st_mtime > _LINK_S:
                old.unlink(missing_ok=True)
        (links / _hashed(code)).touch(mode=0o600)
        return code

    def use(self, code: str) -> str | None:
        """Return a session of the owner for a code of `new_link_code`.

        Return None if the code is used, old or unknown.
        """
        path = self._folder / "links" / _hashed(code)
        try:
            made = path.stat().st_mtime
            path.unlink()  # of two that use it at once, one fails
        except FileNotFoundError:
            return None
        return self.begin(OWNER) if time.time() - made <= _LINK_S else None

    def begin(self, subject: str) -> str:
        """Return a new session of a subject: `OWNER`, or the digest of a token."""
        until = int(time.time()) + SESSION_S
        return f"{until}.{subject}.{_signed(self._newest_key(), until, subject)}"

    def subject(self, session: str) -> str | None:
        """Return the subject of a session that has not ended; None for anything else."""
        found = _SESSION.fullmatch(session)
        if found is None or int(found[1]) < time.time():
            return None
        until, subject, given = int(found[1]), found[2], found[3]
        right = [hmac.compare_digest(given, _signed(key, until, subject)) for key in self._keys()]
        return subject if any(right) else None

    # ---- keys --------------------------------------------------------------------------------------

    def _keys(self) -> list[bytes]:
        """Return the keys with which a session that has not ended can be signed."""
        return [key for key in map(_read, self._files()) if key is not None]

    def _files(self) -> tuple[Path, Path]:
        return self._folder / "key", self._folder / "key.before"

    def _newest_key(self) -> bytes:
        """Return the key for new sessions; a key is replaced when it is as old as a session can get.

        The key before it is kept until then, so a replaced key ends no session too early.
        """
        path, before = self._files()
        if (key := _young(path)) is not None:
            return key
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder / "lock", _WAIT_S):
            if (key := _young(path)) is not None:  # another process was faster
                return key
            new = path.with_name(f"key.{secrets.token_hex(8)}")
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())  # a key that a crash made empty could be guessed
            if path.exists():
                path.replace(before)
            new.replace(path)
            return _checked(path, path.read_bytes())


def keep(request: Request, answer: Response, session: str) -> None:
    """Let the browser that sent a request keep a session, for TLS alone if the request came over TLS.

    The headers of a proxy or browser tell that; a client that lies about it locks out itself alone.
    """
    told = (request.headers.get("origin", "").partition(":")[0], request.headers.get("x-forwarded-proto"))
    secure = "https" in (request.url.scheme, *told)
    answer.set_cookie(COOKIE, session, max_age=SESSION_S, httponly=True, samesite="strict", secure=secure)


def _young(path: Path) -> bytes | None:
    """Return the key in a file; None if there is none, or if it is due to be replaced."""
    key = _read(path)
    return key if key is not None and time.time() - path.stat().st_mtime < SESSION_S else None


def _read(path: Path) -> bytes | None:
    try:
        return _checked(path, path.read_bytes())
    except FileNotFoundError:
        return None


def _checked(path: Path, key: bytes) -> bytes:
    if len(key) != _KEY_BYTES:
        raise ArtifactError(
            f"{path}: has {counted(len(key), 'byte')}, and a key has {_KEY_BYTES}; delete the file, and sign "
            "in again with: grove serve --link"
        )
    return key


def _signed(key: bytes, until: int, subject: str) -> str:
    return hmac.new(key, f"{until}.{subject}".encode(), hashlib.sha256).hexdigest()


def _hashed(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()

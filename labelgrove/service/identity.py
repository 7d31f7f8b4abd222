"""Who may change something: in local mode, whoever opened a link that only the owner of the home can make.

``grove serve`` prints a link that works once. Opening it sets a cookie with an expiry time, signed with a key
in the home folder, so that several processes accept it and a restart does not end it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from http import HTTPStatus
from pathlib import Path

from fastapi import Request

from labelgrove.ontology.errors import ArtifactError, counted
from labelgrove.service.problems import Problem

__all__ = ["COOKIE", "SESSION_S", "Owner", "is_owner", "require_owner"]

COOKIE = "grove-session"

SESSION_S = 30 * 24 * 3600
"""Seconds for which a session lasts."""

_LINK_S = 24 * 3600
_KEY_BYTES = 32


class Owner:
    """Makes links and sessions for the owner of a home folder, and checks them.

    Parameters
    ----------
    home : Path
        Its folder ``service`` has the key, and one empty file for each link that was not used yet.
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
        """Return a new session for a code of `new_link_code`, or None if the code is used, old or unknown."""
        path = self._folder / "links" / _hashed(code)
        try:
            made = path.stat().st_mtime
            path.unlink()  # of two that use it at once, one fails
        except FileNotFoundError:
            return None
        return self._session(int(time.time()) + SESSION_S) if time.time() - made <= _LINK_S else None

    def accepts(self, session: str) -> bool:
        """Return whether a session was made by `use` and has not expired."""
        until, _, _ = session.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 16) or int(until) < time.time():
            return False
        return hmac.compare_digest(session.encode(), self._session(int(until)).encode())

    def _session(self, until: int) -> str:
        return f"{until}.{hmac.new(self._key(), str(until).encode(), hashlib.sha256).hexdigest()}"

    def _key(self) -> bytes:
        path = self._folder / "key"
        try:
            return _checked(path, path.read_bytes())
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"key.{secrets.token_hex(8)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())  # a key that a crash made empty could be guessed
        try:
            os.link(new, path)  # the first of several processes decides
        except FileExistsError:
            pass
        finally:
            new.unlink()
        return _checked(path, path.read_bytes())


def _checked(path: Path, key: bytes) -> bytes:
    if len(key) != _KEY_BYTES:
        raise ArtifactError(
            f"{path}: has {counted(len(key), 'byte')}, and a key has {_KEY_BYTES}; delete the file, and sign "
            "in again with: grove serve --link"
        )
    return key


def _hashed(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def is_owner(request: Request) -> bool:
    """Return whether the client has a session, as a cookie or as ``Authorization: Bearer``."""
    owner: Owner = request.app.state.owner
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return any(owner.accepts(given) for given in (bearer, request.cookies.get(COOKIE, "")) if given)


def require_owner(request: Request) -> None:
    """Refuse a request without a session."""
    if not is_owner(request):
        problem = Problem(
            HTTPStatus.UNAUTHORIZED,
            "not-signed-in",
            "only the owner of this service may do this; open the link that `grove serve` printed",
        )
        problem.headers["WWW-Authenticate"] = "Bearer"
        raise problem

"""Refuse what a service on this machine must not answer, and tell browsers what pages may do.

A page of another site can make a browser send requests to this machine, and a name of another site can be
made to lead to it. So every request must name this host, and a request that changes something must not come
from another site.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from http import HTTPStatus

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.service.limits import Limits
from labelgrove.service.problems import MEDIA_TYPE, Problem, problem_document, problem_of

__all__ = ["LOOPBACK_NAMES", "Guards"]

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine that requests may use, with any port."""

_DIGITS = 20  # an int of thousands of digits cannot be read at all
_SAFE = ("GET", "HEAD", "OPTIONS")
_OURS = ("same-origin", "none")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class Guards:
    """An ASGI application that checks each request before another one answers it.

    Parameters
    ----------
    app : callable
        The application that answers.
    limits : Limits
    hosts : collection of str
        The names that the ``Host`` of a request may have, without a port.
    bodies : mapping of str to int
        Endings of paths to which larger bodies may be sent, and how many bytes.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, *, hosts: Collection[str], bodies: Mapping[str, int]
    ) -> None:
        self._app, self._limits = app, limits
        self._hosts, self._bodies = frozenset(hosts), bodies
        self._rate = RateLimitItemPerSecond(max(limits.requests_per_second, 1))
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most_bytes(scope["path"])
        try:
            self._check(scope, Headers(scope=scope), most)
        except Problem as problem:
            await _refuse(problem, scope["path"], send)
            return
        answering = _Answering(send)
        try:
            await self._app(scope, _counted(receive, most), answering)
        except Exception as error:
            if not answering.begun:
                await _refuse(problem_of(error), scope["path"], send)
            raise  # the server logs it

    def _most_bytes(self, path: str) -> int:
        larger = (most for ending, most in self._bodies.items() if path.endswith(ending))
        return next(larger, self._limits.body_bytes)

    def _check(self, scope: Scope, headers: Headers, most: int) -> None:
        hosts = [_without_port(host) for host in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "host",
                f"Host {', '.join(hosts)[:80]!r} is not a name of this service; "
                f"use {' or '.join(sorted(self._hosts))}",
            )
        if scope["method"] not in _SAFE:
            _check_same_site(headers)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < _DIGITS) or int(length) > most:
            raise _too_large(most)
        client = (scope.get("client") or ("unknown", 0))[0]
        if self._limits.requests_per_second and not self._limiter.hit(self._rate, client):
            problem = Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "rate",
                f"more than {self._limits.requests_per_second} requests in a second; try again in a second",
            )
            problem.headers["Retry-After"] = "1"
            raise problem


def _check_same_site(headers: Headers) -> None:
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    scheme, _, rest = (origin or "").partition("://")
    same = origin is None or (scheme in ("http", "https") and rest == headers.get("host"))
    if site not in _OURS or not same:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "origin",
            f"a request of {(origin or site)[:80]!r} must not change anything here; "
            "send it from a page of this service, or without the header Origin",
        )


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _too_large(most: int) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body",
        f"the body is too large, or its length is not a number; send at most {most:,} bytes",
    )


def _counted(receive: Receive, most: int) -> Receive:
    """Return `receive`, which refuses to go on once it has received more than `most` bytes."""
    n = 0

    async def counting() -> Message:
        nonlocal n
        message = await receive()
        n += len(message.get("body", b""))
        if n > most:
            raise _too_large(most)
        return message

    return counting


class _Answering:
    """Sends an answer with the headers that it lacks, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


async def _refuse(problem: Problem, path: str, send: Send) -> None:
    body = json.dumps(problem_document(problem, path)).encode()
    headers = problem.headers | {"content-type": MEDIA_TYPE, "content-length": str(len(body))} | _HEADERS
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(problem.status), "headers": raw})
    await send({"type": "http.response.body", "body": body})

"""Refuse what a service on this machine must not answer, and tell browsers what pages may do.

A page of another site can make a browser send requests to this machine, and a name of another site can be
made to lead to it. So every request must name this host, and a request that changes something must not come
from another site.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from http import HTTPStatus

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.ontology.errors import GroveError
from labelgrove.service.access import audit
from labelgrove.service.access.identity import Actor, Identity, require
from labelgrove.service.limits import Limits
from labelgrove.service.problems import MEDIA_TYPE, Problem, problem_document, problem_of

__all__ = ["LOOPBACK_NAMES", "Guards"]

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine that requests may use, with any port."""

_DIGITS = 20  # an int of thousands of digits cannot be read at all
_SAFE = ("GET", "HEAD", "OPTIONS")
_GET_ALONE = ("/enter", "/events")
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
    bodies : mapping of str to (int, str)
        Endings of paths to which larger bodies may be sent: how many bytes, and the scope that it takes.
    identity : Identity
        Finds out who sends a request; the limit of requests is for each of them, and for each address from
        which anonymous requests come.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        *,
        hosts: Collection[str],
        bodies: Mapping[str, tuple[int, str]],
        identity: Identity,
    ) -> None:
        self._app, self._limits, self._identity = app, limits, identity
        self._hosts, self._bodies = frozenset(hosts), bodies
        self._rate = RateLimitItemPerSecond(max(limits.requests_per_second, 1))
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = _as_get(scope)
        state = scope.setdefault("state", {})
        headers = Headers(scope=scope)
        peer = (scope.get("client") or ("unknown", 0))[0]
        try:
            self._check_sender(scope, headers)
            if self._identity.asks_nothing(headers):
                state["actor"] = self._identity.who(headers, peer)
            else:  # a database may be asked
                state["actor"] = await run_in_threadpool(self._identity.who, headers, peer)
            self._check_rate(state["actor"], peer)
            refuse_more = self._check_length(scope, headers, state["actor"])
        except (GroveError, Problem) as error:
            await _refuse(problem_of(error), scope["path"], send)
            return
        answering = _Answering(scope, send)
        try:
            await self._app(scope, _counted(receive, *refuse_more), answering)
        except Exception as error:
            if not answering.begun:
                await _refuse(problem_of(error), scope["path"], send)
            raise  # the server logs it

    def _check_length(
        self, scope: Scope, headers: Headers, actor: Actor
    ) -> tuple[int, Callable[[], Problem]]:
        """Refuse a body that its header says is too large.

        Return the most bytes that may be received, and what makes the problem if there are more. Only who has
        the scope for a larger body can send one: others are refused before their bytes are kept.
        """
        most, refused = self._limits.body_bytes, partial(_too_large, self._limits.body_bytes)
        for ending, (larger, needed) in self._bodies.items():
            if scope["path"].endswith(ending):
                if needed in actor.scopes:
                    most, refused = larger, partial(_too_large, larger)
                else:
                    refused = partial(_lacks, actor, needed)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < _DIGITS):
            raise _too_large(most)
        if int(length) > most:
            raise refused()
        return most, refused

    def _check_sender(self, scope: Scope, headers: Headers) -> None:
        hosts = [_without_port(host) for host in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "host",
                f"Host {', '.join(hosts)[:80]!r} is not a name of this service; "
                f"use {' or '.join(sorted(self._hosts))}, or add the name to GROVE_SERVE_HOSTS",
            )
        if scope["method"] not in _SAFE:
            _check_same_site(headers)

    def _check_rate(self, actor: Actor, peer: str) -> None:
        client = actor.name if actor.known else peer
        if self._limits.requests_per_second and not self._limiter.hit(self._rate, client):
            problem = Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "rate",
                f"more than {self._limits.requests_per_second} requests in a second; try again in a second",
            )
            problem.headers["Retry-After"] = "1"
            raise problem


def _as_get(scope: Scope) -> Scope:
    """Return the scope of a request, in which HEAD is GET: the server leaves the body of its answer out.

    A link that works once is not used up by a program that only looks whether it exists, and a stream of
    events, which never ends, is not begun for nobody.
    """
    if scope["method"] == "HEAD" and not scope["path"].endswith(_GET_ALONE):
        return {**scope, "method": "GET"}
    return scope


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


def _lacks(actor: Actor, scope: str) -> Problem:
    """Return the problem of an actor who may not send so much."""
    try:
        require(actor, scope)
    except Problem as problem:
        return problem
    raise RuntimeError(f"{actor.name} has the scope {scope}")


def _counted(receive: Receive, most: int, refused: Callable[[], Problem]) -> Receive:
    """Return `receive`, which raises `refused` once it has received more than `most` bytes."""
    n = 0

    async def counting() -> Message:
        nonlocal n
        message = await receive()
        n += len(message.get("body", b""))
        if n > most:
            raise refused()
        return message

    return counting


class _Answering:
    """Sends an answer with the headers that it lacks, and knows whether it has begun; logs changes."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send, self.begun = scope, send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            audit.record(self._scope, message["status"], headers.get("location", ""))
        await self._send(message)


async def _refuse(problem: Problem, path: str, send: Send) -> None:
    body = json.dumps(problem_document(problem, path)).encode()
    headers = problem.headers | {"content-type": MEDIA_TYPE, "content-length": str(len(body))} | _HEADERS
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(problem.status), "headers": raw})
    await send({"type": "http.response.body", "body": body})

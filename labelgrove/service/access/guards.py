"""Refuse what a service on this machine must not answer, and tell browsers what pages may do.

A page of another site can make a browser send requests to this machine, and a name of another site can be
made to lead to it. So every request must name this host, and a request that changes something must not come
from another site.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.ontology.errors import GroveError
from labelgrove.service.access import audit
from labelgrove.service.access.crossorigin import CrossOrigin
from labelgrove.service.access.identity import Actor, Identity, require
from labelgrove.service.limits import Limits
from labelgrove.service.problems import MEDIA_TYPE, Problem, busy, problem_document, problem_of

__all__ = ["LOOPBACK_NAMES", "Guards", "LargeBodies"]

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine that requests may use, with any port."""

_DIGITS = 20  # an int of thousands of digits cannot be read at all
_SAFE = ("GET", "HEAD", "OPTIONS")
_GET_ALONE = ("/enter", "/events")
_PROBES = ("/healthz", "/readyz")
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


@dataclass(frozen=True)
class LargeBodies:
    """Endings of paths with larger bodies: how many bytes, in how many seconds, and the scope it takes."""

    endings: tuple[str, ...]
    n_bytes: int
    seconds: float
    scope: str


class Guards:
    """An ASGI application that checks each request before another one answers it.

    Parameters
    ----------
    app : callable
        The application that answers.
    limits : Limits
    hosts : collection of str
        The names that the ``Host`` of a request may have, without a port.
    bodies : tuple of LargeBodies
    identity : Identity
        Finds out who sends a request; the limit of requests is for each of them, and for each address from
        which anonymous requests come.
    crossing : CrossOrigin, optional
        By default, pages of other origins may read nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        *,
        hosts: Collection[str],
        bodies: tuple[LargeBodies, ...],
        identity: Identity,
        crossing: CrossOrigin | None = None,
    ) -> None:
        self._app, self._limits, self._identity = app, limits, identity
        self._crossing = crossing or CrossOrigin()
        self._hosts, self._bodies = frozenset(hosts), bodies
        self._small = _Memory(limits.bodies_bytes)
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
        crossing = self._crossing.headers(scope, headers)
        try:
            self._check_head(scope, headers)
            self._check_sender(scope, headers)
            if self._identity.asks_nothing(headers):
                state["actor"] = self._identity.who(headers, peer)
            else:  # a database may be asked
                state["actor"] = await run_in_threadpool(self._identity.who, headers, peer)
            # A probe that is refused because of what others send would end a process that works.
            if scope["path"] not in _PROBES:
                self._check_rate(state["actor"], peer)
            allowed = self._allowed_body(scope, headers, state["actor"])
        except (GroveError, Problem) as error:
            await _refuse(problem_of(error), scope["path"], send, crossing)
            return
        if (preflight := self._crossing.preflight(scope, headers)) is not None:
            await send(_start(HTTPStatus.NO_CONTENT, _HEADERS | preflight))
            await send({"type": "http.response.body"})
            return
        answering = _Answering(scope, send, crossing)
        body = _Body(receive, allowed, self._small)
        try:
            await self._app(scope, body, answering)
        except ClientDisconnect:  # while its body was read: nobody waits for an answer
            return
        except Exception as error:
            if not answering.begun:
                await _refuse(problem_of(error), scope["path"], send, crossing)
            raise  # the server logs it
        finally:  # the scope of HEAD is a copy, but its state is not
            body.forget()
            state["route"] = getattr(scope.get("route"), "path", None)

    def _allowed_body(self, scope: Scope, headers: Headers, actor: Actor) -> _AllowedBody:
        """Return the body that may be received, or refuse one that its header says is too large.

        Only who has the scope for a larger body can send one: others are refused before their bytes are kept.
        """
        most, seconds, small = self._limits.body_bytes, self._limits.body_s, True
        refused = partial(_too_large, most)
        for larger in self._bodies:
            if scope["path"].endswith(larger.endings):
                if larger.scope in actor.scopes:
                    most, seconds, small = larger.n_bytes, larger.seconds, False
                    refused = partial(_too_large, most)
                else:
                    refused = partial(_lacks, actor, larger.scope)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < _DIGITS):
            raise _too_large(most)
        # Of two lengths a proxy may have believed the other one.
        if "content-length" in headers and "transfer-encoding" in headers:
            raise _not_http(
                HTTPStatus.BAD_REQUEST, "Content-Length and Transfer-Encoding given; send one of them"
            )
        if int(length) > most:
            raise refused()
        return _AllowedBody(most, seconds, refused, small)

    def _check_head(self, scope: Scope, headers: Headers) -> None:
        """Refuse a head that is too large; the parser does so only as long as it is incomplete."""
        most = self._limits.head_bytes
        line = len(scope.get("raw_path", b"")) + len(scope.get("query_string", b""))
        if line + sum(len(name) + len(value) for name, value in headers.raw) > most:
            raise _not_http(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"the first line and the headers are too large; send at most {most:,} bytes",
            )

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


def _not_http(status: HTTPStatus, detail: str) -> Problem:
    """Return the problem of a client with whom the service cannot go on over the same connection."""
    problem = Problem(status, "http", detail)
    problem.headers["Connection"] = "close"
    return problem


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


@dataclass(frozen=True)
class _AllowedBody:
    """A body that may be received: its most bytes and seconds, and what makes the problem of a larger one.

    What may be larger than others is bounded by the routes that take it, apart from the `small` ones.
    """

    n_bytes: int
    seconds: float
    too_large: Callable[[], Problem]
    small: bool


@dataclass
class _Memory:
    """How many bytes of small bodies this process holds, and may hold."""

    most: int
    n: int = 0


class _Body:
    """Receives a body; raises a problem once it is larger, or takes longer, than is allowed.

    A small one counts in `memory` until its request is forgotten.
    """

    def __init__(self, receive: Receive, allowed: _AllowedBody, memory: _Memory) -> None:
        self._receive, self._allowed, self._memory = receive, allowed, memory
        self._n, self._until, self._ended = 0, 0.0, False

    async def __call__(self) -> Message:
        if self._ended:  # what is awaited now is the end of the connection
            return await self._receive()
        allowed, memory = self._allowed, self._memory
        self._until = self._until or asyncio.get_running_loop().time() + allowed.seconds
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow(allowed.seconds) from None
        more = len(message.get("body", b""))
        self._n += more
        self._ended = not message.get("more_body", False)
        if allowed.small:
            memory.n += more
        if self._n > allowed.n_bytes:
            raise allowed.too_large()
        if allowed.small and memory.n > memory.most:
            raise busy("the bodies of other requests need the memory; send this one again in a second", 1)
        return message

    def forget(self) -> None:
        """Count the body no longer, because its request was answered."""
        if self._allowed.small:
            self._memory.n -= self._n


def _too_slow(seconds: float) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_TIMEOUT,
        "slow",
        f"the body did not arrive within {seconds:g} s; send less at a time",
        exit_code=1,
    )


class _Answering:
    """Sends an answer with the headers that it lacks, and knows whether it has begun; logs changes."""

    def __init__(self, scope: Scope, send: Send, crossing: Mapping[str, str]) -> None:
        self._scope, self._send, self._crossing, self.begun = scope, send, crossing, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in {**_HEADERS, **self._crossing}.items():
                if name == "vary":
                    headers.add_vary_header(value)
                else:
                    headers.setdefault(name, value)
            audit.record(self._scope, message["status"], headers.get("location", ""))
        await self._send(message)


async def _refuse(problem: Problem, path: str, send: Send, crossing: Mapping[str, str]) -> None:
    body = json.dumps(problem_document(problem, path)).encode()
    told = {"content-type": MEDIA_TYPE, "content-length": str(len(body))}
    await send(_start(problem.status, {**problem.headers, **told, **_HEADERS, **crossing}))
    await send({"type": "http.response.body", "body": body})


def _start(status: int, headers: Mapping[str, str]) -> Message:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": int(status), "headers": raw}

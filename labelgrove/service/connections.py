"""Bound the connections of a process: how many there are, and how long they may say or take nothing.

A connection costs memory and one of the files that a process may open, and a client can keep it without
sending anything. So the one that waited longest makes room for a new one: clients who have something to ask
do so at once, and lose nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from labelgrove.service.limits import Limits
from labelgrove.service.problems import MEDIA_TYPE, Problem, problem_document

__all__ = ["Connection", "Connections", "LingeringTransport"]

_OTHER_FILES = 3_000
"""Files that a process opens besides: those it reads, and connections accepted in one turn of the loop."""

_LINGERING_S = 2.0
"""Seconds for which a closing connection discards what arrives, so that its client can read the answer."""


class Connections:
    """The connections of one process; those without a request, the one that waited longest first.

    Parameters
    ----------
    limits : Limits
        Of its `connections`, as many are kept as there are files for.
    """

    def __init__(self, limits: Limits) -> None:
        files = _openable(limits.connections + _OTHER_FILES)
        self.most = min(limits.connections, max(files - _OTHER_FILES, files // 2))
        self.request_s, self.sending_s = limits.request_s, limits.sending_s
        self._all: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}

    @property
    def n_open(self) -> int:
        """How many connections there are."""
        return len(self._all)

    def add(self, connection: Connection) -> None:
        """Count a new connection; close the one that waited longest if there are too many."""
        self._all.add(connection)
        self._waiting[connection] = None
        if len(self._all) > self.most:
            longest = next(iter(self._waiting))
            self.remove(longest)
            longest.transport.abort()

    def wait(self, connection: Connection) -> None:
        """Note that a connection has no request to answer, so it may make room for a new one."""
        if connection in self._all:
            self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """Note that a request of a connection is being answered, so it is not closed."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection."""
        self._all.discard(connection)
        self._waiting.pop(connection, None)


class LingeringTransport:
    """A transport that closes only after a peer that is still sending had time to read the last answer.

    The system resets a connection that is closed while more data arrives, and the answer may be lost: a proxy
    then tells its client that the service failed. So what arrives is discarded for a while.

    Parameters
    ----------
    transport : asyncio.Transport
    lingers : callable
        Returns, when the transport is to close, whether the peer may still be sending.
    """

    def __init__(self, transport: asyncio.Transport, lingers: Callable[[], bool]) -> None:
        self._transport, self._lingers = transport, lingers
        self._ends = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether the connection is closing or closed."""
        return self._ends or self._transport.is_closing()

    def close(self) -> None:
        """Send what was written, give a peer that is still sending time to read it, and close."""
        if self.is_closing():
            return
        self._ends = True
        if not self._lingers():
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the peer has gone already
            self._transport.abort()
            return
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(_LINGERING_S, self._transport.close)


class Connection(H11Protocol):
    """A connection whose requests arrive, and whose answers are taken, within the limits of the service.

    What is not HTTP is refused with a problem document, as everything else is.
    """

    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and give it some time to send the head of a request."""
        lingering = LingeringTransport(transport, self._may_get_more)
        super().connection_made(lingering)  # type: ignore[arg-type]  # a transport by what it passes on
        self._connections: Connections = self.app_state["connections"]
        self._connections.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.remove(self)
        self._stop_waiting()
        self._stop_pressing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what a client sent; once a request is complete it is answered."""
        if self.transport.is_closing():
            return
        self._begun = True
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
            self._connections.work(self)
        elif self._late is None:  # the head of a further request has begun
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has arrived already."""
        super().on_response_complete()
        if not self._is_answering():
            self._begun = False
            self._connections.wait(self)

    def pause_writing(self) -> None:
        """Give a client who takes nothing some time to go on."""
        super().pause_writing()
        self._press()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._stop_pressing()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; `msg` gives way to what exactly is wrong."""
        error = sys.exception()
        if not isinstance(error, h11.RemoteProtocolError):
            self._refuse(HTTPStatus.BAD_REQUEST, "http", msg)
        elif error.error_status_hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                "http",
                "the first line and the headers are too large",
            )
        else:
            wrong, _, _ = str(error).partition(": bytearray")  # what was sent is not told
            self._refuse(HTTPStatus.BAD_REQUEST, "http", f"this is not a request of HTTP/1.1: {wrong}")

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _may_get_more(self) -> bool:
        return self._begun and self.conn.their_state not in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    def _wait(self) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(self._connections.request_s, self._end_waiting)

    def _end_waiting(self) -> None:
        if self._begun:
            detail = f"the head of the request did not arrive within {self._connections.request_s:g} s"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "slow", detail)
        else:
            self.transport.close()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _press(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stuck = self.loop.call_later(self._connections.sending_s, self._end_sending, left)

    def _end_sending(self, left: int) -> None:
        """Give up a client who took nothing; a large answer over a slow line may take longer."""
        if self.transport.get_write_buffer_size() < left:
            self._press()
        else:
            self.transport.abort()

    def _stop_pressing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _refuse(self, status: HTTPStatus, kind: str, detail: str) -> None:
        """Answer a problem and close the connection; nobody is told while another answer is being sent."""
        if self._is_answering():  # the body of its request broke off: whoever reads it learns that
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(problem_document(Problem(status, kind, f"{detail}; send it anew"))).encode()
            headers: list[tuple[Any, Any]] = [
                ("content-type", MEDIA_TYPE),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            answer = h11.Response(status_code=int(status), headers=headers, reason=status.phrase.encode())
            for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self._stop_waiting()
        self.transport.close()


def _openable(wanted: int) -> int:
    """Let this process open `wanted` files, or as many as the system allows; return how many."""
    try:
        import resource
    except ImportError:  # not on this system, which has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
    return possible

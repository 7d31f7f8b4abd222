"""A TCP proxy that makes connections slow, cuts them, leaves them half-open or resets them at random."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import urlsplit, urlunsplit

__all__ = ["Proxy"]

_CHUNK = 1 << 16
_NO_GOODBYE = struct.pack("ii", 1, 0)  # SO_LINGER: a closed socket sends a reset


class Proxy:
    """A proxy between clients and the server of a URL; a context manager.

    Parameters
    ----------
    url : str
        The URL of the server; `Proxy.url` is the same with the address of the proxy.
    seed : int
        The seed of random resets.

    Attributes
    ----------
    broken : int
        The number of connections that were reset, cut or made half-open so far.

    Notes
    -----
    The operating system still acknowledges the data that a half-open connection receives, like a load
    balancer whose server is gone. So TCP's own probes do not notice it.
    """

    def __init__(self, url: str, *, seed: int) -> None:
        self._target = urlsplit(url)
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._latency_s = self._reset_share = 0.0
        self._cut = False
        self.broken = 0

    @property
    def url(self) -> str:
        """The URL for clients that connect through the proxy."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        login = self._target.netloc.rpartition("@")[0]
        return urlunsplit(self._target._replace(netloc=f"{login}@127.0.0.1:{port}"))

    # ---- faults ------------------------------------------------------------------------------------

    def slow(self, seconds: float) -> None:
        """Delay all data by `seconds`, in both directions."""
        self._do(lambda: setattr(self, "_latency_s", seconds))

    def reset(self, share: float) -> None:
        """Reset a connection with probability `share` whenever data pass through it."""
        self._do(lambda: setattr(self, "_reset_share", share))

    def cut(self) -> None:
        """End all connections, and refuse new ones."""

        def act() -> None:
            self._cut = True
            for link in list(self._links):
                self._break(link)

        self._do(act)

    def half_open(self) -> None:
        """Discard all data that existing connections receive from now on; new connections work."""

        def act() -> None:
            for link in self._links:
                self.broken += not link.swallows
                link.swallows = True

        self._do(act)

    def heal(self) -> None:
        """End every fault; half-open connections stay half-open."""

        def act() -> None:
            self._latency_s = self._reset_share = 0.0
            self._cut = False

        self._do(act)

    # ---- connections -------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        try:
            host, port = self._target.hostname, self._target.port
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:  # the server is down
            writer.transport.abort()
            return
        link = _Link(writer, far_writer)
        self._links.add(link)
        try:
            await asyncio.gather(self._pump(link, reader, far_writer), self._pump(link, far_reader, writer))
        except asyncio.CancelledError:  # the proxy ends
            return
        finally:
            self._links.discard(link)
            link.abort()

    async def _pump(self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one direction of a connection until it ends."""
        due = 0.0
        with contextlib.suppress(ConnectionError):
            while True:
                data = await reader.read(_CHUNK)
                if link.swallows:
                    if not data:
                        return
                    continue
                if data and self._random.random() < self._reset_share:
                    self._break(link)
                    return
                now = self._loop.time()
                due = max(due + 1e-6, now + self._latency_s)  # data keep their order
                if due <= now + 1e-5:
                    link.send(writer, data)
                    await writer.drain()
                else:
                    self._loop.call_at(due, link.send, writer, data)
                if not data:
                    return

    def _break(self, link: _Link) -> None:
        self.broken += 1
        link.abort()

    # ---- life --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        assert self._server is not None
        self._server.close()
        for link in list(self._links):
            link.abort()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    def _do(self, act: Callable[[], None]) -> None:
        """Run `act` in the thread that serves, and wait until it is done."""

        async def turn() -> None:
            act()

        asyncio.run_coroutine_threadsafe(turn(), self._loop).result(10)


class _Link:
    """One connection of a client, with its connection to the server."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers
        self.swallows = False

    def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Pass on data; empty data mean the end of this direction."""
        if self.swallows or writer.transport.is_closing():
            return
        with contextlib.suppress(OSError):
            if data:
                writer.write(data)
            else:
                writer.write_eof()

    def abort(self) -> None:
        """End both halves at once, by a reset."""
        for writer in self._writers:
            if not writer.transport.is_closing():
                with contextlib.suppress(OSError):
                    sock = writer.transport.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_GOODBYE)
                writer.transport.abort()

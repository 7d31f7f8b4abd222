"""A real Redis server on a loopback port, with a password."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from tests.services.process import ServerProcess, find_program

__all__ = ["RedisServer"]


class RedisServer(ServerProcess):
    """A Redis server; by default it never evicts a key, as brokers require, and keeps nothing on disk.

    Parameters
    ----------
    home : Path, optional
        The working folder; a temporary one by default.
    appendonly : bool
        Whether every write goes to the append-only file (flushed every second), so that data survive `kill`.
    arguments : sequence of str
        Additional options as on the command line, such as ``["--maxmemory-policy", "allkeys-lru"]``; they
        replace the defaults. Port, address, folder and password cannot be changed.
    """

    name = "redis"
    start_deadline_s = 30.0

    def __init__(
        self, home: Path | None = None, *, appendonly: bool = False, arguments: Sequence[str] = ()
    ) -> None:
        super().__init__(home)
        self.password = secrets.token_hex(12)
        self._appendonly = appendonly
        self._arguments = tuple(arguments)

    @property
    def url(self) -> str:
        """The URL of database 0."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def version(self) -> str:
        """The version that the server reports."""
        with self.client() as client:
            return str(client.info("server")["redis_version"])

    def client(self):
        """Return a new client for this server; the caller closes it."""
        import redis

        return redis.Redis.from_url(self.url, decode_responses=True)

    def _prepare(self) -> None:
        self._program = find_program("redis-server", package="redis-server")
        config = self.home / "redis.conf"  # keeps the password out of the process list
        config.touch(mode=0o600)
        config.write_text(f"requirepass {self.password}\n")

    def _command(self) -> list[str]:
        return [
            str(self._program),
            str(self.home / "redis.conf"),
            *("--save", ""),
            *("--maxmemory-policy", "noeviction"),
            *("--appendonly", "yes" if self._appendonly else "no"),
            *self._arguments,
            *("--bind", "127.0.0.1"),
            *("--port", str(self.port)),
            *("--dir", str(self.home)),
            *("--daemonize", "no"),
        ]

    def _probe(self) -> None:
        with self.client() as client:
            client.ping()

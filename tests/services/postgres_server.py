"""A real PostgreSQL server on a loopback port, run by an ordinary user even when the tests run as root."""

from __future__ import annotations

import os
import pwd
import secrets
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tests.services.process import ServerProcess, ServiceMissingError, find_program, run_tool

__all__ = ["PostgresServer", "create_database", "drop_database"]

_USER = "grove"
_SCHEME = "postgresql+psycopg"

# Linguistic order reveals code that mistakes the order of the database for canonical (byte) order.
_INITDB_ARGUMENTS = (
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=icu",
    "--icu-locale=en-US",
    "--auth=scram-sha-256",
)


class PostgresServer(ServerProcess):
    """A PostgreSQL server with its own data folder and a superuser with a password.

    Parameters
    ----------
    home : Path, optional
        The folder for data and log; a temporary one by default. If the tests run as root, an ordinary user
        must have access to it, which is not the case for the temporary folders of pytest.
    settings : sequence of str
        Additional server settings, each as ``name=value``. Durability settings keep their defaults.
    initdb_arguments : sequence of str
        The encoding, collation and login rule of a new data folder.
    """

    name = "postgres"

    def __init__(
        self,
        home: Path | None = None,
        *,
        settings: Sequence[str] = (),
        initdb_arguments: Sequence[str] = _INITDB_ARGUMENTS,
    ) -> None:
        super().__init__(home)
        self.password = secrets.token_hex(12)
        self._settings = tuple(settings)
        self._initdb_arguments = tuple(initdb_arguments)
        self._user = _unprivileged_user() if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the maintenance database."""
        return f"{_SCHEME}://{_USER}:{self.password}@127.0.0.1:{self.port}/postgres"

    @property
    def version(self) -> str:
        """The version that the server reports."""
        with _connect(self.url) as connection:
            return str(connection.execute("SHOW server_version").fetchone()[0])

    def create_database(self) -> str:
        """Create an empty database with a new name, and return its URL."""
        return create_database(self.url)

    def _prepare(self) -> None:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_major, reverse=True)
        self._program = find_program("postgres", package="postgresql", folders=folders)
        initdb = find_program("initdb", package="postgresql", folders=[self._program.parent, *folders])
        data, password_file = self.home / "data", self.home / "password"
        if (data / "PG_VERSION").exists():
            self.password = password_file.read_text()
            return
        self.home.chmod(0o711)
        data.mkdir(mode=0o700)
        password_file.touch(mode=0o600)
        password_file.write_text(self.password)
        if self._user is not None:
            for path in (data, password_file):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        run_tool(
            [
                *(initdb, "-D", data, "-U", _USER, f"--pwfile={password_file}", "--no-sync"),
                *self._initdb_arguments,
            ],
            deadline_s=120,
            **self._popen_options(),
        )

    def _command(self) -> list[str]:
        ours = ("listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=")
        options = [part for setting in (*self._settings, *ours) for part in ("-c", setting)]
        return [str(self._program), "-D", str(self.home / "data"), *options]

    def _popen_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": self.home}
        if self._user is not None:
            options |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return options

    def _probe(self) -> None:
        with _connect(self.url) as connection:
            connection.execute("SELECT 1")

    def _stop_signal(self) -> signal.Signals:
        return (
            signal.SIGINT
        )  # "fast": roll back open transactions; SIGTERM would wait until every client leaves


def create_database(url: str) -> str:
    """Create an empty database on the server at `url`, and return the URL of the new database."""
    name = f"grove_test_{secrets.token_hex(8)}"
    with _connect(url) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def drop_database(url: str, *, server_url: str) -> None:
    """Drop the database at `url`, even if clients are connected; `server_url` is another database there."""
    name = urlsplit(url).path.removeprefix("/")
    with _connect(server_url) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _connect(url: str):
    import psycopg

    return psycopg.connect(
        url.replace(f"{_SCHEME}://", "postgresql://", 1), autocommit=True, connect_timeout=5
    )


def _unprivileged_user() -> pwd.struct_passwd:
    """Return a user that can run the server, because PostgreSQL refuses to run as root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServiceMissingError(
        "PostgreSQL does not run as root, and neither user 'postgres' nor 'nobody' exists"
    )


def _major(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else -1

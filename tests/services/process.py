"""Find, start, probe, kill, restart and stop server processes that belong to a test."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Self

import psutil

from tests.services.patience import patient

__all__ = [
    "ServerProcess",
    "ServiceError",
    "ServiceMissingError",
    "ServiceStartError",
    "announce",
    "find_program",
    "free_port",
    "run_tool",
    "wait_until",
]

_LOG_TAIL_LINES = 40
_GUARD_SCRIPT = 'read -r _; kill -s KILL -- "-$0"; [ -z "$1" ] || rm -rf -- "$1"'


class ServiceError(RuntimeError):
    """An error with a server that a test needs."""


class ServiceMissingError(ServiceError):
    """A program is not installed; the message names the program and says how to install it."""


class ServiceStartError(ServiceError):
    """A server died at its start or did not answer in time; the message ends with the server's log."""


def announce(what: str) -> None:
    """Print on stderr which slow step is running, so that it does not seem to hang."""
    print(what, file=sys.stderr, flush=True)


def wait_until(
    condition: Callable[[], bool], *, deadline_s: float, what: str, interval_s: float = 0.05
) -> None:
    """Return as soon as `condition()` is true; only this function of the package sleeps.

    The deadline is that of a machine of usual speed.

    Raises
    ------
    TimeoutError
        If the condition is still false after `patient(deadline_s)` seconds; the message names `what`.
    """
    limit_s = patient(deadline_s)
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit_s:g} s for {what}")
        time.sleep(interval_s)


def free_port() -> int:
    """Return a loopback TCP port that nothing listens on, below the range that the kernel gives to clients.

    Another process could take a port of the client range while its server is down. A client that keeps
    reconnecting could even receive this port as its own, and connect to itself.
    """
    try:
        first_client_port = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        first_client_port = 32768
    candidates = range(10_000, first_client_port) if first_client_port > 11_000 else range(20_000, 60_000)
    for _ in range(200):
        port = random.SystemRandom().choice(candidates)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise ServiceError(f"no free loopback port found in {candidates}")


def find_program(name: str, *, package: str, folders: Sequence[Path] = ()) -> Path:
    """Return the path of program `name`, from PATH or the given folders.

    Raises
    ------
    ServiceMissingError
        If the program is not found; the message names the Debian package with it.
    """
    path = shutil.which(name) or next((str(f / name) for f in folders if os.access(f / name, os.X_OK)), None)
    if path is None:
        raise ServiceMissingError(f"program {name!r} is not installed: apt-get install {package}")
    return Path(path)


def run_tool(command: Sequence[str | Path], *, deadline_s: float, **options: Any) -> str:
    """Run a helper program to its end, and return its output.

    Raises
    ------
    ServiceStartError
        If it fails or takes longer than `deadline_s` seconds; the message of a failure holds the end of its
        output.
    """
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patient(deadline_s),
            check=False,
            text=True,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceStartError(f"{command[0]} took longer than {deadline_s:g} s") from error
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-_LOG_TAIL_LINES:])
        raise ServiceStartError(f"{command[0]} exited with status {done.returncode}:\n{tail}")
    return done.stdout


class ServerProcess(ABC):
    """One server with its own home folder and loopback port.

    Parameters
    ----------
    home : Path, optional
        The folder for data, configuration and log. The default is a temporary folder, which `close` removes.

    Notes
    -----
    `kill` and `stop` keep the home, so `start` continues with the same data. `close` ends the server for
    good. If this interpreter dies without closing, a guard process kills the server and removes a temporary
    home.
    """

    name = "server"
    start_deadline_s = 60.0
    stop_deadline_s = 60.0

    def __init__(self, home: Path | None = None) -> None:
        self._temporary = home is None
        self.home = Path(tempfile.mkdtemp(prefix=f"labelgrove-{self.name}-")) if home is None else Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        self.log_path = self.home / f"{self.name}.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._prepared = False

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL for clients, with credentials."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The version that the running server reports."""

    @abstractmethod
    def _prepare(self) -> None:
        """Create the files that the first start needs; called once."""

    @abstractmethod
    def _command(self) -> list[str]:
        """Return the command line that runs the server in the foreground."""

    @abstractmethod
    def _probe(self) -> None:
        """Make one round trip to the server; any exception means that it is not ready yet."""

    def _popen_options(self) -> dict[str, Any]:
        return {}

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None or self._process.poll() is not None:
            raise ServiceError(f"{self.name} is not running: call start() first")
        return self._process.pid

    def start(self) -> None:
        """Start the server, also after `kill` or `stop`, and wait until it answers; no-op while it runs.

        Raises
        ------
        ServiceMissingError
            If a needed program is not installed.
        ServiceStartError
            If the server dies or does not answer in time.
        """
        if self.running:
            return
        if not self._prepared:
            self._prepare()
            self._prepared = True
        self._end_guard()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the tests, which stop the server
                **self._popen_options(),
            )
        self._guard = _start_guard(self._process.pid, self.home if self._temporary else None)
        try:
            wait_until(self._answers, deadline_s=self.start_deadline_s, what=f"{self.name} to answer")
        except TimeoutError as error:
            self.kill()
            raise ServiceStartError(f"{error}; end of its log:\n{self.log_tail()}") from error

    def kill(self) -> None:
        """End the server and its children by SIGKILL, and wait until all of them are gone."""
        if self._process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            server = psutil.Process(self._process.pid)
            server.suspend()  # so that it cannot start another child meanwhile
            family = [server, *server.children(recursive=True)]
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(family[1:], timeout=10)
        self._reap()

    def stop(self) -> None:
        """Ask the server to shut down cleanly, and wait until it has ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(self._stop_signal())
            try:
                self._process.wait(patient(self.stop_deadline_s))
            except subprocess.TimeoutExpired as error:
                self.kill()
                raise ServiceError(
                    f"{self.name} did not stop within {self.stop_deadline_s:g} s and was killed; "
                    f"end of its log:\n{self.log_tail()}"
                ) from error
        self._reap()

    def close(self) -> None:
        """End the server for good; kill it and remove a temporary home, or stop it and keep a given home."""
        if self._temporary:
            self.kill()
            shutil.rmtree(self.home, ignore_errors=True)
        else:
            self.stop()

    def log_tail(self, lines: int = _LOG_TAIL_LINES) -> str:
        """Return the last lines of the server's log."""
        try:
            return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return "(no log)"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop_signal(self) -> signal.Signals:
        return signal.SIGTERM

    def _answers(self) -> bool:
        if self._process is not None and (status := self._process.poll()) is not None:
            self._reap()
            raise ServiceStartError(
                f"{self.name} exited with status {status} while starting; end of its log:\n{self.log_tail()}"
            )
        try:
            self._probe()
        except Exception:  # each driver has other errors for "not ready"; the deadline ends the wait
            return False
        return True

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait(10)
            self._process = None
        self._end_guard()

    def _end_guard(self) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait(10)
            _close(self._guard.stdin)
            self._guard = None


def _start_guard(pid: int, temporary_home: Path | None) -> subprocess.Popen[bytes]:
    """Start a process that kills server `pid` when our end of its pipe closes, however this process ends."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD_SCRIPT, str(pid), str(temporary_home or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        stream.close()

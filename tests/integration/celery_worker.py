"""A real Celery worker in separate processes, for tests that talk to it and kill it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import psutil

from labelgrove.ontology.settings import Settings
from tests.services import wait_until

ROOT = Path(__file__).parents[2]


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment variables that give these settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GROVE_")}
    named = {
        "GROVE_HOME": str(settings.home),
        "GROVE_GRAPH_URL": settings.graph_url,
        "GROVE_DATABASE_URL": settings.database_url,
        "GROVE_ARTIFACTS_URL": settings.artifacts_url,
        "GROVE_BROKER_URL": settings.broker_url,
        "GROVE_CACHE_URL": settings.cache_url,
        "GROVE_KEEP_RESULTS": settings.keep_results,
        "GROVE_LOG_FORMAT": settings.log_format,
        "GROVE_METRICS_PORT": settings.metrics_port,
    }
    return kept | {name: str(value) for name, value in named.items() if value is not None}


class CeleryWorker:
    """One node: a main process and its children, in a separate process group."""

    def __init__(
        self,
        settings: Settings,
        log: Path,
        *,
        app: str = "tests.integration.slow_kind_app",
        slots: int = 1,
        options: Sequence[str] = (),
    ) -> None:
        self.log = log
        self._settings = settings
        self._command = [sys.executable, "-m", "celery", "-A", app, "worker", f"--concurrency={slots}"]
        self._command += ["--without-gossip", "--without-mingle", "--loglevel=INFO", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the node, and return once it accepts messages."""
        begin = len(self.text())
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=environment(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(
            lambda: " ready." in self.text()[begin:] or self._process.poll() is not None,
            deadline_s=60,
            what="the worker to be ready",
        )
        if self._process.poll() is not None:
            raise RuntimeError(f"the worker ended with status {self._process.returncode}:\n{self.text()}")

    def text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def children(self) -> list[int]:
        return [child.pid for child in psutil.Process(self.pid).children()]

    def kill(self) -> None:
        """End the whole node by SIGKILL, like a power cut."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
            self._process = None

    def stop(self) -> int:
        """Ask the node to end, and return its exit status."""
        self._process.terminate()
        status = self._process.wait(60)
        self._process = None
        return status

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

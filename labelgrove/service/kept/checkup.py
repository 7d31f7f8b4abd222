"""Run ``grove doctor`` in the background now and then, and keep what it noted.

It runs as a process of its own, because it may wait for a server that does not answer, and because it opens
the graph, which nothing else here does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

from labelgrove.ontology.settings import Settings

__all__ = ["Checkup"]

_EVERY_S = 300.0
_LONGEST_S = 120.0
_OPTIONAL = ("wordnet",)
"""Parts without which nothing is wrong with a service."""


class Checkup:
    """What ``grove doctor`` said last about a deployment; safe to use from several threads.

    Parameters
    ----------
    settings : Settings
    every_s : float, default=300
        Seconds after which it is asked again, once somebody wants to know.
    """

    def __init__(self, settings: Settings, *, every_s: float = _EVERY_S) -> None:
        self._settings, self._every_s = settings, every_s
        self._notes: list[dict[str, Any]] | None = None
        self._ended = -float("inf")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def notes(self) -> list[dict[str, Any]] | None:
        """Return the parts that are wrong or could be better; None before the first answer. Never waits.

        Each has ``part``, ``ok`` (False, or None for what could be better), ``uses`` and ``detail``, which
        names the fix.
        """
        with self._lock:
            due = self._process is None and time.monotonic() - self._ended >= self._every_s
            if due and not self._closed:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "labelgrove", "doctor", "--json"],
                    env=_environment(self._settings),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                threading.Thread(target=self._wait, args=(self._process,), daemon=True).start()
            return self._notes

    def close(self) -> None:
        """End a run that goes on."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            output, _ = process.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            output = b""
        with self._lock:
            self._process, self._ended = None, time.monotonic()
            self._notes = _noted(output)


def _noted(output: bytes) -> list[dict[str, Any]]:
    try:
        parts = json.loads(output)["parts"]
    except ValueError:
        detail = "it gave no answer; run it yourself to see why: grove doctor"
        return [{"part": "doctor", "ok": False, "uses": "grove doctor", "detail": detail}]
    return [part for part in parts if part["ok"] is not True and part["part"] not in _OPTIONAL]


def _environment(settings: Settings) -> dict[str, str]:
    """Return the environment of this process, in which the parts are those of `settings`."""
    given = {
        "GROVE_HOME": str(settings.home),
        "GROVE_GRAPH_URL": settings.graph_url,
        "GROVE_DATABASE_URL": settings.database_url,
        "GROVE_ARTIFACTS_URL": settings.artifacts_url,
        "GROVE_BROKER_URL": settings.broker_url,
        "GROVE_CACHE_URL": settings.cache_url,
    }
    kept = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in given}
    return kept | {name: value for name, value in given.items() if value is not None}

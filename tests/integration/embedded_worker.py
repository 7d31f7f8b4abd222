"""A real `grove worker` without a broker, in a separate process that knows the kinds of the tests.

The process runs ``python -m tests.integration.embedded_worker``.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from labelgrove.ontology.settings import Settings
from tests.integration.celery_worker import ROOT, environment
from tests.services import wait_until


class EmbeddedWorker:
    """A `grove worker` with given settings, which is ended by SIGKILL unless it was stopped before."""

    def __init__(self, settings: Settings, log: Path, *options: str) -> None:
        self._settings, self._log, self._options = settings, log, options
        self._process: subprocess.Popen[bytes] | None = None

    def text(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def wait_for(self, text: str, *, deadline_s: float = 60) -> None:
        """Return once the worker has logged `text`; fail if it ends before."""
        wait_until(lambda: text in self.text() or not self.running, deadline_s=deadline_s, what=repr(text))
        assert text in self.text(), self.text()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the worker to end, and return its exit status."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(30)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(60)

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.embedded_worker", "worker", *self._options],
                cwd=ROOT,
                env=environment(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)


if __name__ == "__main__":
    from labelgrove.__main__ import main
    from labelgrove.workers.kinds import register
    from tests.integration.workers_support import GATED, PARTS, SLEEPING

    for kind in (GATED, PARTS, SLEEPING):
        register(kind)
    main()

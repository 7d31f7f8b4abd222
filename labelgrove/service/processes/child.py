"""Run a worker beside the service: ``python -m`` this module ends when its parent does."""

from __future__ import annotations

import os
import signal
import threading
import time

__all__ = ["end_with_parent"]

_SIGNALS, _PATIENCE_S = 3, 5.0
"""Number of signals to end, and the seconds between them; units need less to be given back."""


def end_with_parent() -> None:
    """Stop this process as soon as its stdin is closed, which happens even if its parent is killed."""

    def watch() -> None:
        while os.read(0, 1):  # not through sys.stdin, whose lock would be held when the interpreter ends
            pass
        for _ in range(_SIGNALS):  # one that interrupts a database driver gets lost
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_PATIENCE_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _main() -> None:
    from labelgrove.ontology.errors import GroveError
    from labelgrove.ontology.settings import Settings, masked
    from labelgrove.workers.worker import run_worker

    end_with_parent()
    try:
        run_worker(Settings.from_env(), log_level="WARNING")
    except GroveError as error:
        raise SystemExit(f"worker: {masked(str(error))}") from error


if __name__ == "__main__":
    _main()

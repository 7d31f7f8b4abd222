"""A pseudo-terminal for tests."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence


def sent_to_terminal(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, errors: bool = True
) -> str:
    """Run a command on a terminal and return its output, including that on stderr if `errors` is set."""
    own, terminal = pty.openpty()
    stderr = terminal if errors else subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=stderr, env=env):
        os.close(terminal)
        sent = b""
        while True:
            try:
                part = os.read(own, 65536)
            except OSError:  # Linux reports the end as an error
                part = b""
            if not part:
                break
            sent += part
    os.close(own)
    return sent.decode()

"""What a refusal may cost, held by the system: a second of processor time, 200 MB of address space."""

import contextlib
import os
import resource
import signal
from pathlib import Path

import pytest

MOST_SECONDS, MOST_BYTES = 1.0, 200_000_000


@contextlib.contextmanager
def limited(most_seconds=MOST_SECONDS):
    """Stop what works for more than `most_seconds`, and let it map at most `MOST_BYTES` more than before.

    Processor time is counted, so that a busy machine changes nothing.
    """

    def too_long(*_):
        raise TimeoutError(f"worked for more than {most_seconds} s")

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + MOST_BYTES, hard))
    signal.setitimer(signal.ITIMER_PROF, most_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def refused(call, error, match):
    """Check the type, the words, the time and the memory of a refusal."""
    with pytest.raises(error, match=f"(?is){match}"), limited():
        call()

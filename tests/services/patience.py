"""How long tests wait for what a slow machine does later."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["measured_scale", "patient"]

_SCALE = "GROVE_TEST_TIME_SCALE"
_LOOP = "import timeit; print(timeit.timeit(number=100_000_000))"
_USUAL_S = 1.2
"""Seconds that `_LOOP` takes on each of two busy cores of a machine of usual speed."""


def patient(seconds: float) -> float:
    """Return the time to wait for what takes less than `seconds` on a machine of usual speed.

    `GROVE_TEST_TIME_SCALE` says how many times slower this machine is; `measured_scale` measures it. Limits
    that keep a test from waiting for ever, and limits of waits that must not happen, go through this
    function. Where a limit tells a wait that must not happen, the time of that wait goes through it too.
    """
    return seconds * max(1.0, float(os.environ.get(_SCALE, "1")))


def measured_scale() -> float:
    """Measure, in seconds, how many times slower than usual this machine is when two cores are busy."""
    running = [subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE) for _ in range(2)]
    slowest_s = max(float(one.communicate()[0]) for one in running)
    return round(max(1.0, slowest_s / _USUAL_S), 1)

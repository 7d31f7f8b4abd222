"""How long tests wait for what a busy or slow machine does later."""

from __future__ import annotations

import os

__all__ = ["patient"]

_SCALE = "GROVE_TEST_TIME_SCALE"


def patient(seconds: float) -> float:
    """Return the time to wait for what takes less than `seconds` on a machine of usual speed.

    `GROVE_TEST_TIME_SCALE` says how many times slower this machine is. Limits that keep a test from waiting
    for ever, and those that tell a wait that must not happen, go through this function; times that the code
    under test was given do not.
    """
    return seconds * max(1.0, float(os.environ.get(_SCALE, "1")))

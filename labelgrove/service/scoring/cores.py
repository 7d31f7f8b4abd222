"""Tell how many cores this process may use, which in a container are fewer than the machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["usable_cores"]


def usable_cores(system: Path = Path("/")) -> int:
    """Return how many threads of this process can run at once, at least 1.

    It is the number of cores of the machine, or of those that the process is bound to (``taskset``, cpusets),
    or what the tightest quota of its control groups (version 2) leaves, rounded up; the least of them.

    Parameters
    ----------
    system : Path
        The folder that has ``proc`` and ``sys``.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *_quotas(system)]))


def _quotas(system: Path) -> list[int]:
    """Return the quotas in cores of the control group of this process and of those around it."""
    try:
        groups = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return []
    quotas = []
    for group in groups:
        if not group.startswith("0::/"):  # of version 1
            continue
        inner = Path(group.removeprefix("0::/"))
        for folder in (inner, *inner.parents):
            try:
                quota, period = (system / "sys/fs/cgroup" / folder / "cpu.max").read_text().split()
            except (OSError, ValueError):  # the outermost group has no quota
                continue
            if quota != "max":
                quotas.append(math.ceil(int(quota) / int(period)))
    return quotas

"""What the benchmarks share: the clock, one thread, and the head of every document."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

T = TypeVar("T")


def one_thread() -> None:
    """Keep the numerical libraries on one thread, those loaded already and those loaded later."""
    threadpool_limits(1)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Processor time of each of `repeats` calls; one thread works, so a quiet machine shows the same."""
    taken = []
    for _ in range(repeats):
        begin = time.thread_time()
        work()
        taken.append(time.thread_time() - begin)
    return taken


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor time of one call, and its answer."""
    begin = time.thread_time()
    answer = work()
    return time.thread_time() - begin, answer


def processor() -> str:
    """Model name of the processor, where the system tells."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def print_document(benchmark: str, seed: int | list[int], **fields: Any) -> None:
    """Print what was measured, and on what, as one JSON document."""
    pools = threadpool_info()
    document = {
        "benchmark": benchmark,
        "seed": seed,
        "processor": processor(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "threads": max((pool["num_threads"] for pool in pools), default=1),
        "blas": [
            "{internal_api} {version} {architecture}".format_map(pool)
            for pool in pools
            if pool["user_api"] == "blas"
        ],
        "blas_kernels_pinned_to": os.environ.get("OPENBLAS_CORETYPE"),
    }
    json.dump(document | fields, sys.stdout, indent=2)
    print()

"""Kinds of jobs: `workers.kinds.kind` says what a kind consists of, and `workers.kinds.registry` finds kinds.

Packages list their kinds in the entry-point group ``labelgrove.job_kinds``, so that any installed package can
add a kind without a change here. A kind's version rises whenever the bytes of its results may change. The
built-in kinds are in this package, each in its own module or folder.
"""

from __future__ import annotations

from labelgrove.workers.kinds.kind import (
    DEFAULT_QUEUE,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Naming,
    Product,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.registry import find_kind, kind_named, known_kinds, queue_names, register

__all__ = [
    "DEFAULT_QUEUE",
    "Description",
    "Estimate",
    "JobKind",
    "JobResult",
    "Naming",
    "Product",
    "Step",
    "Subject",
    "Work",
    "find_kind",
    "kind_named",
    "known_kinds",
    "queue_names",
    "register",
]

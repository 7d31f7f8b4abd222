"""The registry of the kinds of jobs that this process knows."""

from __future__ import annotations

import importlib.metadata
from functools import cache

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds.kind import DEFAULT_QUEUE, JobKind

__all__ = ["find_kind", "kind_named", "known_kinds", "queue_names", "register"]

_GROUP = "labelgrove.job_kinds"


@cache
def _registry() -> dict[str, JobKind]:
    kinds: dict[str, JobKind] = {}
    for entry in importlib.metadata.entry_points(group=_GROUP):
        _add(kinds, entry.load(), f"{entry.name} = {entry.value}")
    return kinds


def _add(kinds: dict[str, JobKind], kind: JobKind, source: str) -> None:
    if not isinstance(kind, JobKind):
        raise InputError(
            f"job kind {source}: is a {type(kind).__name__}; give a labelgrove.workers.kinds.JobKind"
        )
    if kinds.setdefault(kind.name, kind) is not kind:
        raise InputError(f"job kind {source}: the name {kind.name!r} is taken; names of kinds are unique")


def register(kind: JobKind) -> None:
    """Make another kind known in this process; raise `InputError` if a known kind has the same name."""
    _add(_registry(), kind, f"{kind!r:.100}")


def known_kinds() -> tuple[JobKind, ...]:
    """Return every known kind, sorted by name."""
    return tuple(kind for _, kind in sorted(_registry().items()))


def queue_names() -> list[str]:
    """Return the names of the queues of all known kinds and of the default queue, sorted."""
    return sorted({DEFAULT_QUEUE} | {kind.queue for kind in known_kinds()})


def find_kind(name: str, version: int | None = None) -> JobKind | None:
    """Return the kind called `name`, or None.

    None means that this process knows no such kind, or knows it in a version other than `version`.
    """
    kind = _registry().get(name)
    return kind if kind is not None and version in (None, kind.version) else None


def kind_named(name: str) -> JobKind:
    """Return the kind called `name`; if it is unknown, raise an `InputError` that lists the known kinds."""
    found = find_kind(name)
    if found is None:
        known = ", ".join(known.name for known in known_kinds())
        raise InputError(f"job kind {name!r} is not known here; known kinds: {known}")
    return found

"""Warn about a cache that does not work, once for each cache and process.

A fault of a cache is never an error, because the store has everything that a cache has.
"""

from __future__ import annotations

import logging

from labelgrove.ontology.settings import masked

__all__ = ["warn_once"]

_log = logging.getLogger(__name__)

_warned: dict[str, object] = {}


def warn_once(place: str, trouble: str) -> None:
    """Log a warning about the cache at `place`, unless this process has logged one about it before."""
    mine = object()
    if _warned.setdefault(place, mine) is not mine:  # setdefault is atomic: one thread warns
        return
    _log.warning(
        "cache %s: %s (logged only once; what the cache cannot give is read from the store)",
        place,
        masked(trouble),
    )

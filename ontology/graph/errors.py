"""The error of a graph that no longer is what it was written as."""

from __future__ import annotations

from labelgrove.ontology.errors import GroveError

__all__ = ["GraphDamagedError"]


class GraphDamagedError(GroveError):
    """A graph file or version that cannot be used as it is; `grove graph rebuild` makes it again."""

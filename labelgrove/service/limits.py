"""Limits of the service; ``GET /about`` shows them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """What one request, and one client, may use.

    Attributes
    ----------
    body_bytes, upload_bytes : int
        Largest body of a request, and of an upload of a hierarchy.
    uploads : int
        Most uploads that one process of the service reads at once.
    upload_s : float
        Longest time for reading an upload.
    requests_per_second : int
        Most requests of one client in a second; 0 for no limit.
    open_versions : int
        Most versions that are kept open; the one used least recently is closed first.
    cypher_s, cypher_rows : float, int
        Longest time and most rows of a query.
    """

    body_bytes: int = 1 << 20
    upload_bytes: int = 1 << 30
    uploads: int = 2
    upload_s: float = 900.0
    requests_per_second: int = 200
    open_versions: int = 8
    cypher_s: float = 30.0
    cypher_rows: int = 1_000

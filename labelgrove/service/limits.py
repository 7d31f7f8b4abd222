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
    score_bytes, score_values : int
        Largest body of a request for scores, and most numbers in it.
    scores_waiting : int
        Most requests for scores that wait in one process of the service.
    body_s : float
        Longest time in which the body of a request for scores arrives.
    open_bundles : int
        Most bundles that are kept open for scoring.
    watchers : int
        Most clients that watch jobs in one process of the service.
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
    score_bytes: int = 64 << 20
    score_values: int = 50_000_000
    scores_waiting: int = 16
    body_s: float = 30.0
    open_bundles: int = 8
    watchers: int = 200
    requests_per_second: int = 200
    open_versions: int = 8
    cypher_s: float = 30.0
    cypher_rows: int = 1_000

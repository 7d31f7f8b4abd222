"""Limits of the service; ``GET /about`` shows them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_ANSWERS", "Limits", "too_many_answers"]

MOST_ANSWERS = 1_000
"""Most answers, or classes, that a client may ask for each row."""


@dataclass(frozen=True)
class Limits:
    """What one request, and one client, may use.

    Attributes
    ----------
    body_bytes, upload_bytes : int
        Largest body of a request, and of an upload of a hierarchy.
    bodies_bytes : int
        Most bytes of bodies, except uploads and requests for scores, that one process holds at once.
    uploads : int
        Most uploads that one process of the service reads at once.
    upload_s : float
        Longest time in which an upload arrives, and for reading it.
    score_bytes, score_values, score_answers : int
        Largest body of a request for scores, most numbers in it, and most answers to it.
    scores_waiting : int
        Most requests for scores that wait in one process of the service.
    connections : int
        Most connections of one process of the service; those that wait for a request make room for new ones.
    head_bytes : int
        Largest head of a request: its first line, with the query, and its headers.
    request_s, body_s, sending_s : float
        Longest time in which the head of a request arrives, and its body (an upload has `upload_s`), and for
        which a client takes nothing of an answer.
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
    bodies_bytes: int = 256 << 20
    upload_bytes: int = 1 << 30
    uploads: int = 2
    upload_s: float = 900.0
    score_bytes: int = 64 << 20
    score_values: int = 50_000_000
    score_answers: int = 1_000_000
    scores_waiting: int = 16
    connections: int = 4_096
    head_bytes: int = 128 << 10
    request_s: float = 15.0
    body_s: float = 30.0
    sending_s: float = 60.0
    open_bundles: int = 8
    watchers: int = 200
    requests_per_second: int = 200
    open_versions: int = 8
    cypher_s: float = 30.0
    cypher_rows: int = 1_000


def too_many_answers(most: int) -> str:
    """Return what is told to a client who wants more answers than `score_answers`."""
    return f"rows: more than {most:,} answers wanted; ask for fewer to a row, or send fewer rows at a time"

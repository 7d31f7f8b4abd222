"""The scopes of the HTTP service: what a token, a session or a user behind a proxy may do."""

from __future__ import annotations

from collections.abc import Iterable

from labelgrove.ontology.errors import InputError

__all__ = ["SCOPES", "check_scopes"]

SCOPES = ("read", "score", "work", "query", "admin")
"""Each scope allows one kind of request, and none includes another.

``read`` allows to browse ontologies, jobs and results, ``score`` to score with bundles, ``work`` to submit,
cancel and retry jobs, ``query`` to query the graph, and ``admin`` to change ontologies.
"""


def check_scopes(given: Iterable[str]) -> tuple[str, ...]:
    """Return scopes in the order of `SCOPES`, each once.

    Raises
    ------
    InputError
        If there is none, or for an unknown one.

    Examples
    --------
    >>> check_scopes(["score", "read", "read"])
    ('read', 'score')
    """
    named = {word.strip() for word in given}
    unknown = sorted(named.difference(SCOPES))
    if unknown or not named:
        told = f"{unknown[0]!r:.80} given" if unknown else "none given"
        raise InputError(f"scopes: {told}; give one or more of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in named)

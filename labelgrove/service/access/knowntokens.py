"""Look tokens up, and go on to trust those that were live a short while ago while the database is away.

So a model server goes on to get its scores while the database restarts. As long as the database answers, it
is asked every time, and a token that was revoked is refused at once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import ServiceError

if TYPE_CHECKING:
    from labelgrove.ontology.sql.tokens import Token, Tokens
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["KnownTokens"]

_TRUSTED_S = 300.0
"""Seconds for which a live token is trusted without the database."""

_AWAY_S = 1.0
"""Seconds for which a database that could not be reached is not asked about a trusted token."""

_MOST_KEPT = 10_000


class KnownTokens:
    """The tokens in the database of a workspace; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._live: OrderedDict[str, tuple[float, Token]] = OrderedDict()
        self._lock = threading.Lock()
        self._away_until = 0.0

    def of_secret(self, text: str) -> Token | None:
        """Return what is recorded about a token, live or not; None for a token that was never created.

        Raises
        ------
        ServiceError
            If the database cannot be reached, and the token is not trusted.
        """
        from labelgrove.ontology.sql.tokens import digest_of

        return self.of_digest(digest_of(text))

    def of_digest(self, digest: str) -> Token | None:
        """Return the token with a digest, as `of_secret` does."""
        trusted = self._trusted(digest)
        if trusted is not None and time.monotonic() < self._away_until:
            return trusted
        try:
            found = self._tokens().of_digest(digest)
        except ServiceError:
            self._away_until = time.monotonic() + _AWAY_S
            if trusted is None:
                raise
            return trusted
        with self._lock:
            self._live.pop(digest, None)
            if found is not None and found.live:
                self._live[digest] = (time.monotonic(), found)
                while len(self._live) > _MOST_KEPT:
                    self._live.popitem(last=False)
        return found

    def used(self, token: Token) -> None:
        """Record that a token is in use."""
        self._tokens().used(token)

    def _trusted(self, digest: str) -> Token | None:
        """Return a token that was live within the last minutes; it may have expired since."""
        with self._lock:
            asked, token = self._live.get(digest, (0.0, None))
        if token is None or time.monotonic() - asked > _TRUSTED_S:
            return None
        return replace(token, live=token.expires_at is None or time.time() < token.expires_at)

    def _tokens(self) -> Tokens:
        from labelgrove.ontology.sql.tokens import Tokens

        return Tokens(self._workspace.engine)

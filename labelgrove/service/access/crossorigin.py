"""Let pages of named other origins read a few answers; browsers refuse them everything else (CORS)."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import Scope

__all__ = ["CrossOrigin"]

_ENDING = "/label-studio"
_KEPT_S = 600


class CrossOrigin:
    """Says which answers pages of other origins may read.

    Only what the frontend of Label Studio loads is meant for them. Cookies are not: a page of another origin
    may do what a token allows that it sends, or else what everybody may.

    Parameters
    ----------
    origins : collection of str
        As browsers send them, such as ``https://labels.example.org``; none by default.
    """

    def __init__(self, origins: Collection[str] = ()) -> None:
        self._origins = frozenset(origins)

    def headers(self, scope: Scope, sent: Headers) -> dict[str, str]:
        """Return the headers of any answer to a request that sent these headers."""
        if not (self._origins and scope["path"].endswith(_ENDING)):
            return {}
        varying = {"vary": "Origin"}  # also without an origin: a cache must not answer others with that
        if sent.get("origin") not in self._origins:
            return varying
        return varying | {
            "access-control-allow-origin": sent["origin"],
            "cross-origin-resource-policy": "cross-origin",
        }

    def preflight(self, scope: Scope, sent: Headers) -> dict[str, str] | None:
        """Return the headers of the answer to a browser that asks first whether it may; None for others."""
        allowed = self.headers(scope, sent)
        asks = scope["method"] == "OPTIONS" and "access-control-request-method" in sent
        if not asks or "access-control-allow-origin" not in allowed:
            return None
        return allowed | {
            "access-control-allow-methods": "GET",
            "access-control-allow-headers": "Authorization",
            "access-control-max-age": str(_KEPT_S),
        }

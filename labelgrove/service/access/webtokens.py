"""Read JSON web tokens (RFC 7519) of one issuer: check signature, issuer, audience and times.

Only signatures with a private and a public key are accepted. With a shared secret, or without a key, whoever
knows the public key could sign.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import MissingExtraError, ServiceError
from labelgrove.ontology.settings import Settings, masked

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

__all__ = ["RefusedError", "WebTokens"]

_ALGORITHMS = (
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
    "PS256",
    "PS384",
    "PS512",
    "RS256",
    "RS384",
    "RS512",
)
_LEEWAY_S = 30
_KEPT_S = 600.0
"""Seconds for which the keys of the issuer are kept."""

_PAUSE_S = 30.0
"""Seconds between two requests for the keys, whatever keys tokens name."""

_TIMEOUT_S = 5.0
_MOST_BYTES = 1 << 20
_LONGEST_TOKEN = 16_384
_LONGEST_SUBJECT = 200


class RefusedError(Exception):
    """A token that is not accepted; the message says why, and shows nothing of it."""


class WebTokens:
    """Reads the tokens of the issuer in the settings; safe to use from several threads.

    Parameters
    ----------
    settings : Settings
        Its entries ``serve_jwt_...`` are set.
    """

    def __init__(self, settings: Settings) -> None:
        try:
            import joserfc  # noqa: F401
        except ImportError as error:
            raise MissingExtraError.of("joserfc", "oidc", "JSON web tokens") from error
        self._settings = settings
        self._scopes = dict(settings.serve_jwt_scopes)
        self._source = settings.serve_jwt_keys or ""
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._read_at = -_KEPT_S

    @classmethod
    def of(cls, settings: Settings) -> WebTokens | None:
        """Return the reader of the settings; None if they name no issuer."""
        return None if settings.serve_jwt_issuer is None else cls(settings)

    def read(self, text: str) -> tuple[str, frozenset[str]]:
        """Return the subject of a token and the scopes that its claim allows.

        Raises
        ------
        RefusedError
            For a token that is malformed, not signed by the issuer, for another audience, or expired.
        """
        from joserfc import jwt
        from joserfc.errors import JoseError

        if len(text) > _LONGEST_TOKEN or text.count(".") != 2:
            raise RefusedError("the token is unknown")
        required = {
            "iss": {"essential": True, "value": self._settings.serve_jwt_issuer},
            "aud": {"essential": True, "value": self._settings.serve_jwt_audience},
            "exp": {"essential": True},
            "sub": {"essential": True},
        }
        try:
            token = self._decoded(text)
            jwt.JWTClaimsRegistry(leeway=_LEEWAY_S, **required).validate(token.claims)  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError) as error:
            code = getattr(error, "error", "malformed")
            raise RefusedError(f"the web token is refused ({code})") from None
        subject = token.claims["sub"]
        if not isinstance(subject, str) or not subject.isprintable() or len(subject) > _LONGEST_SUBJECT:
            raise RefusedError("the web token is refused (its subject is not a name)")
        return subject, self._allowed(token.claims.get(self._settings.serve_jwt_claim))

    def _allowed(self, value: Any) -> frozenset[str]:
        words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
        return frozenset(
            scope for word in words if isinstance(word, str) for scope in self._scopes.get(word, ())
        )

    def _decoded(self, text: str) -> Any:
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError

        try:
            return jwt.decode(text, self._issuer_keys(_KEPT_S), algorithms=_ALGORITHMS)
        except InvalidKeyIdError:  # the issuer may have a new key
            return jwt.decode(text, self._issuer_keys(_PAUSE_S), algorithms=_ALGORITHMS)

    def _issuer_keys(self, oldest_s: float) -> KeySet:
        """Return the keys, read again if that was longer ago than `oldest_s` seconds."""
        with self._lock:
            if self._keys is None or time.monotonic() - self._read_at > oldest_s:
                self._read_at = time.monotonic()
                try:
                    self._keys = self._read_keys()
                except ServiceError:
                    if self._keys is None:
                        self._read_at = -_KEPT_S
                        raise
            return self._keys

    def _read_keys(self) -> KeySet:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            if "://" in self._source:
                with urllib.request.urlopen(self._source, timeout=_TIMEOUT_S) as answer:
                    content = answer.read(_MOST_BYTES)
            else:
                content = Path(self._source).read_bytes()
        except OSError as error:
            raise ServiceError(
                f"GROVE_SERVE_JWT_KEYS: cannot read {masked(self._source)!r} ({error}); check the address"
            ) from error
        try:
            return KeySet.import_key_set(json.loads(content))
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise ServiceError(
                f"GROVE_SERVE_JWT_KEYS: {masked(self._source)!r} has no keys (JWKS); give the `jwks_uri` of "
                "the issuer, or a file with the same content"
            ) from error

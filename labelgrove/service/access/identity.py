"""Who sends a request, and what they may do: one `Actor` for each request, and one check for each route.

An actor comes from a token or session, from the header of a trusted proxy, or from a JSON web token. Requests
without any of these are anonymous: on a service that only its own machine reaches, they may read, score and
query; elsewhere they may do nothing.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import logging
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.scopes import SCOPES
from labelgrove.ontology.settings import TOKEN_PREFIX, Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.knowntokens import KnownTokens
from labelgrove.service.access.sessions import COOKIE, OWNER, Sessions
from labelgrove.service.access.webtokens import RefusedError, WebTokens
from labelgrove.service.problems import Problem

if TYPE_CHECKING:
    from labelgrove.ontology.sql.tokens import Token

__all__ = ["ANONYMOUS", "Actor", "Identity", "actor_of", "needs", "require"]

logger = logging.getLogger(__name__)

ANONYMOUS = "anonymous"

_FREE = frozenset(("read", "score", "query"))
"""What everybody on the machine may do if only this machine reaches the service."""

_LONGEST_USER = 200
_USED_S = 60.0


@dataclass(frozen=True)
class Actor:
    """Who sends a request.

    Attributes
    ----------
    name : str
        ``token:NAME``, ``proxy:USER``, ``jwt:SUBJECT``, ``owner`` or ``anonymous``.
    scopes : frozenset of str
        See `ontology.scopes.SCOPES`.
    ontologies : frozenset of str or None
        The only ontologies that they may see; None for all.
    known : bool
        Whether they showed who they are.
    refused : str
        Why the token that they sent is refused; empty otherwise.
    """

    name: str
    scopes: frozenset[str] = frozenset()
    ontologies: frozenset[str] | None = None
    known: bool = True
    refused: str = ""

    @property
    def manages(self) -> bool:
        """Whether they may see what concerns the whole home, such as the names of its folders."""
        return "admin" in self.scopes and self.ontologies is None


_THE_OWNER = Actor(OWNER, frozenset(SCOPES))


class Identity:
    """Finds out who sends a request; safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
        Its database has the tokens, and its home the keys of sessions.
    local : bool
        Whether only this machine reaches the service, so that anonymous requests may read.

    Attributes
    ----------
    sessions : Sessions
    """

    def __init__(self, workspace: Workspace, *, local: bool) -> None:
        self._local = local
        settings: Settings = workspace.settings
        self.sessions = Sessions(settings.home)
        self._header = (settings.serve_proxy_header or "").lower()
        self._peers = [ipaddress.ip_network(one) for one in settings.serve_proxy_peers]
        self._proxied = frozenset(settings.serve_proxy_scopes)
        self._web_tokens = WebTokens.of(settings)
        self._tokens = KnownTokens(workspace)
        self._used: dict[str, float] = {}

    def who(self, headers: Headers, peer: str) -> Actor:
        """Return who sends a request with these headers from the address `peer`.

        Raises
        ------
        Problem
            For a header of the proxy that does not come from it, or that names nobody (status 400).
        """
        user = self._proxied_user(headers, peer)
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._bearer(text.strip())
        if (token := _password(scheme, text)).startswith(TOKEN_PREFIX):
            return self._of_token(self._tokens.of_secret(token))
        if user is not None:
            return Actor(f"proxy:{user}", self._proxied)
        cookies = cookie_parser(headers.get("cookie", ""))
        return (self._of_session(cookies[COOKIE]) if COOKIE in cookies else None) or self._anonymous()

    def asks_nothing(self, headers: Headers) -> bool:
        """Return whether nothing has to be looked up to know who sends a request with these headers."""
        return "authorization" not in headers and "cookie" not in headers

    def sign_in(self, token: str) -> tuple[str, Actor] | None:
        """Return a new session for a live token, and whose it is; None for any other text."""
        found = self._tokens.of_secret(token)
        if found is None or not found.live:
            return None
        return self.sessions.begin(found.digest), self._of_token(found)

    def enter(self, code: str) -> tuple[str, Actor] | None:
        """Return a new session for the code of a link, and whose it is; None for any other text."""
        session = self.sessions.use(code)
        return None if session is None else (session, _THE_OWNER)

    def _anonymous(self, refused: str = "") -> Actor:
        allowed = _FREE if self._local and not refused else frozenset[str]()
        return Actor(ANONYMOUS, allowed, known=False, refused=refused)

    def _bearer(self, text: str) -> Actor:
        if text.startswith(TOKEN_PREFIX):
            return self._of_token(self._tokens.of_secret(text))
        if (actor := self._of_session(text)) is not None:
            return actor
        if self._web_tokens is None:
            return self._anonymous("the token is unknown")
        try:
            subject, scopes = self._web_tokens.read(text)
        except RefusedError as error:
            return self._anonymous(str(error))
        return Actor(f"jwt:{subject}", scopes)

    def _of_session(self, session: str) -> Actor | None:
        subject = self.sessions.subject(session)
        if subject is None:
            return None
        if subject == OWNER:
            return _THE_OWNER
        actor = self._of_token(self._tokens.of_digest(subject))
        return actor if actor.known else None

    def _of_token(self, token: Token | None) -> Actor:
        if token is None:
            return self._anonymous("the token is unknown")
        if not token.live:
            return self._anonymous(
                "the token has expired" if token.revoked_at is None else "the token was revoked"
            )
        self._record_use(token)
        seen = None if token.ontologies is None else frozenset(token.ontologies)
        return Actor(f"token:{token.name}", frozenset(token.scopes), seen)

    def _record_use(self, token: Token) -> None:
        """Record the use of a token, at most once a minute.

        A database that can only be read does not refuse its readers for this.
        """
        if time.monotonic() - self._used.get(token.name, -_USED_S) < _USED_S:
            return
        self._used[token.name] = time.monotonic()
        try:
            self._tokens.used(token)
        except GroveError as error:
            logger.warning("the use of token %s was not recorded: %s", token.name, error)

    def _proxied_user(self, headers: Headers, peer: str) -> str | None:
        """Return the user whom a trusted proxy names; None if it names nobody."""
        given = headers.getlist(self._header) if self._header else []
        if not given:
            return None
        if not self._trusts(peer):
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                "proxy",
                f"the header {self._header} comes from {peer}, which is not a trusted proxy; leave it out, "
                "or add the address of the proxy to GROVE_SERVE_PROXY_PEERS",
            )
        user = given[0].strip()
        if len(given) > 1 or not user.isprintable() or not 0 < len(user) <= _LONGEST_USER:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                "proxy",
                f"the header {self._header} must name one user in 1 to {_LONGEST_USER} printable characters; "
                "leave it out for nobody",
            )
        return user

    def _trusts(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)  # so a socket for both kinds of addresses tells it
        return any((mapped or address) in network for network in self._peers)


def _password(scheme: str, text: str) -> str:
    """Return the password of an ``Authorization: Basic``; empty for anything else.

    Some clients, such as the frontend of Label Studio, can send a token only so. A proxy may check passwords
    of its own and pass them on, and these are nobody's here.
    """
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def actor_of(request: Request) -> Actor:
    """Return who sends a request, as the guards found out."""
    return cast("Actor", request.state.actor)


def require(actor: Actor, scope: str) -> None:
    """Refuse an actor who lacks a scope: with 401 if nobody knows them, otherwise with 403."""
    if scope == "query" and scope in actor.scopes and actor.ontologies is not None:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "scope",
            f"{actor.name} may see only some ontologies, and a query reads the whole graph; use a token for "
            "all ontologies: grove token create NAME --scope query",
        )
    if scope in actor.scopes:
        return
    step = f"grove token create NAME --scope {scope}"
    if actor.known:
        has = ", ".join(one for one in SCOPES if one in actor.scopes) or "none"
        problem = Problem(
            HTTPStatus.FORBIDDEN,
            "scope",
            f"this needs the scope {scope}, and {actor.name} has {has}; use a token made with: {step}",
        )
        problem.headers["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{scope}"'
        raise problem
    why = (
        f"{actor.refused}; this needs the scope {scope}" if actor.refused else f"this needs the scope {scope}"
    )
    problem = Problem(
        HTTPStatus.UNAUTHORIZED,
        "not-signed-in",
        f"{why}; sign in with the link of `grove serve --link`, or send a token made with: {step}",
    )
    problem.headers["WWW-Authenticate"] = 'Bearer error="invalid_token"' if actor.refused else "Bearer"
    raise problem


async def _allowed(
    request: Request,
    security: SecurityScopes,
    _: Annotated[
        Any,
        Depends(
            HTTPBearer(
                auto_error=False,
                scheme_name="token",
                description="A token of `grove token create`, or a JSON web token of the configured issuer.",
            )
        ),
    ],
) -> None:
    actor = actor_of(request)
    for scope in security.scopes:
        request.state.needed = scope
        require(actor, scope)
    ontology = request.path_params.get("ontology")
    if actor.ontologies is not None and ontology is not None and ontology not in actor.ontologies:
        seen: Workspace = request.app.state.shared.workspace.seen_by(actor.name, actor.ontologies)
        await run_in_threadpool(seen.catalog.version, ontology)  # answers as for one that does not exist


def needs(scope: str) -> Any:
    """Return the dependency by which a route says which scope it needs.

    It also refuses an ontology in the path that the actor may not see, as if it did not exist.
    """
    if scope not in SCOPES:
        raise ValueError(f"scope {scope!r}: give one of {', '.join(SCOPES)}")
    return Security(_allowed, scopes=[scope])

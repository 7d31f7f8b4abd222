"""The tokens of the HTTP service: who may do what until when.

A token is shown once, when it is created. The table has its sha256 alone, so whoever reads the database
cannot use it. A token is found by this digest: how long that takes tells nothing about the token.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from labelgrove.ontology.errors import ConflictError, InputError, NotFoundError
from labelgrove.ontology.scopes import check_scopes
from labelgrove.ontology.settings import TOKEN_PREFIX
from labelgrove.ontology.sql.database import metadata, now, reading, upsert, writing
from labelgrove.ontology.store.artifacts import check_name

# isort: split
# After our own modules, whose error names the extra to install if SQLAlchemy is missing.
from sqlalchemy import Column, ColumnElement, Double, Engine, Row, String, Table, Text, or_, select, update

__all__ = ["Token", "Tokens", "digest_of", "read_duration", "token_table"]

_TOKEN_BYTES = 32
_UNITS_S = {"h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST_S = 100 * 365 * 86_400
_USE_S = 60.0
"""Seconds within which the use of a token is recorded once."""

token_table = Table(
    "token",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", String(200), nullable=False),
    Column("ontologies_json", Text),  # None: all, also those to come
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Column("revoked_at", Double),
)

_token = token_table.c


@dataclass(frozen=True)
class Token:
    """What is recorded about a token.

    Attributes
    ----------
    name : str
        Names one token forever, so that a log or a session cannot mean another one.
    digest : str
        The sha256 of the token, which itself is not recorded.
    scopes : tuple of str
        See `ontology.scopes.SCOPES`.
    ontologies : tuple of str or None
        The only ontologies that the token lets see; None for all.
    created_at : float
        Seconds since 1970, as are the following times.
    expires_at, last_used_at, revoked_at : float or None
        The time of the last use may be a minute late.
    live : bool
        Whether it was neither revoked nor had expired when it was read.
    """

    name: str
    digest: str
    scopes: tuple[str, ...]
    ontologies: tuple[str, ...] | None
    created_at: float
    expires_at: float | None
    last_used_at: float | None
    revoked_at: float | None
    live: bool


class Tokens:
    """The tokens in one SQL database; every method is one transaction.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The open database; its schema must have been checked.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(
        self,
        name: str,
        scopes: Iterable[str],
        *,
        ontologies: Collection[str] | None = None,
        lasts_s: float | None = None,
    ) -> str:
        """Record a new token under `name`, and return it; it cannot be read again later.

        Parameters
        ----------
        name : str
        scopes : iterable of str
        ontologies : collection of str, optional
            The only ontologies that it lets see; by default all.
        lasts_s : float, optional
            Seconds after which it expires; by default never.

        Raises
        ------
        ConflictError
            If the name was used before, even for a token that has expired or was revoked.
        InputError
            For invalid names or scopes, and for the scope ``query`` together with `ontologies`.
        """
        check_name(name, "token")
        allowed = check_scopes(scopes)
        if ontologies is not None:
            for ontology in ontologies:
                check_name(ontology)
            if "query" in allowed:
                raise InputError(
                    "scopes: 'query' cannot be restricted to ontologies, because a query reads the whole "
                    "graph; leave out query, or allow all ontologies"
                )
        token = f"{TOKEN_PREFIX}{secrets.token_urlsafe(_TOKEN_BYTES)}"
        with writing(self._engine) as connection:
            added = connection.execute(
                upsert(connection, token_table)
                .values(
                    name=name,
                    digest=digest_of(token),
                    scopes=",".join(allowed),
                    ontologies_json=None if ontologies is None else json.dumps(sorted({*ontologies})),
                    created_at=now(),
                    expires_at=None if lasts_s is None else now() + lasts_s,
                )
                .on_conflict_do_nothing()
                .returning(_token.name)
            ).first()
        if added is None:
            raise ConflictError(
                f"token {name!r}: this name was used before, and a name stands for one token forever; choose "
                f"another one, such as {name}-2"
            )
        return token

    def tokens(self) -> list[Token]:
        """Return every token, also those that have expired or were revoked, sorted by name."""
        with reading(self._engine) as connection:
            return [_as_token(row) for row in connection.execute(_SELECTED.order_by(_token.name))]

    def named(self, name: str) -> Token:
        """Return the token of a name; raise `NotFoundError` if there is none."""
        found = self._one(_token.name == name)
        if found is None:
            raise _unknown(name)
        return found

    def of_digest(self, digest: str) -> Token | None:
        """Return what is recorded about the token with a digest, live or not; None if there is none."""
        return self._one(_token.digest == digest)

    def any_live(self) -> bool:
        """Return whether there is a token that works."""
        with reading(self._engine) as connection:
            return connection.execute(select(_token.name).where(_LIVE).limit(1)).first() is not None

    def revoke(self, name: str) -> Token:
        """Make a token useless at once, with the sessions made from it; again is harmless.

        Raises
        ------
        NotFoundError
            If there is no such token.
        """
        this = _token.name == name
        with writing(self._engine) as connection:
            connection.execute(
                update(token_table).where(this, _token.revoked_at.is_(None)).values(revoked_at=now())
            )
        return self.named(name)

    def used(self, token: Token) -> None:
        """Record that a token is in use, unless that was recorded within the last minute."""
        before = or_(_token.last_used_at.is_(None), _token.last_used_at < now() - _USE_S)
        with writing(self._engine) as connection:
            connection.execute(
                update(token_table).where(_token.name == token.name, before).values(last_used_at=now())
            )

    def _one(self, condition: ColumnElement[bool]) -> Token | None:
        with reading(self._engine) as connection:
            row = connection.execute(_SELECTED.where(condition)).one_or_none()
        return None if row is None else _as_token(row)


_LIVE = _token.revoked_at.is_(None) & (_token.expires_at.is_(None) | (_token.expires_at > now()))
_SELECTED = select(token_table, _LIVE.label("live"))


def read_duration(text: str) -> float | None:
    """Return the seconds of a text such as ``90d``, ``12h`` or ``2w``; None for ``never``.

    >>> read_duration("90d"), read_duration("never")
    (7776000.0, None)
    """
    if text == "never":
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,5})([hdw])", text)
    seconds = int(found[1]) * _UNITS_S[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_S:
        raise InputError(
            f"duration: {text!r:.80} given; give hours, days or weeks up to 100 years, such as 12h, 90d or "
            "2w, or never"
        )
    return float(seconds)


def digest_of(token: str) -> str:
    """Return the digest by which a token is recorded."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _as_token(row: Row[*tuple[Any, ...]]) -> Token:
    values = dict(row._mapping)
    listed = values.pop("ontologies_json")
    return Token(
        **values
        | {
            "scopes": tuple(values["scopes"].split(",")),
            "ontologies": None if listed is None else tuple(json.loads(listed)),
            "live": bool(values["live"]),
        }
    )


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"token {name!r:.80}: there is none of this name; see: grove token list")

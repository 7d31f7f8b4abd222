"""Tokens: only their digests are stored, they end when told, and their use is recorded once a minute."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text

from labelgrove.ontology.errors import ConflictError, InputError, NotFoundError
from labelgrove.ontology.scopes import SCOPES, check_scopes
from labelgrove.ontology.settings import masked
from labelgrove.ontology.sql.database import create_engine, reading, upgrade, writing
from labelgrove.ontology.sql.tokens import Tokens, digest_of, read_duration, token_table


@pytest.fixture(params=["sqlite", "postgres_url"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    of_file = f"sqlite:///{tmp_path / 'catalog.db'}"
    engine = create_engine(of_file if request.param == "sqlite" else request.getfixturevalue(request.param))
    upgrade(engine)
    yield engine
    engine.dispose()


def _age(engine: Engine, name: str, **seconds: float) -> None:
    """Move times of a token into the past."""
    moved = ", ".join(f"{column} = {column} - {by}" for column, by in seconds.items())
    with writing(engine) as connection:
        connection.execute(text(f"UPDATE token SET {moved} WHERE name = :name"), {"name": name})


def test_a_token_is_found_and_its_text_is_stored_nowhere(engine):
    tokens = Tokens(engine)
    secret = tokens.create("ci", ["score", "read"], ontologies=["garden", "animals"], lasts_s=3600)
    found = tokens.of_digest(digest_of(secret))
    assert found is not None
    assert (found.name, found.scopes, found.ontologies) == ("ci", ("read", "score"), ("animals", "garden"))
    assert found.live
    assert found.expires_at is not None
    assert found.expires_at - found.created_at == pytest.approx(3600, abs=1)
    assert found.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert tokens.of_digest(found.digest) == tokens.named("ci") == tokens.tokens()[0] == found
    with reading(engine) as connection:
        (row,) = connection.execute(select(token_table)).all()
    assert secret not in str(row)
    assert secret.removeprefix("grove_") not in str(row)


def test_tokens_have_32_random_bytes_and_are_masked_wherever_they_are_told(engine):
    secrets = [Tokens(engine).create(f"t{i}", ["read"]) for i in range(20)]
    assert len({*secrets}) == 20
    for secret in secrets:
        assert len(secret) == len("grove_") + 43
        assert secret[6:] not in masked(f"cannot send {secret}: refused")
        assert secret[6:] not in masked(f'{{"authorization": "Bearer {secret}"}}')


@pytest.mark.parametrize("wrong", ["", "grove_", "x", "grove_" + "A" * 43, "\udcff", "é" * 50])
def test_what_was_never_created_is_not_found(engine, wrong):
    tokens = Tokens(engine)
    secret = tokens.create("ci", ["read"])
    assert [
        tokens.of_digest(digest_of(one)) for one in (wrong, secret[:-1], secret + "A", secret.lower())
    ] == [None] * 4


def test_a_token_ends_when_it_expires_or_is_revoked_and_its_name_is_never_used_again(engine):
    tokens = Tokens(engine)
    assert not tokens.any_live()
    tokens.create("short", ["read"], lasts_s=60)
    assert tokens.any_live()
    _age(engine, "short", expires_at=61)
    assert not tokens.named("short").live
    assert not tokens.any_live()
    secret = tokens.create("long", ["read"])
    revoked = tokens.revoke("long")
    assert not revoked.live
    assert tokens.of_digest(digest_of(secret)) == revoked
    assert tokens.revoke("long") == revoked
    assert not tokens.any_live()
    for name in ("short", "long"):
        with pytest.raises(ConflictError, match="one token forever; choose another one"):
            tokens.create(name, ["read"])
    with pytest.raises(NotFoundError, match="grove token list"):
        tokens.revoke("none")


def test_its_use_is_recorded_once_a_minute(engine):
    tokens = Tokens(engine)
    tokens.create("ci", ["read"])
    assert tokens.named("ci").last_used_at is None
    tokens.used(tokens.named("ci"))
    first = tokens.named("ci").last_used_at
    assert first is not None
    tokens.used(tokens.named("ci"))
    assert tokens.named("ci").last_used_at == first
    _age(engine, "ci", last_used_at=61)
    tokens.used(tokens.named("ci"))
    again = tokens.named("ci").last_used_at
    assert again is not None
    assert again > first - 1


@pytest.mark.parametrize("name", ["", "Upper", "two words", "-x", "a" * 65, "a@b", "../x"])
def test_names_are_those_of_ontologies(engine, name):
    with pytest.raises(InputError):
        Tokens(engine).create(name, ["read"])
    with pytest.raises(InputError):
        Tokens(engine).create("fine", ["read"], ontologies=[name])
    assert Tokens(engine).tokens() == []


def test_a_query_cannot_be_restricted_to_ontologies(engine):
    with pytest.raises(InputError, match="reads the whole graph; leave out query"):
        Tokens(engine).create("ci", ["read", "query"], ontologies=["garden"])
    Tokens(engine).create("ci", ["read", "query"])


def test_scopes_are_checked_and_ordered():
    assert check_scopes(reversed(SCOPES)) == SCOPES
    for wrong in ([], ["read", "write"], [""], ["Read"]):
        with pytest.raises(InputError, match="give one or more of read, score"):
            check_scopes(wrong)


@pytest.mark.parametrize(("given", "seconds"), [("1h", 3600.0), ("2w", 1_209_600.0), ("never", None)])
def test_a_duration_has_a_unit(given, seconds):
    assert read_duration(given) == seconds


@pytest.mark.parametrize("wrong", ["", "0d", "90", "1.5d", "-1d", "1y", "90D", "999999w", "٣d", " 1d"])
def test_other_durations_are_refused(wrong):
    with pytest.raises(InputError, match="such as 12h, 90d or 2w, or never"):
        read_duration(wrong)

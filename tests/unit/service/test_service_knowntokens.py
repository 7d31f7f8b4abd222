"""Tokens while the database is away: those that were live are trusted for a while, and no others."""

from __future__ import annotations

import pytest

from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access import knowntokens
from labelgrove.service.access.knowntokens import KnownTokens
from tests.unit.service.service_cases import settings_of


class Away:
    """A database that can be unplugged: an engine, and how often it was asked while it was away."""

    def __init__(self, workspace: Workspace) -> None:
        self._engine, self.away, self.asked = workspace.engine, False, 0

    @property
    def engine(self):
        if self.away:
            self.asked += 1
            raise ServiceError("the database is away")
        return self._engine


@pytest.fixture
def workspace(tmp_path):
    with Workspace.open(settings_of(tmp_path / "home")) as opened:
        yield opened


@pytest.fixture
def away(workspace):
    return Away(workspace)


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set forward."""

    class Clock:
        now = 1_000.0

        def monotonic(self):
            return self.now

        def time(self):
            return 2_000_000_000.0 + self.now

    clock = Clock()
    monkeypatch.setattr(knowntokens, "time", clock)
    return clock


def test_a_live_token_is_trusted_for_five_minutes_and_the_database_asked_once_a_second(
    workspace, away, clock
):
    secret = Tokens(workspace.engine).create("one", ["read"])
    known = KnownTokens(away)
    found = known.of_secret(secret)
    away.away = True
    assert known.of_secret(secret) == found
    assert known.of_secret(secret) == found
    assert away.asked == 1
    clock.now += 2
    assert known.of_digest(found.digest) == found
    assert away.asked == 2
    clock.now += 300
    with pytest.raises(ServiceError):
        known.of_secret(secret)


def test_what_was_not_live_or_not_asked_about_is_not_trusted(workspace, away, clock):
    tokens = Tokens(workspace.engine)
    revoked, unasked = tokens.create("revoked", ["read"]), tokens.create("unasked", ["read"])
    known = KnownTokens(away)
    assert known.of_secret(revoked).live
    tokens.revoke("revoked")
    assert not known.of_secret(revoked).live
    assert known.of_secret("grove_nobody") is None
    away.away = True
    for secret in (revoked, unasked, "grove_nobody"):
        with pytest.raises(ServiceError):
            known.of_secret(secret)


def test_a_trusted_token_expires_all_the_same(workspace, away, clock):
    secret = Tokens(workspace.engine).create("short", ["read"], lasts_s=clock.time() - 1e9)
    known = KnownTokens(away)
    known.of_secret(secret)
    away.away = True
    assert known.of_secret(secret).live
    clock.time = lambda: 1e11
    assert not known.of_secret(secret).live

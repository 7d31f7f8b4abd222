"""Ledgers with one safeguard taken out: tests that do not fail on them prove nothing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from workers.ledger import Ledger
from workers.states import Claim

__all__ = ["WithoutFence", "WithoutLease"]


class WithoutFence(Ledger):
    """Whoever comes late may still commit."""

    def _held(self, claim: Claim) -> tuple[sa.ColumnElement[bool], ...]:
        return super()._held(claim)[:1]


class WithoutLease(Ledger):
    """Whoever has a message may start, though another works on the unit."""

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        del instant
        return sa.true()

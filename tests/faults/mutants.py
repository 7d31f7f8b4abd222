"""Ledgers with one safeguard taken out: tests that do not fail on them prove nothing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from workers.ledger import Ledger
from workers.statements import unit_move
from workers.states import Claim
from workers.tables import unit_table

__all__ = ["WithoutFence", "WithoutLease"]


class WithoutFence(Ledger):
    """Whoever comes late may still commit."""

    def _held(self, claim: Claim) -> tuple[sa.ColumnElement[bool], ...]:
        return super()._held(claim)[:1]

    @property
    def _committing(self) -> sa.Update:
        end = unit_move("commit", sha256=sa.bindparam("made"), size=sa.bindparam("bytes"), error=None)
        late = sa.bindparam("held", type_=sa.Integer) > 0
        return end.where(unit_table.c.key == sa.bindparam("ended"), late)


class WithoutLease(Ledger):
    """Whoever has a message may start, though another works on the unit."""

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        del instant
        return sa.true()

"""Ledgers with one safeguard taken out: tests that do not fail on them prove nothing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table

__all__ = ["WithoutFence", "WithoutLease"]


class WithoutFence(Ledger):
    """Whoever comes late may still commit."""

    def _held(self, key: Any, fence: Any) -> tuple[sa.ColumnElement[bool], ...]:
        return unit_table.c.key == key, unit_table.c.fence >= fence


class WithoutLease(Ledger):
    """Whoever has a message may start, though another works on the unit."""

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        del instant
        return sa.true()

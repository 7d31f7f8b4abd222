"""Ledgers without one of the safeguards, on which the fault tests must fail."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table

__all__ = ["WithoutFence", "WithoutLease"]


class WithoutFence(Ledger):
    """A ledger in which a late worker may still commit."""

    def _held(self, key: Any, fence: Any) -> tuple[sa.ColumnElement[bool], ...]:
        return unit_table.c.key == key, unit_table.c.fence >= fence


class WithoutLease(Ledger):
    """A ledger in which a worker with a message may start a unit that another one works on."""

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        del instant
        return sa.true()

"""Read cron expressions with five fields in UTC, and compute their next and last due times.

`cronsim` implements the syntax of Debian's cron. This module allows only five fields, and its errors name the
field and the rule. UTC has no clock changes, so every due time occurs exactly once.
"""

from __future__ import annotations

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from labelgrove.ontology.errors import InputError

__all__ = ["Cron"]

_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day of the month": "1-31 or L",
    "month": "1-12 or JAN-DEC",
    "day of the week": "0-7 or SUN-SAT, 0 and 7 both Sunday",
}
_LONGEST = 200


class Cron:
    """The due times of a cron expression, in seconds since 1970.

    Parameters
    ----------
    text : str
        Minute, hour, day of the month, month, day of the week. Each field is ``*``, a number, a name, a
        range, a list or a step. If day of the month and day of the week are both restricted, one of them has
        to match.

    Raises
    ------
    InputError
        For a field that breaks its rule (the message names it), or an expression that is never due.

    Examples
    --------
    >>> nightly = Cron("30 2 * * MON-FRI")
    >>> nightly.after(0.0), nightly.until(100_000.0)  # 1970 began on a Thursday
    (9000.0, 95400.0)
    """

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise InputError(f"cron {text[:40]!r}...: {len(text)} characters; give at most {_LONGEST}")
        fields = text.split()
        if len(fields) != len(_FIELDS):
            raise InputError(
                f"cron {text!r}: {len(fields)} fields; give five: {', '.join(_FIELDS)}, "
                "such as '30 2 * * MON-FRI'"
            )
        for i, (name, rule) in enumerate(_FIELDS.items()):
            alone = ["*"] * len(_FIELDS)
            alone[i] = fields[i]
            if not _valid(" ".join(alone)):
                raise InputError(
                    f"cron {text!r}: {name} is {fields[i]!r}; give * or {rule}; write a list as 1,2, a range "
                    "as 1-5 (from low to high), a step as */2"
                )
        self.text = " ".join(fields)
        if not _valid(self.text) or next(CronSim(self.text, datetime.now(UTC)), None) is None:
            raise InputError(
                f"cron {text!r}: is never due; none of its months has such a day; change day or month"
            )

    def after(self, instant: float) -> float:
        """Return the first due time later than `instant`."""
        return self._first(instant, reverse=False)

    def until(self, instant: float) -> float:
        """Return the last due time at or before `instant`."""
        return self._first(instant // 1 + 1, reverse=True)

    def _first(self, instant: float, *, reverse: bool) -> float:
        return next(CronSim(self.text, datetime.fromtimestamp(instant, UTC), reverse=reverse)).timestamp()


def _valid(text: str) -> bool:
    try:
        CronSim(text, datetime.fromtimestamp(0, UTC))
    except CronSimError:
        return False
    return True

"""Change settings from the command line: ``sizes=10,25`` sets a field of a settings dataclass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from labelgrove.ontology.errors import InputError

__all__ = ["as_texts", "changed", "with_seeds_from"]

S = TypeVar("S")

_SEEDS = ("seeds", "large_seeds")
_MAY_BE_ZERO = (*_SEEDS, "n_test", "n_labels", "theta", "withheld")
"""Settings that may be zero; the others (sizes, counts, strengths, temperatures) must be positive."""
_SHARES = ("held_out", "withheld")
"""Settings that must be below one."""


def changed(settings: S, changes: Sequence[str]) -> S:
    """Return settings with some fields replaced.

    Parameters
    ----------
    settings : dataclass
        Each field is a number, a text, a tuple of numbers or a tuple of texts.
    changes : sequence of str
        ``name=value``, or ``name=value,value,...`` for a tuple.

    Raises
    ------
    InputError
        For a change without ``=``, an unknown field, a value of another type, a negative or infinite number,
        a zero where the field must be positive, and a value given twice.

    Examples
    --------
    >>> from labelgrove.experiments import load
    >>> changed(load("diabetes-path").settings(), ["sizes=4,6", "regularisation=0.5"]).sizes
    (4, 6)
    """
    known = {field.name: getattr(settings, field.name) for field in fields(settings)}  # type: ignore[arg-type]
    made: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or name not in known:
            raise InputError(f"--set {change!r}: give NAME=VALUES, with a name among {', '.join(known)}")
        now = known[name]
        cells = text.split(",") if isinstance(now, tuple) else [text]
        kind = type(now[0]) if isinstance(now, tuple) else type(now)
        try:
            values = tuple(kind(cell) for cell in cells)
        except ValueError:
            raise InputError(
                f"--set {change!r}: {text!r} is not of type {kind.__name__}; the default is {now!r}"
            ) from None
        _check(change, name, values)
        made[name] = values if isinstance(now, tuple) else values[0]
    return replace(settings, **made)  # type: ignore[type-var]


def _check(change: str, name: str, values: Sequence[Any]) -> None:
    for value in values:
        most = 1 if name in _SHARES else math.inf
        if isinstance(value, str) or 0 < value < most or (value == 0 and name in _MAY_BE_ZERO):
            continue
        rule = "of 0 or more" if name in _MAY_BE_ZERO else "above 0"
        below = " and below 1" if most == 1 else ""
        raise InputError(f"--set {change!r}: {value!r} given; give finite numbers {rule}{below}")
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    if repeated:
        raise InputError(
            f"--set {change!r}: {repeated[0]!r} is given twice; give each value once, because a repeated "
            "trial tells nothing new"
        )


def with_seeds_from(settings: S, first: int) -> S:
    """Return the settings with as many seeds as before, numbered from `first`.

    Examples
    --------
    >>> from labelgrove.experiments import load
    >>> with_seeds_from(load("digits-grid").settings(), 100).seeds
    (100, 101, 102, 103, 104)
    """
    shifted = {
        field.name: tuple(range(first, first + len(getattr(settings, field.name))))
        for field in fields(settings)  # type: ignore[arg-type]
        if field.name in _SEEDS
    }
    return replace(settings, **shifted)  # type: ignore[type-var]


def as_texts(settings: Any) -> dict[str, str]:
    """Return a dictionary from the name of each setting to its value as text.

    From these texts, `changed` can make the same settings again.

    Examples
    --------
    >>> from labelgrove.experiments import load
    >>> as_texts(load("diabetes-path").settings(quick=True))
    {'sizes': '5,12', 'seeds': '0,1,2', 'regularisation': '1.0'}
    """
    return {
        name: ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name, value in asdict(settings).items()
    }

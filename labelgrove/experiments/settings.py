"""Settings changed from the command line: ``sizes=10,25`` onto the fields of a settings dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from ontology.errors import InputError

__all__ = ["as_texts", "changed"]

S = TypeVar("S")


def changed(settings: S, changes: Sequence[str]) -> S:
    """Return settings with some fields replaced.

    Parameters
    ----------
    settings : dataclass
        Its fields are numbers, texts, or tuples of one of these.
    changes : sequence of str
        ``name=value``, or ``name=value,value,...`` for a tuple.

    Raises
    ------
    InputError
        For a change without ``=``, a field there is not, and a value of another type.

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
                f"--set {change!r}: {text!r} is not {kind.__name__}; it is {now!r} by default"
            ) from None
        made[name] = values if isinstance(now, tuple) else values[0]
    return replace(settings, **made)  # type: ignore[type-var]


def as_texts(settings: Any) -> dict[str, str]:
    """Return what `changed` makes settings of, by name.

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

"""Check the parameters of a job: all are given, none is unknown, and each is spelled in the one valid way."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.spelling import close_words

__all__ = [
    "CONTENT",
    "REQUIRED",
    "SPACE",
    "Parameter",
    "Parameters",
    "decimal_text",
    "is_digest",
    "value_of",
]

_DIGEST = re.compile(r"[0-9a-f]{64}")

_MOST_WHOLE = 2**63 - 1

REQUIRED = object()
"""Marks a parameter without a default."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind, as messages and the manual describe it.

    Attributes
    ----------
    name, values : str
        Its name, and a description of its allowed values.
    default : Any
        Its value when left out; `REQUIRED` if it has to be given.
    keys : bool
        Whether it is a list of label keys of the requested ontology.
    ordered : bool
        Whether the order of the list matters; lists of other parameters are sorted.
    words : sequence of str
        Words that may be given in place of a list of label keys.
    filled : bool
        Whether it is computed from other parameters if the request names an ontology; people then leave it
        out.
    text : bool
        Whether its value is always text, even if it looks like something else: ``50`` is then the name
        ``"50"``, not a number.
    file : bool
        Whether it is the path or URL of a file; the content of the file becomes an artifact when the job is
        submitted.
    amounts : bool
        Whether it is an object that maps label keys of the requested ontology to amounts, as decimal strings.
    """

    name: str
    values: str
    default: Any = REQUIRED
    keys: bool = False
    ordered: bool = False
    words: Sequence[str] = ()
    filled: bool = False
    text: bool = False
    file: bool = False
    amounts: bool = False


CONTENT = (
    Parameter("ontology", "a name, NAME@VERSION or the digest of a version"),
    Parameter("snapshot", "the artifact with the label graph of the version", filled=True),
)
"""The parameters that name a version of an ontology."""

SPACE = (
    *CONTENT,
    Parameter("metric", "auto, tree or graph", "auto"),
    Parameter(
        "labels", "all, leaves, or the keys of the allowed labels", "all", keys=True, words=("all", "leaves")
    ),
)
"""The parameters that name a metric space."""


def is_digest(value: Any) -> bool:
    """Return whether `value` is a sha256 in lower-case hexadecimal digits.

    >>> is_digest("ab" * 32), is_digest("AB" * 32)
    (True, False)
    """
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def value_of(text: str) -> Any:
    """Return the value that a person wrote as text: JSON, in which decimals stay text; any other text itself.

    >>> value_of("3"), value_of("0.25"), value_of("tree"), value_of("null")
    (3, '0.25', 'tree', None)
    """
    try:
        return json.loads(text, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return text


class Parameters(dict[str, Any]):
    """The parameters of a job, completed with defaults.

    Each method checks some of them and raises `InputError` if one breaks its rule.

    Parameters
    ----------
    kind : str
        Name of the kind, for messages.
    given : mapping
        Parameters as requested.
    parameters : sequence of Parameter
        The parameters of the kind.

    Examples
    --------
    >>> Parameters("sum", {"a": 1}, [Parameter("a", "a number"), Parameter("b", "a number", 2)])
    {'b': 2, 'a': 1}
    """

    def __init__(self, kind: str, given: Mapping[str, Any], parameters: Sequence[Parameter]) -> None:
        required = [parameter.name for parameter in parameters if parameter.default is REQUIRED]
        optional = {p.name: p.default for p in parameters if p.default is not REQUIRED}
        filled = {parameter.name for parameter in parameters if parameter.filled}
        super().__init__({**optional, **given})
        self._kind = kind
        unknown = sorted(set(self) - {*required, *optional})
        missing = [name for name in required if name not in self]
        asked = [name for name in missing if name not in filled] or missing
        rest = f"; optional: {', '.join(sorted(optional))}" if optional else ""
        if unknown:
            needed = ", ".join(name for name in required if name not in filled) or "nothing"
            names = [*required, *optional]
            near = dict.fromkeys(n for one in unknown for n in close_words(str(one), names, 1))
            meant = f"; did you mean {', '.join(near)}?" if near else ";"
            raise InputError(f"{kind} has no parameter {', '.join(unknown)}{meant} it needs {needed}{rest}")
        if missing:
            raise InputError(f"{kind} needs {', '.join(asked)}{rest}")

    @classmethod
    def of_space(cls, kind: str, given: Mapping[str, Any], parameters: Sequence[Parameter]) -> Parameters:
        """Complete the parameters of a job on a metric space, and check the four that name the space.

        ``ontology`` has to be the digest of a version, and ``snapshot`` the digest of its artifact.
        ``metric`` has to be ``"auto"``, ``"tree"`` or ``"graph"``. ``labels`` has to be ``"all"``,
        ``"leaves"`` or the digest of a JSON list of keys.
        """
        found = cls(kind, given, parameters)
        found.digests("ontology", "snapshot")
        found.choice("metric", ("auto", "tree", "graph"))
        if found["labels"] not in ("all", "leaves") and not is_digest(found["labels"]):
            raise found.wrong("labels", "choose all, leaves or the digest of a JSON list of keys")
        return found

    def wrong(self, name: str, rule: str) -> InputError:
        """Return the error for a parameter that breaks its rule."""
        return InputError(f"{self._kind}: {name} is {self[name]!r}; {rule}")

    def digests(self, *names: str, optional: bool = False) -> None:
        """Check that each of these parameters is a digest; with `optional`, None is valid too."""
        for name in names:
            if not (is_digest(self[name]) or (optional and self[name] is None)):
                rule = "give a sha256 as 64 hexadecimal digits"
                raise self.wrong(name, f"{rule}, or null" if optional else rule)

    def text(self, name: str) -> None:
        """Check that this parameter is text that is not blank."""
        if not isinstance(self[name], str) or not self[name].strip():
            raise self.wrong(name, "give text that is not blank")

    def choice(self, name: str, choices: Sequence[str]) -> None:
        """Check that this parameter is one of `choices`."""
        if not isinstance(self[name], str) or self[name] not in choices:
            raise self.wrong(name, f"choose {', '.join(choices[:-1])} or {choices[-1]}")

    def flag(self, name: str) -> None:
        """Check that this parameter is true or false."""
        if not isinstance(self[name], bool):
            raise self.wrong(name, "give true or false")

    def whole(self, name: str, least: int, most: int | None = None, *, optional: bool = False) -> None:
        """Check that this parameter is a whole number in a range; with `optional`, None is valid too.

        Without `most`, it has at most 63 bits: computations cannot take more digits.
        """
        value = self[name]
        if value is None and optional:
            return
        fair = isinstance(value, int) and not isinstance(value, bool)
        if not fair or not least <= value <= (_MOST_WHOLE if most is None else most):
            rule = f"at least {least}" if most is None else f"from {least} to {most}"
            raise self.wrong(name, f"give a whole number, {rule}")

    def decimal(self, name: str) -> None:
        """Replace this parameter by the one valid spelling of its number: no exponent, no needless zeros.

        The number must be given as a string. None stays None. A float raises `InputError`, because its digits
        may differ from those that the user wrote.
        """
        if self[name] is not None:
            try:
                self[name] = decimal_text(self[name])
            except ValueError:
                raise self.wrong(name, "give a decimal number of 0 or more as a string") from None


def decimal_text(value: Any) -> str:
    """Return the one valid spelling of a decimal number of 0 or more; raise `ValueError` for all else.

    >>> decimal_text("10.50"), decimal_text("1e2"), decimal_text(3)
    ('10.5', '100', '3')
    """
    try:
        number = Decimal(value if type(value) in (str, int) else "nan")
    except InvalidOperation:
        raise ValueError(value) from None
    if not number.is_finite() or number < 0 or number.adjusted() > 30 or number.adjusted() < -30:
        raise ValueError(value)
    return format(abs(number.normalize()), "f")

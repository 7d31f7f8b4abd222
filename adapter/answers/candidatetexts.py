"""What candidates are called in a text: on the command line, over HTTP and in parameters of model servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CANDIDATES", "candidates_of"]

_RULES = ("leaves", "locus", "observed")
_BELOW = "subtree:"

CANDIDATES = (*_RULES, f"{_BELOW}KEY")
"""What names candidates, besides a list of keys."""


def candidates_of(given: str | None, keys: Callable[[str], list[str]]) -> Any:
    """Return the candidates that a text names, in the form that the adapter accepts.

    `keys` makes a list of keys of a text that is neither a rule nor a branch.
    """
    from labelgrove.adapter.answers.candidates import Subtree

    if given is None or given in _RULES:
        return given
    return Subtree(given.removeprefix(_BELOW)) if given.startswith(_BELOW) else keys(given)

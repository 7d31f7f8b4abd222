"""How the kind, the parameters and the target of a job are written on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelgrove.cli.options import completers
from labelgrove.cli.options.labels import read_keys

if TYPE_CHECKING:
    from labelgrove.workers.kinds.parameters import Parameter

__all__ = ["GIVEN_TWICE", "asking", "read_pairs", "read_parameters"]

GIVEN_TWICE = 'is given twice; a list is one value, such as \'["a", "b"]\''
"""What is said of the name of a parameter that stands before two values."""


def read_parameters(kind: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a job of `kind` by name.

    A value is JSON where it reads as JSON, decimals and all else are text, and ``@FILE`` is a list of label
    keys. Beside an ontology a parameter that lists label keys also takes them as other commands do. The path
    of a file is made absolute: a schedule reads it elsewhere.
    """
    from labelgrove.ontology.errors import NotFoundError
    from labelgrove.workers.kinds import find_kind
    from labelgrove.workers.kinds.parameters import is_digest

    texts = read_pairs("--param", given)
    known = find_kind(kind)
    declared = {p.name: p for p in (() if known is None else known.parameters)}
    listing = {name: parameter for name, parameter in declared.items() if parameter.keys}
    beside = "ontology" in texts and "snapshot" not in texts

    def read(name: str, text: str) -> Any:
        if name == "ontology" or (name in declared and declared[name].text):  # may look like a number
            return text
        if name in declared and declared[name].file:
            return text if is_digest(text) or "://" in text else str(Path(text).expanduser().absolute())
        if text.startswith("@"):
            if text != "@-" and not Path(text[1:]).exists():  # never a key that stands where a file should
                raise NotFoundError(f"--param {name}={text}: there is no file {text[1:]}; check the path")
            return read_keys(text[1:])
        try:
            value = json.loads(text, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            value = text
        return _keys(listing[name], text, value) if beside and name in listing else value

    return {name: read(name, text) for name, text in texts.items()}


def read_pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return values by name out of texts ``NAME=VALUE``."""
    from labelgrove.ontology.errors import InputError

    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"{option} {text!r}: write NAME=VALUE")
        if name in pairs:
            raise InputError(f"{option} {name}: {GIVEN_TWICE}")
        pairs[name] = value
    return pairs


def _keys(parameter: Parameter, text: str, value: Any) -> Any:
    """Return the label keys that a value means: a JSON list, a file, or keys with commas between them."""
    from labelgrove.ontology.errors import InputError
    from labelgrove.workers.kinds.parameters import is_digest

    if isinstance(value, list):
        if all(isinstance(key, str) for key in value):
            return value
        fair = json.dumps([str(key) for key in value], ensure_ascii=False)
        raise InputError(f"--param {parameter.name}={text}: label keys are text; write {fair}")
    if value is None or isinstance(value, dict) or is_digest(text) or text in parameter.words:
        return value
    if text.startswith("["):
        raise InputError(
            f"--param {parameter.name}={text}: is not a JSON list; write "
            f'\'["a", "b"]\', a,b or @FILE with one key per line'
        )
    return read_keys(text)


F = TypeVar("F", bound=Callable[..., Any])


def asking(command: F) -> F:
    """Add what every request has: a kind, its parameters, and the name of its result."""
    parameter = click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the kind, as `grove jobs kinds` lists them: text, JSON, or label keys as a,b or "
        "@FILE with one per line; repeatable.",
    )
    target = click.option(
        "--target",
        multiple=True,
        metavar="NAME=VALUE",
        help="Part of the name that the result gets, for kinds that name theirs; repeatable.",
    )
    return click.argument("kind", shell_complete=completers.kinds)(parameter(target(command)))

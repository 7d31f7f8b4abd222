"""Read the kind, the parameters and the target of a job from the command line."""

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
"""The end of the error message for a parameter that is given twice; it follows the name of the parameter."""


def read_parameters(kind: str, given: Sequence[str]) -> dict[str, Any]:
    """Return a dictionary from the names of the parameters of a job of `kind` to their values.

    Each text in `given` is ``NAME=VALUE``. The ontology, and other parameters that the kind declares as text,
    stay text. Paths of files become absolute, because a schedule may submit the job from a process that runs
    in another folder. ``@FILE`` becomes the list of label keys in the file. Any other value is parsed as
    JSON, except that decimals stay text; if it is not JSON, it stays text. If an ontology is among the
    parameters, a parameter that lists label keys also accepts ``key,key,...``, as other commands do.
    """
    from labelgrove.ontology.errors import NotFoundError
    from labelgrove.workers.kinds import find_kind
    from labelgrove.workers.kinds.parameters import is_digest, value_of

    texts = read_pairs("--param", given)
    known = find_kind(kind)
    declared = {p.name: p for p in (() if known is None else known.parameters)}
    listing = {name: parameter for name, parameter in declared.items() if parameter.keys}
    beside = "ontology" in texts and "snapshot" not in texts

    def read(name: str, text: str) -> Any:
        if name == "ontology" or (name in declared and declared[name].text):  # even if it looks like a number
            return text
        if name in declared and declared[name].file:
            return text if is_digest(text) or "://" in text else str(Path(text).expanduser().absolute())
        if text.startswith("@"):
            if text != "@-" and not Path(text[1:]).exists():  # do not take it for a key
                raise NotFoundError(f"--param {name}={text}: there is no file {text[1:]}; check the path")
            return read_keys(text[1:])
        value = value_of(text)
        return _keys(listing[name], text, value) if beside and name in listing else value

    return {name: read(name, text) for name, text in texts.items()}


def read_pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Split texts ``NAME=VALUE``, and return a dictionary from each name to its value.

    The messages of errors begin with `option`, the option with which the texts were given.
    """
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
    """Return the label keys that a value gives as a JSON list, as the path of a file, or separated by commas.

    Some values of the parameter are not label keys, such as a digest; they are returned unchanged.
    """
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
    """Add to a command the argument and options that describe a job: kind, parameters and target."""
    parameter = click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the kind; `grove jobs kinds` lists them. VALUE is text, JSON, or label keys, as "
        "a,b or @FILE with one key per line. May be repeated.",
    )
    target = click.option(
        "--target",
        multiple=True,
        metavar="NAME=VALUE",
        help="A part of the name to give to the result, such as bundle=mine. Only some kinds give names to "
        "their results. May be repeated.",
    )
    return click.argument("kind", shell_complete=completers.kinds)(parameter(target(command)))

"""``grove jobs kinds``, and how the parameters of a job are written on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.common import emit, json_option, read_keys, table

if TYPE_CHECKING:
    from labelgrove.workers.kinds import JobKind
    from labelgrove.workers.kinds.parameters import Parameter

__all__ = ["COLUMNS", "GIVEN_TWICE", "kinds", "parameter_rows", "read_pairs", "read_parameters"]

COLUMNS = ("kind", "parameter", "required", "default", "values")

GIVEN_TWICE = 'is given twice; a list is one value, such as \'["a", "b"]\''
"""What is said of the name of a parameter that stands before two values."""


@click.command()
@json_option
def kinds(as_json: bool) -> None:
    """List the kinds of jobs with their parameters."""
    from labelgrove.workers.kinds import known_kinds

    known = known_kinds()
    described = [
        {
            "kind": kind.name,
            "version": kind.version,
            "queue": kind.queue,
            "named": kind.publish is not None,
            "parameters": [_described(parameter) for parameter in kind.parameters],
        }
        for kind in known
    ]
    emit(described, as_json, lambda: table(COLUMNS, parameter_rows(known), wrap=True))


def parameter_rows(known: Sequence[JobKind]) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each parameter of each kind."""
    from labelgrove.workers.kinds.parameters import REQUIRED

    rows: list[tuple[str, ...]] = []
    for kind in known:
        for parameter in kind.parameters:
            told = _described(parameter)
            default = "" if parameter.default is REQUIRED else json.dumps(parameter.default)
            required = "filled in" if parameter.filled else "yes" if told["required"] else "no"
            rows.append((kind.name, parameter.name, required, default, parameter.values))
    return rows


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


def _described(parameter: Parameter) -> dict[str, Any]:
    from labelgrove.workers.kinds.parameters import REQUIRED

    required = parameter.default is REQUIRED
    return {
        "name": parameter.name,
        "required": required and not parameter.filled,
        "default": None if required else parameter.default,
        "values": parameter.values,
    }

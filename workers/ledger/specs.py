"""Write and read the JSON texts that describe jobs and units in the ledger, each in one spelling only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labelgrove.ontology.errors import InputError

__all__ = [
    "PlannedJob",
    "PlannedUnit",
    "canonical_json",
    "job_parameters",
    "recorded_object",
    "unit_request",
]


@dataclass(frozen=True)
class PlannedUnit:
    """One unit of a plan; its key is the digest of `spec_json`, the text that describes the unit."""

    key: str
    stage: int
    spec_json: str


@dataclass(frozen=True)
class PlannedJob:
    """A job and all its units, ready for `Ledger.submit`."""

    id: str
    kind: str
    version: int
    spec_json: str
    units: tuple[PlannedUnit, ...]
    parameters: Mapping[str, Any] = field(compare=False)
    """The complete parameters of the job; `spec_json` contains them too."""
    shown: bool = False
    """Whether the result of the job is written into the graph."""


def canonical_json(value: Any) -> str:
    """Return the one canonical JSON text of `value`, with sorted keys and without spaces or floats.

    Decimals must be written as strings.

    Raises
    ------
    InputError
        For a float or anything else that has several spellings; the message says where it is.

    Examples
    --------
    >>> canonical_json({"b": [1, None, "é"], "a": "0.25"})
    '{"a":"0.25","b":[1,null,"é"]}'
    """
    _check(value, "value")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def unit_request(spec_json: str) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of a unit and the keys of its inputs from the text that `plan_job` wrote.

    Raises
    ------
    InputError
        If the text does not have the form in which `plan_job` writes it.
    """
    parameters, inputs = _fields(spec_json, "unit", "parameters", "inputs")
    listed = isinstance(inputs, list) and all(isinstance(key, str) for key in inputs)
    if not (isinstance(parameters, dict) and listed):
        raise _not_planned(spec_json, "unit", "parameters", "inputs")
    return parameters, inputs


def job_parameters(spec_json: str) -> dict[str, Any]:
    """Return the parameters of a job from the text that `plan_job` wrote.

    Raises
    ------
    InputError
        If the text does not have the form in which `plan_job` writes it.
    """
    (parameters,) = _fields(spec_json, "job", "parameters")
    if not isinstance(parameters, dict):
        raise _not_planned(spec_json, "job", "parameters")
    return parameters


def recorded_object(column: str, text: str) -> dict[str, Any]:
    """Return the JSON object that a column of the database contains as `text`.

    If `text` is not a JSON object, raise an `InputError` that names the column.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"{column} is {text:.60}, expected a JSON object; the database was edited or damaged: "
            "submit the request again, or restore a backup"
        )
    return found


def _fields(spec_json: str, of: str, *names: str) -> list[Any]:
    try:
        spec = json.loads(spec_json)
        return [spec[name] for name in names]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _not_planned(spec_json, of, *names) from error


def _not_planned(spec_json: str, of: str, *names: str) -> InputError:
    return InputError(
        f"the ledger records {spec_json:.60} for the {of}, but needs a JSON object with "
        f"{' and '.join(names)}; the database was edited or damaged: restore a backup"
    )


def _check(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, entry in value.items():
            if not isinstance(name, str):
                raise InputError(f"{where}: key {name!r} is of type {type(name).__name__}; keys are strings")
            _check(name, f"{where}: key")
            _check(entry, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            _check(entry, f"{where}[{i}]")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{where}: {value!r} contains a lone surrogate, which UTF-8 cannot encode"
            ) from None
    elif value is not None and type(value) not in (bool, int):
        hint = "; write a decimal number as a string" if isinstance(value, float) else ""
        raise InputError(f"{where}: {value!r} of type {type(value).__name__} has no canonical JSON{hint}")
